#!/usr/bin/env python3
"""Joined sketches beside codes of faiss of as many bytes, all counted, on the sets of ../shared/data.

    python3 bench/sketch_rivals.py [--bytes 16,32,64] [--rows 20000] [set ..]    recall of the estimate alone, 10@10 and 10@100
    python3 bench/sketch_rivals.py --speed                                       scans of 32 bytes, one thread, time of the processor

Measurements are stored under build/sketches, one file for each set, so that a run can be ended and continued. Rivals: PQ, OPQ,
PCA + PQ, PCA + one byte a number, PCA + four bits a number, RaBitQ of 1, 2 and 4 bits, PQ fast scan, and ScaNN where it is installed.
Those that cannot have as many bytes are left out. Needs the capball package, NumPy and faiss.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX" if "avx512f" in Path("/proc/cpuinfo").read_text() else "")
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
STORE = ROOT / "build" / "sketches"
SETS = ("reuters-256-angular", "bigann10k-sift-128-euclidean", "glove-100-angular", "lastfm-65-angular", "movies-mf-16-angular",
        "sift-bsds-128-euclidean", "mnist-784-euclidean", "fashion-mnist-784-euclidean", "blobs-16-euclidean", "moons-2-euclidean")
QUERIES = 300


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows and queries; those of angular sets are divided by their norms."""
    base = np.load(DATA / name / "base.npy", mmap_mode="r")[:rows].astype("f4")
    queries = np.load(DATA / name / "queries.npy")[:QUERIES].astype("f4")
    if name.endswith("angular"):
        base, queries = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-20) for x in (base, queries))
    return np.ascontiguousarray(base), np.ascontiguousarray(queries)


def recall(found: np.ndarray, right: np.ndarray) -> list[float]:
    """10@10 and 10@100, in percent."""
    return [100 * float(np.mean([len(np.intersect1d(a[:n], b)) / 10 for a, b in zip(found, right)])) for n in (10, 100)]


def ours(base: np.ndarray, queries: np.ndarray, size: int) -> tuple[np.ndarray, int, str]:
    import capball

    sketch = capball.Sketch.fit(base, bytes=size)
    return sketch.prepare(sketch.encode(base)).search(queries, 100).ids, sketch.code_bytes, str(sketch.form)


def specs(d: int, size: int) -> dict[str, str]:
    """Factory strings of faiss; a reduction to more columns than there are is left out by whoever reads them."""
    wide = size * max(1, round(d / size))
    return {"PQ": f"PQ{size}x8np", "PCA + PQ": f"PCA{d // size * size},PQ{size}x8np", "OPQ": f"OPQ{size}_{wide},PQ{size}x8np",
            "PCA + SQ8": f"PCA{min(size, d)},SQ8", "PCA + SQ4": f"PCA{min(2 * size, d)},SQ4",
            "RaBitQ": f"PCA{min(8 * (size - 8), d)},RaBitQ", "RaBitQ 2": f"PCA{min(4 * (size - 20), d)},RaBitQ2",
            "RaBitQ 4": f"PCA{min(2 * (size - 20), d)},RaBitQ4", "PQ fast scan": f"PQ{2 * size}x4fs"}


def pieces(base: np.ndarray, queries: np.ndarray, name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of zeros, so that PQ can cut rows into equal parts."""
    parts = {"PQ": size, "PQ fast scan": 2 * size}.get(name, 1)
    pad = ((0, 0), (0, -base.shape[1] % parts))
    return np.pad(base, pad), np.pad(queries, pad)


def of_faiss(base: np.ndarray, queries: np.ndarray, name: str, size: int) -> tuple[np.ndarray, int]:
    import faiss

    base, queries = pieces(base, queries, name, size)
    index = faiss.index_factory(base.shape[1], specs(base.shape[1], size)[name])
    index.train(base)
    index.add(base)
    inner = faiss.downcast_index(index.index) if isinstance(index, faiss.IndexPreTransform) else index
    return index.search(queries, 100)[1], inner.sa_code_size() if hasattr(inner, "sa_code_size") else inner.code_size


def of_scann(base: np.ndarray, queries: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    import scann

    per = max(1, -(-base.shape[1] // (2 * size)))  # columns of four bits
    index = scann.scann_ops_pybind.builder(base, 100, "squared_l2").score_ah(per).build()
    return index.search_batched(queries)[0].astype(np.int64), -(-base.shape[1] // per) // 2


def measure(name: str, sizes: list[int], rows: int) -> None:
    import capball

    path = STORE / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    base, queries = load(name, rows)
    right = capball.knn(base, queries, 10).ids
    for size in sizes:
        for what in ("capball", *specs(base.shape[1], size), "ScaNN"):
            key = f"{size}/{what}"
            if key not in known:
                try:
                    found, used, *form = (ours(base, queries, size) if what == "capball" else of_scann(base, queries, size)
                                          if what == "ScaNN" else of_faiss(base, queries, what, size))
                    known[key] = {"recall": recall(found, right), "bytes": used, "form": form}
                except (RuntimeError, ImportError, ValueError) as why:
                    known[key] = {"left out": str(why)[-80:]}
                path.write_text(json.dumps(known, indent=1))
            print(name, key, known[key], flush=True)
        fair = {k: v["recall"][0] for k, v in known.items()
                if k.startswith(f"{size}/") and "recall" in v and v["bytes"] <= size and not k.endswith("capball")}
        if fair:
            best = max(fair, key=fair.get)
            print(f"{name}, {size} bytes: capball {known[f'{size}/capball']['recall'][0]:.1f}, best rival {best} {fair[best]:.1f}", flush=True)


def speed() -> None:
    import capball
    import faiss

    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((100000, 128)) / (1 + np.arange(128) / 16)).astype("f4")
    sketch = capball.Sketch.fit(rows, bytes=32, threads=1)
    prepared = sketch.prepare(sketch.encode(rows, threads=1))
    runs = {"capball, 32 bytes": lambda queries: prepared.search(queries, 10, threads=1)}
    for spec in ("PQ32x8np", "PQ64x4fs"):
        index = faiss.index_factory(128, spec)
        index.train(rows[:10000])
        index.add(rows)
        runs[f"faiss {spec}"] = lambda queries, index=index: index.search(queries, 10)
    best = dict.fromkeys(runs, np.inf)
    for _ in range(7):  # in turns, so that other load meets all of them
        for name, run in runs.items():
            began = time.process_time()
            run(rows[:100])
            best[name] = min(best[name], time.process_time() - began)
    for name, seconds in best.items():
        print(f"{name}: {100 * len(rows) / seconds / 1e6:.0f} million rows a second; {seconds / best['capball, 32 bytes']:.2f} times our time")


def main() -> int | None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--bytes", default="16,32,64")
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--speed", action="store_true")
    o = parser.parse_args()
    if o.speed:
        return speed()
    names = [n for n in o.sets or SETS if (DATA / n / "base.npy").exists()]
    if not names:
        return print("skipped: ../shared/data is not here")
    for name in names:
        measure(name, [int(size) for size in o.bytes.split(",")], o.rows)


if __name__ == "__main__":
    sys.exit(main())
