"""The data sets: a folder of ann-benchmarks HDF5 files or of NAME/base.npy, queries.npy; generated ones; scikit-learn's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Callable

import numpy as np

from .steps import digest

Pair = tuple[np.ndarray, np.ndarray]

# name here -> the paper's row with the same data, or the nearest thing to it
WANTED = {
    "fashion-mnist-784-euclidean": ("Fashion MNIST", True),
    "mnist-784-euclidean": (None, False),
    "sift-bsds-128-euclidean": ("SIFT", False),
    "bigann10k-sift-128-euclidean": ("SIFT", False),
    "glove-100-angular": ("GloVe", False),
    "reuters-256-angular": ("NY Times", False),
    "lastfm-65-angular": ("Last.fm", False),
    "movies-mf-16-angular": (None, False),
    "moons-2-euclidean": (None, False),
    "blobs-16-euclidean": (None, False),
}
ELSEWHERE = {
    "sift-128-euclidean": ("SIFT", True),
    "glove-100-angular": ("GloVe", True),
    "nytimes-256-angular": ("NY Times", True),
    "lastfm-64-dot": ("Last.fm", True),
}


@dataclass(frozen=True)
class DataSet:
    """Rows and queries, read when they are wanted."""

    name: str
    load: Callable[[], Pair]
    digest: str
    angular: bool = False
    paper: str | None = None
    same: bool = False
    rows: int | None = None
    count: int | None = None
    folder: Path | None = None

    @property
    def labels(self) -> Pair:
        return np.load(self.folder / "base_labels.npy"), np.load(self.folder / "query_labels.npy")

    @cached_property
    def _pair(self) -> Pair:
        base, queries = self.load()
        base, queries = base[: self.rows], queries[: self.count]
        return (unit(base), unit(queries)) if self.angular else (base, queries)

    @property
    def base(self) -> np.ndarray:
        return self._pair[0]

    @property
    def queries(self) -> np.ndarray:
        return self._pair[1]

    def forget(self) -> None:
        self.__dict__.pop("_pair", None)

    def cut(self, rows: int | None, count: int | None) -> "DataSet":
        """Only the first rows and queries."""
        if rows is None and count is None:
            return self
        mark = digest(self.digest.encode(), repr((rows, count)).encode())
        return DataSet(self.name, self.load, mark, self.angular, self.paper, self.same, rows, count)


def unit(rows: np.ndarray) -> np.ndarray:
    """Directions; a row of zeros stays."""
    rows = np.ascontiguousarray(rows, np.float32)
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / np.where(norms == 0, 1, norms)).astype(np.float32)


def _folder(path: Path) -> DataSet:
    files = [path / "base.npy", path / "queries.npy"]
    paper, same = WANTED.get(path.name, (None, False))
    return DataSet(path.name, lambda: (np.load(files[0]), np.load(files[1])),
                   digest(*(f.read_bytes() for f in files)), path.name.endswith("-angular"), paper, same, folder=path)


def as_euclidean(data: DataSet) -> DataSet:
    """The rows of an angular set as they are, lengths and all."""
    return DataSet(data.name.replace("-angular", "-as-euclidean"), data.load, digest(data.digest.encode(), b"euclidean"))


def _hdf5(path: Path) -> DataSet:
    import h5py

    def load() -> Pair:
        with h5py.File(path) as file:
            return file["train"][:], file["test"][:1000]

    paper, same = {**WANTED, **ELSEWHERE}.get(path.stem, (None, False))
    return DataSet(path.stem, load, digest(path.read_bytes()), path.stem.endswith(("-angular", "-dot")), paper, same)


def _made(name: str, make: Callable[[], Pair], angular: bool = False, paper: str | None = None) -> DataSet:
    return DataSet(name, make, digest(*(np.ascontiguousarray(a).tobytes() for a in make()), b"angular" if angular else b""), angular, paper)


def blobs(d: int, n: int = 10000, count: int = 1000, seed: int = 0) -> Pair:
    """Ten Gaussian blobs; the paper does not say how far apart: centres uniform in [-10,10]^d, deviation 1."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, (10, d))
    rows = (centres[rng.integers(10, size=n + count)] + rng.normal(size=(n + count, d))).astype(np.float32)
    return rows[:n], rows[n:]


def uniform_ball(n: int = 500, d: int = 10, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)


def normal(n: int = 500, d: int = 10, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def digits() -> Pair:
    """The 8 x 8 digits that scikit-learn carries."""
    from sklearn.datasets import load_digits

    rows = np.random.default_rng(0).permutation(load_digits().data.astype(np.float32))
    return rows[:-200], rows[-200:]


def generated() -> list[DataSet]:
    sets = [_made("blobs-50", lambda: blobs(50), paper="Blobs 50"),
            _made("blobs-100", lambda: blobs(100), paper="Blobs 100"),
            _made("normalised-blobs-50", lambda: blobs(50), True, "Normalized Blobs 50"),
            _made("normalised-blobs-100", lambda: blobs(100), True, "Normalized Blobs 100")]
    try:
        return [*sets, _made("digits-64", digits)]
    except ImportError:
        return sets


def found(folder: Path | None) -> list[DataSet]:
    """The sets of a folder, by name."""
    if folder is None or not folder.is_dir():
        return []
    sets = [_folder(p.parent) for p in sorted(folder.glob("*/base.npy")) if (p.parent / "queries.npy").exists()]
    sets += [as_euclidean(s) for s in sets if s.name == "movies-mf-16-angular"]
    return sets + [_hdf5(p) for p in sorted(folder.glob("*.hdf5"))]


def absent(sets: list[DataSet]) -> list[str]:
    """The names that the full report has and this run has not."""
    here = {s.name for s in sets}
    return [name for name in WANTED if name not in here]
