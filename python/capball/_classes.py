"""Classes as balls: planes on the sphere with the classes that they belong to, read as regions of the data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from . import _arrays, _core
from ._map import SphereMap
from ._model import _Artefact
from .dual import Cap, Everywhere, Region, check_dialect


def region_of_plane(map: SphereMap, w: np.ndarray, w0: float) -> Region:
    """Where <w,S(x)> + w0 >= 0."""
    if len(w) != map.d + 1:
        raise ValueError(f"the estimator takes {len(w)} columns, and the sphere of {map.d} columns has {map.d + 1}")
    if not w.any():
        return Everywhere(map.d, nothing=bool(w0 < 0))
    return map.ball(Cap(w, -w0))


def _as_label(text: str, all_whole: bool, all_truth: bool) -> Any:
    return int(text) if all_whole else text == "True" if all_truth else text


class Classes(_Artefact, _core.Classes):
    """A classifier of balls: what BallClassifier has learned, as an object and as a file that `capball score` reads.

    Rows are embedded by a map, each class has one plane on the sphere or several, and between two planes the boundary is a
    sphere of the data. A row belongs to the class with the largest score; scores >= 0 are nothing special.

    >>> import capball
    >>> classes = capball.Classes.of([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0], [0, 1], ["far", "near"], 1.0)
    >>> classes.predict([[0.5, 0.0], [3.0, 0.0]]).tolist()
    ['near', 'far']
    >>> classes.regions["near"]
    Ball(c=[0, 0], r=1)
    """

    __slots__ = ()

    @property
    def classes(self) -> list[Any]:
        """The classes: whole numbers or truth values where all labels are such, else their texts."""
        texts = self.labels
        whole = all(text.removeprefix("-").isdecimal() for text in texts)
        return [_as_label(text, whole, set(texts) <= {"True", "False"}) for text in texts]

    def scores(self, x: Any, threads: int | None = None) -> np.ndarray:
        """A score for every row and class; rows may be a sparse matrix."""
        if _arrays.is_sparse(x):
            return _arrays.in_pieces(lambda rows: _core.Classes.scores(self, rows, threads), x)
        return _core.Classes.scores(self, np.atleast_2d(x) if isinstance(x, (list, tuple)) else x, threads)

    def predict(self, x: Any) -> np.ndarray:
        """The class of every row."""
        return np.array(self.classes)[self.verdicts(self.scores(x))]

    def predict_proba(self, x: Any) -> np.ndarray:
        """The probability of every class for every row."""
        return self.probabilities(self.scores(x))

    def map(self) -> SphereMap:
        """The map by which rows are embedded."""
        whiten = self.whiten if self.factors is None else np.diag(self.factors)
        return SphereMap(self.d, self.s, center=self.center, whiten=whiten)

    def ball(self, plane: int, rival: int) -> Region:
        """Where one plane has a value that is not less than another's: a ball, a complement, a half-space, an ellipsoid."""
        region = region_of_plane(self.map(), self.w[plane] - self.w[rival], self.w0[plane] - self.w0[rival])
        region.columns = self.columns
        region.usual = self._usual()
        return region

    def _usual(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Centre and unit of the columns, where the map knows both."""
        if self.center is None or self.factors is None or not self.factors.all():
            return None
        return self.center, 1 / np.abs(self.factors)

    @property
    def regions(self) -> dict[Any, Region]:
        """The region of every class: the rows that predict gives to it."""
        labels = self.classes
        if len(self.w) == 2:
            return {labels[0]: self.ball(0, 1), labels[1]: self.ball(1, 0)}
        return {label: ClassRegion(self, place, columns=self.columns, usual=self._usual()) for place, label in enumerate(labels)}

    def to_sql(self, dialect: str | None = None, columns: Any = None) -> str:  # type: ignore[override]
        """The class of a row as an SQL expression; one text serves SQLite, PostgreSQL and DuckDB."""
        check_dialect(dialect)
        return super().to_sql(columns)

    def to_onnx(self) -> Any:
        """An ONNX model from rows "x" (n x d, float32) to "class" (its number), "label" and "scores"; needs onnx."""
        from ._onnx import of_classes

        return of_classes(self)

    def describe(self, top: int | None = 3) -> str:
        """Every class in words, the `top` columns of each ball."""
        return "\n\n".join(f"class {label}\n{_indented(region.describe(top))}" for label, region in self.regions.items())

    def _facts(self) -> dict[str, str]:
        facts = {"classes": f"[{', '.join(self.labels[:6])}{', ..' if len(self.labels) > 6 else ''}]", "d": str(self.d)}
        if len(self.w) > len(self.labels):
            facts["balls"] = str(len(self.w))
        return {**facts, "rule": self.rule, "s": f"{self.s:.6g}"}

    def _repr_html_(self) -> str:
        parts = [f"<h4>{escape(str(label))}</h4>{region._repr_html_()}" for label, region in list(self.regions.items())[:12]]
        return super()._repr_html_() + "".join(parts)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


@dataclass(repr=False, eq=False)
class ClassRegion(Region):
    """Where one class of several has the largest score: unions and intersections of balls.

    The score of a row is that of the class less the largest of the others, log p - log p_other where there are probabilities.

    whole  all classes, with their balls
    place  the number of this one, from 0
    """

    whole: Classes = field(default=None)  # type: ignore[assignment]
    place: int = 0

    def _numbers(self) -> tuple[Any, ...]:
        return (None, np.zeros(self.whole.d), 0.0)

    @property
    def label(self) -> Any:
        """The class."""
        return self.whole.classes[self.place]

    def scores(self, x: Any, out: Any = None) -> np.ndarray:
        """score >= 0 is inside, one for each row of x; rows may be a sparse matrix."""
        scores = self.whole.scores(x)
        own = scores[:, self.place]
        found = own - np.delete(scores, self.place, axis=1).max(axis=1)
        if out is None:
            return found
        out[...] = found
        return out  # type: ignore[no-any-return]

    def probabilities(self, x: Any) -> np.ndarray:
        """The probability of the class for every row."""
        return self.whole.predict_proba(x)[:, self.place]

    @property
    def planes(self) -> list[int]:
        """The planes of the class, one for each of its balls."""
        return np.flatnonzero(self.whole.owners == self.place).tolist()

    def balls(self) -> dict[Any, list[Region]]:
        """For every other class a ball for each plane of this one: where it is ahead of the nearest plane of that class, the one
        with the largest value at the ball's own most typical point."""
        found: dict[Any, list[Region]] = {}
        owners, labels = self.whole.owners, self.whole.classes
        for rival, label in enumerate(labels):
            if rival != self.place:
                others = np.flatnonzero(owners == rival)
                found[label] = [self.whole.ball(mine, self._nearest(mine, others)) for mine in self.planes]
        return found

    def _nearest(self, mine: int, others: np.ndarray) -> int:
        w, w0 = self.whole.w, self.whole.w0
        away = w[mine] - w[others].mean(axis=0)
        length = np.linalg.norm(away)
        values = w[others] @ (away / length if length else away) + w0[others]
        return int(others[np.argmax(values)])

    def lines(self, top: int | None = 5) -> list[Any]:
        """What the first of its balls says about its columns."""
        return next(iter(self.balls().values()))[0].lines(top)

    def _weights(self) -> np.ndarray:
        weights = np.mean([ball._weights() for balls in self.balls().values() for ball in balls], axis=0)
        return np.asarray(weights)

    def _law(self) -> str:
        return "score of this class >= score of every other"

    def describe(self, top: int | None = 5) -> str:
        """A ball for each other class, and each of its own sub-classes."""
        parts = []
        for label, balls in self.balls().items():
            for i, ball in enumerate(balls):
                which = f", ball {i + 1} of {len(balls)}" if len(balls) > 1 else ""
                parts.append(f"before {label}{which}: {ball.describe(top)}")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.describe(3))}</pre>"

    def _facts(self) -> dict[str, str]:
        return {"label": repr(self.label), "balls": str(len(self.planes)), "of": str(len(self.whole.classes))}

    def model(self) -> Any:
        """Always an error: one class of several is no single ball."""
        raise ValueError("one class of several is no single ball: take the Classes that it belongs to (whole), or its balls()")

    def to_json(self) -> str:
        """The text of the file of all classes: one alone does not say where it ends."""
        return self.whole.to_json()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file of all classes: one alone does not say where it ends."""
        self.whole.save(path)

    def to_sql(self, dialect: str | None = None, columns: Any = None) -> str:
        """The region as a condition of SQL: the class of the row is this one."""
        label = self.whole.labels[self.place]
        text = label if all(name.removeprefix("-").isdecimal() for name in self.whole.labels) else "'" + label.replace("'", "''") + "'"
        return f"{self.whole.to_sql(dialect, columns)} = {text}"

    def to_c(self, name: str = "inside") -> str:
        """The region as a function of C, int NAME(const double x[D]): 1 inside, else 0."""
        inner = f"{name}_class"
        return f"{self.whole.to_c(inner)}\nint {name}(const double x[{self.whole.d}]) {{ return {inner}(x) == {self.place}; }}\n"

    def to_onnx(self) -> Any:
        """The ONNX model of all classes: "class" is the number of the class of each row."""
        return self.whole.to_onnx()
