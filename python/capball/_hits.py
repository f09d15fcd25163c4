"""What a search gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Neighbors(NamedTuple):
    """The nearest rows of every query, nearest first."""

    distances: np.ndarray
    ids: np.ndarray


class Within(NamedTuple):
    """The rows within a limit; those of query i are ids[lims[i]:lims[i+1]], nearest first."""

    lims: np.ndarray
    ids: np.ndarray
    distances: np.ndarray

    def of(self, query: int) -> Neighbors:
        """Those of one query."""
        part = slice(self.lims[query], self.lims[query + 1])
        return Neighbors(self.distances[part], self.ids[part])
