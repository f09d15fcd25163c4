"""Exact indexes of other libraries, each filled before the clock starts: name -> search(queries, threads), which returns ids."""
import time

import numpy as np

LOOP, BLAS = (1 << 31) - 1, 1  # settings of faiss.cvar.distance_compute_blas_threshold


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def of_faiss(base, metric, k, threshold):
    """faiss holds f32; cosines are inner products of rows of length 1."""
    import faiss

    prepared = (lambda x: unit(x.astype(np.float32))) if metric == "cosine" else (lambda x: x.astype(np.float32))
    index = (faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP)(base.shape[1])
    index.add(prepared(base))

    def search(queries, threads):
        faiss.omp_set_num_threads(threads)
        faiss.cvar.distance_compute_blas_threshold = threshold
        return index.search(prepared(queries), k)[1]
    return search


def of_panorama(base, metric, k):
    """Rows turned to their principal directions, as its authors ask for; levels of the columns. Its bounds are rounded."""
    import faiss

    if metric != "l2" or not hasattr(faiss, "IndexFlatL2Panorama") or base.shape[1] < 32:
        raise ImportError("distances only, in a version that has it")
    rows, d = base.astype(np.float32), base.shape[1]
    turn = faiss.PCAMatrix(d, d)
    turn.train(rows[:: max(1, len(rows) // 20000)])
    index = faiss.IndexFlatL2Panorama(d, 8)
    index.add(turn.apply(rows))

    def search(queries, threads):
        faiss.omp_set_num_threads(threads)
        return index.search(turn.apply(queries.astype(np.float32)), k)[1]
    return search


def of_hnswlib(base, threads):
    """Approximate: a graph with M = 16; gives search(queries, ef) and the seconds that building it took."""
    import hnswlib

    index = hnswlib.Index("l2", base.shape[1])
    rows, start = base.astype(np.float32), time.perf_counter()
    index.init_index(len(rows), M=16, ef_construction=200, random_seed=1)
    index.add_items(rows, num_threads=threads)
    built = time.perf_counter() - start
    index.set_num_threads(1)

    def search(queries, k, ef):
        index.set_ef(ef)
        return index.knn_query(queries.astype(np.float32), k)[0]
    return search, built


def as_i8(rows):
    return (rows.astype(np.int16) - 128).astype(np.int8) if rows.dtype == np.uint8 else rows


def of_usearch(base, metric, k):
    """usearch takes NumPy's uint8 for bits; minus 128, as i8, rows have the same distances."""
    import usearch.index

    if metric != "l2":
        raise ImportError("distances only")
    held = as_i8(base)

    def search(queries, threads):
        found = usearch.index.search(held, as_i8(queries), k, usearch.index.MetricKind.L2sq, exact=True, threads=threads)
        return np.atleast_2d(found.keys)
    return search


def of_sklearn(base, metric, k):
    import threadpoolctl
    from sklearn.neighbors import NearestNeighbors

    if metric != "l2":
        raise ImportError("distances only")
    found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(base.astype(np.float32))

    def search(queries, threads):
        with threadpoolctl.threadpool_limits(threads):
            return found.kneighbors(queries.astype(np.float32), return_distance=False)
    return search


def installed(base, metric, k):
    """Those that are installed and have the metric."""
    makers = {"faiss loop": lambda: of_faiss(base, metric, k, LOOP), "faiss BLAS": lambda: of_faiss(base, metric, k, BLAS),
              "panorama": lambda: of_panorama(base, metric, k), "usearch": lambda: of_usearch(base, metric, k),
              "sklearn": lambda: of_sklearn(base, metric, k)}
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError:
            pass
    return found


def best_times(searches, rounds, now):
    """Seconds of the best of some rounds, in which all run once; slow ones run less often."""
    best = {}
    for turn in range(rounds):
        for name, search in searches.items():
            if turn > 0 and best[name] * turn > 0.3:
                continue
            start = now()
            search()
            best[name] = min(best.get(name, np.inf), now() - start)
    return best
