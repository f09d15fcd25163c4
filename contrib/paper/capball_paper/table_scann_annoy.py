"""The table of the paper: 10@10 recall of ScaNN and Annoy before and after (un)embedding, and what ball queries, other scales,
the exact lifts and exact rescoring of 100 candidates give on the same rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import capball

from .section import Section
from .steps import Step

NAME = "table_scann_annoy"
TITLE = "ScaNN and Annoy: 10@10 recall"
ABOUT = """Rows go into an index in several ways; the true ten nearest rows are counted among its first ten answers (a row that is
as near as the tenth counts). As in the paper: Euclidean sets are centred, s is the mean norm, the unembedding is normalise, turn
the mean direction to the pole, S⁻¹ at scale 1, and nothing is tuned. ScaNN: tree of 2000 leaves, 100 searched, score_ah(2,
threshold 0.2), reorder(100), leaves trained on at most 20000 rows. Annoy: 10 trees, its own search_k. The scan compares all rows
and has no error of its own. A seed orders the rows anew (and is Annoy's seed); after it stands half the range over the seeds.
Seconds are those of the processor."""

K, CANDIDATES = 10, 100
# the paper's table: direct, embedded, unembedded
PAPER = {
    "scann": {"Normalized Blobs 50": (72.78, 72.96, 26.83), "Normalized Blobs 100": (80.95, 80.95, 26.73), "GloVe": (89.95, 90.08, 54.84),
              "NY Times": (81.11, 80.80, 61.44), "Last.fm": (87.93, 86.35, 32.32), "Blobs 50": (38.93, 70.04, 28.13),
              "Blobs 100": (37.38, 74.99, 25.58), "Fashion MNIST": (99.85, 75.69, 65.82), "SIFT": (98.39, 84.05, 55.90)},
    "annoy": {"Normalized Blobs 50": (35.70, 35.99, 41.79), "Normalized Blobs 100": (26.10, 26.38, 30.18), "GloVe": (7.13, 7.15, 16.84),
              "NY Times": (14.50, 14.82, 21.52), "Last.fm": (16.99, 18.44, 3.89), "Blobs 50": (41.54, 34.23, 40.88),
              "Blobs 100": (30.11, 27.25, 30.48), "Fashion MNIST": (85.59, 66.84, 65.57), "SIFT": (35.74, 26.64, 32.88)},
}
# way -> how the engine compares
WAYS = {"raw rows": "cosine", "own L2": "l2", "unembedded": "l2", "S": "cosine", "S recall": "cosine", "lift-ip": "ip", "lift-cosine": "cosine"}
ENGINES = {"scan": (), "annoy": ("annoy",), "scann": ("scann",)}


class Scan:
    """All rows compared."""

    def __init__(self, rows: np.ndarray, metric: str, seed: int, leaves: int) -> None:
        self.rows, self.metric = rows, metric

    def ask(self, queries: np.ndarray, k: int) -> np.ndarray:
        return capball.knn(self.rows, queries, k, self.metric).ids


class ScannIndex:
    """The constants of the paper's trial; a searcher per number of answers costs nothing."""

    def __init__(self, rows: np.ndarray, metric: str, seed: int, leaves: int) -> None:
        import scann

        builder = scann.scann_ops_pybind.builder(rows, K, "squared_l2" if metric == "l2" else "dot_product")
        builder = builder.tree(num_leaves=leaves, num_leaves_to_search=max(1, leaves // 20), training_sample_size=min(len(rows), 20000))
        self.index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()

    def ask(self, queries: np.ndarray, k: int) -> np.ndarray:
        found, distances = self.index.search_batched(queries, final_num_neighbors=k)
        return np.where(np.isnan(distances), -1, np.asarray(found).astype(np.int64))  # it fills up with row 0 and NaN


class AnnoyTrees:
    """Ten trees; search_k is Annoy's own, trees x answers."""

    def __init__(self, rows: np.ndarray, metric: str, seed: int, leaves: int) -> None:
        from annoy import AnnoyIndex

        self.index = AnnoyIndex(rows.shape[1], {"cosine": "angular", "l2": "euclidean", "ip": "dot"}[metric])
        self.index.set_seed(seed + 1)
        for i, row in enumerate(rows):
            self.index.add_item(i, row)
        self.index.build(10, n_jobs=1)

    def ask(self, queries: np.ndarray, k: int) -> np.ndarray:
        ids = np.full((len(queries), k), -1, np.int64)
        for row, query in zip(ids, queries):
            some = self.index.get_nns_by_vector(query, k)
            row[: len(some)] = some
        return ids


def make(engine: str) -> Any:
    return {"scan": Scan, "scann": ScannIndex, "annoy": AnnoyTrees}[engine]


def floats(rows: Any) -> np.ndarray:
    return np.ascontiguousarray(rows, np.float32)


def usual_radius(base: np.ndarray) -> float:
    """The median distance to the tenth neighbour over 200 rows of the base."""
    some = base[np.linspace(0, len(base) - 1, 200).astype(int)]
    return float(np.median(capball.knn(base, some, K + 1).distances[:, K]))


def prepared(data: Any, way: str) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, float]]:
    """Rows for the engine, queries by form, and what was chosen."""
    base, queries, facts = data.base, data.queries, {}
    if way in ("S", "S recall"):
        chosen = capball.fit(base, center=not data.angular, goal="recall" if way == "S recall" else "mean")
        facts = {"s": chosen.s, "radius": usual_radius(base)}
        asked = {"point": chosen.query(queries, 0.0, dtype="float32")[0], "ball": chosen.query(queries, facts["radius"], dtype="float32")[0]}
        return chosen.embed(base, dtype="float32"), asked, facts
    if way == "unembedded":
        mean = 0 if data.angular else base.mean(axis=0, dtype=np.float64)
        base, queries = base - mean, queries - mean
        turned = capball.fit(base, spherical=True)
        return turned.unembed(base, dtype="float32"), {"point": turned.unembed(queries, dtype="float32")}, facts
    if way.startswith("lift"):
        lift = capball.Transform.fit(way, base)
        return lift.embed(base, dtype="float32"), {"point": lift.query(queries, dtype="float32")}, facts
    return floats(base), {"point": floats(queries)}, facts


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """ScaNN has no cosine: its inner product on directions is one."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return floats(rows / np.where(norms == 0, 1, norms))


def share_found(base: np.ndarray, queries: np.ndarray, ids: np.ndarray, limits: np.ndarray) -> float:
    """The share of the true ten among some answers, in %."""
    good = 0
    for query, some, limit in zip(queries, ids, limits):
        near = rescore(base, query, some[some >= 0], len(some)).distances
        good += min(K, int((near <= limit).sum()))
    return 100 * good / (K * len(ids))


def rescore(base: np.ndarray, query: np.ndarray, some: np.ndarray, k: int) -> capball.Neighbors:
    """The k nearest of the candidates of one query, by exact distances."""
    if len(some) == 0:
        return capball.Neighbors(np.empty(0), some)
    near = capball.rerank(base, query[None], some[None], min(k, len(some)))
    return capball.Neighbors(near.distances[0], near.ids[0])


def best_ten(base: np.ndarray, queries: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The ten nearest of the candidates of every query."""
    ten = np.full((len(ids), K), -1, np.int64)
    for row, query, some in zip(ten, queries, ids):
        near = rescore(base, query, some[some >= 0], K).ids
        row[: len(near)] = near
    return ten


def recall(data: Any, engine: str, way: str, seed: int, leaves: int) -> dict[str, Any]:
    """One index; for each form of query: 10@10, the same after exact rescoring of 100, the ceiling of these, and times."""
    metric = "cosine" if way == "own L2" and data.angular else WAYS[way]
    base = data.base
    limits = capball.knn(base, data.queries, K).distances[:, -1] * (1 + 1e-9)
    rows, asked, facts = prepared(data, way)
    order = np.random.default_rng(seed).permutation(len(rows))
    rows = floats(rows[order])
    if engine == "scann" and metric == "cosine":
        rows = unit_rows(rows)
    began = time.process_time()
    index = make(engine)(rows, metric, seed, leaves)
    told: dict[str, Any] = {**facts, "build": time.process_time() - began, "forms": {}}
    for form, queries in asked.items():
        began = time.process_time()
        ten = index.ask(floats(queries), K)
        seconds = time.process_time() - began
        many = index.ask(floats(queries), min(CANDIDATES, len(rows)))
        ten, many = np.where(ten >= 0, order[ten], -1), np.where(many >= 0, order[many], -1)
        told["forms"][form] = {"recall": share_found(base, data.queries, ten, limits),
                               "rescored": share_found(base, data.queries, best_ten(base, data.queries, many), limits),
                               "ceiling": share_found(base, data.queries, many, limits), "query": seconds}
    return told


def query_error(data: Any, engine: str, way: str, seed: int, leaves: int) -> dict[str, float]:
    """The standard error of 10@10 by the choice of the queries, of which the paper may have had others."""
    limits = capball.knn(data.base, data.queries, K).distances[:, -1] * (1 + 1e-9)
    rows, asked, _ = prepared(data, way)
    rows = floats(rows)
    if engine == "scann" and WAYS[way] == "cosine":
        rows = unit_rows(rows)
    ten = make(engine)(rows, WAYS[way], seed, leaves).ask(floats(asked["point"]), K)
    each = [share_found(data.base, data.queries[i : i + 1], ten[i : i + 1], limits[i : i + 1]) for i in range(len(ten))]
    return {"error": float(np.std(each, ddof=1) / np.sqrt(len(each)))}


def leaves_for(data: Any, wanted: int) -> int:
    """A tree cannot have more leaves than rows: there it has one for eight of them."""
    return wanted if len(data.base) >= wanted else max(1, len(data.base) // 8)


def plan(job: Any) -> list[Step]:
    steps = []
    for seed in range(job.seeds):
        for data in job.search_sets():
            for engine, needs in ENGINES.items():
                if engine == "scan" and seed:
                    continue  # nothing random in it
                for way in WAYS:
                    if way == "raw rows" and data.angular:
                        continue  # its own index already
                    size = len(data.base) * data.base.shape[1]
                    seconds = {"scan": 0.4, "annoy": 0.5 + size * 5e-7, "scann": 1 + size * 1e-6}[engine]
                    steps.append(Step(recall, {"engine": engine, "way": way, "seed": seed, "leaves": leaves_for(data, job.leaves)}, data, needs,
                                      (make, Scan, ScannIndex, AnnoyTrees, prepared, share_found, rescore, best_ten, usual_radius, unit_rows), seconds=seconds))
            data.forget()
    for data in job.search_sets():
        for engine, way in ((e, w) for e in PAPER for w in ("own L2", "S") if data.same):
            steps.append(Step(query_error, {"engine": engine, "way": way, "seed": 0, "leaves": leaves_for(data, job.leaves)}, data, ENGINES[engine],
                              (make, Scan, ScannIndex, AnnoyTrees, prepared, share_found, rescore, unit_rows), seconds=60))
    return steps


def gather(steps: list[Step], given: list[Any]) -> dict[tuple[str, str, str, str], list[Any]]:
    """(engine, set, way, form) -> what each seed gave."""
    told: dict[tuple[str, str, str, str], list[Any]] = {}
    for step, result in zip(steps, given):
        for form, figures in result.get("forms", {}).items():
            key = (step.settings["engine"], step.data.name, step.settings["way"], form)
            told.setdefault(key, []).append({**figures, "build": result["build"], "s": result.get("s")})
    return told


COLUMNS = [("raw rows", "point", "raw rows, cosine"), ("own L2", "point", "own L2 or angular"), ("unembedded", "point", "unembedded"),
           ("S", "point", "S(q)"), ("S", "ball", "ball query"), ("S recall", "point", "S(q), s for recall"),
           ("S recall", "ball", "ball, s for recall"), ("lift-ip", "point", "lift-ip"), ("lift-cosine", "point", "lift-cosine")]


def absent(way: str, data: Any) -> str:
    return "as its own" if way == "raw rows" and data.angular else "not run"


def cells(section: Section, told: Any, engine: str, data: Any, figure: str) -> list[Any]:
    row = []
    for way, form, _ in COLUMNS:
        seeds = told.get((engine, data.name, way, form))
        key = f"{engine}.{data.name}.{way}.{form}.{figure}".replace(" ", "-")
        row.append(section.put_mean(key, [s[figure] for s in seeds], "%") if seeds else absent(way, data))
    return row


def time_cells(section: Section, told: Any, engine: str, data: Any, figure: str) -> list[Any]:
    row = []
    for way, form, _ in COLUMNS:
        seeds = told.get((engine, data.name, way, form))
        key = f"{engine}.{data.name}.{way}.{form}.{figure}".replace(" ", "-")
        row.append(section.put(key, float(np.median([s[figure] for s in seeds])), "s") if seeds else absent(way, data))
    return row


def paper_cells(section: Section, engine: str, data: Any) -> list[Any]:
    if engine not in PAPER or data.paper is None:
        return ["-"] * 3
    names = ("direct", "embedded", "unembedded")
    return [section.put(f"paper.{engine}.{data.paper}.{name}".replace(" ", "-"), value, "%", 2) for name, value in zip(names, PAPER[engine][data.paper])]


def draw(section: Section, job: Any, told: Any, sets: list[Any]) -> None:
    from .plots import plotter

    plt = plotter(NAME)
    if plt is None:
        return
    shown = [("own L2", "point"), ("S", "point"), ("S", "ball"), ("S recall", "ball")]
    for engine in ENGINES:
        here = [d for d in sets if all((engine, d.name, *w) in told for w in shown)]
        if not here:
            continue
        figure, axes = plt.subplots(figsize=(8.5, 1.2 + 0.42 * len(here)))
        for i, ((way, form), label) in enumerate(zip(shown, ("own L2 or angular index", "S(q), s = mean norm (the paper)", "ball query, same index", "ball query, s for recall"))):
            values = [np.mean([s["recall"] for s in told[(engine, d.name, way, form)]]) for d in here]
            axes.barh(np.arange(len(here)) + 0.2 * (i - 1.5), values, 0.19, label=label)
        for row, d in enumerate(here):
            if engine in PAPER and d.paper:
                axes.plot([PAPER[engine][d.paper][1]], [row - 0.1], "k|", ms=9, label="the paper's S" if d is here[0] or "the paper's S" not in axes.get_legend_handles_labels()[1] else None)
        axes.set_yticks(range(len(here)), [d.name for d in here])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("10@10 recall, %")
        axes.set_ylabel("data set")
        axes.set_title(f"{engine}: the query form decides, not the sphere")
        axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.5 / (1 + 0.35 * len(here))), ncols=2)
        section.draw(figure, f"Recall of {engine}", f"Bars of 10@10 recall for {engine} on {len(here)} sets: its own index, S with point queries, S with ball queries, and ball queries at the scale for recall.")


def worst_ball(section: Section, told: Any, sets: list[Any]) -> list[list[Any]]:
    """Where a ball query finds less than the point query by more than a point."""
    rows, worst = [], 0.0
    for (engine, name, way, form), seeds in told.items():
        if form != "ball":
            continue
        gain = np.mean([s["recall"] for s in seeds]) - np.mean([s["recall"] for s in told[(engine, name, way, "point")]])
        worst = min(worst, gain)
        if gain < -1:
            key = f"loss.{engine}.{name}.{way}".replace(" ", "-")
            rows.append([engine, name, way, section.put(key, gain, "points", 2)])
    section.put("ball.worst", worst, "points", 2)
    return rows


def ceiling_gap(section: Section, told: Any) -> None:
    gaps = [abs(s["rescored"] - s["ceiling"]) for seeds in told.values() for s in seeds]
    section.put("rescored.ceiling-gap", max(gaps, default=0.0), "points", 2)


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    told, sets = gather(steps, given), job.search_sets()
    for step, result in zip(steps, given):
        if "missing" in result and f"{step.settings['engine']}: {result['missing']}" not in section.notes:
            section.notes.append(f"{step.settings['engine']}: {result['missing']}")
    heads = [label for _, _, label in COLUMNS]
    from .section import Table

    for engine in ENGINES:
        rows = [[d.name, *paper_cells(section, engine, d), *cells(section, told, engine, d, "recall")] for d in sets]
        gone = [[name, *["this set is not here"] + [""] * (len(heads) + 2)] for name in job.absent()]
        section.tables.append(Table(f"{engine}: 10@10 recall, %", ["set", "paper: direct", "paper: S", "paper: unembedded", *heads], rows + gone))
        rows = [[d.name, *cells(section, told, engine, d, "rescored")] for d in sets]
        section.tables.append(Table(f"{engine}: the same with 100 candidates rescored exactly, %", ["set", *heads], rows))
        rows = [[d.name, *time_cells(section, told, engine, d, "build")] for d in sets]
        rows += [[f"{d.name}, queries", *time_cells(section, told, engine, d, "query")] for d in sets]
        section.tables.append(Table(f"{engine}: seconds of the processor to build, and for all queries", ["set", *heads], rows))
    for step, result in zip(steps, given):
        if "error" in result:
            section.put(f"error.{step.settings['engine']}.{step.data.name}.{step.settings['way']}".replace(" ", "-"), result["error"], "points", 2)
    lost = worst_ball(section, told, sets)
    ceiling_gap(section, told)
    if lost:
        section.tables.append(Table("Where ball queries find less than point queries by more than a point", ["engine", "set", "index", "gain"], lost,
                                    "One radius, the median, for all queries: where distances to the tenth neighbour differ by orders of magnitude (many rows nearly at one place, others far apart) it is too large for the dense part."))
    draw(section, job, told, sets)
