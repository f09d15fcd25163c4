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

import inspect
import json
import logging
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np

import capball
from capball import _arrays

from . import adapters
from .adapters import BY_NAME, Annoy, Engine, Faiss, Hnswlib, Pgvector, Scann, Usearch, _full, engine

_log = logging.getLogger("capball")

# What "auto" tries, the simplest first: (transform, metric, scale of the sphere). Raw rows by cosine only where there is no L2;
# the best sphere is also asked twice.
_TRIED = (("none", "l2", 1.0), ("none", "cosine", 1.0), ("normalize", "cosine", 1.0), ("lift-ip", "ip", 1.0),
          ("lift-cosine", "cosine", 1.0), ("sphere", "cosine", 1.0), ("sphere", "cosine", 2.0), ("sphere", "cosine", 4.0))
_METRIC = {"lift-ip": "ip", "none": "l2", "center": "l2", "ip-l2": "l2"}
_TRANSFORMS = ("auto", "sphere", "lift-ip", "lift-cosine", "normalize", "none", "center", "ip-cosine", "ip-l2")
_FORMAT = 1  # of a saved index


class Certified(NamedTuple):
    """Neighbours, and for which queries they are proven to be the nearest of all rows."""

    distances: np.ndarray
    ids: np.ndarray
    proven: np.ndarray


class CertifiedRange(NamedTuple):
    """The rows within a radius of each query, and for which queries they are proven to be all of them."""

    found: capball.Within
    proven: np.ndarray


class Audited(NamedTuple):
    """Neighbours, and the share of the true ones among them, measured on some of the queries; error is its standard error."""

    distances: np.ndarray
    ids: np.ndarray
    recall: float
    error: float


class Trial(NamedTuple):
    """One way to the engine, measured on a sample.

    recall   share of the true neighbours among its candidates, which decides; error is its standard error
    first    share among as many of its first as there are true ones
    """

    transform: str
    metric: str
    scale: float
    recall: float
    error: float
    first: float = float("nan")
    twice: bool = False

    def __str__(self) -> str:
        scale = f" s={self.scale:g}" if self.transform == "sphere" else ""
        return f"{self.transform}{scale} by {self.metric}{' twice' if self.twice else ''} {self.recall:.3f}+-{self.error:.3f} ({self.first:.3f})"


class Euclidean:
    """Euclidean k-NN and range search through an engine that ranks by cosine, inner product or anything it has.

    engine      a name of `BY_NAME`, an adapter, or a function (rows, queries, k, metric) -> ids
    transform   "auto" (the default): what finds the most neighbours among its candidates, on a sample of the first rows
                and with this engine; within the noise of that what has the most among its first, then the simplest; or "sphere", "lift-ip", "lift-cosine", "normalize", or "none"
                for the engine's own L2. `why` says what was measured
    map         a fitted SphereMap, for the sphere; None: fitted to the first rows, scale = `scale` times the mean norm
    candidates  how many rows the engine is asked for, which are then put in order by exact distances; None: 10 k, at
                least 100
    ball        ask by the ball of the usual k-th distance instead of by the point (sphere only)
    twice       ask again, by balls of the k-th distance that each query has found, of which the first k are the nearest
                (sphere only); the nearest of both answers
    metric      what the engine ranks by; None: that of the transform

    Ids count the rows from 0 in the order they were added; removed rows keep theirs.
    """

    def __init__(self, engine: Any = "hnswlib", *, transform: str = "auto", map: capball.SphereMap | None = None,
                 scale: float = 1.0, candidates: int | None = None, ball: bool = True, twice: bool = False,
                 metric: str | None = None, **settings: Any) -> None:
        if transform not in _TRANSFORMS:
            raise ValueError(f"transform must be one of {', '.join(_TRANSFORMS)}, got {transform!r}")
        self.engine: Engine = adapters.engine(engine, **settings)
        self._made = (engine if isinstance(engine, str) else None, settings)
        self.transform = "sphere" if map is not None and transform == "auto" else transform
        self.map, self.scale = map, scale
        self.candidates, self.ball, self.twice = candidates, ball, twice
        self.metric = metric or ("" if transform == "auto" and map is None else _METRIC.get(transform, "cosine"))
        if self.metric and self.metric not in self.engine.metrics:
            raise ValueError(f"the engine ranks by {', '.join(self.engine.metrics)}, not by {self.metric}")
        self.rows: np.ndarray = np.empty((0, 0))
        self.trials: list[Trial] = []
        self._alive: np.ndarray = np.empty(0, bool)
        self._k, self._radius = 0, 0.0

    # ---- rows

    def __len__(self) -> int:
        """Rows that can be found."""
        return int(self._alive.sum())

    def __repr__(self) -> str:
        name = self._made[0] or getattr(self.engine, "name", type(self.engine).__name__)
        way = f"{self.transform} by {self.metric}" if self.metric else self.transform
        return f"Euclidean({name}, {way}, {len(self)} rows of {self.rows.shape[1]})"

    @property
    def why(self) -> str:
        """What "auto" has measured, and what it chose: the share of the true neighbours among the candidates, its noise, and
        the share among the first."""
        if not self.trials:
            return f"{self.transform} was asked for" if self.transform != "auto" else "there are no rows yet"
        return (f"{self.transform} by {self.metric}; measured, as recall of the candidates +- standard error (recall of the first): "
                + ", ".join(map(str, self.trials)))

    def add(self, rows: Any) -> "Euclidean":
        """Takes rows in, after those that are there already.

        Engines that grow (hnswlib, usearch, faiss) take the new ones alone; others are built again from all rows, and so
        is every engine where the transform has no room for the new rows.
        """
        rows = self._checked(rows)
        first = len(self.rows)
        if first and rows.shape[1] != self.rows.shape[1]:
            raise ValueError(f"rows have {rows.shape[1]} columns, the index has {self.rows.shape[1]}")
        if not first:
            self._begin(rows)
        self.rows = np.concatenate([self.rows, rows]) if first else rows
        self._alive = np.concatenate([self._alive, np.ones(len(rows), bool)])
        self._k = 0
        if not (first and hasattr(self.engine, "grow") and self._grow(rows, first)):
            self._build()
        return self

    def _checked(self, rows: Any) -> np.ndarray:
        rows = np.atleast_2d(_arrays.rows(rows, "rows"))
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise ValueError(f"row {bad[0]} holds NaN or inf" + (f", and {len(bad) - 1} more" if len(bad) > 1 else ""))
        if len(rows) == 0 and len(self.rows) == 0:
            raise ValueError("there are no rows to add")
        return rows

    def _begin(self, rows: np.ndarray) -> None:
        if self.transform != "auto":
            return
        chosen = self._choose(rows)
        self.transform, self.metric, self.scale, self.twice = chosen.transform, chosen.metric, chosen.scale, chosen.twice
        _log.info("%s", self.why)

    def _build(self) -> None:
        self._fit()
        self.engine.build(self.way.embed(self.rows, dtype="float32"), self.metric)

    def _grow(self, rows: np.ndarray, first: int) -> bool:
        """Whether the engine has taken these rows in; not where they do not fit through the transform."""
        try:
            embedded = self.way.embed(rows, dtype="float32")
        except capball.RowError:
            return False
        self.engine.grow(embedded, first)  # type: ignore[attr-defined]
        return True

    def remove(self, ids: Any) -> "Euclidean":
        """Rows that are not found any more; their ids are not given to others."""
        ids = np.atleast_1d(np.asarray(ids))
        if ids.dtype.kind not in "iu" or ids.size and (ids.min() < 0 or ids.max() >= len(self.rows)):
            raise ValueError(f"ids must be whole numbers from 0 to {len(self.rows) - 1}")
        self._alive[ids] = False
        return self

    # ---- the way to the engine

    def _choose(self, rows: np.ndarray) -> Trial:
        """The rule of `recommend`: within the noise of the criterion the most among the first, then the simplest."""
        k, asked = 10, 400
        rng = np.random.default_rng(0)
        some = rng.permutation(len(rows))[:20000]
        queries, base = (rows[some[:asked]], rows[some[asked:]]) if len(some) > 2 * asked else (rows[some], rows[some])
        k = min(k, len(base))
        truth = capball.knn(base, queries, k).ids
        count = max(k, self._count(k) * len(base) // len(rows))  # of fewer rows fewer candidates: as hard as all rows are
        has_l2 = "l2" in self.engine.metrics
        ways = [way for way in _TRIED if way[1] in self.engine.metrics and self.metric in ("", way[1])
                and not (way[:2] == ("none", "cosine") and has_l2)]
        if len(ways) < 2:
            return Trial(*(ways or [("sphere", self.metric or "cosine", 1.0)])[0], float("nan"), 0.0, twice=self.twice)
        shares: list[tuple[np.ndarray, np.ndarray]] = []
        for way in ways:
            self._try(*way, self.twice, base, queries, truth, count, shares)
        if not shares:
            raise ValueError("no transform for this engine can take these rows: name one by transform= to see why")
        spheres = [i for i, trial in enumerate(self.trials) if trial.transform == "sphere"]
        if spheres and not self.twice:
            best = self.trials[max(spheres, key=lambda i: self.trials[i].recall)]
            self._try(best.transform, best.metric, best.scale, True, base, queries, truth, max(k, count // 2), shares)
        near = _close([all_ for all_, _ in shares], range(len(shares)))
        return self.trials[min(_close([first for _, first in shares], near))]

    def _try(self, transform: str, metric: str, scale: float, twice: bool, base: np.ndarray, queries: np.ndarray,
             truth: np.ndarray, count: int, shares: list[tuple[np.ndarray, np.ndarray]]) -> None:
        k = truth.shape[1]
        trial = Euclidean(self._fresh(), transform=transform, metric=metric, scale=scale, ball=self.ball, candidates=count,
                          twice=twice)
        try:
            trial.add(base)
        except (capball.InvalidValue, capball.RowError):  # rows that this transform cannot take: 0 has no direction
            return
        found = trial.search(queries, k).ids
        first = found if twice else trial._ask(queries, trial._usual_radius(k), count)[:, :k]
        shares.append((_shares(found, truth), _shares(first, truth)))
        self.trials.append(Trial(transform, metric, scale, *_mean(shares[-1][0]), float(shares[-1][1].mean()), twice))

    def _fresh(self) -> Engine:
        """Another engine of the same settings, empty."""
        name, settings = self._made
        return adapters.engine(name, **settings) if name is not None else self.engine

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
        if len(self) == 0:
            raise ValueError("there are no rows yet: add some")
        queries = np.atleast_2d(np.asarray(queries))
        if queries.shape[1] != self.rows.shape[1]:
            raise ValueError(f"queries have {queries.shape[1]} columns, the index has {self.rows.shape[1]}")
        return queries

    def _allowed(self, filter: Any) -> np.ndarray | None:
        """Which rows may be found; None: all."""
        if filter is None:
            return None if self._alive.all() else self._alive
        given = np.asarray(filter)
        if given.dtype == bool and given.shape == self._alive.shape:
            return self._alive & given
        if given.dtype.kind in "iu" and given.ndim == 1 and (given.size == 0 or 0 <= given.min() and given.max() < len(self.rows)):
            return self._alive & np.isin(np.arange(len(self.rows)), given)
        raise ValueError(f"filter must be {len(self.rows)} flags, or ids of rows")

    # ---- search

    @overload
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[False] = False, filter: Any = None,
               audit: Literal[0] = 0) -> capball.Neighbors: ...
    @overload
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[True, "engine"], filter: Any = None,
               audit: Literal[0] = 0) -> Certified: ...
    @overload
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[False] = False, filter: Any = None,
               audit: int) -> Audited: ...
    def search(self, queries: Any, k: int = 10, *, certificates: Literal[False, True, "engine"] = False, filter: Any = None,
               audit: int = 0) -> capball.Neighbors | Certified | Audited:
        """(distances, ids) of the k nearest among the candidates, by exact Euclidean distances.

        certificates  also a flag for each query. True: all rows are looked at, and none that the engine left out is
                      nearer, whatever it did. "engine" (sphere only): no other row is looked at, and none is nearer if the
                      engine's first are its best; distances are those of the embedded rows then
        filter        rows that may be found: a flag for each row, or ids; few of them are searched exactly
        audit         so many of the queries are searched exactly, too, for the recall of the answer
        """
        queries, allowed = self._queries(queries), self._allowed(filter)
        if certificates == "engine":
            if allowed is not None:
                raise ValueError("an engine's own certificates are of all rows: none may be removed or filtered")
            ids = self._ask(queries, self._usual_radius(k), self._count(k))
            return self._rescore(queries, ids[:, : self._found(ids, k).min()], k)
        distances, near = self._nearest(queries, k, allowed)
        if certificates:
            true = self._exact(queries, k, allowed)
            return Certified(distances, near, (true.ids == near).all(axis=1))
        if audit:
            some = np.random.default_rng(0).permutation(len(queries))[:audit]
            true = self._exact(queries[some], k, allowed)
            return Audited(distances, near, *_mean(_shares(near[some], true.ids)))
        return capball.Neighbors(distances, near)

    def _count(self, k: int) -> int:
        return max(k, self.candidates or max(100, 10 * k))

    def _exact(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> capball.Neighbors:
        if allowed is None:
            return capball.knn(self.rows, queries, k)
        those = np.flatnonzero(allowed)
        distances, ids = capball.knn(self.rows[those], queries, k)
        return capball.Neighbors(distances, those[ids])

    def _nearest(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> capball.Neighbors:
        left = len(self.rows) if allowed is None else int(allowed.sum())
        if left < k:
            raise ValueError(f"{k} neighbours are wanted, and {left} rows may be found")
        count = self._count(k)
        if allowed is not None and left <= 10 * count:
            return self._exact(queries, k, allowed)
        if allowed is not None:  # as many as leave `count` of the allowed ones, on the average
            count = int(count * len(self.rows) / left)
        radius: float | np.ndarray = self._usual_radius(k)
        ids = self._of(self._ask(queries, radius, count), allowed)
        while (ids >= 0).sum(axis=1).min() < k and allowed is not None and count < len(self.rows):
            count *= 4
            ids = self._of(self._ask(queries, radius, count), allowed)
        distances, near = self._rerank(queries, ids, k)
        if self.twice and isinstance(self.way, capball.SphereMap) and self.way.whiten is None:
            again = self._of(self._ask(queries, distances[:, -1], count), allowed)
            width = ids.shape[1] + again.shape[1]
            ids = _full([np.setdiff1d(np.union1d(*both), [-1]) for both in zip(ids, again)], width)
            distances, near = self._rerank(queries, ids, k)
        return capball.Neighbors(distances, near)

    @staticmethod
    def _of(ids: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
        """The candidates that may be found, and -1 behind them."""
        if allowed is None:
            return ids
        return _full([row[(row >= 0) & allowed[row]] for row in ids], ids.shape[1])

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

    # ---- range

    @overload
    def range_search(self, queries: Any, radius: Any, most: int | None = None, *, filter: Any = None,
                     certificates: Literal[False] = False) -> capball.Within: ...
    @overload
    def range_search(self, queries: Any, radius: Any, most: int | None = None, *, filter: Any = None,
                     certificates: Literal[True]) -> CertifiedRange: ...
    def range_search(self, queries: Any, radius: Any, most: int | None = None, *, filter: Any = None,
                     certificates: bool = False) -> capball.Within | CertifiedRange:
        """All rows within the radius of each query, nearest first; within[i].ids are those of query i. `range` is the same.

        radius        one for all queries, or one for each

        The rows are counted exactly, and the engine is asked for more until it has found them all. Where it cannot, or
        `most` rows are not enough, ValueError says how many are missing.

        filter        rows that may be found: a flag for each row, or ids
        certificates  no ValueError, but a flag for each query: True where none is missing
        """
        queries, allowed = self._queries(queries), self._allowed(filter)
        limits = _arrays.limits(radius, len(queries))
        true = capball.range_search(self.rows, queries, limits)
        inside = [near.ids if allowed is None else near.ids[allowed[near.ids]] for near in true]
        wanted = np.array([len(ids) for ids in inside])
        found: list[Any] = [None] * len(queries)
        left, count = np.arange(len(queries)), 2 * int(np.diff(true.lims).max(initial=0)) + 100
        while len(left):
            count = min(count, len(self.rows), most or len(self.rows))
            for i, ids in zip(left, self._ask(queries[left], limits[left], count)):
                found[i] = self._within(queries[i], ids, limits[i], allowed)
            left = np.array([i for i in left if len(found[i].ids) < wanted[i]], int)
            if count >= min(len(self.rows), most or len(self.rows)):
                break
            count *= 4
        proven = np.array([len(near.ids) for near in found]) == wanted
        if certificates:
            return CertifiedRange(capball.Within.join(found), proven)
        if not proven.all():
            first = int(np.argmin(proven))
            raise ValueError(f"query {first}: the engine found {len(found[first].ids)} of {wanted[first]} rows within {limits[first]}, "
                             f"{wanted[first] - len(found[first].ids)} are missing" + (f": most = {most} is too few" if most else ""))
        return capball.Within.join(found)

    range = range_search

    def _within(self, query: np.ndarray, ids: np.ndarray, radius: float, allowed: np.ndarray | None) -> capball.Neighbors:
        ids = ids[ids >= 0] if allowed is None else ids[(ids >= 0) & allowed[ids]]
        if len(ids) == 0:
            return capball.Neighbors(np.empty(0), np.empty(0, np.int64))
        near = capball.rerank(self.rows, query[None], ids[None], len(ids))
        inside = near.distances[0] <= radius
        return capball.Neighbors(near.distances[0][inside], near.ids[0][inside])

    # ---- files

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes rows, transform, index, engine and settings into a folder."""
        if len(self.rows) == 0:
            raise ValueError("there are no rows yet: add some")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "rows.npy", self.rows)
        np.save(folder / "alive.npy", self._alive)
        way: Any = None
        if isinstance(self.way, capball.SphereMap):
            self.way.save(folder / "map.json")
        else:
            center = self.way.center
            way = [self.way.kind, self.way.d, None if center is None else center.tolist(), self.way.max_norm]
        self.engine.save(folder / "index")
        facts = {"euclidean": _FORMAT, "engine": self._made[0] or type(self.engine).__name__, "settings": _settings(self.engine),
                 "transform": self.transform, "metric": self.metric, "scale": self.scale, "candidates": self.candidates,
                 "ball": self.ball, "twice": self.twice, "way": way, "trials": self.trials, "shape": self.rows.shape}
        (folder / "index.json").write_text(json.dumps(facts))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], engine: Any = None) -> "Euclidean":
        """What `save` wrote: engine, settings, transform, map and rows.

        engine  the function or adapter of an index that was made with one: files store engines by their names alone
        """
        folder = Path(folder)
        facts = _facts(folder)
        if isinstance(engine, str) and engine != facts["engine"]:
            raise ValueError(f"{folder}: the engine of this index was {_kind(facts['engine'])}, not {engine}: add the rows of "
                             f"{folder / 'rows.npy'} to a new index")
        known = engine in (None, facts["engine"]) and facts["engine"] in BY_NAME
        if engine is None and not known:
            raise ValueError(f"{folder}: the engine of this index was {_kind(facts['engine'])}, which cannot be stored in a file: "
                             f"pass it again, Euclidean.load({str(folder)!r}, engine=..)")
        index = cls(facts["engine"] if known else engine, transform=facts["transform"], metric=facts["metric"],
                    scale=facts["scale"], candidates=facts["candidates"], ball=facts["ball"], twice=facts["twice"])
        if known:
            index._made = (facts["engine"], facts["settings"])
            index.engine = adapters.engine(facts["engine"], **facts["settings"])
        index.rows, index._alive = np.load(folder / "rows.npy"), np.load(folder / "alive.npy")
        if list(index.rows.shape) != facts["shape"] or len(index._alive) != len(index.rows):
            raise ValueError(f"{folder}: rows.npy has {index.rows.shape} numbers, the index was saved with {tuple(facts['shape'])}")
        index.trials = [Trial(*trial) for trial in facts["trials"]]
        if facts["transform"] == "sphere":
            index.map = index.way = capball.SphereMap.load(folder / "map.json")
        else:
            kind, d, center, most = facts["way"]
            index.way = capball.Transform(kind, d, center, most)
        if index.way.d != index.rows.shape[1]:
            raise ValueError(f"{folder}: the transform is of {index.way.d} columns, the rows have {index.rows.shape[1]}")
        index.engine.load(folder / "index", index.way.embed(index.rows[:1], dtype="float32").shape[1], index.metric)
        return index


def _shares(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of the true ids of each query that was found."""
    return np.array([len(np.intersect1d(*both)) / truth.shape[1] for both in zip(found, truth)])


def _close(shares: list[np.ndarray], those: Any) -> list[int]:
    """Which of those are behind the best by no more than one standard error of the difference, over the same queries."""
    best = max(those, key=lambda i: float(shares[i].mean()))
    behind = {i: _mean(shares[best] - shares[i]) for i in those}
    return [i for i in those if behind[i][0] <= behind[i][1]]


def _mean(shares: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(shares.mean()), float(shares.std() / len(shares) ** 0.5)


def _kind(stored: str) -> str:
    if stored in BY_NAME:
        return stored
    return "a function" if stored == adapters.Callable_.__name__ else f"an adapter, {stored}"


def _settings(made: Any) -> dict[str, Any]:
    """What an adapter was made with."""
    names = inspect.signature(type(made).__init__).parameters
    return {name: value for name, value in vars(made).items() if name in names and not callable(value)}


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / "index.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds no index: there is no index.json")
    facts = json.loads(path.read_text())
    if not isinstance(facts, dict) or facts.get("euclidean") != _FORMAT:
        raise ValueError(f"{path} is not of this version: save the index again")
    return facts


__all__ = ["BY_NAME", "Annoy", "Audited", "Certified", "CertifiedRange", "Engine", "Euclidean", "Faiss", "Hnswlib", "Pgvector", "Scann",
           "Trial", "Usearch", "engine"]
