"""Any engine made Euclidean: rows go in through a transform, true distances come out.

>>> import numpy as np
>>> from capball.engines import Euclidean
>>> rng = np.random.default_rng(0)
>>> rows, queries = rng.normal(size=(500, 8)), rng.normal(size=(5, 8))
>>> def cosine_engine(rows, queries, k, metric):
...     return np.argsort(-queries @ rows.T, axis=1)[:, :k]
>>> index = Euclidean(cosine_engine).add(rows)
>>> distances, ids = index.search(queries, 3)
>>> bool(np.allclose(distances, np.sort(np.linalg.norm(rows - queries[:, None], axis=2), axis=1)[:, :3]))
True
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import capball

from .adapters import BY_NAME, Annoy, Engine, Faiss, Hnswlib, Pgvector, Scann, Usearch, engine


class Certified(NamedTuple):
    """Neighbours, and for which queries they are proven to be the nearest of all rows."""

    distances: np.ndarray
    ids: np.ndarray
    proven: np.ndarray


class Euclidean:
    """Euclidean k-NN and range search through an engine that ranks by cosine, inner product or anything it has.

    engine      a name of `BY_NAME`, an adapter, or a function (rows, queries, k, metric) -> ids
    transform   "sphere" (the default), "lift-ip", "lift-cosine", "normalize", or "none" for the engine's own L2
    map         a fitted SphereMap; None: fitted to the first rows, scale = `scale` times the mean norm
    candidates  how many rows the engine is asked for, which are then put in order by exact distances; None: 10 k, at
                least 100
    ball        ask by the ball of the usual k-th distance instead of by the point (sphere only)
    """

    def __init__(self, engine_: Any = "hnswlib", *, transform: str = "sphere", map: capball.SphereMap | None = None,
                 scale: float = 1.0, candidates: int | None = None, ball: bool = True, metric: str | None = None,
                 **settings: Any) -> None:
        self.engine: Engine = engine(engine_, **settings)
        self.transform, self.map, self.scale = transform, map, scale
        self.candidates, self.ball = candidates, ball
        self.metric = metric or self._usual_metric()
        if self.metric not in self.engine.metrics:
            raise ValueError(f"the engine ranks by {', '.join(self.engine.metrics)}, not by {self.metric}")
        self.rows: np.ndarray | None = None
        self.radius: float = 0.0
        self._k: int = 0

    def _usual_metric(self) -> str:
        return {"lift-ip": "ip", "none": "l2", "center": "l2", "ip-l2": "l2"}.get(self.transform, "cosine")

    def add(self, rows: Any) -> "Euclidean":
        """Takes rows in, after those that are there already; the index is built from all of them."""
        rows = np.ascontiguousarray(rows)
        self.rows = rows if self.rows is None else np.concatenate([self.rows, rows])
        self._fit(self.rows)
        self.engine.build(self._embed(self.rows), self.metric)
        self._k = 0
        return self

    def _fit(self, rows: np.ndarray) -> None:
        if self.transform != "sphere":
            self.lift = capball.Transform.fit(self.transform, rows)
        elif self.map is None:
            fitted = capball.fit(rows)
            self.map = capball.SphereMap(fitted.d, fitted.s * self.scale, fitted.center)

    def _embed(self, rows: np.ndarray) -> np.ndarray:
        return self.map.embed(rows, dtype="float32") if self.transform == "sphere" else self.lift.embed(rows, dtype="float32")

    def _usual_radius(self, k: int) -> float:
        if self._k != k:
            some = self.rows[np.linspace(0, len(self.rows) - 1, min(64, len(self.rows))).astype(int)]
            near = capball.knn(self.rows, some, min(k + 1, len(self.rows))).distances[:, -1]
            self.radius, self._k = float(np.median(near)), k
        return self.radius

    def _ask(self, queries: np.ndarray, k: int) -> np.ndarray:
        if self.transform != "sphere":
            return self.lift.query(queries, dtype="float32")
        return self.map.query(queries, self._usual_radius(k) if self.ball else 0.0, dtype="float32")[0]

    def _queries(self, queries: Any) -> np.ndarray:
        if self.rows is None:
            raise ValueError("there are no rows yet: add some")
        return np.atleast_2d(np.asarray(queries))

    def search(self, queries: Any, k: int = 10, *, certificates: bool = False) -> capball.Neighbors | Certified:
        """(distances, ids) of the k nearest among the candidates, by exact Euclidean distances.

        certificates  also a flag for each query: True where all rows were looked at and none that the engine left out is
                      nearer, whatever it did (sphere only); the distances are those of the embedded rows then
        """
        queries = self._queries(queries)
        count = min(len(self.rows), max(k, self.candidates or max(100, 10 * k)))
        ids = self.engine.search(self._ask(queries, k), count)
        counts = (ids >= 0).sum(axis=1)
        if counts.min() < k:
            raise ValueError(f"the engine found {counts.min()} rows for some query, wanted {k}")
        if certificates:
            return self._certify(queries, ids[:, : counts.min()], k)
        distances, near = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        for count in np.unique(counts):  # some engines find fewer for some queries
            those = counts == count
            distances[those], near[those] = capball.rerank(self.rows, queries[those], ids[those][:, :count], k)
        return capball.Neighbors(distances, near)

    def _certify(self, queries: np.ndarray, ids: np.ndarray, k: int) -> Certified:
        if self.transform != "sphere":
            raise ValueError(f"certificates are those of the sphere, not of {self.transform}")
        radius = self.radius if self.ball else 0.0
        found = capball.rescore(self.map, queries, ids, self._embed(self.rows), k, radius=radius, certificates=True)
        return Certified(found.distances, found.ids, found.proven)

    def range(self, queries: Any, radius: float, most: int = 1000) -> list[capball.Neighbors]:
        """The rows within the radius of each query among the engine's best `most`, nearest first."""
        queries = self._queries(queries)
        asked = self.map.query(queries, radius, dtype="float32")[0] if self.transform == "sphere" else self._ask(queries, 10)
        ids = self.engine.search(asked, min(len(self.rows), most))
        found = []
        for query, some in zip(queries, ids):
            some = some[some >= 0]
            near = capball.rerank(self.rows, query[None], some[None], len(some))
            inside = near.distances[0] <= radius
            found.append(capball.Neighbors(near.distances[0][inside], near.ids[0][inside]))
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes rows, map and index into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "rows.npy", self.rows)
        if self.transform == "sphere":
            self.map.save(folder / "map.json")
        self.engine.save(folder / "index")
        facts = {"transform": self.transform, "metric": self.metric, "candidates": self.candidates, "ball": self.ball}
        (folder / "index.json").write_text(json.dumps(facts))

    def load(self, folder: str | os.PathLike[str]) -> "Euclidean":
        """Reads what `save` wrote into an object made with the same engine."""
        folder = Path(folder)
        facts = json.loads((folder / "index.json").read_text())
        if facts["transform"] != self.transform or facts["metric"] != self.metric:
            raise ValueError(f"{folder} holds {facts['transform']} by {facts['metric']}, "
                             f"wanted {self.transform} by {self.metric}")
        self.rows = np.load(folder / "rows.npy")
        if self.transform == "sphere":
            self.map = capball.SphereMap.load(folder / "map.json")
        self._fit(self.rows)
        self.engine.load(folder / "index", self._embed(self.rows[:1]).shape[1], self.metric)
        return self


__all__ = ["BY_NAME", "Annoy", "Certified", "Engine", "Euclidean", "Faiss", "Hnswlib", "Pgvector", "Scann", "Usearch", "engine"]
