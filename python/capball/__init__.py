"""capball: hyperplanes where you need balls, balls where you need hyperplanes.

S(x) = (2 s x, s^2-|x|^2)/(|x|^2+s^2) carries R^d onto the unit sphere of R^(d+1), and every ball to a cap of it: one
inner product and one threshold answer "within r of q?", exactly, on an engine that knows only cosines.

>>> import numpy as np, capball
>>> rows = np.array([[148.0, 59, 44], [255, 99, 71], [30, 144, 255], [24, 32, 70]])
>>> m = capball.fit(rows)
>>> y = m.embed(rows)
>>> p, b = m.query([150.0, 60, 44], radius=40.5)
>>> y @ p >= b
array([ True, False, False, False])
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from . import _arrays, _core
from ._core import Statistics, Transform
from ._errors import (
    CapballError,
    DtypeError,
    FileError,
    FormatError,
    InvalidValue,
    OutOfMemory,
    RowError,
    ShapeError,
    Stopped,
)
from ._classes import Classes, ClassRegion
from ._hits import Neighbors, Search, Within
from ._index import Index
from ._linear import ball_of
from ._map import SphereMap
from ._model import BallModel, Estimator, Reason, Sketch, names_of
from ._progress import bar
from ._recommend import Measured, Recommendation, recommend
from .dual import Ball, Cap, Ellipsoid, Everywhere, HalfSpace, Region

__version__: str = _core.version

Progress = Callable[[float], object]


def fit(x: Any, *, s: float | None = None, goal: str = "mean", center: Any = True, pole: Any = None,
        whiten: bool = False, ridge: float = 0.0, target: float = 0.99, k: int = 10, sample: int = 4096, seed: int = 0,
        spherical: bool = False, skip_bad: bool = False, threads: int | None = None,
        progress: Progress | bool | None = None) -> SphereMap:
    """The map of a data set: centre, whitening and the scale for a goal.

    goal    "mean", "median", "hemisphere": a norm about the centre; "spread": the largest ABID; "recall": the smallest
            scale at which exact search on the sphere keeps `target` of the true k neighbours
    center  True for the mean, False for none, or d numbers

    >>> import numpy as np, capball
    >>> capball.fit(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    SphereMap(d=2, s=1, center=..)
    """
    with bar("fit", progress) as callback:
        return SphereMap.fit(x, s, goal, center, pole, whiten, ridge, target, k, sample, seed, spherical, skip_bad,
                             threads, callback)


def knn(base: Any, queries: Any, k: int = 10, metric: str = "l2", *, out: Any = None, threads: int | None = None,
        progress: Progress | bool | None = None) -> Neighbors:
    """The k nearest rows of the base for every query, as a plain loop in double would find them.

    metric  "l2" (distances, not squared), "ip" or "cosine" (the largest first); of equal ones the lower id
    out     (distances, ids), float and int64, to write to

    >>> import capball
    >>> capball.knn([[0.0], [2.0], [5.0]], [[1.9]], k=2).ids
    array([[1, 0]])
    """
    if isinstance(k, int) and k < 1:
        raise InvalidValue(f"k must be at least 1, got {k}")
    with bar("knn", progress) as callback:
        return Neighbors(*_core.knn(base, queries, k, metric, threads, callback, out))


def range_search(base: Any, queries: Any, radius: Any, metric: str = "l2", *, threads: int | None = None,
                 progress: Progress | bool | None = None) -> Within:
    """All rows within a radius of each query ("l2": value <= radius; "ip", "cosine": value >= radius).

    >>> import capball
    >>> capball.range_search([[0.0], [2.0], [5.0]], [[1.0]], 1.5)[0]
    Neighbors(distances=array([1., 1.]), ids=array([0, 1]))
    """
    if np.ndim(queries) == 1:
        queries = np.reshape(queries, (1, -1))
    limits = _arrays.limits(radius, len(queries))
    with bar("range", progress) as callback:
        search = Search(queries, metric=metric, limits=limits)
        search.feed(base, threads=threads, progress=callback)
        return search.result()


def enclosing_ball(x: Any, *, gap: float = 1e-9, whiten: bool = False, ridge: float = 0.0, standardize: bool = False,
                   columns: Any = None, balls: int = 1, seed: int = 0, contamination: float | None = None,
                   threads: int | None = None, progress: Progress | bool | None = None) -> BallModel:
    """The smallest ball around rows: min_c max_i |x_i-c|, with a proof of how small it is."""
    with bar("ball", progress) as callback:
        return BallModel.fit(x, gap=gap, whiten=whiten, ridge=ridge, standardize=standardize,
                             columns=names_of(x) if columns is None else columns, balls=balls, seed=seed,
                             contamination=contamination, threads=threads, progress=callback)


def svdd(x: Any, nu: float = 0.1, *, gap: float = 1e-9, method: str = "exact", kernel: str = "linear",
         gamma: float | None = None, offset: float | None = None, degree: int | None = None, whiten: bool = False,
         ridge: float = 0.0, standardize: bool = False, columns: Any = None, weights: Any = None, balls: int | str = 1,
         seed: int = 0, contamination: float | None = None, robust: bool = False, calibrate: bool = False,
         threads: int | None = None, progress: Progress | bool | None = None) -> BallModel:
    """A ball that may leave the share nu of the rows outside: min R^2 + 1/(nu n) sum max(0, |x_i-c|^2 - R^2).

    standardize  every column is divided by its standard deviation first
    whiten       distances are measured by the inverse of the covariance, to whose diagonal `ridge` of itself is added
    columns      names of the columns, for the model to keep; None: those of a table, where x is one
    balls        several balls of one radius, for rows in several clouds; a row's score is that of the nearest ball. "auto", with
                 robust=True: one or 16, by what rows tell that a trial has not seen; model.notes say why
    contamination  share of these rows that are outliers: the model's threshold is the largest score that at most this
                 share of them scores less than, rows that tie at it are no outliers; None: the threshold is 0
    robust       the recipe for outliers: standardises and whitens by the rows that look most ordinary, three quarters at
                 most, and puts the ball around these; nu=0 is 0.9 then, ridge=0 is 0.1. model.notes say what was done
    calibrate    p-values of new rows, model.p_values(model.scores(new)): fits to parts of the rows score the others

    >>> import capball
    >>> model = capball.svdd([[0.0, 0.0], [4.0, 0.0], [2.0, 2.0], [2.0, 1.0], [9.0, 9.0]], nu=0.6)
    >>> round(model.radius, 5)
    3.04503
    """
    with bar("svdd", progress) as callback:
        return BallModel.fit(x, nu, gap, method, kernel, gamma, offset, degree, whiten, ridge, weights, standardize,
                             names_of(x) if columns is None else columns, balls, seed, contamination, robust, calibrate, threads, callback)


def abid(x: Any, s: Any = None, *, center: Any = None, distinct: bool = False, threads: int | None = None,
         progress: Progress | bool | None = None) -> Any:
    """ABID = 1/mean cos^2 of the angle between two rows: how many directions they fill evenly.

    s   None: of the rows themselves; a scale or many: of their images on the sphere

    >>> import numpy as np, capball
    >>> float(capball.abid(np.eye(3)))
    3.0
    """
    scales = None if s is None else np.atleast_1d(np.asarray(s, np.float64))
    with bar("abid", progress) as callback:
        values = _core.abid(x, scales, center, distinct, threads, callback)
    return values if np.ndim(s) else values[0]


class Cosines(NamedTuple):
    """Cosines of pairs of rows about their mean, and of their images on the sphere of scale s.

    s            the scale
    before       cos(x-m, y-m) of each pair
    after        <S(x-m), S(y-m)> of each pair, in the same order
    correlation  of the two
    slope        of the line of least squares, `after` by `before`
    rms          root of the mean squared difference
    """

    s: float
    before: np.ndarray
    after: np.ndarray
    correlation: float
    slope: float
    rms: float


def cosines(x: Any, s: float | None = None, *, sample: int = 500, seed: int = 0, skip_bad: bool = False,
            threads: int | None = None, progress: Progress | bool | None = None) -> Cosines:
    """cos(x-m, y-m) against <S(x-m), S(y-m)> for all pairs of a sample; s=None is the mean norm.

    >>> import numpy as np, capball
    >>> found = capball.cosines(np.eye(3))
    >>> found.before.round(6), found.after.round(6)
    (array([-0.5, -0.5, -0.5]), array([-0.5, -0.5, -0.5]))
    """
    with bar("cosines", progress) as callback:
        return Cosines(*_core.cosines(x, s, sample, seed, skip_bad, threads, callback))


def usual_radius(map: SphereMap, queries: Any, base: Any, k: int = 10, *, threads: int | None = None) -> float:
    """The median, over a sample of the queries, of the distance of their k-th neighbour in the base.

    The radius for `SphereMap.query`: an engine that is asked by p(q,r) finds the k nearest among fewer candidates.

    >>> import capball
    >>> capball.usual_radius(capball.SphereMap(1, 1.0), [[0.0], [10.0]], [[1.0], [8.0], [20.0]], k=1)
    1.5
    """
    return _core.usual_radius(map, queries, base, k, threads)


def rerank(base: Any, queries: Any, ids: Any, k: int = 10, *, map: SphereMap | None = None, out: Any = None,
           threads: int | None = None) -> Neighbors:
    """The k nearest of some candidates by exact distances; with map= the base are embedded rows.

    ids  a row of candidates for each query: whole numbers, TypeError for others; one that is named twice is InvalidValue
    out  (distances, ids), float and int64, to write to

    >>> import capball
    >>> capball.rerank([[0.0], [2.0], [5.0]], [[1.9]], [[0, 1]], k=1)
    Neighbors(distances=array([[0.1]]), ids=array([[1]]))
    """
    return Neighbors(*_core.rerank(base, queries, ids, k, map, threads, out))


def rescore(map: SphereMap, queries: Any, ids: Any, embedded: Any, k: int = 10, *, radius: float = 0.0,
            scores: Any = None, scored: str = "ip", score_error: float | None = None, certificates: bool = False,
            out: Any = None, threads: int | None = None, progress: Progress | bool | None = None) -> Neighbors:
    """The k nearest of an engine's candidates, and whether any row it left out could be nearer.

    proven  which answers are exact for certain, if the embedded rows are those of the map: an array has no seal that would
            tell. Rows count as rounded to the coarsest of float64, float32 and float16 that one of them looks like
    needed  how many candidates would prove them

    |x-q|^2 = (|q|^2+s^2) (|y-S(q)|^2/2) / (1+y0), from the embedded rows y; or from the engine's own scores. All
    roundings are counted; the engine is believed that no other row has a higher score.

    queries       rows of d, not embedded
    ids           the engine's best by <p,y>, a row for each query: whole numbers, TypeError for others; one that is named
                  twice is InvalidValue
    embedded      all rows that the engine holds, S(x), d+1 columns; that they are is for the caller to know
    radius        r of the queries p(q,r) that it was asked; 0 for S(q)
    scores        its numbers, one per candidate, to take distances from; `scored` says what they are: "ip", "cosine" or
                  "cosine-distance"
    certificates  count how many candidates would prove what is not proven
    out           (distances, ids), float and int64, to write to

    >>> import numpy as np, capball
    >>> rows = np.array([[148.0, 59, 44], [255, 99, 71], [30, 144, 255], [24, 32, 70]])
    >>> m = capball.fit(rows)
    >>> found = capball.rescore(m, [[150.0, 60, 44]], [[0, 3]], m.embed(rows), k=1)
    >>> found.ids, found.proven
    (array([[0]]), array([ True]))
    """
    with bar("rescore", progress) as callback:
        (distances, near), needed = _core.rescore(map, np.atleast_2d(queries), ids,
                                                  embedded, k, radius, scores, scored, score_error, certificates,
                                                  threads, callback, out)
    return Neighbors(distances, near, proven=needed == 0, needed=needed)


__all__ = [
    "Ball", "BallModel", "Cap", "CapballError", "ClassRegion", "Classes", "Cosines", "DtypeError", "Ellipsoid", "Estimator", "Everywhere", "FileError", "FormatError",
    "HalfSpace", "Index", "InvalidValue", "Measured", "Neighbors", "OutOfMemory", "Reason", "Recommendation", "Region",
    "RowError", "Search", "ShapeError", "Sketch", "SphereMap", "Statistics", "Stopped", "Transform", "Within", "abid",
    "ball_of", "cosines", "enclosing_ball", "fit", "knn", "range_search", "recommend", "rerank", "rescore", "svdd", "usual_radius",
]
