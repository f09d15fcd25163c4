"""Balls, half-spaces, ellipsoids and caps as objects.

A cap of the sphere and a region of the data space are two names of one thing; a map carries one to the other.

>>> import capball
>>> m = capball.SphereMap(2, s=5.0)
>>> cap = m.cap(capball.Ball([5, 3], 2.1))
>>> cap
Cap(p=[0.8548, 0.5129, -0.07848], b=0.9333)
>>> m.ball(cap)
Ball(c=[5, 3], r=2.1)
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _core

_EMPTY, _BALL, _HALFSPACE, _COMPLEMENT, _PUNCTURED, _EVERYTHING = range(6)


def _short(numbers: Any) -> str:
    shown = [f"{x:.4g}" for x in np.ravel(numbers)[:6]]
    return "[" + ", ".join(shown) + (", ..]" if np.size(numbers) > 6 else "]")


def _vector(x: Any) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float64)


class _Shown:
    """A repr of the fields that matter, in a line or as a small table."""

    def _facts(self) -> dict[str, str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value}" for name, value in self._facts().items())
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._facts().items())
        return f"<table><caption>{type(self).__name__}</caption>{cells}</table>"


DIALECTS = ("sqlite", "postgresql", "duckdb")


def check_dialect(dialect: str | None) -> None:
    """One text serves the three databases; of others nothing is known."""
    if dialect is not None and dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")


_FAR = 8.0  # standard deviations


class Line(NamedTuple):
    """What a region says about one column."""

    column: str
    center: float  # of the ball; of a half-space the column's factor
    weight: float  # the column's part in the decision, of all columns 1
    where: str  # the column's values inside, while all others are as usual: at their means, or at the centre


def _interval(low: float, high: float, name: str, outside: bool) -> str:
    """The values of a column inside, from low to high or without them."""
    if not low <= high:
        return "everywhere" if outside else "nowhere"
    if np.isinf(low) and np.isinf(high):
        return "nowhere" if outside else "everywhere"
    if np.isinf(low):
        return f"{name} >= {high:.4g}" if outside else f"{name} <= {high:.4g}"
    if np.isinf(high):
        return f"{name} <= {low:.4g}" if outside else f"{name} >= {low:.4g}"
    return f"{name} <= {low:.4g} or >= {high:.4g}" if outside else f"{low:.4g} <= {name} <= {high:.4g}"


@dataclass(repr=False, eq=False)
class Region(_Shown):
    """A region of the data space; scores >= 0 are inside.

    columns  names of the columns, where the rows had names
    usual    (means, standard deviations) of the rows that it was found from: what describe() weighs columns by
    """

    columns: list[str] | None = field(default=None, kw_only=True)
    usual: tuple[np.ndarray, np.ndarray] | None = field(default=None, kw_only=True)

    def _numbers(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def d(self) -> int:
        """Columns of the data."""
        return len(self._numbers()[1])

    def scores(self, x: Any, out: Any = None) -> np.ndarray:
        """score >= 0 is inside, one for each row of x; rows may be a sparse matrix."""
        kind, c, r, axis, along, W = (*self._numbers(), None, None, None)[:6]
        if _arrays.is_sparse(x):
            return _arrays.in_pieces(self.scores, x)
        return _core.region_scores(x, kind, c, r, axis, along, W, out)

    def __contains__(self, x: Any) -> bool:
        return bool(self.scores(_vector(x).reshape(1, -1))[0] >= 0)

    # ---- read

    @property
    def names(self) -> list[str]:
        """The names of the columns, or x0, x1, .."""
        return list(self.columns) if self.columns is not None else [f"x{j}" for j in range(self.d)]

    def _metric(self) -> np.ndarray:
        """W^T W of |W(x-c)|, or its diagonal where it has no other numbers."""
        return np.ones(self.d)

    def _along(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the lines through a point along each column enter and leave the ball: |W(x-c)|^2 = r^2."""
        kind, c, r = self._numbers()[:3]
        if kind == _HALFSPACE:
            with np.errstate(divide="ignore", invalid="ignore"):
                edge = at + (r - c @ at) / c
            return np.where(c > 0, edge, -np.inf), np.where(c > 0, np.inf, edge)
        M = self._metric()
        diagonal, pull = (M, M * (at - c)) if M.ndim == 1 else (np.diag(M), M @ (at - c))
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(pull**2 - diagonal * ((at - c) @ pull - r * r))  # NaN where the line misses
            low, high = at - (pull + root) / diagonal, at - (pull - root) / diagonal
        flat = diagonal == 0
        inside = (at - c) @ pull <= r * r
        low, high = np.where(flat, -np.inf if inside else np.nan, low), np.where(flat, np.inf if inside else np.nan, high)
        return low, high

    def _weights(self) -> np.ndarray:
        """How much each column moves the score of usual rows, as parts of 1."""
        kind, c = self._numbers()[:2]
        if kind == _HALFSPACE:
            spread = np.ones(self.d) if self.usual is None else self.usual[1]
            moved = np.abs(c) * spread
        else:
            M = self._metric()
            diagonal = M if M.ndim == 1 else np.diag(M)
            with np.errstate(divide="ignore"):
                at, spread = (c, np.where(diagonal > 0, diagonal, np.inf) ** -0.5) if self.usual is None else self.usual
            pull = M * (at - c) if M.ndim == 1 else M @ (at - c)
            moved = np.sqrt((2 * pull * spread) ** 2 + 2 * (diagonal * spread**2) ** 2)
        whole = moved.sum()
        return moved / whole if whole > 0 else np.full(self.d, 1 / self.d)

    def lines(self, top: int | None = 5) -> list[Line]:
        """What the region says about its columns, the weightiest first; top=None: all of them."""
        kind, c = self._numbers()[:2]
        weights, names = self._weights(), self.names
        at = self.usual[0] if self.usual is not None else c if kind != _HALFSPACE else np.zeros(self.d)
        low, high = self._along(np.asarray(at, np.float64))
        if self.usual is not None:  # what no row comes near says nothing
            far = _FAR * self.usual[1]
            low, high = np.where(low < at - far, -np.inf, low), np.where(high > at + far, np.inf, high)
        order = np.argsort(-weights, kind="stable")[:top]
        outside = kind == _COMPLEMENT
        return [Line(names[j], float(c[j]), float(weights[j]), _interval(low[j], high[j], names[j], outside)) for j in order]

    def _law(self) -> str:
        return ""

    def describe(self, top: int | None = 5) -> str:
        """The region in words: a line for each of the `top` columns by weight, in the units of the columns.

        >>> import capball
        >>> print(capball.Ball([5, 3], 2, columns=["height", "width"]).describe())
        inside when |x-c| <= 2, a ball of 2 columns
          height    50 %  around 5         3 <= height <= 7
          width     50 %  around 3         1 <= width <= 5
        each line while the other columns are at the centre
        """
        lines, d = self.lines(top), self.d
        if not self._law():
            return "inside: no row" if self._numbers()[0] == _EMPTY else "inside: every row"
        wide = max(len(line.column) for line in lines)
        word = "factor" if self._numbers()[0] == _HALFSPACE else "around"
        text = [f"inside when {self._law()} of {d} column{'s' if d > 1 else ''}"]
        text += [f"  {line.column:{wide}}  {100 * line.weight:4.0f} %  {word} {line.center:<8.4g}  {line.where}" for line in lines]
        if len(lines) < d:
            text.append(f"  and {d - len(lines)} more columns")
        usual = "means" if self.usual is not None else "centre" if word == "around" else "value 0"
        return "\n".join([*text, f"each line while the other columns are at the{'ir' if usual == 'means' else ''} {usual}"])

    def plot(self, x: Any = None, y: Any = None, *, columns: Any = None, ax: Any = None) -> Any:
        """The region in the plane of two columns, while the others are as usual; of three columns the three planes.

        x, y     rows to draw, and their classes
        columns  two or three of them, by number or name; None: the two of the largest weight
        """
        from .plots import plot_slice

        return plot_slice(self, x, y, columns=columns, ax=ax)

    def _repr_html_(self) -> str:
        if not self._law():
            return super()._repr_html_()
        rows = "".join(f"<tr><th>{escape(line.column)}</th><td>{100 * line.weight:.0f} %</td><td>{line.center:.4g}</td>"
                       f"<td>{escape(line.where)}</td></tr>" for line in self.lines(10))
        head = "<tr><th>column</th><th>weight</th><th>centre</th><th>inside, the others as usual</th></tr>"
        return f"<table><caption>{type(self).__name__}: inside when {escape(self._law())}</caption>{head}{rows}</table>"

    # ---- carried away

    def model(self) -> Any:
        """The region as a BallModel: the object behind the file, with scores, verdicts, SQL and C."""
        from ._model import BallModel

        kind, c, r, axis, along, W = (*self._numbers(), None, None, None)[:6]
        if kind not in (_BALL, _COMPLEMENT, _HALFSPACE):
            raise ValueError("a region that holds every row, or none, has no model")
        if axis is not None:  # r across the axis, `along` in its direction
            W = np.eye(len(c)) + (r / along - 1) * np.outer(axis, axis)
        return BallModel.of_region(kind, c, r, W, self.columns)

    def to_json(self) -> str:
        """The text of the file."""
        return str(self.model().to_json())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the region as a model file, which `capball score`, databases and npm read; whole or not at all."""
        self.model().save(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Any:
        """The region of a model file with one ball or half-space.

        >>> import capball, os, tempfile
        >>> name = os.path.join(tempfile.mkdtemp(), "ball.json")
        >>> capball.Ball([5, 3], 2, columns=["height", "width"]).save(name)
        >>> capball.Region.load(name)
        Ball(c=[5, 3], r=2)
        """
        from ._model import BallModel

        return BallModel.load(path).region

    def to_sql(self, dialect: str | None = None, columns: Any = None) -> str:
        """The region as a condition of SQL; one text serves SQLite, PostgreSQL and DuckDB.

        columns  names of the table's columns; None: those of the region, or x0, x1, ..

        >>> import capball
        >>> capball.Ball([5, 3], 2, columns=["height", "width"]).to_sql()
        '("height" - 5)*("height" - 5) + ("width" - 3)*("width" - 3) <= 4'
        """
        check_dialect(dialect)
        return str(self.model().to_sql(columns))

    def to_c(self, name: str = "inside") -> str:
        """The region as a function of C, int NAME(const double x[D]): 1 inside, else 0; it needs no library."""
        return str(self.model().to_c(name))

    def to_onnx(self) -> Any:
        """The region as an ONNX model, from rows "x" (n x d, float32) to "inside" (bool) and "score" (double); needs onnx."""
        from ._onnx import of_region

        return of_region(self)


@dataclass(repr=False, eq=False)
class Ball(Region):
    """|x-c| <= r; with outside=True everything but its inside, |x-c| >= r.

    c        the centre, d numbers
    r        the radius, >= 0
    outside  the complement of the open ball
    """

    c: np.ndarray
    r: float
    outside: bool = False

    def __post_init__(self) -> None:
        self.c = _vector(self.c)

    def _numbers(self) -> tuple[Any, ...]:
        return (_COMPLEMENT if self.outside else _BALL, self.c, self.r)

    def _law(self) -> str:
        return f"|x-c| {'>=' if self.outside else '<='} {self.r:.4g}, {'all but a ball' if self.outside else 'a ball'}"

    def _facts(self) -> dict[str, str]:
        facts = {"c": _short(self.c), "r": f"{self.r:.6g}"}
        return {**facts, "outside": "True"} if self.outside else facts


@dataclass(repr=False, eq=False)
class HalfSpace(Region):
    """<n,x> >= h, n of length 1.

    n  the direction, d numbers of length 1
    h  the threshold
    """

    n: np.ndarray
    h: float

    def __post_init__(self) -> None:
        self.n = _vector(self.n)

    def _numbers(self) -> tuple[Any, ...]:
        return (_HALFSPACE, self.n, self.h)

    def _law(self) -> str:
        return f"<n,x> >= {self.h:.4g}, a half-space"

    def _facts(self) -> dict[str, str]:
        return {"n": _short(self.n), "h": f"{self.h:.6g}"}


@dataclass(repr=False, eq=False)
class Ellipsoid(Region):
    """|W(x-c)| <= r, or an ellipsoid of revolution: r across `axis` and `along` in its direction.

    c        the centre, d numbers
    r        the radius in the metric of W, or across the axis
    W        d x d numbers; None for I
    axis     the direction of the axis, d numbers; None: there is none
    along    half of the length in the direction of the axis
    outside  the complement of its inside
    """

    c: np.ndarray
    r: float
    W: np.ndarray | None = None
    axis: np.ndarray | None = None
    along: float | None = None
    outside: bool = False

    def __post_init__(self) -> None:
        self.c = _vector(self.c)
        self.W = None if self.W is None else _vector(self.W)
        self.axis = None if self.axis is None else _vector(self.axis)

    def _numbers(self) -> tuple[Any, ...]:
        return (_COMPLEMENT if self.outside else _BALL, self.c, self.r, self.axis, self.along, self.W)

    def _metric(self) -> np.ndarray:
        if self.axis is not None and self.along is not None:
            return np.eye(self.d) + ((self.r / self.along) ** 2 - 1) * np.outer(self.axis, self.axis)
        if self.W is None:
            return np.ones(self.d)
        diagonal = np.diag(self.W)
        return diagonal**2 if np.count_nonzero(self.W) == np.count_nonzero(diagonal) else self.W.T @ self.W

    def _law(self) -> str:
        return f"|W(x-c)| {'>=' if self.outside else '<='} {self.r:.4g}, {'all but an' if self.outside else 'an'} ellipsoid"

    def _facts(self) -> dict[str, str]:
        facts = {"c": _short(self.c), "r": f"{self.r:.6g}"}
        if self.axis is not None:
            facts.update(axis=_short(self.axis), along=f"{self.along:.6g}")
        if self.W is not None:
            facts["W"] = _short(self.W)
        return {**facts, "outside": "True"} if self.outside else facts


@dataclass(repr=False, eq=False)
class Everywhere(Region):
    """All of the data space, but for one point where `but` names it; nothing=True: no point at all.

    d        columns of the data
    nothing  the empty region
    but      the point that is left out, d numbers; None: none
    """

    d: int = 0  # type: ignore[assignment]
    nothing: bool = False
    but: np.ndarray | None = field(default=None)

    def _numbers(self) -> tuple[Any, ...]:
        point = np.zeros(self.d) if self.but is None else _vector(self.but)
        kind = _EMPTY if self.nothing else _PUNCTURED if self.but is not None else _EVERYTHING
        return (kind, point, 0.0)

    def _facts(self) -> dict[str, str]:
        facts = {"d": str(self.d)}
        if self.nothing:
            facts["nothing"] = "True"
        if self.but is not None:
            facts["but"] = _short(self.but)
        return facts


@dataclass(repr=False, eq=False)
class Cap(_Shown):
    """{y on the sphere: <p,y> >= b}.

    sigma = sqrt(1-b^2) and a = b + <p,v> belong to it: from (p,b) alone the radius of a small ball is lost.
    Without them they are computed.

    p      the centre of the cap, d+1 numbers of length 1
    b      the threshold, -1 <= b <= 1 for a cap that has an edge
    sigma  sqrt(1-b^2), the sine of the cap's angle
    a      b + <p,v> for the pole v of the map
    """

    p: np.ndarray
    b: float
    sigma: float = float("nan")
    a: float = float("nan")

    def __post_init__(self) -> None:
        self.p = _vector(self.p)

    def scores(self, y: Any, out: Any = None) -> np.ndarray:
        """score >= 0 is inside, one for each row y of the sphere."""
        sigma = max(0.0, (1 - self.b) * (1 + self.b)) ** 0.5 if np.isnan(self.sigma) else self.sigma
        a = self.b + float(self.p[-1]) if np.isnan(self.a) else self.a
        return _core.cap_scores(y, self.p, self.b, sigma, a, out)

    def _facts(self) -> dict[str, str]:
        return {"p": _short(self.p), "b": f"{self.b:.4g}"}


def region_from_numbers(kind: int, c: Any, r: float, axis: Any, along: float, W: Any) -> Region:
    """The object of what the library calls a region."""
    if kind == _HALFSPACE:
        return HalfSpace(c, r)
    if kind in (_EMPTY, _EVERYTHING, _PUNCTURED):
        return Everywhere(len(c), kind == _EMPTY, c if kind == _PUNCTURED else None)
    outside = kind == _COMPLEMENT
    if axis is None and W is None:
        return Ball(c, r, outside)
    return Ellipsoid(c, r, W, axis, along if axis is not None else None, outside)
