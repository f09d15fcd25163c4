#!/usr/bin/env python3
"""Exact 10-NN against faiss' flat indexes: floats, bytes and real sets, 1000 queries, 2 threads, taking turns.

    python3 bench/bench_faiss.py [rounds, default 5] [set ..]

The sets are those of bench_search: generated ones of 100000 x 128, and GloVe, SIFT and Fashion-MNIST of ../shared/data
where that is there. faiss keeps rows as f32, which is what it is given, bytes too; its index is filled before the clock
runs. Both have OPENBLAS_CORETYPE set right; without it Debian's faiss is three times slower. faiss ranks by single
precision, the library by double: values are compared up to what single precision takes for equal, and the share of
ids that are the same is printed. "measured" is how many rows the library measured in double for a query."""
import ctypes
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
import library  # noqa: E402
import numpy as np  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
WANTED = sys.argv[2:]
N, D, QUERIES, K = 100000, 128, 1000, 10
HIT = np.dtype([("id", np.uint64), ("value", np.float64)])
METRICS = {"l2": 0, "ip": 1, "cosine": 2}
DATA = os.path.join(HERE, "..", "..", "shared", "data")
REAL = {"glove": ("glove-100-angular", ("l2", "cosine")), "sift": ("sift-bsds-128-euclidean", ("l2",)),
        "fashion": ("fashion-mnist-784-euclidean", ("l2",))}


class Options(ctypes.Structure):
    """A cpb_search_options."""
    _fields_ = [("size", ctypes.c_size_t), ("metric", ctypes.c_int), ("k", ctypes.c_size_t), ("limits", ctypes.c_void_p)]


class Report(ctypes.Structure):
    """A cpb_search_report."""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in ("rows", "bytes", "measured")]


def load():
    lib = library.load()
    lib.cpb_knn.argtypes = [library.Rows, library.Rows, ctypes.c_size_t, ctypes.c_int] + [ctypes.c_void_p] * 3
    lib.cpb_search_new.argtypes = [library.Rows] + [ctypes.c_void_p] * 3
    lib.cpb_search_feed.argtypes = [ctypes.c_void_p, library.Rows, ctypes.c_uint64] + [ctypes.c_void_p] * 2
    lib.cpb_search_describe.argtypes = [ctypes.c_void_p] * 2
    lib.cpb_search_free.argtypes = [ctypes.c_void_p]
    return lib


def must(status, error):
    if status != 0:
        sys.exit("bench_faiss: " + error.text.decode())


def knn(lib, base, queries, metric, hits, run):
    error = library.Failure()
    must(lib.cpb_knn(library.rows(base), library.rows(queries), K, METRICS[metric], hits.ctypes.data, run,
                     ctypes.byref(error)), error)


def measured(lib, base, queries, metric, run):
    """Rows measured in double, per query."""
    error, search = library.Failure(), ctypes.c_void_p()
    options, report = Options(ctypes.sizeof(Options), METRICS[metric], K, None), Report(ctypes.sizeof(Report))
    must(lib.cpb_search_new(library.rows(queries), ctypes.byref(options), ctypes.byref(search), ctypes.byref(error)), error)
    must(lib.cpb_search_feed(search, library.rows(base), 0, run, ctypes.byref(error)), error)
    lib.cpb_search_describe(search, ctypes.byref(report))
    lib.cpb_search_free(search)
    return report.measured / len(queries)


def best(ways):
    times = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for i, way in enumerate(ways):
            time.sleep(0.05)  # OpenBLAS' threads spin on after a product; nobody shall be timed beside them
            start = time.perf_counter()
            way()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def of_faiss(faiss, base, queries, metric):
    """An index of its rows, and how it is asked; cosines are inner products of rows of length 1."""
    base, queries = base.astype(np.float32), queries.astype(np.float32)
    if metric == "cosine":
        base, queries = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (base, queries))
    index = faiss.IndexFlatL2(base.shape[1]) if metric == "l2" else faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return lambda answer: answer.__setitem__(slice(None), index.search(queries, K))


def compare(faiss, lib, two, name, base, queries, metric):
    hits, theirs = np.empty((len(queries), K), HIT), []
    ask = of_faiss(faiss, base, queries, metric)
    ours, rival = best([lambda: knn(lib, base, queries, metric, hits, two), lambda: ask(theirs)])
    values = np.sqrt(np.maximum(theirs[0], 0)) if metric == "l2" else theirs[0]
    if np.abs(values - hits["value"]).max() > 1e-3 * np.abs(values).max():
        sys.exit(f"bench_faiss: {name}: the answers differ")
    print(f"{name:8} {base.dtype.name:8} {len(base):7} {base.shape[1]:5} {metric:7} {rival * 1e3:9.1f} {ours * 1e3:9.1f} "
          f"{rival / ours:7.2f} {(hits['id'] == theirs[1]).mean():9.4f} {measured(lib, base, queries, metric, two):9.1f}",
          flush=True)


def generated():
    random = np.random.default_rng(1)
    base, queries = (random.standard_normal((n, D), dtype=np.float32) for n in (N, QUERIES))
    yield "gauss", base, queries, ("l2", "ip", "cosine")
    yield "bytes", *(np.clip(x * 32 + 128, 0, 255).astype(np.uint8) for x in (base, queries)), ("l2",)


def real():
    for name, (folder, metrics) in REAL.items():
        files = [os.path.join(DATA, folder, file) for file in ("base.npy", "queries.npy")]
        if all(map(os.path.exists, files)):
            yield name, *map(np.load, files), metrics
        else:
            print(f"{name:8} skipped: ../shared/data/{folder} is not there")


def main():
    try:
        import faiss
    except ImportError:
        print("skipped: faiss is not installed")
        return
    faiss.omp_set_num_threads(2)
    lib = load()
    two = library.threads(lib, 2)
    print(f"# {library.processor()}, {lib.cpb_isa_name().decode()} loops, faiss {faiss.__version__}, "
          f"OPENBLAS_CORETYPE={os.environ['OPENBLAS_CORETYPE']}")
    print(f"# exact {K}-NN, {QUERIES} queries, 2 threads, best of {ROUNDS}")
    print(f"#{'set':7} {'type':8} {'rows':>7} {'d':>5} {'metric':7} {'faiss ms':>9} {'ours ms':>9} {'times':>7} "
          f"{'same ids':>9} {'measured':>9}")
    for sets in (generated(), real()):
        for name, base, queries, metrics in sets:
            for metric in metrics if not WANTED or name in WANTED else ():
                compare(faiss, lib, two, name, base, queries, metric)


main()
