"""Seconds of another solver on a file (uint64 n, d, then n*d doubles): svdd_rival.py libsvm|cvxopt FILE NU"""
import sys
import time

import numpy as np

which, path, nu = sys.argv[1], sys.argv[2], float(sys.argv[3])
n, d = np.fromfile(path, dtype=np.uint64, count=2).astype(int)
x = np.fromfile(path, dtype=np.float64, offset=16).reshape(n, d)
if which == "libsvm":
    from sklearn.svm import OneClassSVM
    best = 1e300
    for _ in range(3):
        start = time.perf_counter()
        OneClassSVM(nu=nu, gamma="scale").fit(x)
        best = min(best, time.perf_counter() - start)
else:
    from cvxopt import matrix, solvers
    solvers.options.update(show_progress=False)
    start = time.perf_counter()
    P, q = matrix(2 * x @ x.T), matrix(-(x * x).sum(1))
    G = matrix(np.vstack([-np.eye(n), np.eye(n)]))
    h = matrix(np.concatenate([np.zeros(n), np.full(n, 1 / (nu * n))]))
    solvers.qp(P, q, G, h, matrix(np.ones((1, n))), matrix(1.0))
    best = time.perf_counter() - start
print(best)
