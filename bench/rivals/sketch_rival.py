# sketch_rival.py CODES QUERIES D: faiss' IndexBinaryFlat over the same codes, top 10, and one sgemm of the shape of
# encoding 60000 rows of D columns, both on two threads. Prints: seconds of faiss, sum of its distances, seconds
# of sgemm; 0 where the rival is not installed.
import os, sys, time
if "avx512f" in open("/proc/cpuinfo").read():
    os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"
import numpy as np

def best(run, rounds=5):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)

seconds, total = 0, 0
try:
    import faiss
    read = lambda path: np.fromfile(path, "u1")[8:].reshape(np.fromfile(path, "u4", 2))
    codes, queries = read(sys.argv[1]), read(sys.argv[2])
    faiss.omp_set_num_threads(2)
    index = faiss.IndexBinaryFlat(codes.shape[1] * 8)
    index.add(codes)
    distances, _ = index.search(queries, 10)
    total = int(distances.sum())
    seconds = best(lambda: index.search(queries, 10))
except ImportError:
    pass
a = np.random.default_rng(0).random((60000, int(sys.argv[3]) + 1), "f4")
b = np.random.default_rng(1).random((int(sys.argv[3]) + 1, 256), "f4")
print(seconds, total, best(lambda: a @ b))
