"""Several balls per class: a softmax over sub-classes on the sphere, found by k-means and a few rounds of moving rows."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

LEAST_ROWS = 5  # of a sub-class, on the mean: a class of fewer has fewer sub-classes
ROUNDS = 3
CHOICE_ROWS = 10000  # of which the folds that choose see no more
CHOICE_FOLDS = 3
BALLS, STRENGTHS, USUAL_C = (1, 2, 4, 8), (1.0, 100.0), 10.0
PATIENCE = 2  # numbers of balls without a gain after which no larger one is tried
_CENTERS_ROWS = 20000  # of a class, for k-means


class SoftmaxOfBalls(ClassifierMixin, BaseEstimator):
    """A softmax over sub-classes: a row belongs to the class whose sub-classes have the largest sum.

    Rows are points of the sphere. k-means in each class, in the flat space before the embedding, gives the first
    sub-classes; after each fit, a row goes to the likeliest sub-class of its own class.
    """

    def __init__(self, balls: int = 4, *, C: float = 10.0, class_weight: Any = None, rounds: int = ROUNDS,
                 max_iter: int = 1000, tol: float = 1e-4, random_state: Any = None):
        self.balls = balls
        self.C = C
        self.class_weight = class_weight
        self.rounds = rounds
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, start: Any = None) -> "SoftmaxOfBalls":
        """Finds the sub-classes and their planes; start is another one, fitted to the same rows, to begin with."""
        self.classes_, y = np.unique(y, return_inverse=True)
        weights = _weights_of(self.class_weight, self.classes_, y, sample_weight)
        if start is None:
            owners, parts = self._first(X, y, weights)
            w: Any = None
            w0: Any = None
        else:
            owners, w, w0 = start.owners_, start.coef_, start.intercept_
            owners, parts, w, w0 = _moved(X, y, owners, w, w0)
        rounds = 1 if len(owners) == len(self.classes_) else self.rounds
        for step in range(rounds):
            w, w0 = self._planes(X, parts, weights, w, w0, self.tol if step + 1 == rounds else max(self.tol, 1e-2))
            if step + 1 < rounds:
                owners, parts, w, w0 = _moved(X, y, owners, w, w0)
        self.owners_, self.coef_, self.intercept_ = owners, w, w0
        return self

    def _planes(self, X: Any, parts: np.ndarray, weights: Any, w: Any, w0: Any, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """A softmax of the sub-classes, from earlier planes where there are some."""
        planes = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=tol)
        if w is not None and len(w) > 2:
            planes.warm_start, planes.coef_, planes.intercept_, planes.classes_ = True, w, w0, np.arange(len(w))
        return _both(planes.fit(X, parts, weights))

    def _first(self, X: Any, y: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """The class of each sub-class, and the sub-class of each row."""
        parts = np.zeros(len(y), int)
        owners: list[int] = []
        for label in range(len(self.classes_)):
            rows = np.flatnonzero(y == label)
            count = min(self.balls, max(1, len(rows) // LEAST_ROWS))
            found = np.zeros(len(rows), int)
            if count > 1:
                found = _clusters(_flat(X[rows]), count, None if weights is None else weights[rows], self.random_state)
            parts[rows] = len(owners) + found
            owners += [label] * (int(found.max()) + 1)
        return np.array(owners), parts

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        coef: Any = self.coef_
        f = X @ coef.T + self.intercept_
        return np.stack([logsumexp(f[:, self.owners_ == label], axis=1) for label in range(len(self.classes_))], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """log p up to a constant for each class; of two classes their difference."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """The sums of the sub-classes."""
        scores = self._scores(X)
        return np.asarray(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest sum."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])


def _weights_of(class_weight: Any, classes: np.ndarray, y: np.ndarray, sample_weight: Any) -> np.ndarray | None:
    if class_weight is None:
        return None if sample_weight is None else np.asarray(sample_weight, float)
    from sklearn.utils.class_weight import compute_sample_weight

    given = classes[y]
    return compute_sample_weight(class_weight, given) * (1.0 if sample_weight is None else np.asarray(sample_weight, float))


def _both(planes: LogisticRegression) -> tuple[np.ndarray, np.ndarray]:
    """A plane for every sub-class, of two as well."""
    if len(planes.coef_) > 1:
        return planes.coef_, planes.intercept_
    return np.vstack([-planes.coef_, planes.coef_]) / 2, np.concatenate([-planes.intercept_, planes.intercept_]) / 2


def _flat(X: Any) -> np.ndarray:
    """The points of the space before the embedding, but for its scale."""
    rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return rows[:, :-1] / np.maximum(1 + rows[:, -1:], 1e-9)


def _clusters(x: np.ndarray, count: int, weights: Any, random_state: Any) -> np.ndarray:
    step = -(-len(x) // _CENTERS_ROWS)
    means = KMeans(count, n_init=1, random_state=random_state).fit(x[::step], sample_weight=None if weights is None else weights[::step])
    return np.unique(means.predict(x), return_inverse=True)[1]


def _moved(X: Any, y: np.ndarray, owners: np.ndarray, w: np.ndarray, w0: np.ndarray) -> tuple[np.ndarray, ...]:
    """owners, sub-classes of the rows, w and w0 after each row went to its likeliest; sub-classes without rows are gone."""
    used, parts = np.unique(_likeliest(X @ w.T + w0, owners, y), return_inverse=True)
    return owners[used], parts, w[used], w0[used]


def _likeliest(f: np.ndarray, owners: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the sub-classes of a row's own class the one with the largest value."""
    return np.asarray(np.where(owners[None, :] == y[:, None], f, -np.inf).argmax(axis=1))


class Choice:
    """The number of balls and the C with the best accuracy in folds of the rows: first the balls, at the usual C, then C."""

    def __init__(self, X: Any, y: np.ndarray, weights: Any, seed: int, told: Callable[[float], object] | None, **settings: Any):
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:CHOICE_ROWS])
        self.X, self.y, self.weights = X[rows], y[rows], None if weights is None else weights[rows]
        self.told, self.settings, self.done = told, settings, 0
        least = int(np.unique(self.y, return_counts=True)[1].min())
        folds = StratifiedKFold(min(CHOICE_FOLDS, least), shuffle=True, random_state=seed) if least > 1 else None
        self.folds = [] if folds is None else list(folds.split(self.X, self.y))
        self.accuracies: dict[tuple[int, float], float] = {}
        self.found: dict[int, list[SoftmaxOfBalls]] = {}  # the fits of each number of balls

    def best(self) -> tuple[int, float]:
        """Tries the numbers of balls, until some in a row have gained nothing, and then the other C."""
        if not self.folds:
            return 1, USUAL_C
        best = BALLS[0]
        for place, balls in enumerate(BALLS):
            self._try(balls, USUAL_C)
            if self.accuracies[balls, USUAL_C] > self.accuracies[best, USUAL_C]:
                best = balls
            if place - BALLS.index(best) >= PATIENCE:
                break
        for C in STRENGTHS:
            self._try(best, C)
        self._tell(1.0)
        return max(((best, C) for C in (USUAL_C, *STRENGTHS)), key=lambda option: self.accuracies[option])

    def _try(self, balls: int, C: float) -> None:
        """A fit starts where the one at the usual C has ended."""
        right, starts = 0.0, self.found.get(balls, [None] * len(self.folds))  # type: ignore[list-item]
        fits = []
        for (train, test), start in zip(self.folds, starts):
            weights = None if self.weights is None else self.weights[train]
            model = SoftmaxOfBalls(balls, C=C, max_iter=200, tol=1e-3, **self.settings)
            fits.append(model.fit(self.X[train], self.y[train], weights, start=start))
            right += _right(model, self.X[test], self.y[test], None if self.weights is None else self.weights[test])
            self._tell((self.done + len(fits) / len(self.folds)) / (len(BALLS) + len(STRENGTHS)))
        self.done += 1
        self.found.setdefault(balls, fits)
        self.accuracies[balls, C] = right / len(self.folds)

    def _tell(self, share: float) -> None:
        if self.told is not None:
            self.told(share)


def _right(model: Any, X: Any, y: np.ndarray, weights: Any) -> float:
    return float(np.average(model.predict(X) == y, weights=weights))
