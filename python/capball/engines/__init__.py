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
import time
import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import capball
from capball import _arrays, _core

from . import adapters
from .adapters import BY_NAME, Annoy, Engine, Faiss, Hnswlib, Pgvector, Scann, Usearch, engine

_log = logging.getLogger("capball")

# What "auto" tries, the simplest first: (transform, metric, scale of the sphere). Raw rows by cosine only where there is no L2;
# the best sphere is also asked twice.
_TRIED = (("none", "l2", 1.0), ("none", "cosine", 1.0), ("normalize", "cosine", 1.0), ("lift-ip", "ip", 1.0),
          ("lift-cosine", "cosine", 1.0), ("sphere", "cosine", 1.0), ("sphere", "cosine", 2.0), ("sphere", "cosine", 4.0))
_METRIC = {"lift-ip": "ip", "none": "l2", "center": "l2", "ip-l2": "l2"}
_FORMAT = 2  # of a saved index; 1 had neither held rows nor their range
_CERTIFICATE = {False: "none", True: "rows", "engine": "engine"}


class EngineError(RuntimeError):
    """The engine has raised an exception, which is the __cause__, for the queries that the message names."""


class Trial(NamedTuple):
    """One way to the engine, measured on a sample.

    transform  how rows and queries go to the engine: "sphere", "normalize", ..
    metric     what the engine ranks by: "cosine", "ip" or "l2"
    scale      of the sphere; NaN for other transforms
    recall     share of the true neighbours among its candidates, which decides
    error      its standard error
    first      share among as many of its first as there are true ones
    twice      asked again, by balls of the k-th distance that each query has found
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
    refit       whether rows that come or go so that the mean or the mean norm about it is no longer that of the fit, by
                a quarter of that norm, lead to a new choice and fit, and to an engine that is built again. False, and
                where the map was given: a warning, and `outgrown` says what has happened

    budget      what a query may cost: a whole number of candidates, or seconds as a float. The transform is chosen, and the
                number of candidates set, to be as right as that allows; `expected` is the recall to expect and its standard
                error, measured on rows of the index, as `audit` of a search measures it on queries

    Ids count the rows from 0 in the order they were added, and removed rows keep theirs; or they are those that add and put
    are given, whole numbers or anything hashable.
    """

    expected: tuple[float, float] | None = None  # the recall to expect, and its standard error; None: not measured
    _names: np.ndarray | None = None  # the user's ids of all rows
    _places: dict[Any, int]  # of those that can be found

    def __init__(self, engine: Any = "hnswlib", *, transform: str = "auto", map: capball.SphereMap | None = None,
                 scale: float = 1.0, candidates: int | None = None, ball: bool = True, twice: bool = False,
                 metric: str | None = None, refit: bool = True, budget: float | None = None, **settings: Any) -> None:
        known = ("auto", "sphere", *_core.TRANSFORMS)
        if transform not in known:
            raise ValueError(f"transform must be one of {', '.join(known)}, got {transform!r}")
        self.engine: Any = adapters.engine(engine, **settings)  # an Engine; some can also grow, remove, save and load
        self._made = (engine if isinstance(engine, str) else None, settings)
        if budget is not None and (isinstance(budget, bool) or not budget > 0):
            raise ValueError(f"budget must be candidates or seconds, > 0, got {budget!r}")
        self.budget, self._places = budget, {}
        if isinstance(budget, (int, np.integer)):
            candidates = int(budget)
        self.transform = "sphere" if map is not None and transform == "auto" else transform
        self.map, self.scale, self._given = map, scale, map is not None
        self.candidates, self.ball, self.twice, self.refit = candidates, ball, twice, refit
        self.metric = metric or ("" if transform == "auto" and map is None else _METRIC.get(transform, "cosine"))
        if self.metric and self.metric not in adapters.metrics_of(self.engine):
            raise ValueError(f"the engine ranks by {', '.join(adapters.metrics_of(self.engine))}, not by {self.metric}")
        self._wanted = (self.transform, self.metric, self.scale, self.twice)
        self.rows: np.ndarray = np.empty((0, 0))
        self.trials: list[Trial] = []
        self.outgrown = ""
        self._alive: np.ndarray = np.empty(0, bool)
        self._held: np.ndarray = np.empty(0, np.int64)  # the rows that the engine has
        self._fitted: tuple[np.ndarray, float] = (np.empty(0), 0.0)  # mean and mean norm of the rows of the fit
        self._sums: np.ndarray = np.empty(0)  # of those that there are now, about that mean
        self._k, self._radius = 0, 0.0
        self._stale = False  # the engine has failed while it took rows in: who knows which it has

    # ---- rows

    def __len__(self) -> int:
        """Rows that can be found."""
        return int(np.count_nonzero(self._alive))

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

    def put(self, rows: Any, ids: Any) -> "Euclidean":
        """Adds rows, in place of those that have their ids."""
        known = [one for one in _listed(ids) if one in self._places]
        before = dict(self.__dict__, _places=dict(self._places))
        try:
            if known and len(known) < len(self):
                self.remove(known)
            elif known:  # nothing is left to be fitted to meanwhile
                self._alive, self._places = np.zeros_like(self._alive), {}
            return self.add(rows, ids)
        except BaseException:
            self.__dict__.update(before, _stale=True)
            raise

    def _name(self, count: int, ids: Any) -> None:
        """The next rows get ids, or none have any."""
        first = len(self.rows) - count
        if (ids is None) != (self._names is None) and first:
            raise ValueError("the rows of this index have ids: pass ids=" if ids is None else "the rows of this index have no ids")
        if ids is None:
            return
        names = _listed(ids)
        if len(names) != count:
            raise ValueError(f"there are {len(names)} ids for {count} rows")
        places = dict(self._places)
        for place, name in enumerate(names, first):
            if name in places:
                raise ValueError(f"id {name!r} is {'in the index already' if name in self._places else 'given twice'}")
            places[name] = place
        new = np.empty(count, object)
        new[:] = names
        self._names, self._places = new if self._names is None else np.concatenate([self._names, new]), places

    def _own(self, ids: Any) -> np.ndarray:
        """Numbers of the rows with these ids."""
        if self._names is None:
            return np.atleast_1d(np.asarray(ids))
        missing = [one for one in _listed(ids) if one not in self._places]
        if missing:
            raise ValueError(f"id {missing[0]!r} is not in the index")
        return np.array([self._places[one] for one in _listed(ids)], np.int64)

    def _named(self, numbers: np.ndarray) -> np.ndarray:
        """The ids of rows of these numbers; None for -1."""
        if self._names is None:
            return numbers
        named = np.empty(numbers.shape, object)
        named[numbers >= 0] = self._names[numbers[numbers >= 0]]
        whole = all(isinstance(one, (int, np.integer)) for one in named.ravel())
        return named.astype(np.int64) if whole and named.size else named

    def add(self, rows: Any, ids: Any = None) -> "Euclidean":
        """Takes rows in, after those that are there already.

        Engines that grow (hnswlib, usearch, faiss) take the new ones alone; others are built again from all rows, and so
        is every engine where the transform has no room for the new rows, or they have left the range it was fitted for.
        """
        rows = self._checked(rows)
        first = len(self.rows)
        if first and rows.shape[1] != self.rows.shape[1]:
            raise ValueError(f"rows have {rows.shape[1]} columns, the index has {self.rows.shape[1]}")
        before = dict(self.__dict__)
        try:
            self.rows = np.concatenate([self.rows, rows]) if first else rows
            self._name(len(rows), ids)
            self._alive = np.concatenate([self._alive, np.ones(len(rows), bool)])
            self._k = 0
            if not first or self._have_left(rows):
                self._build(anew=True)
            elif self._stale or not self._grow(rows):
                self._build(fit=self._refits)
            self._spend()
        except BaseException:
            self.__dict__.update(before, _stale=self._stale)
            raise
        self._warn(before["outgrown"])
        return self

    def _spend(self) -> None:
        """As many candidates as the budget allows, and what to expect of them."""
        if self.budget is None or len(self) < 2:
            return
        some = np.random.default_rng(1).permutation(np.flatnonzero(self._alive))[:64]
        if isinstance(self.budget, float):
            count, most = 10, len(self._held)
            self.candidates = count
            while count < most:
                self.candidates = min(2 * count, most)
                if _seconds(self, self.rows[some[:16]]) > self.budget:
                    self.candidates = count
                    break
                count = self.candidates
        k = min(10, len(self) - 1)
        found = _core_search(self, self.rows[some], k + 1)
        truth = np.flatnonzero(self._alive)[capball.knn(self.rows[self._alive], self.rows[some], k + 1).ids]
        shares = [len(np.setdiff1d(np.intersect1d(a, b), own)) / max(1, len(np.setdiff1d(b, own))) for a, b, own in zip(found, truth, some)]
        self.expected = _mean(np.array(shares))

    def _checked(self, rows: Any) -> np.ndarray:
        rows = np.atleast_2d(_arrays.rows(rows, "rows"))
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise ValueError(f"row {bad[0]} holds NaN or inf" + (f", and {len(bad) - 1} more" if len(bad) > 1 else ""))
        if len(rows) == 0 and len(self.rows) == 0:
            raise ValueError("there are no rows to add")
        return rows

    def _begin(self, rows: np.ndarray) -> None:
        """What is wanted, or what "auto" chooses for these rows; and what they are like."""
        self.transform, self.metric, self.scale, self.twice = self._wanted
        self.trials, self.outgrown = [], ""
        if self.transform == "auto":
            self._stale = True  # trials may be made with this engine
            chosen = self._choose(rows)
            self.transform, self.metric, self.scale, self.twice = chosen.transform, chosen.metric, chosen.scale, chosen.twice
            _log.info("%s", self.why)
        start, none = rows[0].astype(np.float64), np.zeros(rows.shape[1] + 2)
        middle = start + _core.fit_drift(start, 0.0, rows, none)[1][2:] / len(rows)
        self._sums = _core.fit_drift(middle, 0.0, rows, none)[1]
        self._fitted = (middle, self._sums[1] / len(rows))

    def _build(self, anew: bool = False, fit: bool = False) -> None:
        """An engine of the rows that can be found. anew: they are no longer those that the transform was chosen for."""
        held = np.flatnonzero(self._alive)
        rows = self.rows if len(held) == len(self.rows) else self.rows[held]
        if anew:
            self._begin(rows)
        if anew or fit:
            self._fit(rows)
        embedded = self.way.embed(rows, dtype="float32")
        self._stale = True
        self.engine.build(embedded, self.metric)
        self._held, self._k, self._stale = held, 0, False

    def _grow(self, rows: np.ndarray) -> bool:
        """Whether the engine has taken these rows in; not where they do not fit through the transform."""
        try:
            embedded = self.way.embed(rows, dtype="float32")
        except capball.RowError as error:
            if self._refits:
                return False
            raise ValueError(f"{error}: the transform was not fitted for it, and is not fitted again") from error
        grow = adapters.grower_of(self.engine)
        if grow is None:
            return False
        self._stale = True
        grow(embedded, len(self._held))
        self._held = np.concatenate([self._held, np.arange(len(self.rows) - len(rows), len(self.rows))])
        self._stale = False
        return True

    @property
    def _refits(self) -> bool:
        return self.refit and not self._given

    def _have_left(self, rows: np.ndarray, leave: bool = False) -> bool:
        """Whether the transform is to be fitted again, now that these rows have come or are to leave."""
        drift, self._sums = _core.fit_drift(*self._fitted, rows, self._sums, leave)
        out = drift > _core.drift and self._wanted[0] != "none"  # nothing is fitted there
        self.outgrown = f"""the mean of the rows, or their mean norm about it, has moved by {drift:.2g} of that norm since \
the transform was fitted, and neighbours may be missed""" if out else ""
        return out and self._refits

    def _warn(self, before: str) -> None:
        if self.outgrown and not before and len(self) > 1:
            warnings.warn(self.outgrown, RuntimeWarning, stacklevel=3)

    def remove(self, ids: Any) -> "Euclidean":
        """Rows that are not found any more; their ids are not given to others. The engine keeps them until it is built again."""
        ids = self._own(ids)
        if ids.dtype.kind not in "iu" or ids.size and (ids.min() < 0 or ids.max() >= len(self.rows)):
            raise ValueError(f"ids must be whole numbers from 0 to {len(self.rows) - 1}")
        ids = np.unique(ids)[self._alive[np.unique(ids)]]
        self._alive = self._alive.copy()
        self._alive[ids] = False
        if self._names is not None:
            self._places = {name: place for name, place in self._places.items() if self._alive[place]}
        if hasattr(self.engine, "remove") and not self._stale:
            self._stale = True
            self.engine.remove(np.flatnonzero(np.isin(self._held, ids)))
            self._stale = False
        said, leave = self.outgrown, self._have_left(self.rows[ids], leave=True)
        before = dict(self.__dict__)
        try:
            if leave and len(self):
                self._build(anew=True)
        except BaseException as error:
            self.__dict__.update(before, _stale=self._stale)
            if not isinstance(error, ValueError):  # what is left, such as a single row, is nothing to fit to
                raise
        self._warn(said)
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
        metrics = adapters.metrics_of(self.engine)
        has_l2 = "l2" in metrics
        ways = [way for way in _TRIED if way[1] in metrics and self.metric in ("", way[1])
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

    def _fit(self, rows: np.ndarray) -> None:
        """What rows and queries go through on their way to the engine."""
        self.way: capball.SphereMap | capball.Transform
        if self.transform != "sphere":
            self.way = capball.Transform.fit(self.transform, rows)
            return
        if not self._given:
            fitted = capball.fit(rows)
            self.map = capball.SphereMap(fitted.d, fitted.s * self.scale, fitted.center)
        assert self.map is not None
        self.way = self.map

    def _usual_radius(self, k: int) -> float:
        """The radius of the ball that the engine is asked by; a row is its own first neighbour."""
        if not self.ball or not isinstance(self.way, capball.SphereMap):
            return 0.0
        if self._k != k:
            rows = self.rows if self._alive.all() else self.rows[self._alive]
            self._k, self._radius = k, capball.usual_radius(self.way, rows, rows, min(k + 1, len(rows)))
        return self._radius

    def _ask(self, queries: np.ndarray, radius: float | np.ndarray, count: int, numbers: np.ndarray | None = None) -> np.ndarray:
        """Ids of the engine's best, by the ball of this radius on the sphere; -1 behind them."""
        if isinstance(self.way, capball.Transform):
            asked = self.way.query(queries, dtype="float32")
        else:
            asked = self.way.query(queries, radius, dtype="float32")[0]
        found = self._answer(asked, min(len(self._held), count), numbers)
        return np.where(found < 0, -1, self._held[found])

    def _answer(self, asked: np.ndarray, count: int, numbers: np.ndarray | None = None) -> np.ndarray:
        """The engine's own answer: places among the rows that it has. numbers: of these queries, for messages."""
        numbers = np.arange(len(asked)) if numbers is None else numbers
        try:
            found = np.asarray(self.engine.search(asked, count))
        except Exception as error:
            first, last, cause = self._failing(asked, count, error)
            those = f"query {numbers[first]}" if last == first + 1 else f"queries {numbers[first]} to {numbers[last - 1]}, asked together"
            raise EngineError(f"{those}: the engine has raised {type(cause).__name__}: {cause}") from cause
        name = getattr(self.engine, "name", type(self.engine).__name__)
        if found.ndim != 2 or len(found) != len(asked) or found.dtype.kind not in "iu":
            raise ValueError(f"{name} must give the ids of {count} rows for each of {len(asked)} queries, whole numbers of shape "
                             f"({len(asked)}, {count}); it gave {found.dtype} of shape {found.shape}")
        ids = found.astype(np.int64)
        wrong = np.argwhere((ids < -1) | (ids >= len(self._held)))
        if len(wrong):
            query, place = wrong[0]
            raise ValueError(f"query {numbers[query]}: {name} gave row {ids[query, place]}, but it has rows 0 .. {len(self._held) - 1}, "
                             "and -1 stands where it found none")
        return ids

    def _failing(self, asked: np.ndarray, count: int, error: Exception) -> tuple[int, int, Exception]:
        """The first query that the engine fails on, as far as halves of them fail, too, and what it raises there."""
        first, last = 0, len(asked)
        while last - first > 1:
            middle = (first + last) // 2
            for part in ((first, middle), (middle, last)):
                try:
                    self.engine.search(asked[slice(*part)], count)
                except Exception as own:
                    (first, last), error = part, own
                    break
            else:
                break
        return first, last, error

    def _queries(self, queries: Any) -> np.ndarray:
        if len(self) == 0:
            raise ValueError("there are no rows yet: add some")
        if self._stale:
            self._build()
        queries = np.atleast_2d(np.asarray(queries))
        if queries.shape[1] != self.rows.shape[1]:
            raise ValueError(f"queries have {queries.shape[1]} columns, the index has {self.rows.shape[1]}")
        return queries

    def _allowed(self, filter: Any) -> np.ndarray | None:
        """Which rows may be found; None: all."""
        if filter is None:
            return None if self._alive.all() else self._alive
        given = np.asarray(list(filter) if isinstance(filter, (set, frozenset)) else filter)
        if self._names is not None and given.dtype != bool:
            own = np.zeros(len(self.rows), bool)
            own[[self._places[one] for one in _listed(filter) if one in self._places]] = True
            return self._alive & own
        if given.dtype == bool and given.shape == self._alive.shape:
            return self._alive & given
        if given.dtype.kind in "iu" and given.ndim == 1 and (given.size == 0 or 0 <= given.min() and given.max() < len(self.rows)):
            return self._alive & np.isin(np.arange(len(self.rows)), given)
        raise ValueError(f"filter must be {len(self.rows)} flags, or ids of rows")

    # ---- search

    def search(self, queries: Any, k: int = 10, *, certificates: Literal[False, True, "engine"] = False, filter: Any = None,
               audit: int = 0) -> capball.Neighbors:
        """(distances, ids) of the k nearest among the candidates, by exact Euclidean distances.

        certificates  also `proven`, a flag for each query. True: all rows are looked at, and none that the engine left out is
                      nearer, whatever it did. "engine" (sphere, lift-ip and lift-cosine): no other row is looked at, and
                      none is nearer if the engine keeps its promise, that its answer are the best of all the rows it
                      has, the best first; an answer of fewer rows than it was asked for proves nothing
        filter        rows that may be found: a flag for each row, or ids; few of them are searched exactly
        audit         so many of the queries are searched exactly, too, for the `recall` of the answer
        """
        queries, allowed = self._queries(queries), self._allowed(filter)
        whole = allowed is None or allowed is self._alive and len(self._held) == len(self)
        twice = self.twice and isinstance(self.way, capball.SphereMap) and self.way.whiten is None
        (distances, near), proven = _core.engine_search(
            self.way, self.rows, queries, self._answer, k, self._count(k), self._usual_radius(k), twice, self.metric,
            None if len(self._held) == len(self.rows) else self._held, None if whole else allowed, _CERTIFICATE[certificates])
        beside: dict[str, Any] = {"proven": proven.view(bool)} if certificates else {}
        if audit:
            some = np.random.default_rng(0).permutation(len(queries))[:audit]
            those = np.arange(len(self.rows)) if allowed is None else np.flatnonzero(allowed)
            true = those[capball.knn(self.rows[those], queries[some], k).ids]
            beside["recall"], beside["recall_error"] = _mean(_shares(near[some], true))
        return capball.Neighbors(distances, self._named(near), **beside)

    def _count(self, k: int) -> int:
        return max(k, self.candidates or max(100, 10 * k))

    # ---- range

    def range_search(self, queries: Any, radius: Any, most: int | None = None, *, filter: Any = None,
                     certificates: bool = False) -> capball.Within:
        """All rows within the radius of each query, nearest first; within[i].ids are those of query i. `range` is the same.

        radius        one for all queries, or one for each

        The rows are counted exactly, and the engine is asked for more until it has found them all. Where it cannot, or
        `most` rows are not enough, ValueError says how many are missing.

        filter        rows that may be found: a flag for each row, or ids
        certificates  no ValueError, but `proven`, a flag for each query: True where none is missing
        """
        queries, allowed = self._queries(queries), self._allowed(filter)
        limits = _arrays.limits(radius, len(queries))
        true = capball.range_search(self.rows, queries, limits)
        inside = [_only(near, ... if allowed is None else allowed[near.ids]) for near in true]
        wanted = np.array([len(near.ids) for near in inside])
        found: list[Any] = [None] * len(queries)
        left, count = np.arange(len(queries)), 2 * int(np.diff(true.lims).max(initial=0)) + 100
        most_of_all = min(len(self._held), most or len(self._held))
        while len(left):
            count = min(count, most_of_all)
            for i, ids in zip(left, self._ask(queries[left], limits[left], count, left)):
                found[i] = _only(inside[i], np.isin(inside[i].ids, ids))
            left = np.array([i for i in left if len(found[i].ids) < wanted[i]], int)
            if count >= most_of_all:
                break
            count *= 4
        proven = np.array([len(near.ids) for near in found]) == wanted
        if not certificates and not proven.all():
            first = int(np.argmin(proven))
            raise ValueError(f"query {first}: the engine found {len(found[first].ids)} of {wanted[first]} rows within {limits[first]}, "
                             f"{wanted[first] - len(found[first].ids)} are missing" + (f": most = {most} is too few" if most else ""))
        joined = capball.Within.join(found, proven if certificates else None)
        joined.ids = self._named(joined.ids)
        return joined

    range = range_search

    # ---- files

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes rows, transform, index, engine and settings into a folder."""
        if len(self.rows) == 0:
            raise ValueError("there are no rows yet: add some")
        if not all(hasattr(self.engine, word) for word in ("save", "load")):
            raise ValueError(f"{type(self.engine).__name__} has no save and load: it cannot be saved")
        if self._stale:
            self._build()
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "rows.npy", self.rows)
        np.save(folder / "alive.npy", self._alive)
        np.save(folder / "held.npy", self._held)
        names = None if self._names is None else [one.item() if isinstance(one, np.generic) else one for one in self._names]
        way: Any = None
        if isinstance(self.way, capball.SphereMap):
            self.way.save(folder / "map.json")
        else:
            center = self.way.center
            way = [self.way.kind, self.way.d, None if center is None else center.tolist(), self.way.max_norm]
        self.engine.save(folder / "index")
        settings, secret = _settings(self.engine) if self._made[0] else {}, _secret(self.engine)
        facts = {"euclidean": _FORMAT, "engine": self._made[0] or type(self.engine).__name__,
                 "settings": {name: value for name, value in settings.items() if name not in secret},
                 "left_out": [name for name in secret if settings.get(name)],
                 "transform": self.transform, "metric": self.metric, "scale": self.scale, "candidates": self.candidates,
                 "ball": self.ball, "twice": self.twice, "refit": self.refit, "given": self._given, "wanted": self._wanted,
                 "fitted": [self._fitted[0].tolist(), self._fitted[1]], "sums": self._sums.tolist(), "outgrown": self.outgrown,
                 "way": way, "trials": self.trials, "shape": self.rows.shape, "ids": names, "budget": self.budget,
                 "expected": self.expected}
        (folder / "index.json").write_text(json.dumps(facts))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], engine: Any = None, **settings: Any) -> "Euclidean":
        """What `save` wrote: engine, settings, transform, map and rows.

        engine    the function or adapter of an index that was made with one: files store engines by their names alone
        settings  of the engine, in place of those stored; the address of a database, which may hold a password, is never
                  stored: `dsn=`
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
        if known:
            engine, settings = facts["engine"], {**facts["settings"], **settings}
        for name in facts.get("left_out", []):
            if known and name not in settings:
                raise ValueError(f"{folder}: {name} is not stored, as it may hold a password: pass it again, "
                                 f"Euclidean.load({str(folder)!r}, {name}=..): {_secret(BY_NAME[engine])[name]}")
        index = cls(engine, transform=facts["transform"], metric=facts["metric"], scale=facts["scale"], candidates=facts["candidates"],
                    ball=facts["ball"], twice=facts["twice"], refit=facts.get("refit", True), **settings)
        index.rows, index._alive = np.load(folder / "rows.npy"), np.load(folder / "alive.npy")
        if list(index.rows.shape) != facts["shape"] or len(index._alive) != len(index.rows):
            raise ValueError(f"{folder}: rows.npy has {index.rows.shape} numbers, the index was saved with {tuple(facts['shape'])}")
        if facts["euclidean"] == 1:
            index._held = np.arange(len(index.rows))
            index._begin(index.rows[index._alive] if index._alive.any() else index.rows)
        else:
            index._held, index._given, index._wanted = np.load(folder / "held.npy"), facts["given"], tuple(facts["wanted"])
            index._fitted, index._sums = (np.array(facts["fitted"][0]), facts["fitted"][1]), np.array(facts["sums"])
            index.outgrown = facts["outgrown"]
        index.trials = [Trial(*trial) for trial in facts["trials"]]
        if facts.get("ids") is not None:
            index._names = np.empty(len(index.rows), object)
            index._names[:] = facts["ids"]
            index._places = {name: place for place, name in enumerate(facts["ids"]) if index._alive[place]}
        index.budget, expected = facts.get("budget"), facts.get("expected")
        index.expected = None if expected is None else tuple(expected)
        if facts["transform"] == "sphere":
            index.map = index.way = capball.SphereMap.load(folder / "map.json")
        else:
            kind, d, center, most = facts["way"]
            index.way = capball.Transform(kind, d, center, most)
        if index.way.d != index.rows.shape[1]:
            raise ValueError(f"{folder}: the transform is of {index.way.d} columns, the rows have {index.rows.shape[1]}")
        index.engine.load(folder / "index", index.way.embed(index.rows[index._held[:1]], dtype="float32").shape[1], index.metric)
        return index


def _listed(ids: Any) -> list[Any]:
    """Ids as a list; numbers of NumPy as those of Python."""
    if isinstance(ids, str) or np.ndim(ids) == 0 and not isinstance(ids, (set, frozenset)):
        return [ids.item() if isinstance(ids, np.generic) else ids]
    return ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)


def _core_search(index: Euclidean, queries: np.ndarray, k: int) -> np.ndarray:
    """Numbers of the rows that a search finds, -1 behind them."""
    named, index._names = index._names, None
    try:
        return index.search(queries, k).ids
    finally:
        index._names = named


def _seconds(index: Euclidean, queries: np.ndarray) -> float:
    """What a query costs, asked by itself: the median."""
    index.search(queries[:1], min(10, len(index)))
    times = []
    for query in queries:
        begin = time.perf_counter()
        index.search(query[None], min(10, len(index)))
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def _only(near: capball.Neighbors, those: Any) -> capball.Neighbors:
    return capball.Neighbors(near.distances[those], near.ids[those])


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


def _secret(adapter: Any) -> dict[str, str]:
    """Settings that are never stored, and what to give again."""
    return getattr(adapter, "secret", {})


def _settings(made: Any) -> dict[str, Any]:
    """What an adapter was made with."""
    names = inspect.signature(type(made).__init__).parameters
    return {name: value for name, value in vars(made).items() if name in names and not callable(value)}


def _facts(folder: Path) -> dict[str, Any]:
    path = folder / "index.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds no index: there is no index.json")
    facts = json.loads(path.read_text())
    if not isinstance(facts, dict) or facts.get("euclidean") not in (1, _FORMAT):
        raise ValueError(f"{path} is not of this version: save the index again")
    return facts


__all__ = ["BY_NAME", "Annoy", "Engine", "EngineError", "Euclidean", "Faiss", "Hnswlib", "Pgvector", "Scann",
           "Trial", "Usearch", "engine"]
