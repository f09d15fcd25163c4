#!/usr/bin/env python3
"""capball.Index compared with other exact indexes: 10-NN for 1, 10, 100 and 1000 queries, interleaved; goals with pass or FAIL.

    python3 bench/bench_index.py [rounds, default 9] [set ..]
    BENCH_THREADS   1 (default) or 2
    BENCH_CPU=1     CPU time of the process instead of wall-clock time, for machines with other load; one thread

The rivals are faiss' flat index with both settings of faiss.cvar.distance_compute_blas_threshold (loop, BLAS), faiss' Panorama
behind principal directions, usearch's exact search and scikit-learn's brute force, each if it is installed. Then one query at a time, the
median of 300, beside them and beside hnswlib (M=16) with the ef that reach a recall of .99 and .997: it is approximate, and its
time to build is printed, too. All of them hold their rows before the clock starts, faiss and
scikit-learn as f32. usearch takes NumPy's uint8 for bits, so that rows of u8 are given to it as i8, less 128: it sums their
products as integers, and is exact. The recall of each rival, the share of its ids that are those of knn, is printed; a rival below
0.99 would not be an exact one, and ends the program. A ratio is that of the best rounds, to the fastest rival. The sets are
Gauss 200000 x 96, and SIFT, GloVe and Fashion-MNIST of ../shared/data if that exists."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "support"))
import library  # noqa: E402  sets OPENBLAS_CORETYPE, without which faiss and scikit-learn are slower
import capball  # noqa: E402
import numpy as np  # noqa: E402
import rivals  # noqa: E402

DATA = os.path.join(HERE, "..", "..", "shared", "data")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
REAL = {"sift": "sift-bsds-128-euclidean", "glove": "glove-100-angular", "fashion": "fashion-mnist-784-euclidean",
        "mnist": "mnist-784-euclidean", "reuters": "reuters-256-angular", "lastfm": "lastfm-65-angular"}
WANTED = sys.argv[2:] or ["gauss", *REAL]
THREADS = int(os.environ.get("BENCH_THREADS", "1"))
K = 10
GOALS = {1: 3, 10: 4, 100: 4, 1000: 5}
ALONE = {"sift": 15, "fashion": 50, "mnist": 25, "glove": 7, "gauss": 4.2}  # one query beside the better setting of faiss
now = time.process_time if "BENCH_CPU" in os.environ else time.perf_counter
missed = 0


def rows_of(name):
    if name == "gauss":
        rng = np.random.default_rng(0)
        return rng.standard_normal((200000, 96), np.float32), rng.standard_normal((1000, 96), np.float32)
    folder = os.path.join(DATA, REAL[name])
    if not os.path.isdir(folder):
        print(f"{name}: skipped, ../shared/data/{REAL[name]} does not exist")
        return None
    return np.load(os.path.join(folder, "base.npy")), np.load(os.path.join(folder, "queries.npy"))[:1000]


def of_capball(base):
    index = capball.Index(base.shape[1], dtype=base.dtype)
    index.add(base)
    return lambda queries: index.search(queries, K, threads=THREADS).ids


def searches_of(base):
    def fixed(search):
        return lambda queries: search(queries, THREADS)

    return {"capball": of_capball(base), "knn": lambda queries: capball.knn(base, queries, K, threads=THREADS).ids,
            **{name: fixed(search) for name, search in rivals.installed(base, "l2", K).items()}}


def judge(what, ratio, goal):
    global missed
    missed += ratio < goal
    return f"{ratio:6.2f} x {what} (goal {goal}: {'pass' if ratio >= goal else 'FAIL'})"


def check(name, searches, queries):
    """Recalls as text. Rivals rank by single precision, so that a few of their ids may differ."""
    truth = searches["knn"](queries)
    if not np.array_equal(searches["capball"](queries), truth):
        sys.exit(f"bench_index: {name}: the index and knn differ")
    recalls = []
    for rival, search in searches.items():
        found = search(queries[:100])
        recall = np.mean([np.isin(ids, wanted).mean() for ids, wanted in zip(found, truth)])
        if recall < 0.99:
            sys.exit(f"bench_index: {name}: {rival} finds {recall:.3f} of the neighbours")
        recalls.append(f"{rival} {recall:.4f}")
    return ", ".join(recalls)


def compare(name, base, queries):
    searches = searches_of(base)
    recalls = check(name, searches, queries)
    print(f"{name} {base.shape[0]} x {base.shape[1]} {base.dtype}, {THREADS} thread{'s' * (THREADS > 1)}, ms; recall {recalls}")
    for count, goal in GOALS.items():
        calls = {who: lambda search=search: search(queries[:count]) for who, search in searches.items()}
        best = rivals.best_times(calls, ROUNDS, now)
        ours, knn = best.pop("capball"), best.pop("knn")
        verdicts = [judge("the best rival", min(best.values()) / ours, goal)] if best else ["no rival is installed"]
        if count == 1000:
            verdicts.append(judge("knn", knn / ours, 1))
        others = ", ".join(f"{rival} {1e3 * t:.2f}" for rival, t in best.items())
        print(f"  {count:4} queries: index {1e3 * ours:8.2f}, knn {1e3 * knn:8.2f}, {others}: {', '.join(verdicts)}", flush=True)


def medians(searches, queries):
    """Seconds of one query: the rivals take turns."""
    times = {who: [] for who in searches}
    for i in range(300):
        asked = queries[i % len(queries)][None]
        for who, search in searches.items():
            if len(times[who]) > 20 and sum(times[who]) > 4:
                continue
            start = now()
            search(asked)
            times[who].append(now() - start)
    return {who: float(np.median(of)) for who, of in times.items()}


def graph(base, queries, truth):
    """hnswlib with the smallest ef that reach these recalls, and its time to build."""
    try:
        search, built = rivals.of_hnswlib(base, 2)
    except ImportError:
        return {}, None
    found = {}
    for recall in (0.99, 0.997):
        for ef in (10, 20, 40, 60, 80, 120, 160, 240, 320, 480, 640):
            if np.mean([np.isin(a, b).mean() for a, b in zip(search(queries, K, ef), truth)]) >= recall:
                found[f"hnswlib {recall}"] = lambda asked, ef=ef: search(asked, K, ef)
                break
    return found, built


def compare_alone(name, base, queries):
    searches = searches_of(base)
    truth = searches.pop("knn")(queries)
    start = time.perf_counter()
    of_capball(base)
    ours_built = time.perf_counter() - start
    approximate, built = graph(base, queries, truth)
    taken = medians({**searches, **approximate}, queries)
    ours = taken.pop("capball")
    flat = min((t for who, t in taken.items() if who.startswith("faiss")), default=None)
    verdicts = [judge("faiss flat", flat / ours, ALONE[name])] if flat and name in ALONE else []
    if "panorama" in taken:
        verdicts.append(judge("Panorama", taken["panorama"] / ours, 4))
    print(f"  alone: index {1e3 * ours:.3f} ms, " + ", ".join(f"{who} {1e3 * t:.3f}" for who, t in taken.items())
          + f"; built in {ours_built:.3f} s" + (f", hnswlib {built:.1f}" if built else "") + ": " + ", ".join(verdicts), flush=True)


print(f"# {library.processor()}, OPENBLAS_CORETYPE={os.environ['OPENBLAS_CORETYPE']}")
for name in WANTED:
    sets = rows_of(name)
    if sets is not None:
        compare(name, *sets)
        compare_alone(name, *sets)
print(f"goals missed: {missed}")
