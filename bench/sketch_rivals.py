#!/usr/bin/env python3
"""Principal sketches beside faiss at equal total bytes per row, on the sets of ../shared/data; writes docs/explanation/sketches.md.

    python3 bench/sketch_rivals.py [--seeds 5] [--seconds 3000] [--ours | --rivals] [set ..]    recall that was not measured yet
    python3 bench/sketch_rivals.py --bounds [set ..]    searches until the bound that were not measured yet
    python3 bench/sketch_rivals.py --generated          recall on generated sets
    python3 bench/sketch_rivals.py --speed              times; the only part that needs a machine without other load
    python3 bench/sketch_rivals.py --verdict            prints what holds; fails if something does not
    python3 bench/sketch_rivals.py --write              writes docs/explanation/sketches.md

A code of B bits has B/8 + 6 bytes: three numbers of f16. Rivals get as many bytes, and RaBitQ also as many bits, with which its
rows are 2 bytes longer. Times are of the processor, on one thread. Measurements are stored one by one under build/sketches, a file
for each set, so that a run can be ended and continued, and several runs can share the sets. Needs the capball package, NumPy
and faiss.
"""
from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
STORE, BOUNDS, SPEED, GENERATED = (ROOT / "build" / "sketches" / part for part in ("recall", "bounds", "speed.json", "generated.json"))
PAGE = ROOT / "docs" / "explanation" / "sketches.md"
CHOSEN_ON = ("bigann10k-sift-128-euclidean", "reuters-256-angular", "glove-100-angular", "fashion-mnist-784-euclidean")
SETS = CHOSEN_ON + ("sift-bsds-128-euclidean", "mnist-784-euclidean", "lastfm-65-angular", "movies-mf-16-angular", "blobs-16-euclidean",
                    "outlier-cifar10-0-resnet18", "outlier-satellite", "outlier-letter", "outlier-ionosphere", "outlier-cardio")
BITS = (64, 128, 256, 512)
QUERIES, SAMPLE = 200, 8192
TIMED, TIMED_BITS, TIMED_ROWS, TIMED_QUERIES = "sift-bsds-128-euclidean", (64, 256), 50000, 100
TODAY = ("embedded", "centred", "random-embedded", "random-centred")
OURS = ("principal", "principal, 1 per direction", "principal, 2 per direction", "principal, 4 per direction", "principal, f32") + TODAY
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

    kind, _, how = name.partition(", ")
    length = bits + 48 if kind in TODAY else bits - 48 if how == "f32" else bits  # equal bytes
    given = {"factors": "float32"} if how == "f32" else {"bits_per": int(how[0])} if how else {}
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


def measure(method: str, bits: int, seed: int, data) -> dict:
    base, queries, right = data
    try:
        found, facts = (ours if method in OURS else rival)(method, bits, seed, base, queries)
    except RuntimeError as failure:  # such as fewer rows than centroids
        return {"failed": str(failure).splitlines()[0][:80]}
    return {**recalls(found, right, base, queries), **facts, "rows": len(base), "d": base.shape[1]}


RANDOM = ("principal", "RaBitQ, PCA", "RaBitQ, PCA, equal bits", "ITQ")  # five seeds; the others are not random, or hardly so
SLOW = ("ITQ", "PQ")


def wanted(method: str, bits: int, seed: int, d: int) -> bool:
    if seed > 0 and (method not in RANDOM or (method == "ITQ" and d > 128)):  # minutes for each seed
        return False
    return method != "RaBitQ" or bits == BITS[0]  # which does not depend on the bits


def kept(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path: Path, key: str, value) -> None:
    """Adds to the file; several runs may do so at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path.with_suffix(".new").write_text(json.dumps({**kept(path), key: value}, indent=0))
        path.with_suffix(".new").replace(path)


def all_kept(folder: Path) -> dict:
    return {key: value for path in sorted(folder.glob("*.json")) for key, value in kept(path).items()}


def run(names: list[str], methods: tuple[str, ...], seeds: int, end: float) -> None:
    """Set by set, so that several runs can share the sets; the first seed of every set before the second."""
    import capball

    turns = [(seed, slow) for seed in range(seeds) for slow in (False, True)]
    for (seed, slow), name in ((turn, name) for turn in turns for name in names):
        path, data = STORE / f"{name}.json", None
        for method, bits in ((method, bits) for method in methods if (method in SLOW) == slow for bits in BITS):
            key, d = f"{name}/{method}/{bits}/{seed}", np.load(DATA / name / "base.npy", mmap_mode="r").shape[1]
            if not wanted(method, bits, seed, d) or key in kept(path):
                continue
            if time.monotonic() > end:
                sys.exit("sketch_rivals: the time is over; run it again to continue")
            if data is None:
                base, queries = load(name)
                data = base, queries, capball.knn(base, queries, 10)[1]
            result = measure(method, bits, seed, data)
            keep(path, key, result)
            print(key, {k: round(v, 2) if isinstance(v, float) else v for k, v in result.items()}, flush=True)


# ---- generated sets: heavy tails, clusters, few dimensions, offsets, whole numbers, duplicates, few rows


def generated(random: np.random.Generator) -> dict[str, np.ndarray]:
    def normal(*shape):
        return random.standard_normal(shape)

    def falling(n, d, power):
        return normal(n, d) * np.arange(1.0, d + 1) ** -power

    shells = normal(8000, 32)
    return {"normal, 64": normal(8000, 64), "Student t2, 64": random.standard_t(2, (8000, 64)), "Cauchy, 32": random.standard_cauchy((8000, 32)),
            "lengths log-normal, 64": normal(8000, 64) * np.exp(1.5 * normal(8000, 1)),
            "1000 clusters, 48": normal(1000, 48)[random.integers(0, 1000, 8000)] + 0.05 * normal(8000, 48),
            "8 dimensions in 512": normal(6000, 8) @ normal(8, 512) + 0.05 * normal(6000, 512),
            "variance falling as 1/i^2, 256": falling(8000, 256, 1), "1/i, 1024": falling(4000, 1024, 0.5),
            "offset 1e4, 64": normal(8000, 64) + 1e4, "offset 1e6, 32": normal(8000, 32) + 1e6,
            "whole numbers 0 .. 3, 20": random.integers(0, 4, (8000, 20)), "Poisson, 100": random.poisson(1, (8000, 100)),
            "a tenth of 256 bits": random.random((8000, 256)) < 0.1, "every row ten times, 64": np.repeat(falling(800, 64, 0.7), 10, axis=0),
            "one long axis, 24": normal(8000, 24) * np.array([100] + [1] * 23),
            "three shells, 32": shells / np.linalg.norm(shells, axis=1, keepdims=True) * random.integers(1, 4, (8000, 1)),
            "260 rows, 512": falling(260, 512, 0.6), "80 rows, 64": normal(80, 64)}


COMPARED = ("principal", "RaBitQ, PCA", "RaBitQ, PCA, equal bits", "LSH", "embedded", "centred")


def run_generated() -> None:
    import capball

    random = np.random.default_rng(7)
    for name, rows in generated(random).items():
        rows = random.permutation(rows).astype("f4")
        count = min(150, len(rows) // 5)
        queries, base = rows[:count], rows[count:]
        data = base, queries, capball.knn(base, queries, 10)[1]
        for method, bits in ((method, bits) for method in COMPARED for bits in BITS):
            key = f"{name}/{method}/{bits}/0"
            if key not in kept(GENERATED):
                keep(GENERATED, key, measure(method, bits, 0, data))
        print(name, *(f"{gains(kept(GENERATED), [name], COMPARED[1:], bits).get(name, 0):+.1f}" for bits in BITS), flush=True)


def generated_table(store: dict) -> list[str]:
    lines = ["| set | " + " | ".join(f"{b} bits" for b in BITS) + " |", "|---|" + "---|" * len(BITS)]
    for name in dict.fromkeys(key.split("/principal/")[0] for key in store if "/principal/" in key):
        cells = (" / ".join(cell(mean(store, name, m, bits, "10@100")) or "-" for m in COMPARED[:3]) for bits in BITS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines + [""]


# ---- times


def run_speed() -> None:
    """The better of two rounds, or one if it takes long, on one set."""
    base, queries = load(TIMED)
    base, queries = base[:TIMED_ROWS], queries[:TIMED_QUERIES]
    for method, bits in ((method, bits) for method in OURS + RIVALS for bits in TIMED_BITS):
        key, rounds = f"{method}/{bits}", []
        while key not in kept(SPEED) and (not rounds or (len(rounds) < 2 and sum(rounds[0].values()) < 1)):
            try:
                facts = (ours if method in OURS else rival)(method, bits, 0, base, queries)[1]
            except RuntimeError:  # no such code of so few bytes
                break
            rounds.append({what: facts[what] for what in ("train", "encode", "search")})
        if rounds:
            keep(SPEED, key, {what: min(r[what] for r in rounds) for what in rounds[0]})
            print(key, kept(SPEED)[key], flush=True)


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


def run_bounds(names: list[str]) -> None:
    for name in names:
        path = BOUNDS / f"{name}.json"
        for per in (1, 2, 4):
            key = f"{name}/{per}"
            if key not in kept(path):
                result = read_until(name, per)
                keep(path, key, result)
                print(key, result, flush=True)


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


def recall_cell(store: dict, name: str, method: str, bits: int) -> str:
    first = store.get(f"{name}/{method}/{BITS[0] if method == 'RaBitQ' else bits}/0", {})
    if "failed" in first:
        return first["failed"]
    if method == "RaBitQ" and first and first["bytes"] > bits // 8 + 6:
        return f"{first['bytes']} bytes"
    at = BITS[0] if method == "RaBitQ" else bits
    return " / ".join(cell(mean(store, name, method, at, what)) for what in ("10@100", "10@10", "re-ranked")) if first else ""


def set_table(store: dict, name: str) -> list[str]:
    shape = next(v for k, v in store.items() if k.startswith(name + "/principal/64/"))
    lines = [f"### {name}, {shape['rows']} x {shape['d']}", "",
             "| codes | " + " | ".join(f"{b} bits, {b // 8 + 6} bytes" for b in BITS) + " |", "|---|" + "---|" * len(BITS)]
    for method in OURS + RIVALS:
        lines.append(f"| {method} | " + " | ".join(recall_cell(store, name, method, bits) for bits in BITS) + " |")
    return lines + [""]


def gains(store: dict, names, rivals: tuple[str, ...], bits: int) -> dict[str, float]:
    """10@100 of principal minus that of the best of the rivals, by set."""
    result = {}
    for name in names:
        own = mean(store, name, "principal", bits, "10@100")
        theirs = [value for value in (mean(store, name, r, bits, "10@100") for r in rivals) if value is not None]
        if own is not None and theirs:
            result[name] = own - max(theirs)
    return result


def summary(store: dict) -> list[str]:
    tests = [n for n in SETS if n not in CHOSEN_ON]
    lines = ["| 10@100, principal minus | bits | mean of the test sets | least of all sets | where |", "|---|---|---|---|---|"]
    for rival_name in TODAY + RIVALS:
        for bits in BITS:
            of_tests, of_all = gains(store, tests, (rival_name,), bits), gains(store, SETS, (rival_name,), bits)
            if of_tests and rival_name != "RaBitQ":
                least = min(of_all, key=of_all.get)
                lines.append(f"| {rival_name} | {bits} | {np.mean(list(of_tests.values())):+.1f} | {of_all[least]:+.2f} | {least} |")
    return lines + [""]


def verdict(store: dict) -> list[tuple[bool, str]]:
    """What the page claims, each with the figure that decides it."""
    tests = [n for n in SETS if n not in CHOSEN_ON]
    lines = []
    for what, rivals, least in (("the best of earlier variants, LSH and ITQ", TODAY + ("LSH", "ITQ"), 0),
                                ("PCA + RaBitQ of equal bytes, less 1", ("RaBitQ, PCA",), -1),
                                ("PCA + RaBitQ of equal bits, less 1", ("RaBitQ, PCA, equal bits",), -1)):
        cells = {(name, bits): gain for bits in BITS for name, gain in gains(store, SETS, rivals, bits).items()}
        worst = min(cells, key=cells.get)
        lines.append((cells[worst] >= least - 1e-9 and len(cells) == len(SETS) * len(BITS),
                      f"at least {what}: least difference {cells[worst]:+.2f}, {worst[0]} at {worst[1]} bits; {len(cells)} cells"))
    for bits, rival_name in ((bits, r) for bits in BITS[:2] for r in ("RaBitQ, PCA", "RaBitQ, PCA, equal bits")):
        of_tests = gains(store, tests, (rival_name,), bits)
        mean_gain = float(np.mean(list(of_tests.values())))
        lines.append((mean_gain >= 1 and len(of_tests) == len(tests),
                      f"ahead of {rival_name} by 1 in the mean of the test sets, {bits} bits: {mean_gain:+.2f}; {len(of_tests)} sets"))
        # With fewer columns than bits RaBitQ has fewer bits than it could have.
        wide = [gain for name, gain in of_tests.items() if store[f"{name}/principal/64/0"]["d"] >= bits]
        lines.append((np.mean(wide) >= 1, f"the same for test sets of at least {bits} columns: {np.mean(wide):+.2f}; {len(wide)} sets"))
    return lines


def times() -> list[str]:
    lines = [f"On one thread, processor time, {TIMED_ROWS} rows of {TIMED}, {TIMED_QUERIES} queries at once, 100 results for each.", "",
             "| codes | bits | training, s | encoding, us per row | queries per second |", "|---|---|---|---|---|"]
    for key, value in kept(SPEED).items():
        method, _, bits = key.rpartition("/")
        lines.append(f"| {method} | {bits} | {value['train']:.2f} | {1e6 * value['encode'] / TIMED_ROWS:.2f} | "
                     f"{TIMED_QUERIES / value['search']:.0f} |")
    return lines + [""]


def write() -> None:
    store = all_kept(STORE)
    page = PAGE.read_text()
    head, tail = page.split("<!-- measured -->\n")[0], page.split("<!-- end of measurements -->\n")[-1]
    body = ["## What holds", "", *(f"- {'holds' if good else 'does not hold'}: {line}" for good, line in verdict(store)), "",
            "## Summary", "", *summary(store), "## Times", "", *times(), "## Until the bound", "",
            "Percent of the rows that a search for 10 neighbours reads, with one direction for each column, at most 512.", "",
            *bounds_table(all_kept(BOUNDS)), "## Generated sets", "",
            "10@100 of principal, of PCA and RaBitQ with equal bytes, and with equal bits; the number of columns is part of the name.", "",
            *generated_table(kept(GENERATED)), "## Every set", "", "10@100 / 10@10 / 10@10 after re-ranking 100, in percent, means over seeds.", ""]
    for name in SETS:
        if any(k.startswith(name + "/principal/64/") for k in store):
            body += set_table(store, name)
    PAGE.write_text(head + "<!-- measured -->\n" + "\n".join(body) + "<!-- end of measurements -->\n" + tail)


def print_verdict() -> int:
    lines = verdict(all_kept(STORE))
    for good, line in lines:
        print("holds:" if good else "DOES NOT HOLD:", line)
    return 0 if all(good for good, _ in lines) else 1


def main() -> int | None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9)
    for what in ("ours", "rivals", "bounds", "generated", "speed", "verdict", "write"):
        parser.add_argument(f"--{what}", action="store_true")
    o = parser.parse_args()
    if o.write:
        return write()
    if o.verdict:
        return print_verdict()
    if o.generated:
        return run_generated()
    everything = sorted(path.parent.name for path in DATA.glob("*/base.npy"))
    names = [n for n in (o.sets or (everything if o.bounds else SETS)) if n in everything]
    if not names:
        return print("skipped: ../shared/data is not here")
    if o.speed:
        return run_speed()
    if o.bounds:
        return run_bounds(names)
    run(names, OURS if o.ours else RIVALS if o.rivals else OURS + RIVALS, o.seeds, time.monotonic() + o.seconds)


if __name__ == "__main__":
    sys.exit(main())
