"""capball for PyOD: a ball around data as a detector with PyOD's conventions (the larger the score, the stranger).

>>> import numpy as np
>>> from capball.pyod import Ball
>>> x = np.vstack([np.random.default_rng(0).normal(size=(99, 2)), [[9.0, 9.0]]])
>>> int(np.argmax(Ball().fit(x).decision_scores_))
99
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capball import _extras

_extras.module("pyod")

from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

import capball
from capball import _tables
from capball._model import names_of
from capball.sklearn import detector_options


def _checked(X: Any) -> np.ndarray:
    with _tables.problems_named(X):
        return check_array(X, dtype=[np.float64, np.float32])


class Ball(BaseDetector):
    """SVDD with the recipe of docs/explanation/outliers.md: columns standardised and whitened by the rows that look most
    ordinary, nu = 0.9.

    nu is how many rows take part in the centre. Outliers are the share `contamination` of the rows, so that only the order of
    scores counts, and that is best when outliers, which may lie together, are few among them. The threshold is that of model_
    and of capball.sklearn.BallDetector, as are the other parameters.
    """

    def __init__(self, contamination: float = 0.1, nu: float = 0.9, kernel: str = "linear",
                 gamma: float | None = None, standardize: bool | None = None, whiten: bool | None = None,
                 ridge: float = 0.1, balls: int | str = 1, random_state: int = 0, recipe: str | None = None):
        super().__init__(contamination=contamination)
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.standardize = standardize
        self.whiten = whiten
        self.ridge = ridge
        self.balls = balls
        self.random_state = random_state
        self.recipe = recipe

    def fit(self, X: Any, y: Any = None) -> "Ball":
        """Finds the ball; columns of text are left out, with a warning."""
        X = _tables.numeric(X)
        columns = names_of(X)
        X = _checked(X)
        self._set_n_classes(y)
        share = self.contamination if isinstance(self.contamination, (float, int)) else None  # or PyThresh's object
        self.model_ = capball.svdd(X, max(self.nu, 1.0 / len(X)), gamma=self.gamma, balls=self.balls,
                                   seed=self.random_state, columns=columns, contamination=share,
                                   **detector_options(self.recipe, self.kernel, self.standardize, self.whiten, self.ridge, self.balls))
        self.decision_scores_ = self.decision_function(X)
        self._process_decision_scores()
        if share is not None:
            self.threshold_ = -self.model_.threshold
            self.labels_ = (self.decision_scores_ > self.threshold_).astype(int)
        return self

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        return _checked(_tables.without_unknown_text(X, self.model_.columns or ()))

    def decision_function(self, X: Any) -> np.ndarray:
        """|W(x-c)|^2 - r^2: > 0 is outside."""
        rows = self._rows(X)
        return -self.model_.scores(rows)

    def why(self, X: Any, top: int = 3) -> list[list[capball.Reason]]:
        """For each row the `top` columns that add most to its distance from the centre: name, value, centre, share."""
        rows = self._rows(_tables.as_rows(X))
        return self.model_.why(rows, top)
