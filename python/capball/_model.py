"""Balls around data and binary sketches, as objects that can be saved, pickled and looked at."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._map import write_whole
from .dual import Ball, Cap, Ellipsoid, Region


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

    @property
    def region(self) -> Region:
        """The ball as an object of the data space."""
        if self.center is None:
            raise ValueError("a ball of a kernel's feature space has no region in the data space")
        if self.whiten is None:
            return Ball(self.center, self.radius)
        return Ellipsoid(self.center, self.radius, self.whiten)

    @property
    def cap(self) -> tuple[float, Cap]:
        """(s, cap): under the map of scale s the rows inside are those with <p,S(x)> >= b."""
        scale, p, b, sigma, a = self._cap()
        return scale, Cap(p, b, sigma, a)

    def _facts(self) -> dict[str, str]:
        facts = {"method": self.method, "radius": f"{self.radius:.6g}", "gap": f"{self.gap:.2g}"}
        if self.nu:
            facts["nu"] = f"{self.nu:g}"
        if self.kernel != "linear":
            facts["kernel"] = self.kernel
        return {**facts, "rows": str(self.rows), "support": str(self.support)}


class Sketch(_Artefact, _core.Sketch):
    """Codes of a few hundred bits, each bit a ball of the data space.

    >>> import numpy as np, capball
    >>> rows = np.stack(np.divmod(np.arange(100.0), 10.0), axis=1)
    >>> sketch = capball.Sketch.fit(rows, bits=64)
    >>> sketch.encode(rows).shape
    (100, 8)
    """

    __slots__ = ()

    def search(self, codes: Any, queries: Any, k: int = 10, *, base: Any = None, candidates: int | None = None,
               threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(distances, ids) of the k nearest rows.

        By the bits of their codes alone, or with base= by the exact distances of the `candidates` (10 k) rows whose
        codes are nearest.
        """
        count = k if base is None else min(candidates or 10 * k, len(codes))
        bits, ids = _core.hamming_knn(codes, self.encode(queries), count, threads)
        if base is None:
            return bits, ids
        return _core.rerank(base, queries, ids, k, None, threads)

    def _facts(self) -> dict[str, str]:
        return {"bits": str(self.bits), "d": str(self.d), "s": f"{self.s:.6g}", "kind": self.kind}
