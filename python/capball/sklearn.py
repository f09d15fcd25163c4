"""capball for scikit-learn: estimators that go into pipelines, grids and pickles.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.pipeline import make_pipeline
>>> from capball.sklearn import SphereEmbedding
>>> rng = np.random.default_rng(0)
>>> x = rng.normal(size=(200, 2))
>>> inside = np.linalg.norm(x, axis=1) < 1
>>> model = make_pipeline(SphereEmbedding(), LogisticRegression(C=1e3)).fit(x, inside)
>>> bool(model.score(x, inside) > 0.95)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import capball

_TYPES = (np.float64, np.float32)
_ROUNDING = 2.0**-40  # of r^2 and |W(x-c)|^2, in double


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(2**31))


def _fitting(estimator: Any, X: Any) -> np.ndarray:
    """The rows that an estimator is fitted to, whose columns it keeps in mind."""
    return validate_data(estimator, X, dtype=_TYPES, ensure_min_samples=2)


def _asked(estimator: Any, fitted: str, X: Any) -> np.ndarray:
    """Rows that a fitted estimator is asked about: they have the columns that it was fitted to."""
    check_is_fitted(estimator, fitted)
    return validate_data(estimator, X, dtype=_TYPES, reset=False)


class SphereEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """S(x) = (2 s z, s^2-|z|^2)/(|z|^2+s^2) with z = W(x-m): a linear model behind it separates by balls.

    Parameters
    ----------
    goal : "mean", "median", "hemisphere", "spread" or "recall"
        What the scale is chosen for.
    target : share of the neighbours that the goal "recall" keeps.
    s : the scale itself, in place of a goal.
    center : whether the mean goes to 0 first; or d numbers.
    whiten, ridge : whether the covariance becomes I, and what is added to it, as a share of the mean variance.
    random_state : seed of the sample on which "spread" and "recall" are measured.
    """

    def __init__(self, goal: str = "mean", *, target: float = 0.99, s: float | None = None, center: Any = True,
                 whiten: bool = False, ridge: float = 0.0, k: int = 10, sample: int = 4096, random_state: Any = None):
        self.goal = goal
        self.target = target
        self.s = s
        self.center = center
        self.whiten = whiten
        self.ridge = ridge
        self.k = k
        self.sample = sample
        self.random_state = random_state

    def _options(self, rows: int) -> dict[str, Any]:
        return dict(s=self.s, goal=self.goal, center=self.center, whiten=self.whiten, ridge=self.ridge,
                    target=self.target, k=min(self.k, rows - 1), sample=self.sample, seed=_seed(self.random_state))

    def fit(self, X: Any, y: Any = None) -> "SphereEmbedding":
        """Finds centre, whitening and scale of the rows of X."""
        X = _fitting(self, X)
        self.__dict__.pop("_statistics", None)
        self.map_ = capball.fit(X, **self._options(len(X)))
        self._n_features_out = X.shape[1] + 1
        return self

    def partial_fit(self, X: Any, y: Any = None) -> "SphereEmbedding":
        """Takes more rows in; the order and the cut into calls do not matter.

        The mean is that of all rows. The scale is that of a sample of them (`sample` rows, all of them while they are
        fewer), since norms about a mean that still moves cannot be added up.
        """
        if self.whiten:
            raise ValueError("partial_fit does not whiten")
        first = not hasattr(self, "_statistics")
        X = validate_data(self, X, dtype=np.float64, reset=first, ensure_min_samples=2 if first else 1)
        if first:
            self._statistics = capball.Statistics(X.shape[1], "float64", self.sample, _seed(self.random_state))
            self._rows = 0
        self._statistics.update(X, self._rows)
        self._rows += len(X)
        found = self._statistics.finish()
        center = found["mean"] if self.center is True else self.center
        self.map_ = capball.fit(found["sample"], **{**self._options(len(found["sample"])), "center": center})
        self._n_features_out = X.shape[1] + 1
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The images of the rows: one column more, every row of length 1."""
        X = _asked(self, "map_", X)
        return self.map_.embed(X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The rows of which these are the images."""
        check_is_fitted(self, "map_")
        return self.map_.unembed(np.asarray(X, dtype=getattr(X, "dtype", np.float64)))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_statistics" in state:
            state["_statistics"] = state["_statistics"].serialize()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("_statistics"), bytes):
            state = {**state, "_statistics": capball.Statistics.deserialize(state["_statistics"])}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Ball(BaseEstimator):
    """What both balls share: score >= 0 is inside."""

    model_: capball.BallModel

    def _take(self, model: capball.BallModel) -> Any:
        self.model_ = model
        self.center_ = model.center
        self.radius_ = model.radius
        self.gap_ = model.gap
        self.support_ = model.support_rows
        self.offset_ = -max(self.gap, _ROUNDING) * model.radius**2
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """r^2 - |W(x-c)|^2: the larger, the more ordinary; >= 0 is inside the ball."""
        X = _asked(self, "model_", X)
        return self.model_.scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """score_samples - offset_: >= 0 is inside.

        Support vectors lie on the edge of the ball, which is known to `gap` and to the rounding of the rows; offset_
        is that share of r^2 below 0, so that they are inside.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 inside the ball, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def ranks(self, X: Any) -> np.ndarray:
        """The share of the training rows that score no more: 0 is the strangest."""
        return self.model_.ranks(self.score_samples(X))


class EnclosingBall(_Ball):
    """The smallest ball around the rows, with a proof of how small it is (gap_)."""

    def __init__(self, *, gap: float = 1e-9, whiten: bool = False, ridge: float = 0.0):
        self.gap = gap
        self.whiten = whiten
        self.ridge = ridge

    def fit(self, X: Any, y: Any = None) -> "EnclosingBall":
        """Finds the ball."""
        X = _fitting(self, X)
        return self._take(capball.enclosing_ball(X, gap=self.gap, whiten=self.whiten, ridge=self.ridge))


class BallDetector(OutlierMixin, _Ball):
    """SVDD: a ball that leaves about the share nu of the rows outside. Linear time, any number of rows.

    Parameters
    ----------
    nu : share of the rows that may lie outside, 0 < nu <= 1.
    kernel : "linear", "rbf" or "polynomial"; kernels are for some ten thousand rows.
    gamma, coef0, degree : of the kernel; gamma=None is 1/columns.
    whiten, ridge : whether distances are measured by the covariance; for columns in different units.
    """

    def __init__(self, nu: float = 0.1, *, kernel: str = "linear", gamma: float | None = None, coef0: float = 0.0,
                 degree: int = 3, whiten: bool = False, ridge: float = 0.0, gap: float = 1e-9):
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.whiten = whiten
        self.ridge = ridge
        self.gap = gap

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BallDetector":
        """Finds the ball; sample_weight counts rows: 2 is a row that is there twice, 0 one that is not."""
        X = _fitting(self, X)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        nu = max(self.nu, 1.0 / len(X)) if weights is None else self.nu
        return self._take(capball.svdd(X, nu, gap=self.gap, kernel=self.kernel, gamma=self.gamma, offset=self.coef0,
                                       degree=self.degree, whiten=self.whiten, ridge=self.ridge, weights=weights))


class SketchTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows to binary codes, one column of 0 and 1 per bit; each bit is a ball of the data space."""

    def __init__(self, bits: int = 256, *, kind: str = "embedded", goal: str = "mean", s: float | None = None,
                 sample: int = 8192, random_state: Any = None):
        self.bits = bits
        self.kind = kind
        self.goal = goal
        self.s = s
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "SketchTransformer":
        """Trains the bits on a sample of the rows."""
        X = _fitting(self, X)
        self.sketch_ = capball.Sketch.fit(X, self.bits, self.kind, self.s, self.goal, _seed(self.random_state),
                                          self.sample)
        self._n_features_out = self.bits
        return self

    def codes(self, X: Any) -> np.ndarray:
        """The codes packed, bits/8 bytes a row."""
        X = _asked(self, "sketch_", X)
        return self.sketch_.encode(X)

    def transform(self, X: Any) -> np.ndarray:
        """One column per bit, 0 or 1."""
        return np.unpackbits(self.codes(X), axis=1, bitorder="little")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _graph(values: np.ndarray, ids: np.ndarray, ends: np.ndarray, rows: int, mode: str) -> Any:
    """A sparse matrix of queries by fitted rows: 1, or with mode="distance" the distance."""
    from scipy.sparse import csr_matrix

    if mode not in ("connectivity", "distance"):
        raise ValueError(f'mode is "connectivity" or "distance", got {mode!r}')
    return csr_matrix((values if mode == "distance" else np.ones(len(ids)), ids, ends), shape=(len(ends) - 1, rows))


class Neighbors(BaseEstimator):
    """Exact nearest neighbours by Euclidean distance, inner product or cosine, from a capball.Index.

    kneighbors, radius_neighbors and the two graphs answer as those of sklearn.neighbors.NearestNeighbors do.
    """

    def __init__(self, n_neighbors: int = 5, *, radius: float = 1.0, metric: str = "l2"):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> "Neighbors":
        """Keeps the rows in an index."""
        rows = validate_data(self, X, dtype=_TYPES)
        self.index_ = capball.Index(rows.shape[1], self._metric(), rows.dtype)
        self.index_.add(rows)
        self.n_samples_fit_ = len(rows)
        return self

    def _metric(self) -> str:
        return self.metric

    def _queries(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "index_")
        return self.index_.rows(np.arange(self.n_samples_fit_)) if X is None else _asked(self, "index_", X)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distances, indices) of the nearest rows; of the fitted rows without themselves where X is None."""
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        queries, own = self._queries(X), X is None
        if k + own > self.n_samples_fit_:
            raise ValueError(f"{k} neighbours asked of {self.n_samples_fit_} rows")
        found = self.index_.search(queries, k + own)
        distances, ids = _without_self(found, k) if own else found
        return (distances, ids) if return_distance else ids

    def _within(self, X: Any, radius: float | None) -> capball.Within:
        queries = self._queries(X)
        found = self.index_.range_search(queries, self.radius if radius is None else radius)
        if X is not None:
            return found
        others = found.ids != np.repeat(np.arange(len(queries)), np.diff(found.lims))
        ends = np.concatenate([[0], np.cumsum(others)])[found.lims]
        return capball.Within(ends, found.ids[others], found.distances[others])

    def radius_neighbors(self, X: Any = None, radius: float | None = None, return_distance: bool = True) -> Any:
        """Arrays of (distances, indices), one per query, of the rows within the radius, nearest first."""
        found = self._within(X, radius)
        count = len(found.lims) - 1
        distances, ids = np.empty(count, object), np.empty(count, object)
        for i in range(count):
            distances[i], ids[i] = found.of(i)
        return (distances, ids) if return_distance else ids

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """A sparse matrix of queries by fitted rows: 1, or with mode="distance" the distance."""
        distances, ids = self.kneighbors(X, n_neighbors)
        ends = np.arange(0, ids.size + 1, ids.shape[1])
        return _graph(distances.ravel(), ids.ravel(), ends, self.n_samples_fit_, mode)

    def radius_neighbors_graph(self, X: Any = None, radius: float | None = None, mode: str = "connectivity") -> Any:
        """The same of the rows within the radius."""
        found = self._within(X, radius)
        return _graph(found.distances, found.ids, found.lims, self.n_samples_fit_, mode)


SphereNeighbors = Neighbors


class _GraphTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Neighbors):
    """Rows to a sparse graph of their neighbours, for estimators with metric="precomputed"."""

    def _metric(self) -> str:
        return "l2"

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class KNeighborsTransformer(_GraphTransformer):
    """The graph of the nearest rows, as sklearn.neighbors.KNeighborsTransformer gives it: with mode="distance" one more than
    n_neighbors, for a row that was fitted is its own nearest."""

    def __init__(self, *, mode: str = "distance", n_neighbors: int = 5):
        self.mode = mode
        self.n_neighbors = n_neighbors

    def transform(self, X: Any) -> Any:
        """The graph of queries by fitted rows."""
        check_is_fitted(self, "index_")
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)


class RadiusNeighborsTransformer(_GraphTransformer):
    """The graph of the rows within a radius, as sklearn.neighbors.RadiusNeighborsTransformer gives it."""

    def __init__(self, *, mode: str = "distance", radius: float = 1.0):
        self.mode = mode
        self.radius = radius

    def transform(self, X: Any) -> Any:
        """The graph of queries by fitted rows."""
        check_is_fitted(self, "index_")
        return self.radius_neighbors_graph(X, self.radius, self.mode)


def _without_self(found: capball.Neighbors, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The first k of k+1 neighbours that are not the row itself."""
    others = found.ids != np.arange(len(found.ids))[:, None]
    others &= np.cumsum(others, axis=1) <= k
    shape = (len(found.ids), k)
    return found.distances[others].reshape(shape), found.ids[others].reshape(shape)
