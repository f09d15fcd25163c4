"""Balls around data and binary sketches, as objects that can be saved, pickled and looked at."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _core, _tables
from ._hits import Neighbors
from ._map import write_whole
from .dual import Ball, Cap, Ellipsoid, Region, region_from_numbers


class _Artefact:
    """What models and sketches share: a file, a pickle, a picture of their facts."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file that the command reads and writes; whole or not at all."""
        write_whole(path, self.to_json())  # type: ignore[attr-defined]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Reads such a file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"), os.fspath(path))  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return (type(self).from_json, (self.to_json(),))  # type: ignore[attr-defined]

    def _facts(self) -> dict[str, str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v}' for n, v in self._facts().items())})"

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._facts().items())
        return f"<table><caption>{type(self).__name__}</caption>{cells}</table>"


class Reason(NamedTuple):
    """What one column has to do with how far a row is from the centre of its ball.

    column  its name, or x0, x1, .. where the model has no names
    value   of the row
    center  of the nearest ball
    share   of |W(x-c)|^2; the shares of all columns add up to 1, some may be < 0 where columns depend on each other
    least   with numbers from here ..
    most    .. to here the row would be ordinary, its other columns as they are; both the nearest number where none is enough
    """

    column: str
    value: float
    center: float
    share: float
    least: float
    most: float


def names_of(x: Any) -> list[str] | None:
    """The names of a table's columns, where all are strings, and all different; None for arrays."""
    names = getattr(x, "columns", None)
    if names is None or callable(names):
        return None
    names = list(names)
    return _tables.settled(names) if names and all(isinstance(name, str) for name in names) else None


class BallModel(_Artefact, _core.Model):
    """A ball around data: |W(x-center)| <= radius, with the gap that proves how good it is.

    >>> import capball
    >>> model = capball.enclosing_ball([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
    >>> model.radius, model.support
    (2.0, 2)
    >>> model.scores([[2.0, 0.0], [9.0, 9.0]]) >= 0
    array([ True, False])
    """

    __slots__ = ()

    def why(self, x: Any, top: int = 3) -> list[list[Reason]]:
        """For each row the columns that add most to its distance from the centre, the largest share first.

        >>> import capball
        >>> model = capball.svdd([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.9, columns=["height", "weight"])
        >>> reason = model.why([[0.5, 9.5]], top=1)[0][0]
        >>> reason.column, reason.value, reason.center, reason.share
        ('weight', 9.5, 0.5, 1.0)
        >>> round(reason.least, 3), round(reason.most, 3)
        (-0.207, 1.207)
        """
        rows = np.atleast_2d(np.asarray(x, np.float64))
        parts, centers = self.parts(rows)
        least, most = self.ranges(rows)
        whole = np.maximum(parts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        order = np.argsort(-parts, axis=1, kind="stable")[:, :top]
        names = self.columns or [f"x{j}" for j in range(self.d)]
        return [[Reason(names[j], *(float(of[i, j]) for of in (rows, centers, parts / whole, least, most))) for j in best]
                for i, best in enumerate(order)]

    @property
    def regions(self) -> list[Region]:
        """The balls as objects of the data space, one for each; a row is inside where it is inside of one."""
        if self.centers is None:
            return [self.region]
        return [Ball(c, self.radius) if self.whiten is None else Ellipsoid(c, self.radius, self.whiten) for c in self.centers]

    @property
    def region(self) -> Region:
        """The ball as an object of the data space."""
        if self.center is None:
            raise ValueError("a ball of a kernel's feature space has no region in the data space")
        if self.balls > 1:
            raise ValueError(f"a model of {self.balls} balls has no single region: take regions")
        if self.threshold != 0 and self.method == "region":
            raise ValueError("a region with another threshold than 0 is none of a model file")
        region = region_from_numbers(self.region_kind, self.center, self.radius, None, self.radius, self.whiten)
        region.columns = self.columns
        return region

    @property
    def cap(self) -> tuple[float, Cap]:
        """(s, cap): under the map of scale s the rows inside are those with <p,S(x)> >= b."""
        scale, p, b, sigma, a = self._cap()
        return scale, Cap(p, b, sigma, a)

    def to_onnx(self, dtype: Any = np.float32) -> Any:
        """The model as an ONNX model: input x, rows of `dtype`; outputs score and outlier, and p of a model with p-values; needs onnx.

        The graph computes in double: it differs from `scores` and `verdicts` by rounding, and rows that tie at the threshold are
        no outliers there, too. Cells that are missing must be filled in before.
        """
        from ._onnx import of_ball  # which imports dual, and that this module

        return of_ball(self, dtype)

    def _facts(self) -> dict[str, str]:
        facts = {"method": self.method, "radius": f"{self.radius:.6g}", "gap": f"{self.gap:.2g}"}
        if self.nu:
            facts["nu"] = f"{self.nu:g}"
        if self.kernel != "linear":
            facts["kernel"] = self.kernel
        if self.balls > 1:
            facts["balls"] = str(self.balls)
        return {**facts, "rows": str(self.rows), "support": str(self.support)}


class Estimator(_core.Estimator):
    """Codes of a sketch, prepared for many searches: see Sketch.prepare."""

    __slots__ = ()

    def search(self, queries: Any, k: int = 10, *, base: Any = None, candidates: int | str | None = None,  # type: ignore[override]
               confidence: float | None = None, threads: int | None = None) -> Neighbors:
        """The k nearest rows: by estimates alone, or with base= by the distances of the rows that are read.
        `proven` says whether they are those by the certain bound.

        candidates  how many rows are read for a query (100, or k), "certain": until no other row can be nearer, which is
                    exact search, or "probable": until none is likely to be, with this confidence (0.999)
        """
        bound = candidates if isinstance(candidates, str) else None
        count = None if isinstance(candidates, str) else candidates
        (distances, ids), read, proven = super().search(queries, k, base, count, bound, confidence, threads)
        return Neighbors(distances, ids, proven=np.full(len(ids), proven), rows_read=read)

    def bounds(self, query: Any, bound: str | None = "certain", confidence: float | None = None) -> np.ndarray:
        """Estimate, lower and upper bound of the distance of one query to every code: three rows of numbers."""
        return super().bounds(np.atleast_2d(query), bound, confidence)

    def __len__(self) -> int:
        return self.rows


class Sketch(_Artefact, _core.Sketch):
    """Short codes that estimate distances: bytes= of them, all counted, or bits= and two numbers of one byte.

    >>> import numpy as np, capball
    >>> rows = np.stack(np.divmod(np.arange(100.0), 10.0), axis=1)
    >>> sketch = capball.Sketch.fit(rows, bits=64)
    >>> codes = sketch.encode(rows)
    >>> codes.shape
    (100, 10)
    >>> sketch.search(codes, rows[:1] + 0.1, k=1, base=rows)[1]
    array([[0]])
    """

    __slots__ = ()

    def prepare(self, codes: Any) -> Estimator:
        """Codes of this sketch for many searches, with bounds of the errors if `has_bounds`."""
        return Estimator.of(self, codes)

    def search(self, codes: Any, queries: Any, k: int = 10, *, base: Any = None, candidates: int | str | None = None,
               threads: int | None = None) -> Neighbors:
        """The k nearest rows.

        By their codes alone, or with base= by the exact distances of the `candidates` (10 k) rows whose codes are
        nearest; "certain" and "probable": see Estimator.search. Sketches of earlier releases that are neither joined nor
        principal give the number of differing bits.
        """
        if base is not None and not isinstance(candidates, str):
            candidates = min(candidates or 10 * k, len(codes))
        if self.kind in ("joined", "principal"):
            return self.prepare(codes).search(queries, k, base=base, candidates=candidates, threads=threads)
        if isinstance(candidates, str):
            raise ValueError(f"bounds need a joined or principal sketch, and this one is {self.kind}")
        bits, ids = _core.hamming_knn(codes, self.encode(queries), candidates if base is not None and candidates else k, threads)
        return Neighbors(bits, ids) if base is None else Neighbors(*_core.rerank(base, queries, ids, k, None, threads))

    def _facts(self) -> dict[str, str]:
        return {"bits": str(self.bits), "d": str(self.d), "s": f"{self.s:.6g}", "kind": self.kind}
