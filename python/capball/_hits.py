"""What searches give: Neighbors, so many rows for each query, and Within, not equally many. There are no other shapes of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core


class _Pair(NamedTuple):
    distances: Any
    ids: Any


class Neighbors(_Pair):
    """The nearest rows of every query, nearest first: distances, ids = neighbors; tensors from capball.torch.

    distances     for each query, nearest first; of "ip" and "cosine" the values, largest first
    ids           of the same rows

    What a call was asked for, or counts, stands beside them, and is None elsewhere:

    proven        for each query, whether these are the nearest of all rows for certain
    needed        of `rescore`: 0 where no row the engine left out can be nearer; else how many candidates would prove it, as
                  far as that was counted, and otherwise the number of all rows
    recall        the share of the true neighbours among these, measured on some of the queries
    recall_error  its standard error
    rows_read     distances that were computed, for all queries
    """

    proven: Any = None
    needed: Any = None
    recall: float | None = None
    recall_error: float | None = None
    rows_read: int | None = None

    def __new__(cls, distances: Any, ids: Any, **beside: Any) -> Neighbors:
        made = super().__new__(cls, distances, ids)
        made.__dict__.update(beside)
        return made

    def __repr__(self) -> str:
        beside = "".join(f", {name}={value!r}" for name, value in vars(self).items())
        return f"Neighbors(distances={self.distances!r}, ids={self.ids!r}{beside})"


class Within(Sequence[Any]):
    """The rows of each query where not all have equally many, a sequence with one entry per query: within[i] has .ids and
    .distances of query i; tensors from capball.torch.

    lims, ids, distances  the same of all queries in three arrays; those of query i are ids[lims[i]:lims[i+1]], nearest first
    proven                for each query, whether these are all of them, where that was asked for

    >>> import capball
    >>> within = capball.range_search([[0.0], [2.0], [5.0]], [[1.0], [4.5]], 1.5)
    >>> [near.ids.tolist() for near in within]
    [[0, 1], [2]]
    """

    __slots__ = ("distances", "ids", "lims", "proven")

    def __init__(self, lims: Any, ids: Any, distances: Any, proven: Any = None) -> None:
        self.lims, self.ids, self.distances, self.proven = lims, ids, distances, proven

    @classmethod
    def join(cls, entries: Sequence[Any], proven: Any = None) -> Within:
        """The entries of some queries as one."""
        lims = np.cumsum([0, *(len(entry.ids) for entry in entries)])
        return cls(lims, np.concatenate([np.empty(0, np.int64), *(entry.ids for entry in entries)]),
                   np.concatenate([np.empty(0), *(entry.distances for entry in entries)]), proven)

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
        return Neighbors(self.distances[part], self.ids[part])

    def __repr__(self) -> str:
        return f"Within({len(self)} queries, {len(self.ids)} rows)"


class Search(_core.Search):
    """Exact search of a base that comes in blocks: the k nearest rows of every query, or all within a limit of each."""

    __slots__ = ()

    def result(self) -> Within:  # type: ignore[override]
        """The rows of each query so far, nearest first."""
        return Within(*super().result())
