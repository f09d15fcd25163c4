"""capball for scikit-learn: estimators that go into pipelines, grids and pickles.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression, SGDClassifier
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

import functools
from typing import Any, Callable

import numpy as np

from capball import _extras

_extras.module("sklearn")

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    OutlierMixin,
    TransformerMixin,
    clone,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import capball
from capball import _tables
from capball._progress import bar
from capball._subclasses import Choice, SoftmaxOfBalls

_TYPES = (np.float64, np.float32)
_ROUNDING = 2.0**-40  # of r^2 and |W(x-c)|^2, in double


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(2**31))


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """What validate_data gives; its errors about cells name all columns that have bad ones."""
    X = _tables.with_names_apart(X)
    with _tables.problems_named(X):
        return validate_data(estimator, X, *y, dtype=_TYPES, **options)


def _fitting(estimator: Any, X: Any) -> np.ndarray:
    """The rows that an estimator is fitted to, whose columns it keeps in mind."""
    return _validated(estimator, X, ensure_min_samples=2)


def _validate_fitted(estimator: Any, fitted: str, X: Any) -> np.ndarray:
    """Rows that a fitted estimator is asked about: the columns that it was fitted to; text that it was not is left out."""
    check_is_fitted(estimator, fitted)
    known = getattr(estimator, "feature_names_in_", ())
    return _validated(estimator, _tables.without_unknown_text(X, known), reset=False)


def _sparse_norms(X: Any) -> np.ndarray:
    return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel())


class SphereEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """S(x) = (2 s z, s^2-|z|^2)/(|z|^2+s^2) with z = W(x-m): a linear model behind it separates by balls.

    Parameters
    ----------
    goal : "mean", "median", "hemisphere", "spread" or "recall"
        What the scale is chosen for.
    target : share of the neighbours that the goal "recall" keeps.
    s : the scale itself, in place of a goal.
    center : whether the mean goes to 0 first; or d numbers.
    whiten, ridge : whether the covariance becomes I, and which share of itself is added to each variance before.
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
        """Finds centre, whitening and scale of the rows of X; rows may be a sparse matrix where center and whiten are False."""
        X = _validated(self, X, ensure_min_samples=2, accept_sparse="csr")
        self.__dict__.pop("_statistics", None)
        self.map_ = self._of_sparse(X) if capball._arrays.is_sparse(X) else capball.fit(X, **self._options(len(X)))
        self._n_features_out = X.shape[1] + 1
        return self

    def _of_sparse(self, X: Any) -> capball.SphereMap:
        """The map of sparse rows, about 0: only their norms are needed."""
        if self.whiten or self.center is not False:
            raise ValueError("sparse rows would not stay sparse: set center=False and whiten=False")
        norms = _sparse_norms(X)
        if self.s is None and self.goal not in ("mean", "median"):
            raise ValueError(f'sparse rows have the goals "mean" and "median", or s=, not {self.goal!r}')
        s = self.s if self.s is not None else float(np.mean(norms) if self.goal == "mean" else np.median(norms))
        return capball.SphereMap(X.shape[1], s)

    def _sparse_images(self, X: Any) -> Any:
        """S(x) has the zeros of x: 2 s x and s^2 - |x|^2, divided by |x|^2 + s^2."""
        from scipy.sparse import csr_matrix, diags, hstack

        s, X = self.map_.s, X.astype(np.float64)
        square = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        below = 1 / (square + s * s)
        return hstack([diags(2 * s * below) @ X, csr_matrix(((s * s - square) * below)[:, None])], format="csr")

    def partial_fit(self, X: Any, y: Any = None) -> "SphereEmbedding":
        """Takes more rows in; the order and the cut into calls do not matter.

        The mean is that of all rows. The scale is that of a sample of them (`sample` rows, all of them while they are
        fewer), since norms about a mean that still moves cannot be added up.
        """
        if self.whiten:
            raise ValueError("partial_fit does not whiten")
        first = not hasattr(self, "_statistics")
        X = validate_data(self, _tables.with_names_apart(X), dtype=np.float64, reset=first, ensure_min_samples=2 if first else 1)
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
        """The images of the rows: one column more, every row of length 1. Sparse rows have sparse images."""
        check_is_fitted(self, "map_")
        if capball._arrays.is_sparse(X):
            X = _validated(self, X, reset=False, accept_sparse="csr")
            if self.map_.center is not None or self.map_.whiten is not None:
                raise ValueError("sparse rows would not stay sparse under this map: it has a centre or whitens")
            return self._sparse_images(X)
        X = _validate_fitted(self, "map_", X)
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
        tags.input_tags.sparse = self.center is False and not self.whiten
        return tags


class BallClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier behind a SphereEmbedding: its boundaries are spheres, its classes regions of the data.

    Parameters
    ----------
    estimator : any linear classifier with coef_ and intercept_; None is LogisticRegression(C=C, max_iter=1000).
    balls_per_class : how many balls a class has, k: then a softmax over all of them, and the class is the one whose balls have
        the largest sum. "auto" takes the k of 1, 2, 4, 8 and the C of 1, 10, 100 that are best in folds of the rows.
        Needs estimator=None.
    C : inverse strength of the regularisation of the default estimator; None is 10, or what "auto" finds.
    class_weight : of the default estimator, or of one that has the parameter: "balanced" or a dict.
    standardize : whether columns are divided by their standard deviation first; regions are ellipsoids then, with axes
        along the columns. False, for columns in one unit: balls.
    goal, s, center, whiten, ridge, random_state : of the SphereEmbedding. Sparse rows are neither centred nor whitened.
    verbose : whether "auto" shows a bar of its progress.

    Attributes
    ----------
    regions_ : dict of the region of every class, in the units of the data: the rows that predict gives to it. Of two classes
        with one ball they are a ball and its complement.
    model_ : the Classes behind predict and predict_proba, which can be saved, for `capball score`, databases and C.
    pipeline_ : the fitted scaler, embedding and estimator.
    balls_, C_ : the number of balls per class and the C that were used; choice_: the accuracies that "auto" has seen.

    >>> import numpy as np
    >>> from capball.sklearn import BallClassifier
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> inside = np.linalg.norm(x, axis=1) < 1
    >>> model = BallClassifier(standardize=False).fit(x, inside)
    >>> bool(model.score(x, inside) > 0.98), round(model.regions_[True].r, 1)
    (True, 1.0)
    """

    def __init__(self, estimator: Any = None, *, balls_per_class: int | str = 1, C: float | None = None, class_weight: Any = None,
                 standardize: bool = True, goal: str = "mean", s: float | None = None, center: Any = True,
                 whiten: bool = False, ridge: float = 0.0, random_state: Any = None, verbose: bool = False):
        self.estimator = estimator
        self.balls_per_class = balls_per_class
        self.C = C
        self.class_weight = class_weight
        self.standardize = standardize
        self.goal = goal
        self.s = s
        self.center = center
        self.whiten = whiten
        self.ridge = ridge
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit

    def _check(self) -> None:
        balls = self.balls_per_class
        if balls != "auto" and not (isinstance(balls, (int, np.integer)) and not isinstance(balls, bool) and balls >= 1):
            raise ValueError(f'balls_per_class must be "auto" or a whole number >= 1, got {balls!r}')
        if self.estimator is not None and (balls != 1 or self.C is not None):
            raise ValueError("balls_per_class and C are of the default estimator: leave estimator=None")
        if self.C is not None and not self.C > 0:
            raise ValueError(f"C must be > 0, got {self.C}")

    def _front(self, X: Any, weights: Any) -> tuple[list[tuple[str, Any]], Any]:
        """The fitted steps before the estimator, and the rows behind them."""
        sparse = capball._arrays.is_sparse(X)
        steps: list[tuple[str, Any]] = []
        if self.standardize:
            steps.append(("scaler", StandardScaler(with_mean=not sparse).fit(X, sample_weight=weights)))
            X = steps[0][1].transform(X)
        sphere = SphereEmbedding(self.goal, s=self.s, center=False if sparse else self.center, whiten=self.whiten,
                                 ridge=self.ridge, random_state=self.random_state)
        if weights is not None and self.goal == "mean" and self.s is None and not self.whiten:
            center = np.average(X, axis=0, weights=weights) if sphere.center is True else sphere.center
            norms = _sparse_norms(X) if sparse else np.linalg.norm(X - center, axis=1)
            sphere.set_params(s=float(np.average(norms, weights=weights)) or None, center=center)
        steps.append(("sphere", sphere.fit(X)))
        return steps, sphere.transform(X)

    def _linear(self, balls: int, C: float) -> Any:
        if self.estimator is None:
            if balls > 1:
                return SoftmaxOfBalls(balls, C=C, class_weight=self.class_weight, random_state=_seed(self.random_state))
            return LogisticRegression(C=C, max_iter=1000, class_weight=self.class_weight)
        linear = clone(self.estimator)
        return linear if self.class_weight is None else linear.set_params(class_weight=self.class_weight)

    def _chosen(self, rows: Any, y: np.ndarray, weights: Any) -> tuple[int, float]:
        if self.balls_per_class != "auto":
            return int(self.balls_per_class), 10.0 if self.C is None else self.C
        with bar("balls", bool(self.verbose)) as told:
            seed = _seed(self.random_state)
            choice = Choice(rows, y, weights, seed, told, class_weight=self.class_weight, random_state=seed)
            balls, C = choice.best()
        self.choice_ = choice.accuracies
        return balls, C if self.C is None else self.C

    def _targets(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, np.ndarray]:
        X, y = _validated(self, X, y, accept_sparse="csr", reset=reset, ensure_min_samples=2 if reset else 1)
        check_classification_targets(y)
        return X, y

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "BallClassifier":
        """Embeds the rows, which may be a sparse matrix, and fits the estimator; fit_params are the estimator's."""
        self._check()
        self.__dict__.pop("choice_", None)
        X, y = self._targets(X, y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"there is one class, {self.classes_.tolist()[0]!r}: a classifier needs two")
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        steps, rows = self._front(X, weights)
        self.balls_, self.C_ = self._chosen(rows, y, weights)
        linear = self._linear(self.balls_, self.C_)
        given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
        self._take(Pipeline([*steps, ("linear", linear.fit(rows, y, **given))]), rows, X.shape[0])
        return self

    @available_if(lambda self: self.estimator is None or hasattr(self.estimator, "partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "BallClassifier":
        """Takes more rows in, by an estimator with partial_fit; None is SGDClassifier(loss="log_loss").

        The first call, which needs classes or rows of all of them, fixes scaler and scale: let it have some thousands of rows.
        """
        self._check()
        if self.balls_per_class != 1:
            raise ValueError(f"partial_fit has one ball per class, got balls_per_class={self.balls_per_class!r}")
        first = not hasattr(getattr(self, "pipeline_", [None])[-1], "partial_fit")  # after fit with another estimator, too
        X, y = self._targets(X, y, first)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if first:
            self.classes_ = np.unique(y if classes is None else classes)
            self.balls_, self.C_ = 1, 10.0 if self.C is None else self.C
            steps, rows = self._front(X, weights)
            linear = clone(self.estimator) if self.estimator is not None else SGDClassifier(
                loss="log_loss", alpha=1 / (self.C_ * 1e4), random_state=_seed(self.random_state))
            pipeline = Pipeline([*steps, ("linear", linear)])
        else:
            pipeline, rows = self.pipeline_, self.pipeline_[:-1].transform(X)
        if weights is None and self.class_weight is not None:
            weights = compute_sample_weight(self.class_weight, y)
        given = {} if weights is None else {"sample_weight": weights}
        pipeline[-1].partial_fit(rows, y, **({"classes": self.classes_} if first else {}), **given)
        self._take(pipeline, rows, X.shape[0] + (0 if first else self.model_.rows))
        return self

    # ---- what was fitted

    def _take(self, pipeline: Pipeline, rows: Any, count: int) -> None:
        """Keeps the fitted pipeline, and what it does as Classes."""
        self.pipeline_ = pipeline
        self.__dict__.pop("_regions", None)
        linear, map = pipeline[-1], pipeline["sphere"].map_
        planes = capball._linear._planes(linear)
        owners = getattr(linear, "owners_", np.arange(len(planes.w)))
        w, w0 = planes.w, planes.w0
        if len(w) == 1:  # the second of two classes against the first
            w, w0, owners = np.vstack([np.zeros_like(w), w]), np.concatenate([[0.0], w0]), np.arange(2)
        scaler: Any = pipeline[0] if self.standardize else None
        factors = None if scaler is None else 1 / scaler.scale_
        center = np.zeros(map.d) if map.center is None else map.center
        whiten = map.whiten
        if factors is not None:  # W (g(x-m) - c) = Wg (x - m - c/g)
            center = center / factors + (0 if scaler.mean_ is None or not scaler.with_mean else scaler.mean_)
            whiten, factors = (None, factors) if whiten is None else (whiten * factors, None)
        labels = [str(label) for label in self.classes_.tolist()]
        make = functools.partial(capball.Classes.of, w, w0, owners, labels, map.s, center, factors, whiten,
                                 columns=getattr(self, "feature_names_in_", None), rows=count)
        self.model_ = make(_rule_of(linear, rows, make))

    @property
    def regions_(self) -> dict[Any, capball.Region]:
        """The region of every class."""
        if not hasattr(self, "model_"):
            raise AttributeError("regions_ are of a fitted BallClassifier")
        if "_regions" not in self.__dict__:
            self._regions = dict(zip(self.classes_.tolist(), self.model_.regions.values()))
        return self._regions

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_regions"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("regions_", None)
        for name, value in BallClassifier().get_params(deep=False).items():  # of capball 0.3
            self.__dict__.setdefault(name, value)
        if hasattr(self, "pipeline_") and "model_" not in self.__dict__:
            self.balls_, self.C_ = 1, 10.0
            self._take(self.pipeline_, None, 0)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        known = getattr(self, "feature_names_in_", ())
        return self.model_.scores(_validated(self, _tables.without_unknown_text(X, known), accept_sparse="csr", reset=False))

    def decision_function(self, X: Any) -> np.ndarray:
        """<w,S(x)> + w0: of two classes one number per row, > 0 in the region of classes_[1]; of more one per class. With several
        balls per class log p, up to a constant of the row."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        scores = self._scores(X)
        return np.asarray(self.classes_[self.model_.verdicts(scores)])

    @available_if(lambda self: self.estimator is None or hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The estimator's probabilities; only where it has them."""
        scores = self._scores(X)
        if self.model_.rule != "largest":
            return self.model_.probabilities(scores)
        X = _validated(self, X, accept_sparse="csr", reset=False)
        return np.asarray(self.pipeline_.predict_proba(X))

    def describe(self, top: int | None = 3) -> str:
        """The region of every class in words, the `top` columns of each ball."""
        check_is_fitted(self, "model_")
        return self.model_.describe(top)

    def save(self, path: Any) -> None:
        """Writes what was learned as a file that `capball score` and capball.Classes.load read."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _rule_of(linear: Any, rows: Any, make: Callable[[str], capball.Classes]) -> str:
    """How the estimator turns values of planes into probabilities: whichever rule gives its own."""
    if not hasattr(linear, "predict_proba"):
        return "largest"
    if isinstance(linear, (LogisticRegression, SoftmaxOfBalls)) or rows is None:
        return "softmax"
    some = rows[:64]
    decided, wanted = linear.decision_function(some), linear.predict_proba(some)
    scores = np.stack([np.zeros(len(decided)), decided], axis=1) if decided.ndim == 1 else decided
    rules = ("softmax", "one-vs-rest") if scores.shape[1] > 2 else ("softmax",)
    return next((rule for rule in rules if np.allclose(make(rule).probabilities(scores), wanted, atol=1e-9)), "largest")


class _Ball(BaseEstimator):
    """What both balls share: score >= 0 is inside."""

    model_: capball.BallModel  # the fitted ball, whose file is that of the command

    def _take(self, model: capball.BallModel, contamination: float | None = None) -> Any:
        """Keeps a fitted model. Without a contamination the rows that its edge rests on are inside: it is known to its gap."""
        if contamination is None:
            model = model.with_threshold(-max(self.gap, _ROUNDING) * model.radius**2)
        self.model_ = model
        self.center_ = model.center
        self.radius_ = model.radius
        self.gap_ = model.gap
        self.support_ = model.support_rows
        self.offset_ = model.threshold
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "nu" in state and "recipe" not in state:  # of a detector of capball 0.3
            self.__dict__.update(recipe="whitened", calibrate=None)
        if "model_" in state:  # of capball 0.3 without a threshold
            self.model_ = self.model_.with_threshold(self.offset_)

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def score_samples(self, X: Any) -> np.ndarray:
        """r^2 - |W(x-c)|^2: the larger, the more ordinary; >= 0 is inside the ball."""
        X = _validate_fitted(self, "model_", X)
        return self.model_.scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """score_samples - offset_: >= 0 is inside."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 inside, -1 outside: the verdicts of model_, of which `capball score` has the same."""
        scores = self.score_samples(X)
        return self.model_.verdicts(scores)

    def ranks(self, X: Any) -> np.ndarray:
        """The share of the training rows that score no more: 0 is the strangest."""
        return self.model_.ranks(self.score_samples(X))

    def why(self, X: Any, top: int = 3) -> list[list[capball.Reason]]:
        """For each row the `top` columns that add most to its distance from the centre: name, value, centre, share.

        X  rows, or one row: a Series or a list of numbers
        """
        X = _validate_fitted(self, "model_", _tables.as_rows(X))
        return self.model_.why(X, top)


class EnclosingBall(_Ball):
    """The smallest ball around the rows, with a proof of how small it is (gap_).

    Rows of the support lie on the edge of the ball, which is known to `gap` and to the rounding of the rows; offset_ is
    that share of r^2 below 0, so that they are inside.
    """

    def __init__(self, *, gap: float = 1e-9, standardize: bool = False, whiten: bool = False, ridge: float = 0.0):
        self.gap = gap
        self.standardize = standardize
        self.whiten = whiten
        self.ridge = ridge

    def fit(self, X: Any, y: Any = None) -> "EnclosingBall":
        """Finds the ball; columns of text are left out, with a warning."""
        X = _fitting(self, _tables.numeric(X))
        return self._take(capball.enclosing_ball(X, gap=self.gap, standardize=self.standardize, whiten=self.whiten,
                                                 ridge=self.ridge, columns=self._names()))


def detector_options(recipe: str | None, kernel: str, standardize: bool | None, whiten: bool | None, ridge: float,
                     balls: int | str) -> dict[str, Any]:
    """The recipe of docs/explanation/outliers.md where nothing else is asked for; kernels go with neither."""
    linear = kernel == "linear"
    asked = recipe == "robust" or (recipe is None and linear and standardize is None and whiten is None)
    if recipe not in (None, "robust", "whitened"):
        raise ValueError(f'recipe must be None, "robust" or "whitened", got {recipe!r}')
    if asked:
        return dict(kernel=kernel, robust=True, ridge=ridge)
    whiten = linear if whiten is None else whiten
    return dict(kernel=kernel, standardize=linear if standardize is None else standardize, whiten=whiten,
                ridge=ridge if whiten else 0.0)


class BallDetector(OutlierMixin, _Ball):
    """Outliers by a ball around the data (SVDD), in linear time, with a reason for every row (why).

    Parameters
    ----------
    contamination : share of the training rows that predict calls outliers, 0 < contamination <= 0.5, fewer where rows tie;
        None: those outside of the ball, for which nu is then the share.
    nu : share of the rows that the centre rests on, 0 < nu <= 1. A large one puts rows in the best order: outliers are
        few among them.
    recipe : "robust": columns are standardised and whitened by the rows that look most ordinary, three quarters at most,
        found in two refits, and the ball is that of these rows; notes_ say what was done. "whitened": by all rows, which
        was the default of 0.3. None is "robust" without a kernel where neither standardize nor whiten is given, else
        "whitened".
    standardize, whiten, ridge : columns are divided by their standard deviation, and distances are measured by the
        inverse of the covariance, to whose diagonal `ridge` of itself is added. None is True, and False with a kernel.
    balls : several balls of one radius, for rows in several clouds; a row's score is that of the nearest ball. "auto": one or
        16, by what rows tell that a trial has not seen, and notes_ say why.
    kernel : "linear", "rbf" or "polynomial"; kernels are for some ten thousand rows.
    gamma, coef0, degree : of the kernel; gamma=None is 1/columns.
    calibrate : whether p_values, and predict with alpha= or fdr=, can be asked: parts of the rows are left out of further fits and
        scored. None is yes with the robust recipe, else no.
    random_state : of the groups of `balls`, and of these parts.
    verbose : whether fit shows a bar of its progress, by tqdm.

    The defaults are those of `capball ball --robust --contamination 0.1`, with the same scores and verdicts; those of 0.3,
    recipe="whitened", are `capball ball --standardize --whiten --ridge 0.1 --nu 0.9`.

    Attributes
    ----------
    model_ : the BallModel, which `capball score` and databases read; center_, radius_, gap_, offset_ are its own.
    notes_ : what the robust recipe did about rows and columns, a sentence each.
    new_share_ : which share of new rows like these predict calls outliers, as far as rows tell that the fit has not seen;
        None without `calibrate`. It is not `contamination`, which is the share of the rows of the fit.
    """

    def __init__(self, nu: float = 0.9, *, contamination: float | None = 0.1, recipe: str | None = None,
                 calibrate: bool | None = None, standardize: bool | None = None, whiten: bool | None = None, ridge: float = 0.1,
                 balls: int | str = 1, kernel: str = "linear", gamma: float | None = None, coef0: float = 0.0, degree: int = 3, gap: float = 1e-9,
                 random_state: Any = None, verbose: bool = False):
        self.nu = nu
        self.contamination = contamination
        self.recipe = recipe
        self.calibrate = calibrate
        self.standardize = standardize
        self.whiten = whiten
        self.ridge = ridge
        self.balls = balls
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.gap = gap
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BallDetector":
        """Finds the ball; columns of text are left out, with a warning.

        sample_weight  counts rows: 2 is a row that is there twice, 0 one that is not
        """
        X = _fitting(self, _tables.numeric(X))
        if self.contamination is not None and not 0 < self.contamination <= 0.5:
            raise ValueError(f"contamination must be None or in (0, 0.5], got {self.contamination}")
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        nu = max(self.nu, 1.0 / len(X)) if weights is None else self.nu
        options = detector_options(self.recipe, self.kernel, self.standardize, self.whiten, self.ridge, self.balls)
        model = capball.svdd(X, nu, gap=self.gap, gamma=self.gamma, offset=self.coef0, degree=self.degree, weights=weights,
                             balls=self.balls, seed=_seed(self.random_state), columns=self._names(),
                             contamination=self.contamination, progress=bool(self.verbose),
                             calibrate="robust" in options if self.calibrate is None else self.calibrate, **options)
        self.notes_ = model.notes
        self._take(model, self.contamination)
        n = model.calibrated
        below = self.model_.p_values([np.nextafter(self.offset_, -np.inf)])[0]
        self.new_share_ = float(below * (n + 1) - 1) / n if n else None
        return self

    def p_values(self, X: Any) -> np.ndarray:
        """Of each row, how often an ordinary row that the fit has not seen scores no more: small for outliers.

        For new rows, not for those of the fit. A new row like these has p <= alpha with a probability of about alpha at
        most, whatever its distribution; outliers among the rows of the fit make p larger.
        """
        scores = self.score_samples(X)
        if not self.model_.calibrated:
            raise ValueError("there are no p-values: fit with calibrate=True, to at least 4 rows")
        return self.model_.p_values(scores)

    def predict(self, X: Any, *, alpha: float | None = None, fdr: float | None = None) -> np.ndarray:
        """+1 for ordinary rows, -1 for outliers: by the threshold of model_, of which `capball score` has the same verdicts.

        alpha  outliers are rows with p_values(X) <= alpha
        fdr    outliers are as many rows as have a false-discovery rate of at most fdr (Benjamini and Hochberg)
        """
        if fdr is not None:
            if alpha is not None:
                raise ValueError("alpha and fdr: give one of the two")
            p = self.p_values(X)
            return np.where(p <= self.model_.discoveries(p, fdr), -1, 1)
        if alpha is None:
            return super().predict(X)
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must lie in (0,1), got {alpha}")
        return np.where(self.p_values(X) <= alpha, -1, 1)


class SketchTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows to the bits of their codes, one column of 0 and 1 per bit; a byte names one of 256 centres."""

    def __init__(self, bits: int = 256, *, form: str = "chosen", goal: str = "mean", s: float | None = None,
                 sample: int = 16384, random_state: Any = None):
        self.bits = bits
        self.form = form
        self.goal = goal
        self.s = s
        self.sample = sample
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "SketchTransformer":
        """Trains the code on a sample of the rows; it has fewer bits where those would say nothing more."""
        X = _fitting(self, X)
        self.sketch_ = capball.Sketch.fit(X, self.bits, self.s, self.goal, _seed(self.random_state), self.sample,
                                          form=self.form)
        self._n_features_out = self.sketch_.bits
        return self

    def codes(self, X: Any) -> np.ndarray:
        """The codes packed, code_bytes of the sketch for each row."""
        X = _validate_fitted(self, "sketch_", X)
        return self.sketch_.encode(X)

    def transform(self, X: Any) -> np.ndarray:
        """One column per bit, 0 or 1."""
        return np.unpackbits(self.codes(X)[:, :self.sketch_.bits // 8], axis=1, bitorder="little")

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

    metric  "l2" or "euclidean"; "cosine": distances are 1 - cosine; "ip": values are inner products, largest first, and
            radius is the least of them. These are not distances, so graphs have mode="connectivity" only
    """

    _METRICS = {"l2": "l2", "euclidean": "l2", "cosine": "cosine", "ip": "ip"}

    def __init__(self, n_neighbors: int = 5, *, radius: float = 1.0, metric: str = "l2"):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> "Neighbors":
        """Keeps the rows in an index."""
        rows = _validated(self, X)
        self.index_ = capball.Index(rows.shape[1], self._metric(), rows.dtype)
        self.index_.add(rows)
        self.n_samples_fit_ = len(rows)
        return self

    def _metric(self) -> str:
        if self.metric not in self._METRICS:
            raise ValueError(f"metric must be one of {', '.join(self._METRICS)}, got {self.metric!r}")
        return self._METRICS[self.metric]

    def _distances(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(1 - values, 0) if self.index_.metric == "cosine" else values

    def _queries(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "index_")
        return self.index_.rows(np.arange(self.n_samples_fit_)) if X is None else _validate_fitted(self, "index_", X)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distances, indices) of the nearest rows; of the fitted rows without themselves where X is None."""
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        queries, own = self._queries(X), X is None
        if k + own > self.n_samples_fit_:
            raise ValueError(f"{k} neighbours asked of {self.n_samples_fit_} rows")
        found = self.index_.search(queries, k + own)
        values, ids = _without_self(found, k) if own else found
        return (self._distances(values), ids) if return_distance else ids

    def _within(self, X: Any, radius: float | None) -> capball.Within:
        queries = self._queries(X)
        radius = self.radius if radius is None else radius
        found = self.index_.range_search(queries, 1 - radius if self.index_.metric == "cosine" else radius)
        found = capball.Within(found.lims, found.ids, self._distances(found.distances))
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
            distances[i], ids[i] = found[i]
        return (distances, ids) if return_distance else ids

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """A sparse matrix of queries by fitted rows: 1, or with mode="distance" the distance."""
        distances, ids = self.kneighbors(X, n_neighbors)
        ends = np.arange(0, ids.size + 1, ids.shape[1])
        return self._graph(distances.ravel(), ids.ravel(), ends, mode)

    def radius_neighbors_graph(self, X: Any = None, radius: float | None = None, mode: str = "connectivity") -> Any:
        """The same of the rows within the radius."""
        found = self._within(X, radius)
        return self._graph(found.distances, found.ids, found.lims, mode)

    def _graph(self, distances: np.ndarray, ids: np.ndarray, ends: np.ndarray, mode: str) -> Any:
        if mode == "distance" and self.index_.metric == "ip":
            raise ValueError("inner products are not distances: graphs of metric='ip' need mode='connectivity'")
        return _graph(distances, ids, ends, self.n_samples_fit_, mode)


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
