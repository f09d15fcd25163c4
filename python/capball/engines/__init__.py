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
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import capball

from .adapters import BY_NAME, Annoy, Engine, Faiss, Hnswlib, Pgvector, Scann, Usearch, _full, engine


class Certified(NamedTuple):
    """Neighbours, and for which queries they are proven to be the nearest of all rows."""

    distances: np.ndarray
    ids: np.ndarray
    proven: np.ndarray


class CertifiedRange(NamedTuple):
    """The rows within a radius of each query, and for which queries they are proven to be all of them."""

    found: list[capball.Neighbors]
    proven: np.ndarray


class Euclidean:
    """Euclidean k-NN and range search through an engine that ranks by cosine, inner product or anything it has.

    engine      a name of `BY_NAME`, an adapter, or a function (rows, queries, k, metric) -> ids
    transform   "sphere" (the default), "lift-ip", "lift-cosine", "normalize", or "none" for the engine's own L2
    map         a fitted SphereMap; None: fitted to the first rows, scale = `scale` times the mean norm
    candidates  how many rows the engine is asked for, which are then put in order by exact distances; None: 10 k, at
                least 100
    ball        ask by the ball of the usual k-th distance instead of by the point (sphere only)
    twice       ask again, by balls of the k-th distance that each query has found, of which the first k are the nearest
                (sphere only); the nearest of both answers
    """

    def __init__(self, engine_: Any = "hnswlib", *, transform: str = "sphere", map: capball.SphereMap | None = None,
                 scale: float = 1.0, candidates: int | None = None, ball: bool = True, twice: bool = False,
                 metric: str | None = None, **settings: Any) -> None:
        self.engine: Engine = engine(engine_, **settings)
        self.transform, self.map, self.scale = transform, map, scale
        self.candidates, self.ball, self.twice = candidates, ball, twice
        self.metric = metric or self._usual_metric()
        if self.metric not in self.engine.metrics:
            raise ValueError(f"the engine ranks by {', '.join(self.engine.metrics)}, not by {self.metric}")
        self.rows: np.ndarray = np.empty((0, 0))
        self._k, self._radius = 0, 0.0

    def _usual_metric(self) -> str:
        return {"lift-ip": "ip", "none": "l2", "center": "l2", "ip-l2": "l2"}.get(self.transform, "cosine")

    def add(self, rows: Any) -> "Euclidean":
        """Takes rows in, after those that are there already; the index is built from all of them."""
        rows = np.ascontiguousarray(rows)
        self.rows = np.concatenate([self.rows, rows]) if len(self.rows) else rows
        self._fit()
        self.engine.build(self.way.embed(self.rows, dtype="float32"), self.metric)
        self._k = 0
        return self

    def _fit(self) -> None:
        """What rows and queries go through on their way to the engine."""
        self.way: capball.SphereMap | capball.Transform
        if self.transform != "sphere":
            self.way = capball.Transform.fit(self.transform, self.rows)
            return
        if self.map is None:
            fitted = capball.fit(self.rows)
            self.map = capball.SphereMap(fitted.d, fitted.s * self.scale, fitted.center)
        self.way = self.map

    def _usual_radius(self, k: int) -> float:
        """The radius of the ball that the engine is asked by; a row is its own first neighbour."""
        if not self.ball or not isinstance(self.way, capball.SphereMap):
            return 0.0
        if self._k != k:
            self._k, self._radius = k, capball.usual_radius(self.way, self.rows, self.rows, min(k + 1, len(self.rows)))
        return self._radius

    def _ask(self, queries: np.ndarray, radius: float | np.ndarray, count: int) -> np.ndarray:
        """Ids of the engine's best, by the ball of this radius on the sphere."""
        if isinstance(self.way, capball.Transform):
            asked = self.way.query(queries, dtype="float32")
        else:
            asked = self.way.query(queries, radius, dtype="float32")[0]
        return self.engine.search(asked, min(len(self.rows), count))

    def _queries(self, queries: Any) -> np.ndarray:
        if len(self.rows) == 0:
            raise ValueError("there are no rows yet: add some")
        return np.atleast_2d(np.asarray(queries))

    @overload
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[False] = False) -> capball.Neighbors: ...
    @overload
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[True, "engine"]) -> Certified: ...
    def search(self, queries: Any, k: int = 10, *,
               certificates: Literal[False, True, "engine"] = False) -> capball.Neighbors | Certified:
        """(distances, ids) of the k nearest among the candidates, by exact Euclidean distances.

        certificates  also a flag for each query. True: all rows are looked at, and none that the engine left out is
                      nearer, whatever it did. "engine" (sphere only): no other row is looked at, and none is nearer if the
                      engine's first are its best; distances are those of the embedded rows then
        """
        queries = self._queries(queries)
        ids = self._ask(queries, self._usual_radius(k), max(k, self.candidates or max(100, 10 * k)))
        if certificates == "engine":
            return self._rescore(queries, ids[:, : self._found(ids, k).min()], k)
        distances, near = self._rerank(queries, ids, k)
        if self.twice and isinstance(self.way, capball.SphereMap) and self.way.whiten is None:
            again = self._ask(queries, distances[:, -1], ids.shape[1])
            ids = _full([np.setdiff1d(np.union1d(*both), [-1]) for both in zip(ids, again)], 2 * ids.shape[1])
            distances, near = self._rerank(queries, ids, k)
        if not certificates:
            return capball.Neighbors(distances, near)
        true = capball.range_search(self.rows, queries, np.nextafter(distances[:, -1], np.inf))
        return Certified(distances, near, np.array([np.array_equal(true.of(i).ids[:k], row) for i, row in enumerate(near)]))

    def _found(self, ids: np.ndarray, k: int) -> np.ndarray:
        counts: np.ndarray = (ids >= 0).sum(axis=1)
        if counts.min() < k:
            raise ValueError(f"the engine found {counts.min()} rows for some query, wanted {k}")
        return counts

    def _rerank(self, queries: np.ndarray, ids: np.ndarray, k: int) -> capball.Neighbors:
        distances, near = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        counts = self._found(ids, k)
        for count in np.unique(counts):  # some engines find fewer for some queries
            those = counts == count
            distances[those], near[those] = capball.rerank(self.rows, queries[those], ids[those][:, :count], k)
        return capball.Neighbors(distances, near)

    def _rescore(self, queries: np.ndarray, ids: np.ndarray, k: int) -> Certified:
        if not isinstance(self.way, capball.SphereMap):
            raise ValueError(f"an engine's own certificates are those of the sphere, not of {self.transform}")
        some, places = np.unique(ids, return_inverse=True)
        embedded = self.way.embed(self.rows[some], dtype="float32")
        found = capball.rescore(self.way, queries, places.reshape(ids.shape), embedded, k, radius=self._usual_radius(k))
        return Certified(found.distances, some[found.ids], found.proven)

    @overload
    def range(self, queries: Any, radius: float, most: int = 1000, *,
              certificates: Literal[False] = False) -> list[capball.Neighbors]: ...
    @overload
    def range(self, queries: Any, radius: float, most: int = 1000, *, certificates: Literal[True]) -> CertifiedRange: ...
    def range(self, queries: Any, radius: float, most: int = 1000, *,
              certificates: bool = False) -> list[capball.Neighbors] | CertifiedRange:
        """The rows within the radius of each query among the engine's best `most`, nearest first.

        certificates  also a flag for each query: True where all rows were looked at and none within the radius is missing
        """
        queries = self._queries(queries)
        found = []
        for query, some in zip(queries, self._ask(queries, radius, most)):
            some = some[some >= 0]
            near = capball.rerank(self.rows, query[None], some[None], len(some))
            inside = near.distances[0] <= radius
            found.append(capball.Neighbors(near.distances[0][inside], near.ids[0][inside]))
        if not certificates:
            return found
        within = np.diff(capball.range_search(self.rows, queries, radius).lims)
        return CertifiedRange(found, within == [len(near.ids) for near in found])

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes rows, map and index into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "rows.npy", self.rows)
        if isinstance(self.way, capball.SphereMap):
            self.way.save(folder / "map.json")
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
        self._fit()
        self.engine.load(folder / "index", self.way.embed(self.rows[:1], dtype="float32").shape[1], self.metric)
        return self


__all__ = ["BY_NAME", "Annoy", "Certified", "CertifiedRange", "Engine", "Euclidean", "Faiss", "Hnswlib", "Pgvector", "Scann", "Usearch", "engine"]
