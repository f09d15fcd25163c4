# sketch_rival.py CODES QUERIES D: faiss' IndexBinaryFlat over the same codes, top 10, and one sgemm of the shape of
# encoding 60000 rows of D columns, both on two threads; RaBitQ of 50000 rows, 100 queries, top 10, on one thread. Prints:
# seconds of faiss, sum of its distances, seconds of sgemm, and for 64, 128, 256 and 512 bits seconds of RaBitQ and of its
# fast scan; 0 where the rival is not installed.
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
sgemm = best(lambda: a @ b)


def rabitq(bits):
    """The better of its two indexes last: one bit per column."""
    x = np.random.default_rng(bits).standard_normal((50000, bits), "f4")
    for index in (faiss.IndexRaBitQ(bits, faiss.METRIC_L2), faiss.IndexRaBitQFastScan(bits, faiss.METRIC_L2)):
        index.train(x)
        index.add(x)
        yield best(lambda: index.search(x[:100], 10))


scans = [0] * 8
try:
    faiss.omp_set_num_threads(1)
    scans = [time for bits in (64, 128, 256, 512) for time in rabitq(bits)]
except (NameError, AttributeError):  # not installed, or without RaBitQ
    pass
print(seconds, total, sgemm, *scans)
