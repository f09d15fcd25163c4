"""HIOB-like sketches of Euclidean rows, beside random hyperplanes, ITQ and faiss' LSH."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from .plots import plotter
from .section import Section, Table
from .steps import Step

NAME = "hiob_sketches"
TITLE = "Binary sketches: HIOB on Euclidean rows"
ABOUT = """The paper names HIOB as an algorithm for spherical data that the embedding opens to Euclidean rows. Codes of 256 bits; the share of the true ten
nearest rows among the 100 rows whose codes are nearest (10@100). Trained bits turn away from each other until they agree on half of the rows; on embedded
rows every bit is a ball. Rivals: the same on centred directions, bits not trained, ITQ (PCA and a turned quantisation, faiss) and faiss' LSH."""

K, CANDIDATES = 10, 100
KINDS = {"embedded": (), "centred": (), "random-embedded": (), "random-centred": (), "ITQ": ("faiss-cpu",), "faiss LSH": ("faiss-cpu",)}


def turned(rows: np.ndarray, bits: int, rng: np.random.Generator, steps: int = 60) -> np.ndarray:
    """HIOB: normals of pairs of rows that turn away from each other, all at once, until a step gains little."""
    jitter = np.sqrt(bits) / 16
    pairs = rows[rng.integers(0, len(rows), bits)] - rows[rng.integers(0, len(rows), bits)]
    unit = lambda c: c / np.maximum(np.linalg.norm(c, axis=1, keepdims=True), 1e-300)  # noqa: E731
    normals, strength, best = unit(unit(pairs) + jitter * unit(rng.standard_normal(pairs.shape))), 1.0, np.inf
    for _ in range(steps):
        signs = np.where(rows @ normals.T >= 0, 1.0, -1.0)
        lean = signs.T @ signs / len(rows)
        np.fill_diagonal(lean, 0)
        mean = np.abs(lean).mean()
        if mean > best:
            normals, strength = kept, strength / 2
        elif mean > 0.97 * best and np.isfinite(best):
            break
        kept, best = (normals, mean) if mean <= best else (kept, best)
        products = np.clip(normals @ normals.T, -1, 1)
        weights = np.tan(np.clip(strength / bits * lean * np.pi / 2, -1.5, 1.5)) / np.sqrt(np.maximum(1 - products**2, 1e-12))
        np.fill_diagonal(weights, 0)
        normals = unit(normals * (1 + (weights * products).sum(1, keepdims=True)) - weights @ normals)
    return kept


def bits_of(data: Any, kind: str, bits: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Signs of products with normals, of embedded rows or of centred directions."""
    base, queries = (np.ascontiguousarray(x, np.float64) for x in (data.base, data.queries))
    embed = capball.SphereMap.fit(base).embed
    if kind.endswith("centred"):
        mean = base.mean(0)
        embed = lambda x: (x - mean) / np.maximum(np.linalg.norm(x - mean, axis=1, keepdims=True), 1e-300)  # noqa: E731
    rng = np.random.default_rng(seed)
    images, asked = embed(base), embed(queries)
    sample = images[rng.permutation(len(images))[:8192]]
    normals = rng.standard_normal((bits, images.shape[1])) if kind.startswith("random") else turned(sample, bits, rng)
    return tuple(np.packbits(y @ normals.T >= 0, axis=1, bitorder="little") for y in (images, asked))


def codes_of(data: Any, kind: str, bits: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    base, queries = data.base, data.queries
    if kind not in ("ITQ", "faiss LSH"):
        return bits_of(data, kind, bits, seed)
    import faiss

    base, queries = np.ascontiguousarray(base, np.float32), np.ascontiguousarray(queries, np.float32)
    mean = base.mean(0)
    base, queries = base - mean, queries - mean
    if kind == "faiss LSH":
        index = faiss.IndexLSH(base.shape[1], bits, True, True)
        index.train(base)
        return index.sa_encode(base), index.sa_encode(queries)
    turn = faiss.ITQTransform(base.shape[1], min(bits, base.shape[1]), True)
    turn.train(base[:20000])
    return tuple(np.packbits(turn.apply(rows) > 0, axis=1, bitorder="little") for rows in (base, queries))


def hamming_recall(data: Any, kind: str, bits: int, seed: int) -> dict[str, Any]:
    limits = capball.knn(data.base, data.queries, K).distances[:, -1] * (1 + 1e-9)
    base, queries = codes_of(data, kind, bits, seed)
    ids = capball._core.hamming_knn(np.ascontiguousarray(base), np.ascontiguousarray(queries), CANDIDATES, None)[1]
    near = capball.rerank(data.base, data.queries, ids, K).distances
    return {"recall": float(100 * (near <= limits[:, None]).mean()), "bits": int(8 * base.shape[1])}


def plan(job: Any) -> list[Step]:
    sets = [s for s in job.euclidean_sets() if s.base.shape[1] >= 16]
    return [Step(hamming_recall, {"kind": kind, "bits": 64 if job.level == "short" else 256, "seed": seed}, data, needs, (codes_of, bits_of, turned), seconds=3)
            for seed in range(job.seeds) for data in sets for kind, needs in KINDS.items()]


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    told: dict[tuple[str, str], list[Any]] = {}
    for step, result in zip(steps, given):
        if "recall" in result:
            told.setdefault((step.data.name, step.settings["kind"]), []).append(result)
        elif f"{step.settings['kind']}: {result['missing']}" not in section.notes:
            section.notes.append(f"{step.settings['kind']}: {result['missing']}")
    names = [n for n in dict.fromkeys(s.data.name for s in steps) if all((n, kind) in told for kind, needs in KINDS.items() if not needs)]
    if not names:
        return
    rows = []
    for name in names:
        cells = []
        for kind in KINDS:
            got = told.get((name, kind))
            cells.append(section.put_mean(f"{name}.{kind}".replace(" ", "-"), [g["recall"] for g in got], "%", 1) if got else "not run")
        rows.append([name, *cells])
    gains = [np.mean([g["recall"] for g in told[(n, "embedded")]]) - np.mean([g["recall"] for g in told[(n, "random-centred")]]) for n in names]
    section.put("gain.least", min(gains), "points", 1)
    section.put("gain.most", max(gains), "points", 1)
    against = [np.mean([g["recall"] for g in told[(n, "embedded")]]) - np.mean([g["recall"] for g in told[(n, "centred")]]) for n in names]
    section.put("sphere-gain.least", min(against), "points", 1)
    section.put("sphere-gain.most", max(against), "points", 1)
    section.tables.append(Table("10@100 with 256 bits, %", ["set", *KINDS], rows, "ITQ has at most as many bits as the rows have columns."))
    plt = plotter(NAME)
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(9, 3.6))
    for i, kind in enumerate(KINDS):
        values = [np.mean([g["recall"] for g in told[(n, kind)]]) if (n, kind) in told else 0 for n in names]
        if any(values):
            axes.bar(np.arange(len(names)) + 0.14 * (i - 2.5), values, 0.13, label=kind)
    axes.set_xticks(range(len(names)), [n.replace("-euclidean", "") for n in names], rotation=20, ha="right")
    axes.set(ylabel="10@100 recall, %", xlabel="data set", title="codes of 256 bits", ylim=(0, 100))
    axes.legend(fontsize=7, ncols=3, loc="lower left")
    section.draw(figure, "Recall of binary sketches", "Bars of recall for six kinds of codes on every Euclidean set.")
