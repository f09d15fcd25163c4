#!/usr/bin/env python3
"""Exact 10-NN by cpb_knn, which keeps nothing between calls, compared with indexes that hold their rows: faiss' flat index with
both settings of faiss.cvar.distance_compute_blas_threshold, usearch's exact search, scikit-learn's brute force; 1, 10, 100 and
1000 queries, 1 and 2 threads, interleaved.

    python3 bench/bench_faiss.py [rounds, default 5] [set ..]
    BENCH_CPU=1     CPU time of the process instead of wall-clock time; one thread only

The sets are those of bench_search: generated ones of 100000 x 128, and GloVe, SIFT and Fashion-MNIST of ../shared/data if that
exists. OPENBLAS_CORETYPE is set, since Debian's faiss is three times slower without it. "times" is the ratio of the faster faiss
setting to cpb_knn, "best" that of the fastest rival. faiss ranks in single precision: "same ids" is the share of ids that agree. A
persistent index is compared by bench_index.py."""
import ctypes
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
import library  # noqa: E402
import numpy as np  # noqa: E402
import rivals  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
WANTED = sys.argv[2:]
N, D, COUNTS, K = 100000, 128, (1, 10, 100, 1000), 10
HIT = np.dtype([("id", np.uint64), ("value", np.float64)])
METRICS = {"l2": 0, "ip": 1, "cosine": 2}
DATA = os.path.join(HERE, "..", "..", "shared", "data")
REAL = {"glove": ("glove-100-angular", ("l2", "cosine")), "sift": ("sift-bsds-128-euclidean", ("l2",)),
        "fashion": ("fashion-mnist-784-euclidean", ("l2",))}
CPU = "BENCH_CPU" in os.environ
now = time.process_time if CPU else time.perf_counter
NAMES = ("faiss loop", "faiss BLAS", "usearch", "sklearn")


def load():
    lib = library.load()
    lib.cpb_knn.argtypes = [library.Rows, library.Rows, ctypes.c_size_t, ctypes.c_int] + [ctypes.c_void_p] * 3
    return lib


def knn(lib, base, queries, metric, run):
    error, hits = library.Failure(), np.empty((len(queries), K), HIT)
    if lib.cpb_knn(library.rows(base), library.rows(queries), K, METRICS[metric], hits.ctypes.data, run,
                   ctypes.byref(error)) != 0:
        sys.exit("bench_faiss: " + error.text.decode())
    return hits["id"]


def compare(lib, pools, name, base, queries, metric):
    searches = rivals.installed(base, metric, K)
    if not searches:
        sys.exit("bench_faiss: skipped, no rival is installed")
    truth = knn(lib, base, queries, metric, pools[1])
    same = (searches["faiss BLAS"](queries, 1) == truth).mean() if "faiss BLAS" in searches else np.nan
    for threads, run in pools.items():
        for count in COUNTS:
            asked = np.ascontiguousarray(queries[:count])
            calls = {rival: lambda search=search: search(asked, threads) for rival, search in searches.items()}
            best = rivals.best_times({"ours": lambda: knn(lib, base, asked, metric, run), **calls}, ROUNDS, now)
            ours = best.pop("ours")
            faiss = min((t for rival, t in best.items() if rival.startswith("faiss")), default=np.nan)
            print(f"{name:8} {base.dtype.name:8} {len(base):7} {base.shape[1]:5} {metric:7} {count:7} {threads:7} "
                  + " ".join(f"{best.get(rival, np.nan) * 1e3:10.1f}" for rival in NAMES)
                  + f" {ours * 1e3:9.2f} {faiss / ours:7.2f} {min(best.values()) / ours:7.2f} {same:9.4f}", flush=True)


def generated():
    random = np.random.default_rng(1)
    base, queries = (random.standard_normal((n, D), dtype=np.float32) for n in (N, COUNTS[-1]))
    yield "gauss", base, queries, ("l2", "ip", "cosine")
    yield "bytes", *(np.clip(x * 32 + 128, 0, 255).astype(np.uint8) for x in (base, queries)), ("l2",)


def real():
    for name, (folder, metrics) in REAL.items():
        files = [os.path.join(DATA, folder, file) for file in ("base.npy", "queries.npy")]
        if all(map(os.path.exists, files)):
            yield name, *map(np.load, files), metrics
        else:
            print(f"{name:8} skipped: ../shared/data/{folder} does not exist")


def main():
    lib = load()
    pools = {threads: library.threads(lib, threads) for threads in ((1,) if CPU else (1, 2))}
    print(f"# {library.processor()}, {lib.cpb_isa_name().decode()} loops, OPENBLAS_CORETYPE={os.environ['OPENBLAS_CORETYPE']}")
    print(f"# {K}-NN, best of {ROUNDS}, ms{', CPU time' if CPU else ''}")
    print(f"#{'set':7} {'type':8} {'rows':>7} {'d':>5} {'metric':7} {'queries':>7} {'threads':>7} "
          + " ".join(f"{name.replace(' ', '-'):>10}" for name in NAMES)
          + f" {'ours':>9} {'times':>7} {'best':>7} {'same ids':>9}")
    for sets in (generated(), real()):
        for name, base, queries, metrics in sets:
            for metric in metrics if not WANTED or name in WANTED else ():
                compare(lib, pools, name, base, queries, metric)


main()
