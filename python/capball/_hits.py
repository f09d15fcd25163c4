"""What a search gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Neighbors(NamedTuple):
    """The nearest rows of every query, nearest first."""

    distances: np.ndarray
    ids: np.ndarray


class Within(Sequence[Any]):
    """The rows within a limit, a sequence with one entry per query: within[i] has .ids and .distances of query i.

    lims, ids, distances  the same of all queries in three arrays; those of query i are ids[lims[i]:lims[i+1]], nearest first

    >>> import capball
    >>> within = capball.range_search([[0.0], [2.0], [5.0]], [[1.0], [4.5]], 1.5)
    >>> [near.ids.tolist() for near in within]
    [[0, 1], [2]]
    """

    __slots__ = ("distances", "ids", "lims")

    _entry: Any = Neighbors

    def __init__(self, lims: Any, ids: Any, distances: Any) -> None:
        self.lims, self.ids, self.distances = lims, ids, distances

    @classmethod
    def join(cls, entries: Sequence[Any]) -> Within:
        """The entries of some queries as one."""
        lims = np.cumsum([0, *(len(entry.ids) for entry in entries)])
        return cls(lims, np.concatenate([np.empty(0, np.int64), *(entry.ids for entry in entries)]),
                   np.concatenate([np.empty(0), *(entry.distances for entry in entries)]))

    def of(self, query: int) -> Any:
        """Those of one query: within[query]."""
        return self[query]

    def __len__(self) -> int:
        """Queries."""
        return len(self.lims) - 1

    def __getitem__(self, query: Any) -> Any:
        if isinstance(query, slice):
            return [self[i] for i in range(*query.indices(len(self)))]
        if not -len(self) <= query < len(self):
            raise IndexError(f"there are {len(self)} queries, not a query {query}")
        query = query % len(self)
        part = slice(int(self.lims[query]), int(self.lims[query + 1]))
        return self._entry(self.distances[part], self.ids[part])

    def __repr__(self) -> str:
        return f"Within({len(self)} queries, {len(self.ids)} rows)"
