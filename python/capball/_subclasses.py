"""Several balls per class: a softmax over sub-classes on the sphere, found by k-means and a few rounds of moving rows."""

from __future__ import annotations

import itertools
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
CHOICE_ROWS = 20000  # of which the folds that choose see no more
BALLS, STRENGTHS = (1, 2, 4, 8), (1.0, 10.0, 100.0)
_CENTERS_ROWS = 20000  # of a class, for k-means


class SoftmaxOfBalls(ClassifierMixin, BaseEstimator):
    """A softmax over sub-classes: a row belongs to the class whose sub-classes have the largest sum.

    Rows are points of the sphere. k-means in each class, in the flat space before the embedding, gives the first
    sub-classes; after each fit, a row goes to the likeliest sub-class of its own class.
    """

    def __init__(self, balls: int = 4, *, C: float = 10.0, class_weight: Any = None, rounds: int = ROUNDS,
                 max_iter: int = 1000, random_state: Any = None):
        self.balls = balls
        self.C = C
        self.class_weight = class_weight
        self.rounds = rounds
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SoftmaxOfBalls":
        """Finds the sub-classes and their planes."""
        self.classes_, y = np.unique(y, return_inverse=True)
        weights = _weights_of(self.class_weight, self.classes_, y, sample_weight)
        owners, parts = self._first(X, y, weights)
        for step in range(self.rounds):
            last = step + 1 == self.rounds
            planes = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=1e-4 if last else 1e-2)
            if step > 0:
                planes.warm_start, planes.coef_, planes.intercept_, planes.classes_ = True, w, w0, np.arange(len(owners))
            planes.fit(X, parts, weights)
            w, w0 = _both(planes)
            moved = _likeliest(X @ w.T + w0, owners, y)
            if last or (moved == parts).all():
                break
            used, parts = np.unique(moved, return_inverse=True)
            owners, w, w0 = owners[used], w[used], w0[used]
        self.owners_, self.coef_, self.intercept_ = owners, w, w0
        return self

    def _first(self, X: Any, y: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """The class of each sub-class, and the sub-class of each row."""
        parts, owners = np.zeros(len(y), int), []
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
        f = X @ self.coef_.T + self.intercept_
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


def _likeliest(f: np.ndarray, owners: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the sub-classes of a row's own class the one with the largest value."""
    return np.asarray(np.where(owners[None, :] == y[:, None], f, -np.inf).argmax(axis=1))


def choose(make: Callable[[int, float], Any], X: Any, y: np.ndarray, weights: Any, seed: int,
           told: Callable[[float], object] | None) -> tuple[int, float, dict[tuple[int, float], float]]:
    """The number of balls and the C with the best accuracy in folds of the rows, the simplest of nearly equal ones; and all
    accuracies."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(y))[:CHOICE_ROWS])
    X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
    least = int(np.unique(y, return_counts=True)[1].min())
    if least < 2:
        return 1, 10.0, {}
    folds = list(StratifiedKFold(min(5, least), shuffle=True, random_state=seed).split(X, y))
    options = list(itertools.product(BALLS, STRENGTHS))
    found = {}
    for number, (balls, C) in enumerate(options):
        right = 0.0
        for fold, (train, test) in enumerate(folds):
            model = make(balls, C).fit(X[train], y[train], *([] if weights is None else [weights[train]]))
            right += _right(model, X[test], y[test], None if weights is None else weights[test])
            if told is not None:
                told((number + (fold + 1) / len(folds)) / len(options))
        found[balls, C] = right / len(folds)
    best = max(found, key=lambda option: found[option])
    return best[0], best[1], found


def _right(model: Any, X: Any, y: np.ndarray, weights: Any) -> float:
    return float(np.average(model.predict(X) == y, weights=weights))
