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

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from . import _core

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


@dataclass(repr=False, eq=False)
class Region(_Shown):
    """A region of the data space; scores >= 0 are inside."""

    def _numbers(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def scores(self, x: Any, out: Any = None) -> np.ndarray:
        """score >= 0 is inside, one for each row of x."""
        kind, c, r, axis, along, W = (*self._numbers(), None, None, None)[:6]
        return _core.region_scores(x, kind, c, r, axis, along, W, out)

    def __contains__(self, x: Any) -> bool:
        return bool(self.scores(_vector(x).reshape(1, -1))[0] >= 0)


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

    d: int
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
