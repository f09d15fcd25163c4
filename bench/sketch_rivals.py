#!/usr/bin/env python3
"""Principal sketches beside faiss at equal total bytes per row, on the sets of ../shared/data; writes docs/sketches.md.

    python3 bench/sketch_rivals.py [--seeds 5] [--seconds 3000] [set ..]     measures what build/sketches.json lacks
    python3 bench/sketch_rivals.py --bounds                                  the same for searches until the bound
    python3 bench/sketch_rivals.py --write                                   writes docs/sketches.md from it

A code of B bits has B/8 + 6 bytes: three numbers of f16. Rivals get as many bytes, and RaBitQ also as many bits, with which its
rows are 2 bytes longer. Times are of the processor, on one thread. Measurements are stored one by one, so that a run can be
ended and continued. Needs the capball package, NumPy and faiss.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
STORE, BOUNDS = ROOT / "build" / "sketches.json", ROOT / "build" / "sketch_bounds.json"
PAGE = ROOT / "docs" / "sketches.md"
CHOSEN_ON = ("bigann10k-sift-128-euclidean", "reuters-256-angular", "glove-100-angular", "fashion-mnist-784-euclidean")
SETS = CHOSEN_ON + ("sift-bsds-128-euclidean", "mnist-784-euclidean", "lastfm-65-angular", "movies-mf-16-angular", "blobs-16-euclidean",
                    "outlier-cifar10-0-resnet18", "outlier-satellite", "outlier-letter", "outlier-ionosphere", "outlier-cardio")
BITS = (64, 128, 256, 512)
QUERIES, SAMPLE = 200, 8192
OURS = ("principal", "principal, f32", "embedded", "centred")
RIVALS = ("RaBitQ, PCA, equal bits", "RaBitQ, PCA", "RaBitQ", "RaBitQ fast scan, PCA, equal bits", "RaBitQ, PCA, 2 per column",
          "RaBitQ, PCA, 4 per column", "ITQ", "LSH", "PQ", "PQ fast scan", "PCA + SQ4")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and queries; rows of angular sets are divided by their norms, of sets without queries some rows are queries."""
    base = np.load(DATA / name / "base.npy").astype("f4")
    if (DATA / name / "queries.npy").exists():
        queries = np.load(DATA / name / "queries.npy").astype("f4")[:QUERIES]
    else:
        order = np.random.default_rng(0).permutation(len(base))
        count = min(QUERIES, len(base) // 5)
        queries, base = base[order[:count]], base[order[count:]]
    if name.endswith("angular"):
        base, queries = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-20) for x in (base, queries))
    return np.ascontiguousarray(base), np.ascontiguousarray(queries)


def recalls(found: np.ndarray, right: np.ndarray, base: np.ndarray, queries: np.ndarray) -> dict[str, float]:
    """10@100, 10@10, and 10@10 after re-ranking the 100 by exact distances."""
    import capball

    def share(ids: np.ndarray) -> float:
        return 100 * float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ids, right)]))

    ranked = capball.rerank(base, queries, found, 10)[1]
    return {"10@100": share(found), "10@10": share(found[:, :10]), "re-ranked": share(ranked)}


def timed(run):
    start = time.process_time()
    value = run()
    return value, time.process_time() - start


def ours(name: str, bits: int, seed: int, base: np.ndarray, queries: np.ndarray):
    import capball

    kind, *factors = name.split(", ")
    length = bits if kind == "principal" else bits + 48  # equal bytes
    given = {"factors": "float32"} if factors else {}
    sketch, train = timed(lambda: capball.Sketch.fit(base, length, kind, seed=seed, sample=SAMPLE, threads=1, **given))
    codes, encode = timed(lambda: sketch.encode(base, threads=1))
    if kind != "principal":
        asked = sketch.encode(queries, threads=1)
        (_, found), search = timed(lambda: capball._core.hamming_knn(codes, asked, min(100, len(base)), 1))
    else:
        prepared = sketch.prepare(codes)
        found, search = timed(lambda: prepared.search(queries, min(100, len(base)), threads=1))
        found = found.ids
    facts = {"bytes": sketch.code_bytes, "bits_per": sketch.bits_per, "train": train, "encode": encode, "search": search}
    return found, facts


def reduced(faiss, d: int, to: int, sample: np.ndarray, factory):
    """An index behind a PCA to `to` columns, if those are fewer."""
    if to >= d:
        return factory(d)
    pca = faiss.PCAMatrix(d, to)
    pca.train(sample)
    return faiss.IndexPreTransform(pca, factory(to))


def rotated_rabitq(faiss, d: int, seed: int, per: int, fast: bool):
    rotation = faiss.RandomRotationMatrix(d, d)
    rotation.init(seed + 1)
    index = faiss.IndexRaBitQFastScan(d, faiss.METRIC_L2) if fast else faiss.IndexRaBitQ(d, faiss.METRIC_L2, per)
    return faiss.IndexPreTransform(rotation, index)


def rabitq(faiss, name: str, bits: int, size: int, seed: int, sample: np.ndarray):
    """One bit per column and 8 bytes, or several and 20 bytes."""
    d, per = sample.shape[1], int(name[-len("4 per column")]) if name.endswith("column") else 1
    own = 8 if per == 1 else 20
    to = d if name == "RaBitQ" else bits if name.endswith("bits") else 8 * (size - own) // per // 8 * 8
    if to < 8:
        raise RuntimeError("no bytes are left for bits")
    index = reduced(faiss, d, to, sample, lambda n: rotated_rabitq(faiss, n, seed, per, "fast" in name))
    return index, (min(to, d) * per + 7) // 8 + own


def index_of(faiss, name: str, bits: int, seed: int, sample: np.ndarray):
    """The rival's index, and its bytes per row."""
    d, size = sample.shape[1], bits // 8 + 6
    if name == "LSH":
        return faiss.IndexLSH(d, 8 * size), size
    if name == "ITQ":
        length = min(8 * size, d // 8 * 8)
        transform = faiss.ITQTransform(d, length, length < d)
        transform.itq.seed = seed
        return faiss.IndexPreTransform(transform, faiss.IndexLSH(length, length, False)), length // 8
    if name.startswith("RaBitQ"):
        return rabitq(faiss, name, bits, size, seed, sample)
    if name == "PCA + SQ4":
        to = min(d, 2 * size)
        return reduced(faiss, d, to, sample, lambda n: faiss.IndexScalarQuantizer(n, faiss.ScalarQuantizer.QT_4bit)), (to + 1) // 2
    fast = name == "PQ fast scan"
    parts = min(d, 2 * size if fast else size)
    def product(n):
        index = faiss.IndexPQFastScan(n, parts, 4) if fast else faiss.IndexPQ(n, parts, 8)
        index.pq.cp.seed = 1234 + seed
        index.pq.cp.niter = 10
        return index
    return reduced(faiss, d, d // parts * parts, sample, product), (parts + 1) // 2 if fast else parts


def rival(name: str, bits: int, seed: int, base: np.ndarray, queries: np.ndarray):
    import faiss

    faiss.omp_set_num_threads(1)
    order = np.random.default_rng(seed).permutation(len(base))[:SAMPLE]
    sample = base[order]

    def train():
        index, size = index_of(faiss, name, bits, seed, sample)
        index.train(sample)
        return index, size

    (index, size), trained = timed(train)
    _, encode = timed(lambda: index.add(base))
    (_, found), search = timed(lambda: index.search(queries, min(100, len(base))))
    return found, {"bytes": size, "train": trained, "encode": encode, "search": search}


def measure(name: str, method: str, bits: int, seed: int, data) -> dict:
    base, queries, right = data
    try:
        found, facts = (ours if method in OURS else rival)(method, bits, seed, base, queries)
    except RuntimeError as failure:  # such as fewer rows than centroids
        return {"failed": str(failure).splitlines()[0][:80]}
    return {**recalls(found, right, base, queries), **facts, "rows": len(base), "d": base.shape[1]}


FIVE_SEEDS = ("principal", "RaBitQ, PCA", "RaBitQ, PCA, equal bits", "LSH")


def wanted(method: str, bits: int, seed: int, d: int) -> bool:
    """One seed where results hardly depend on it; nothing that trains for minutes."""
    if method not in FIVE_SEEDS and seed > 0:
        return False
    if method in ("embedded", "centred") or (method == "ITQ" and d > 256) or (method == "PQ" and d > 128):
        return bits <= 128
    return bits == BITS[0] if method == "RaBitQ" else True  # which does not depend on the bits


def run(names: list[str], seeds: int, seconds: float) -> None:
    """Those with five seeds first, then those with one, and PQ, whose training takes longest, last."""
    import capball

    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    end = time.monotonic() + seconds
    slow = ("PQ", "PQ fast scan")
    once = tuple(m for m in OURS + RIVALS if m not in FIVE_SEEDS + slow)
    turns = [(FIVE_SEEDS, 0), (once, 0)] + [(FIVE_SEEDS, seed) for seed in range(1, seeds)] + [(slow, 0)]
    for (methods, seed), name in ((turn, name) for turn in turns for name in names):
        base, queries = load(name)
        data = base, queries, capball.knn(base, queries, 10)[1]
        for method, bits in ((method, bits) for method in methods for bits in BITS):
            key = f"{name}/{method}/{bits}/{seed}"
            if key in store or not wanted(method, bits, seed, base.shape[1]):
                continue
            if time.monotonic() > end:
                sys.exit("sketch_rivals: the time is over; run it again to continue")
            store[key] = measure(name, method, bits, seed, data)
            STORE.write_text(json.dumps(store, indent=0))
            print(key, {k: round(v, 2) if isinstance(v, float) else v for k, v in store[key].items()}, flush=True)


# ---- until the bound


def read_until(name: str, per: int) -> dict:
    """Rows read by searches until the bounds, with a direction for each column, at most 512; 100 queries, 10 neighbours."""
    import capball

    base, queries = load(name)
    queries = queries[:100]
    distances, right = capball.knn(base, queries, 10)
    bits = (min(base.shape[1], 512) * per + 7) // 8 * 8
    sketch = capball.Sketch.fit(base, bits, bits_per=per)
    prepared = sketch.prepare(sketch.encode(base))
    result = {"bits": bits, "rows": len(base), "d": base.shape[1]}
    for bound in ("certain", "probable"):
        found = prepared.search(queries, 10, base=base, candidates=bound)
        result[bound] = 100 * found.rows_read / len(queries) / len(base)
        result[bound + " recall"] = 100 * float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.ids, right)]))
        result[bound + " equal"] = bool((found.ids == right).all() and (found.distances == distances).all())
    return result


def run_bounds() -> None:
    store = json.loads(BOUNDS.read_text()) if BOUNDS.exists() else {}
    for path in sorted(DATA.glob("*/base.npy")):
        for per in (1, 2, 4):
            key = f"{path.parent.name}/{per}"
            if key not in store:
                store[key] = read_until(path.parent.name, per)
                BOUNDS.write_text(json.dumps(store, indent=0))
                print(key, store[key], flush=True)


def bounds_table(store: dict) -> list[str]:
    lines = ["| set | rows | certain, 1 bit | 2 bits | 4 bits | equal to knn | probable, 1 bit | 2 bits | 4 bits | recall, 4 bits |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for name in sorted({k.split("/")[0] for k in store}):
        each = [store.get(f"{name}/{per}", {}) for per in (1, 2, 4)]
        known = [e for e in each if e]
        certain, probable = ([cell(e.get(what), 2) for e in each] for what in ("certain", "probable"))
        equal = "yes" if all(e["certain equal"] for e in known) else "no"
        lines.append(f"| {name} | {known[0]['rows']} | {' | '.join(certain)} | {equal} | {' | '.join(probable)} | "
                     f"{cell(each[2].get('probable recall'), 2)} |")
    return lines + [""]


# ---- the page


def mean(store: dict, name: str, method: str, bits: int, what: str) -> float | None:
    values = [v[what] for k, v in store.items() if k.startswith(f"{name}/{method}/{bits}/") and what in v]
    return float(np.mean(values)) if values else None


def cell(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def set_table(store: dict, name: str) -> list[str]:
    shape = next(v for k, v in store.items() if k.startswith(name + "/principal/64/"))
    lines = [f"### {name}, {shape['rows']} x {shape['d']}", "",
             "| codes | " + " | ".join(f"{b} bits, {b // 8 + 6} bytes" for b in BITS) + " |", "|---|" + "---|" * len(BITS)]
    for method in OURS + RIVALS:
        cells = []
        for bits in BITS:
            at = BITS[0] if method == "RaBitQ" else bits
            values = [mean(store, name, method, at, what) for what in ("10@100", "10@10", "re-ranked")]
            cells.append("" if values[0] is None else " / ".join(cell(v) for v in values))
        if any(cells):
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines + [""]


def gains(store: dict, names, rival_name: str, bits: int) -> list[float]:
    pairs = [(mean(store, n, "principal", bits, "10@100"), mean(store, n, rival_name, bits, "10@100")) for n in names]
    return [a - b for a, b in pairs if a is not None and b is not None]


def summary(store: dict) -> list[str]:
    tests = [n for n in SETS if n not in CHOSEN_ON]
    lines = ["| 10@100, principal minus | bits | mean of the test sets | least of all sets |", "|---|---|---|---|"]
    for rival_name in ("RaBitQ, PCA", "RaBitQ, PCA, equal bits", "RaBitQ, PCA, 2 per column", "RaBitQ, PCA, 4 per column", "ITQ", "LSH", "embedded", "PQ", "PQ fast scan", "PCA + SQ4"):
        for bits in BITS:
            of_tests, of_all = gains(store, tests, rival_name, bits), gains(store, SETS, rival_name, bits)
            if of_tests:
                lines.append(f"| {rival_name} | {bits} | {np.mean(of_tests):+.1f} | {min(of_all):+.1f} |")
    return lines + [""]


def times(store: dict) -> list[str]:
    lines = ["| codes | bits | training, s | encoding, us per row | queries per second |", "|---|---|---|---|---|"]
    name = "sift-bsds-128-euclidean"
    for method in OURS + RIVALS:
        for bits in (64, 256):
            train, encode, search = (mean(store, name, method, bits, what) for what in ("train", "encode", "search"))
            if search:
                rows = mean(store, name, method, bits, "rows")
                lines.append(f"| {method} | {bits} | {train:.2f} | {1e6 * encode / rows:.2f} | {QUERIES / search:.0f} |")
    return lines + [""]


def write() -> None:
    store = json.loads(STORE.read_text())
    page = PAGE.read_text()
    head, tail = page.split("<!-- measured -->\n")[0], page.split("<!-- end of measurements -->\n")[-1]
    body = ["## Summary", "", *summary(store), "## Times", "",
            f"On one thread, processor time, sift-bsds-128-euclidean with {QUERIES} queries at once.", "", *times(store),
            "## Until the bound", "",
            "Percent of the rows that a search for 10 neighbours reads, with one direction for each column, at most 512.", "",
            *bounds_table(json.loads(BOUNDS.read_text())), "## Every set", "", "10@100 / 10@10 / 10@10 after re-ranking 100, in percent, means over seeds.", ""]
    for name in SETS:
        if any(k.startswith(name + "/principal/64/") for k in store):
            body += set_table(store, name)
    PAGE.write_text(head + "<!-- measured -->\n" + "\n".join(body) + "<!-- end of measurements -->\n" + tail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--write", action="store_true")
    o = parser.parse_args()
    if o.write:
        return write()
    if o.bounds:
        return run_bounds()
    names = [n for n in (o.sets or SETS) if (DATA / n / "base.npy").exists()]
    if not names:
        return print("skipped: ../shared/data is not here")
    run(names, o.seeds, o.seconds)


if __name__ == "__main__":
    main()
