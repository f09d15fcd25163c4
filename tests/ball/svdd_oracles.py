"""SVDD of the command against cvxopt's QP and libsvm's one-class SVM; prints TAP. argv: the directory to work in."""
import json
import subprocess
import sys

import numpy as np

work = sys.argv[1]
cases = 0


def verdict(good, text):
    global cases
    cases += 1
    print("%sok %d - %s" % ("" if good else "not ", cases, text))


def skip(text, why):
    global cases
    cases += 1
    print("ok %d - %s # SKIP %s" % (cases, text, why))


def fit(x, *options):
    np.save(work + "/x.npy", x)
    subprocess.run(["capball", "ball", work + "/x.npy", "-o", work + "/m.json", "-q", *options], check=True)
    return json.load(open(work + "/m.json"))


def score(x):
    np.save(work + "/x.npy", x)
    subprocess.run(["capball", "score", "-m", work + "/m.json", work + "/x.npy", "-o", work + "/s.npy", "-q"], check=True)
    return np.load(work + "/s.npy").ravel()


def sets():
    rng = np.random.default_rng(1)
    for n, d in ((20, 2), (100, 3), (300, 10), (500, 10), (500, 40)):
        yield "gauss %d x %d" % (n, d), rng.normal(size=(n, d))
        yield "blobs %d x %d" % (n, d), rng.normal(size=(n, d)) + 4 * rng.normal(size=(3, d))[np.arange(n) % 3]
        yield "lattice %d x %d" % (n, d), rng.integers(0, 6, size=(n, d)).astype(float)


def quadratic_program(x, nu, weights):
    from cvxopt import matrix, solvers
    solvers.options.update(show_progress=False, abstol=1e-13, reltol=1e-13, feastol=1e-13, maxiters=200)
    n = len(x)
    mean, size = x.mean(0), x.std()
    y = (x - mean) / size
    caps = weights / (nu * weights.sum())
    P = matrix(2 * y @ y.T)
    q = matrix(-(y * y).sum(1))
    G = matrix(np.vstack([-np.eye(n), np.eye(n)]))
    h = matrix(np.concatenate([np.zeros(n), caps]))
    a = np.array(solvers.qp(P, q, G, h, matrix(np.ones((1, n))), matrix(1.0))["x"]).ravel()
    c = a @ y
    dist = np.sqrt(((y - c) ** 2).sum(1))
    free = np.minimum(a, caps - a) / caps
    # Where no row is in part outside, every radius between the two rows at the edge is optimal.
    full = a > caps / 2
    edge = dist[np.argmax(free)]
    low, high = (edge, edge) if free.max() > 1e-6 else (dist[~full].max(), dist[full].min())
    return c * size + mean, low * size, high * size, size


def against_cvxopt():
    text = "centre and radius as cvxopt's QP, n <= 500"
    try:
        import cvxopt  # noqa: F401
    except ImportError:
        return skip(text, "python3-cvxopt is not installed")
    rng = np.random.default_rng(2)
    worst_center = worst_radius = 0
    count = 0
    for name, x in sets():
        for nu, weighted in ((0.05, False), (0.1, False), (0.37, False), (0.1, True)):
            weights = rng.uniform(0.2, 3, len(x)) if weighted else np.ones(len(x))
            np.save(work + "/w.npy", weights.reshape(-1, 1))
            more = ["--weights", work + "/w.npy"] if weighted else []
            model = fit(x, "--nu", str(nu), "--gap", "1e-13", *more)
            center, low, high, size = quadratic_program(x, nu, weights)
            worst_center = max(worst_center, np.abs(center - model["center"]).max() / size)
            worst_radius = max(worst_radius, max(low - model["radius"], model["radius"] - high) / high)
            count += 1
    verdict(worst_center <= 1e-6 and worst_radius <= 1e-6,
            "%s: %d fits, centre to %.1e, radius to %.1e" % (text, count, worst_center, worst_radius))


def against_libsvm():
    """With k(x,x) = 1 the one-class SVM is SVDD: its decision is rho' = nu n/2 times the score."""
    text = "rbf: decision values as libsvm's one-class SVM, up to the affine relation"
    try:
        from sklearn.svm import OneClassSVM
    except ImportError:
        return skip(text, "python3-sklearn is not installed")
    worst = 0
    for name, x in sets():
        for nu in (0.05, 0.2, 0.5):
            gamma = 1 / x.shape[1]
            fit(x, "--nu", str(nu), "--kernel", "rbf", "--gamma", repr(gamma), "--gap", "1e-12")
            ours = score(x) * nu * len(x) / 2
            theirs = OneClassSVM(nu=nu, gamma=gamma, tol=1e-10).fit(x).decision_function(x)
            worst = max(worst, np.abs(ours - theirs).max() / np.abs(theirs).max())
    verdict(worst <= 1e-5, "%s: to %.1e" % (text, worst))


def scores_are_what_they_say():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 6)) * [1, 2, 3, 4, 5, 6]
    model = fit(x, "--nu", "0.1")
    want = model["radius"] ** 2 - ((x - model["center"]) ** 2).sum(1)
    verdict(np.abs(score(x) - want).max() <= 1e-12 * np.abs(want).max(), "score = r^2 - |x-c|^2")
    model = fit(x, "--nu", "0.1", "--whiten")
    W = np.array(model["whiten"]).reshape(6, 6)
    want = model["radius"] ** 2 - (((x - model["center"]) @ W.T) ** 2).sum(1)
    near = np.abs(W.T @ W @ np.cov(x.T, bias=True) - np.eye(6)).max()
    verdict(np.abs(score(x) - want).max() <= 1e-11 * np.abs(want).max() and near < 1e-9, "--whiten: |W(x-c)|, W^T W = cov^-1")
    # the cap of the model, on the sphere
    p, b, s = np.array(model["cap"]["p"]), model["cap"]["b"], model["scale"]
    z = x @ W.T
    q = (z * z).sum(1) + s * s
    y = np.column_stack([2 * s * z, s * s - (z * z).sum(1)]) / q[:, None]
    verdict(((y @ p > b) == (want > 0)).all(), "the cap holds the rows that the ball holds")


against_cvxopt()
against_libsvm()
scores_are_what_they_say()
print("1..%d" % cases)
