#!/usr/bin/env python3
"""An index that stays beside the exact indexes people know: 1, 10, 100 and 1000 queries of 10-NN, 1 and 2 threads, taking turns.

    python3 bench/bench_index.py [rounds, default 9] [set ..]

Rivals are faiss' flat index with both settings of faiss.cvar.distance_compute_blas_threshold, usearch's exact search and
scikit-learn's brute force, each where it is installed. All hold their rows before the clock runs, faiss and scikit-learn as f32.
The ratio is that to the fastest rival, by the best round of each. On a machine that others work on BENCH_CPU counts the time that the
process had. The sets are Gauss 200000 x 96, and SIFT, GloVe and Fashion-MNIST of ../shared/data where that is there."""
import os
import sys
import time

import capball
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "shared", "data")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
REAL = {"sift": "sift-bsds-128-euclidean", "glove": "glove-100-angular", "fashion": "fashion-mnist-784-euclidean"}
WANTED = sys.argv[2:] or ["gauss", *REAL]
K = 10
now = time.process_time if "BENCH_CPU" in os.environ else time.perf_counter


def rows_of(name):
    if name == "gauss":
        rng = np.random.default_rng(0)
        return rng.standard_normal((200000, 96), np.float32), rng.standard_normal((1000, 96), np.float32)
    folder = os.path.join(DATA, REAL[name])
    if not os.path.isdir(folder):
        return None
    return np.load(os.path.join(folder, "base.npy")), np.load(os.path.join(folder, "queries.npy"))[:1000]


def of_faiss(base, threshold):
    import faiss

    index = faiss.IndexFlatL2(base.shape[1])
    index.add(base.astype(np.float32))

    def search(queries, threads):
        faiss.omp_set_num_threads(threads)
        faiss.cvar.distance_compute_blas_threshold = threshold
        return index.search(queries.astype(np.float32), K)[1]
    return search


def of_usearch(base):
    import usearch.index

    def search(queries, threads):
        return usearch.index.search(base, queries, K, usearch.index.MetricKind.L2sq, exact=True, threads=threads).keys
    return search


def of_sklearn(base):
    import threadpoolctl
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(base.astype(np.float32))

    def search(queries, threads):
        with threadpoolctl.threadpool_limits(threads):
            return found.kneighbors(queries.astype(np.float32), return_distance=False)
    return search


def of_capball(base):
    index = capball.Index(base.shape[1], dtype=base.dtype)
    index.add(base)
    return lambda queries, threads: index.search(queries, K, threads=threads).ids


def rivals_of(base):
    makers = {"faiss, loop": lambda: of_faiss(base, (1 << 31) - 1), "faiss, BLAS": lambda: of_faiss(base, 1),
              "usearch": lambda: of_usearch(base), "sklearn": lambda: of_sklearn(base)}
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError:
            pass
    return found


def best_times(searches, queries, threads):
    best = {}
    for _ in range(ROUNDS):
        for name, search in searches.items():
            start = now()
            search(queries, threads)
            best[name] = min(best.get(name, np.inf), now() - start)
    return best


def compare(name, base, queries):
    searches = {"capball": of_capball(base), **rivals_of(base)}
    truth = capball.knn(base, queries, K).ids
    print(f"{name} {base.shape[0]} x {base.shape[1]} {base.dtype}")
    if not np.array_equal(searches["capball"](queries, 1), truth):
        sys.exit("bench_index: the index and knn differ")
    for threads in (1, 2):
        for count in (1, 10, 100, 1000):
            best = best_times(searches, queries[:count], threads)
            ours = best.pop("capball")
            texts = ", ".join(f"{rival} {1e3 * t:.2f}" for rival, t in best.items())
            ratio = f"{min(best.values()) / ours:.2f} times the best" if best else "no rival is installed"
            print(f"  {threads} thread{'s' * (threads > 1)}, {count:4} queries: capball {1e3 * ours:.2f} ms, {texts}: {ratio}",
                  flush=True)


for name in WANTED:
    sets = rows_of(name)
    if sets is not None:
        compare(name, *sets)
