"""Maps between R^d and the sphere, as objects that can be saved, pickled and looked at."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from . import _core
from .dual import Cap, Region, region_from_numbers


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file whole or not at all, as the library writes all its files."""
    name = os.fspath(path)
    _core.write_whole(os.path.join(os.curdir, name) if name == "-" else name, text)  # "-" would be standard output


class SphereMap(_core.Map):
    """y = S(W(x-m)) with S(z) = (2 s z, s^2-|z|^2)/(|z|^2+s^2): R^d to the unit sphere of R^(d+1), and back.

    d        columns of the data
    s        the scale, > 0
    center   m, d numbers
    pole     v, d+1 numbers of length 1; under another pole than e = (0,..,0,1) balls become spheroids
    whiten   W, d x d
    toward   a direction that is turned onto e, for data that lie on a sphere already

    >>> import numpy as np, capball
    >>> m = capball.SphereMap(2, s=1.0)
    >>> m.embed(np.array([[0.0, 0.0], [1.0, 0.0]]))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    >>> m.unembed([[1.0, 0.0, 0.0]])
    array([[1., 0.]])
    """

    __slots__ = ()

    def cap(self, region: Region) -> Cap:
        """The cap that is the image of a region."""
        return Cap(*self._cap(*region._numbers()))

    def ball(self, cap: Cap) -> Region:
        """The region whose image is a cap: a ball, and what else a cap can be."""
        return region_from_numbers(*self._region(cap.p, cap.b, cap.sigma, cap.a))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a map file, the same that the command reads and writes; whole or not at all."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SphereMap":
        """Reads a map file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"), os.fspath(path))

    def __reduce__(self) -> Any:
        return (type(self).from_json, (self.to_json(),))

    def __copy__(self) -> "SphereMap":
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> "SphereMap":
        return self

    def _facts(self) -> dict[str, str]:
        facts = {"d": str(self.d), "s": f"{self.s:.6g}"}
        for name in ("center", "pole", "whiten", "toward"):
            if getattr(self, name) is not None:
                facts[name] = ".."
        return facts

    def __repr__(self) -> str:
        return f"SphereMap({', '.join(f'{n}={v}' for n, v in self._facts().items())})"

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self._facts().items())
        return f"<table><caption>SphereMap</caption>{cells}</table>"
