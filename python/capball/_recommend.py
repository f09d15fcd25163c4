"""How rows are best prepared for an index: every transform measured on a sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any, Callable

import numpy as np

from . import _core
from ._progress import bar


@dataclass(frozen=True)
class Measured:
    """One combination of transform, index and query form.

    transform          its name, as `capball help recommend` lists them
    scale              of the sphere; NaN for other transforms
    index              what the index stores: "float", "int8" or "bits"
    metric             how its rows are compared: "cosine", "ip" or "l2"
    ball               asked by the caps of balls, and not by single points
    recall             share of the true k nearest among its first k
    recall_error       its standard error
    candidates_for_99  how many of its first candidates must be re-ranked to find 99 % of them
    candidates_most    the same, one standard error over the queries more
    bytes              per vector
    curve              share of the true ones among its first `Recommendation.candidates`
    """

    transform: str
    scale: float
    index: str
    metric: str
    ball: bool
    recall: float
    recall_error: float
    candidates_for_99: int
    candidates_most: int
    bytes: int
    curve: np.ndarray = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """Transform, scale and query form in a few words."""
        words = self.transform if np.isnan(self.scale) else f"{self.transform} s={self.scale:.4g}"
        return words + (" ball" if self.ball else "")


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What was measured, and what follows from it.

    k            neighbours that were asked for
    base_rows    rows of the sample of the base
    queries      how many were asked
    norm_mean    the mean norm of the rows about their mean
    candidates   the numbers of candidates at which curves are measured
    rows         what was measured: a `Measured` each
    pick         the best row for the engine that was asked about: the fewest candidates for 99 %; within the noise of that
                 (candidates_most) the highest recall, within the noise of that (recall_error) the simplest
    rival        the best without the sphere where the pick is on it, else the best on it
    for_cosine   the best that an engine of cosines can hold
    for_growing  the best with room for rows that are longer than any of today
    poor         most of what even the pick finds is wrong
    radius       r of the ball queries, the median distance of the k-th neighbours
    """

    k: int
    base_rows: int
    queries: int
    norm_mean: float
    radius: float
    candidates: np.ndarray
    rows: list[Measured]
    pick: Measured
    rival: Measured
    for_cosine: Measured
    for_growing: Measured
    poor: bool

    def __repr__(self) -> str:
        return (f"Recommendation({self.pick.name!r} for {self.pick.index}: recall {self.pick.recall:.4g}, "
                f"{self.pick.candidates_for_99} candidates for 99 % of {self.k})")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(n)}</th>" for n in ("", "transform", "index", "recall", "+-", "for 99 %", "..noise", "bytes"))
        return f"<table><caption>{escape(repr(self))}</caption><tr>{head}</tr>{''.join(map(self._line, self.rows))}</table>"

    def _line(self, row: Measured) -> str:
        cells = ("*" if row is self.pick else "", row.name, row.index, f"{row.recall:.4g}", f"{row.recall_error:.2g}", row.candidates_for_99,
                 row.candidates_most, row.bytes)
        return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"


def recommend(base: Any, queries: Any = None, *, k: int = 10, engine: str = "float", sample: int = 100000,
              most_queries: int = 1000, seed: int = 0, metric: str | None = None, skip_bad: bool = False, threads: int | None = None,
              progress: Callable[[float], object] | bool | None = None) -> Recommendation:
    """Every transform measured on a sample of the base, by how many of the true k neighbours it keeps.

    queries  None: rows of the base ask, and do not find themselves
    engine   what the index stores: "float", "int8" or "bits"
    metric   what it ranks by: "cosine", "ip" or "l2", and only transforms for it are measured; None: cosine or ip, whatever suits
             a transform. `Euclidean` measures real engines by the same rule

    >>> import numpy as np, capball
    >>> rows = np.random.default_rng(0).normal(size=(300, 5))
    >>> advice = capball.recommend(rows)
    >>> advice
    Recommendation('lift-ip' for float: recall 1, 10 candidates for 99 % of 10)
    """
    with bar("recommend", progress) as callback:
        facts = _core.recommend(base, queries, k, engine, sample, most_queries, seed, skip_bad, threads, callback, metric)
    rows = [Measured(**row) for row in facts.pop("rows")]
    chosen = {name: rows[facts.pop(name)] for name in ("pick", "rival", "for_cosine", "for_growing")}
    return Recommendation(rows=rows, **chosen, **facts)
