"""Exact neighbours on the device of the tensors: the ids, distances and order of `capball.knn`.

On a CUDA device the base is kept as codes of one byte per number (T13; _search_kernels.py says what they prove). A product of codes
gives every group of rows its smallest code distance; the k-th smallest bounds the answer, and groups, then rows, that cannot be
within the bound are left out. What remains is measured in double, in the order of additions of the C library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import capball
from capball import Neighbors, Within

_TILE = 128  # rows that a program multiplies at a time; the base is padded to whole ones
_BLOCK_ROWS = 1 << 20  # of codes that are searched at once: the groups of one query fit a program
_QUERIES = 4096  # at once
_LISTED = 1 << 27  # rows that may be listed at once, of all queries
_RANKED = 4096  # rows of a query that are put in order by counting; more are sorted
_CLIPPED = 0.001  # of the rows may have numbers outside the codes' range
_NO_ID = torch.iinfo(torch.int64).max
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8)


# ---- by the C library ----


def _array(rows: Tensor) -> np.ndarray:
    rows = rows.detach()
    return (rows.float() if rows.dtype == torch.bfloat16 else rows).cpu().numpy()


def _on(device: torch.device, *arrays: np.ndarray) -> Iterator[Tensor]:
    return (torch.from_numpy(a).to(device) for a in arrays)


def _knn_in_c(base: Tensor, queries: Tensor, k: int) -> Neighbors:
    found = capball.knn(_array(base), _array(queries), k)
    return Neighbors(*_on(queries.device, found.distances, found.ids))


def _range_in_c(base: Tensor, queries: Tensor, radius: Any) -> Within:
    limits = _array(radius) if isinstance(radius, Tensor) else radius
    found = capball.range_search(_array(base), _array(queries), limits)
    return Within(*_on(queries.device, found.lims, found.ids, found.distances))


# ---- by codes ----


class _OutOfRange(Exception):
    """Distances whose squares a double does not hold: the C library measures those."""


def _cols(d: int) -> int:
    """Codes per row: whole steps of a product."""
    return next((k for k in (32, 64, 128) if d <= k), -(-d // 128) * 128)


def _round_up(n: int, step: int) -> int:
    return -(-n // step) * step


@dataclass
class _Codes:
    """Codes of rows, |c|^2, and |w - c|; for queries also what products are multiplied by."""

    codes: Tensor
    norm: Tensor
    error: Tensor
    twice: Tensor | None = None


class _Block:
    """Rows of the base with their codes, in the order of their errors, so that groups have rows of like errors."""

    def __init__(self, rows: Tensor, first_id: int) -> None:
        self.rows, self.first_id = rows, first_id
        self.center = rows.sum(0, dtype=torch.float64) / len(rows)
        if not bool(torch.isfinite(self.center).all()):
            raise _OutOfRange
        reach = torch.cat([(part.double() - self.center).abs().amax(1) for part in rows.split(1 << 16)])
        if float(reach.max()) > 1e130:
            raise _OutOfRange
        clipped = int(_CLIPPED * len(rows))
        self.step = max(float(reach.kthvalue(len(rows) - clipped).values) / 127, 1e-290)
        self.per_step = torch.full((1,), 1 / self.step, dtype=torch.float64, device=rows.device)
        codes = self._encode(rows, _round_up(len(rows), _TILE))
        order = codes.error[:len(rows)].argsort()
        self.place = torch.cat([order, order.new_zeros(len(codes.error) - len(rows))]).int()
        padded = torch.cat([order, torch.arange(len(rows), len(codes.error), device=order.device)])
        self.codes = _Codes(codes.codes[padded], codes.norm[padded], codes.error[padded])
        self.largest_norm = codes.norm[:len(rows)].amax()
        self._group_error: dict[int, Tensor] = {}

    def _encode(self, rows: Tensor, padded: int, state: Tensor | None = None) -> _Codes:
        """Of the base, or with a state of queries."""
        from ._search_kernels import encode_kernel
        asked, cols, device = state is not None, _cols(rows.shape[1]), rows.device
        made = _Codes(torch.empty((padded, cols), dtype=torch.int8, device=device),
                      torch.empty(padded, dtype=torch.float64 if asked else torch.int32, device=device),
                      torch.empty(padded, dtype=torch.float32, device=device),
                      torch.empty(padded, dtype=torch.int32, device=device) if asked else None)
        encode_kernel[(padded // 16,)](rows, self.center, self.per_step, made.codes, made.norm, made.error, made.twice, state,
                                       len(rows), rows.shape[1], *rows.stride(), self.largest_norm if asked else None,
                                       QUERIES=asked, K=cols, BK=min(cols, 128), R=16)
        return made

    def _group_rows(self, k: int) -> int:
        """Rows per group: as many as leave several groups for each neighbour."""
        return next((rows for rows in (128, 64, 32) if len(self.rows) >= 4 * k * rows), 16)

    def _error_of_groups(self, per_group: int) -> Tensor:
        if per_group not in self._group_error:
            self._group_error[per_group] = self.codes.error.view(-1, per_group).amax(1)
        return self._group_error[per_group]

    def _smallest(self, asked: _Codes, tile: int, per_group: int) -> Tensor:
        """The smallest code distance of each group, for each query."""
        from ._search_kernels import minima_kernel
        own, cols, tiles, padded = self.codes, self.codes.codes.shape[1], len(self.codes.norm) // _TILE, len(asked.norm)
        smallest = torch.empty((padded, len(own.norm) // per_group), dtype=torch.int32, device=own.norm.device)
        at_once = min(16, max(1, tiles * (padded // tile) // 1024))
        minima_kernel[(padded // tile, _round_up(tiles, at_once) // at_once)](
            own.codes, own.norm, asked.codes, asked.twice, smallest, tiles, smallest.shape[1], K=cols, BK=min(cols, 128), BM=tile,
            BN=_TILE, G=per_group, TILES=at_once, STAGES=3, num_warps=4)
        return smallest

    def find(self, queries: Tensor, k: int, bound: Tensor, groups_room: int, room: int) -> _Listed:
        """The rows that may be among the k nearest, or for k = 0 within the bound, which counts steps."""
        from ._search_kernels import rows_kernel, select_kernel
        n, own, cols, per_group = len(queries), self.codes, self.codes.codes.shape[1], self._group_rows(max(k, 1))
        state = torch.zeros(n + 4, dtype=torch.int32, device=queries.device)
        count = state[4:]
        tile = 128 if n > 64 else 64 if n > 16 else 16
        asked = self._encode(queries, _round_up(n, tile), state)
        smallest = self._smallest(asked, tile, per_group)
        groups = smallest.shape[1]
        groups_room = min(groups_room, groups)
        found = queries.new_empty((n, groups_room), dtype=torch.int32)
        found_count = queries.new_empty(n, dtype=torch.int32)
        select_kernel[(n,)](smallest, self._error_of_groups(per_group), asked.norm, asked.error, bound, found, found_count, state,
                            groups, k if k > 0 else groups + 1, groups_room, NG=_power_of_two(groups), num_warps=4)
        rows = queries.new_empty((n, room), dtype=torch.int32)
        rows_kernel[(n, 4 if n > 64 else 16)](own.codes, own.norm, own.error, self.place, asked.codes, asked.norm, asked.error,
                                              asked.twice, bound, found, found_count, rows, count, state, groups_room, room, K=cols,
                                              BK=min(cols, 128), G=per_group, P=256 // per_group, num_warps=4)
        return _Listed(self, rows, count, found_count, groups_room, room, state)


def _power_of_two(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


@dataclass
class _Listed:
    """Rows that may be answers."""

    block: _Block
    rows: Tensor
    count: Tensor
    groups: Tensor
    groups_room: int
    room: int
    state: Tensor

    def measure(self, queries: Tensor) -> Tensor:
        """Their distances."""
        from ._search_kernels import measure_kernel
        base = self.block.rows
        values = torch.empty(self.rows.shape, dtype=torch.float64, device=queries.device)
        wide = torch.float64 in (base.dtype, queries.dtype)
        measure_kernel[(len(queries), 8)](base, queries, self.rows, self.count, values, self.state, base.shape[1], *base.stride(),
                                          *queries.stride(), self.room, WIDE=wide, C=32, enable_fp_fusion=False)
        return values

    def nearest(self, values: Tensor, k: int, most: int) -> _Answers:
        """The k nearest of at most _RANKED rows of each query."""
        from ._search_kernels import rank_kernel
        made = _Answers(values.new_empty((len(values), k)), self.rows.new_empty((len(values), k), dtype=torch.int64))
        rank_kernel[(len(values), -(-most // 64))](values, self.rows, self.count, made.values, made.ids, self.block.first_id, k,
                                                   self.room, C=64)
        return made


def _in_order(values: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Each row by value, and by id where values are equal."""
    ids, order = ids.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, stable=True)
    return values, ids.gather(1, order)


class _Answers(NamedTuple):
    """Values and ids of each query in order, with inf where there are fewer."""

    values: Tensor
    ids: Tensor


def _joined(parts: list[_Answers], most: int | None) -> _Answers:
    values, ids = (torch.cat(some, dim=1) for some in zip(*parts))
    return _Answers(*(some[:, :most] for some in _in_order(values, ids)))


def _within(listed: _Listed, values: Tensor, limits: Tensor | None, count: int) -> _Answers:
    """Of the rows measured, those that are there, and within the limits."""
    slot = torch.arange(count, device=values.device)
    values, rows = values[:, :count], listed.rows[:, :count].long() + listed.block.first_id
    there = slot[None, :] < listed.count[:, None]
    if limits is not None:
        there &= values <= limits[:, None]
    return _Answers(values.masked_fill(~there, torch.inf), rows.masked_fill(~there, _NO_ID))


def _search_block(block: _Block, queries: Tensor, k: int, best: _Answers | None, limits: Tensor | None,
                  groups_room: int, room: int) -> _Answers:
    """The answers of a block joined with those before. Queries for which the lists have no room are done again with more."""
    listed = block.find(queries, k, _bound(block, queries, k, best, limits), groups_room, room)
    values = listed.measure(queries)
    groups, most, out_of_range = listed.state[:3].tolist()
    if out_of_range:
        raise _OutOfRange
    if best is None and limits is None and k <= most <= min(room, _RANKED) and len(block.rows) >= k:
        answers = listed.nearest(values, k, most)
    else:
        found = _within(listed, values, limits, min(most, room))
        answers = _joined([found] if best is None else [best, found], k if limits is None else None)
    if groups <= listed.groups_room and most <= room:
        return answers
    again = ((listed.groups > listed.groups_room) | (listed.count > room)).nonzero()[:, 0]
    rows = len(block.rows) if groups > listed.groups_room else most
    parts = [_search_block(block, queries[some], k, None if best is None else _Answers(best.values[some], best.ids[some]),
                           None if limits is None else limits[some], groups, rows)
             for some in again.split(max(1, _LISTED // rows))]
    return _put(answers, again, parts)


def _put(answers: _Answers, at: Tensor, parts: list[_Answers]) -> _Answers:
    """Answers with those of some queries replaced."""
    width = max(answers.values.shape[1], *(part.values.shape[1] for part in parts))
    made = []
    for before, own, nothing in ((answers.values, [p.values for p in parts], torch.inf), (answers.ids, [p.ids for p in parts], _NO_ID)):
        whole = before.new_full((len(before), width), nothing)
        whole[:, :before.shape[1]] = before
        wide = [torch.nn.functional.pad(p, (0, width - p.shape[1]), value=nothing) for p in own]
        whole[at] = torch.cat(wide)
        made.append(whole)
    return _Answers(*made)


def _bound(block: _Block, queries: Tensor, k: int, best: _Answers | None, limits: Tensor | None) -> Tensor:
    """How far an answer can be, in steps of the block, rounded up."""
    if limits is not None:
        known = limits
    elif best is not None and best.values.shape[1] >= k:
        known = best.values[:, k - 1]
    else:
        return torch.full((len(queries),), torch.inf, dtype=torch.float32, device=queries.device)
    return (known / block.step * (1 + 2.0**-20)).float()


def _search(blocks: Any, queries: Tensor, k: int, limits: Tensor | None) -> _Answers:
    """One answer from all blocks."""
    batches = queries.split(_QUERIES)
    best: list[_Answers | None] = [None] * len(batches)
    bounds = [None] * len(batches) if limits is None else limits.split(_QUERIES)
    for block in blocks:
        for i, batch in enumerate(batches):
            room = min(len(block.rows), max(_RANKED, _power_of_two(16 * k)))
            best[i] = _search_block(block, batch, k, best[i], bounds[i], 1024 + 4 * k, room)
    parts = [part for part in best if part is not None]
    if len(parts) == 1:
        return parts[0]
    nothing = _Answers(*(a.new_zeros((len(queries), 0)) for a in parts[0]))
    return _put(nothing, torch.arange(len(queries), device=queries.device), parts)


# ---- the interface ----


def _has_kernels(device: torch.device) -> bool:
    return device.type == "cuda" and find_spec("triton") is not None


def _rows_of(rows: Tensor) -> Tensor:
    if not isinstance(rows, Tensor):
        raise TypeError(f"wanted a tensor, got {type(rows).__name__}: capball.knn and capball.Index take arrays")
    rows = rows.detach()
    return rows.reshape(1, -1) if rows.dim() == 1 else rows


class Index:
    """A base prepared for many searches.

    base     n rows of d: f32, f64, f16, bf16, u8 or i8
    device   where to search; the base's own where none is given. A base on the CPU that is searched on a GPU stays where it is
             and is streamed through the GPU by each search

    >>> import torch
    >>> from capball.torch import Index
    >>> Index(torch.tensor([[0.0], [2.0], [5.0]])).knn(torch.tensor([[1.9]]), k=2).ids
    tensor([[1, 0]])
    """

    def __init__(self, base: Tensor, device: torch.device | str | None = None) -> None:
        self.base = _rows_of(base)
        self.device = torch.device(device) if device is not None else base.device
        self._blocks: list[_Block] | None = None
        self._in_c = not _has_kernels(self.device) or base.dtype not in _TYPES or len(self.base) == 0 or self.base.shape[1] > 8192
        if not self._in_c and self.base.device == self.device:
            self._prepare()

    def _prepare(self) -> None:
        try:
            self._blocks = list(self._made())
        except _OutOfRange:
            self._in_c = True

    def _made(self) -> Iterator[_Block]:
        for first in range(0, len(self.base), _BLOCK_ROWS):
            yield _Block(self.base[first:first + _BLOCK_ROWS].to(self.device), first)

    def _by_codes(self, queries: Tensor, k: int, limits: Tensor | None) -> _Answers | None:
        """None where the C library has to search: numbers out of range, and arguments it has words for."""
        usual = queries.dtype in _TYPES and queries.dim() == 2 and queries.shape[1] == self.base.shape[1] and len(queries) > 0
        if self._in_c or not usual or (limits is None and not 1 <= k <= len(self.base)):
            return None
        if limits is not None and not bool((limits >= 0).all()):
            return None
        try:
            return _search(self._made() if self._blocks is None else self._blocks, queries, k, limits)
        except _OutOfRange:
            return None

    def knn(self, queries: Tensor, k: int = 10) -> Neighbors:
        """The k nearest rows of the base for every query."""
        queries = _rows_of(queries).to(self.device)
        found = self._by_codes(queries, k, None)
        return _knn_in_c(self.base, queries, k) if found is None else Neighbors(*found)

    search = knn

    def range_search(self, queries: Tensor, radius: float | Tensor) -> Within:
        """All rows within a radius of each query, or within one radius per query."""
        queries = _rows_of(queries).to(self.device)
        limits = torch.as_tensor(radius, dtype=torch.float64, device=self.device).expand(len(queries)).contiguous()
        found = self._by_codes(queries, 0, limits)
        if found is None:
            return _range_in_c(self.base, queries, limits)
        there = found.ids != _NO_ID
        lims = torch.cat([there.new_zeros(1, dtype=torch.int64), there.sum(1).cumsum(0)])
        return Within(lims, found.ids[there], found.values[there])


def knn(base: Tensor, queries: Tensor, k: int = 10) -> Neighbors:
    """The k nearest rows of the base for every query, as `capball.knn` finds them; on the device of the queries.

    >>> import torch
    >>> from capball.torch import knn
    >>> knn(torch.tensor([[0.0], [2.0], [5.0]]), torch.tensor([[1.9]]), k=2)
    Neighbors(distances=tensor([[0.1000, 1.9000]], dtype=torch.float64), ids=tensor([[1, 0]]))
    """
    queries = _rows_of(queries)
    return Index(base, queries.device).knn(queries, k)


def range_search(base: Tensor, queries: Tensor, radius: float | Tensor) -> Within:
    """All rows within a radius of each query, as `capball.range_search` finds them; on the device of the queries."""
    queries = _rows_of(queries)
    return Index(base, queries.device).range_search(queries, radius)
