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

_TILE = 128  # rows that a program multiplies at a time; the base is padded to whole ones
_BLOCK_ROWS = 1 << 20  # of codes that are searched at once: the groups of one query fit a program
_QUERIES = 4096  # at once
_LISTED = 1 << 27  # rows that may be listed at once, of all queries
_CLIPPED = 0.001  # of the rows may have numbers outside the codes' range
_NO_ID = torch.iinfo(torch.int64).max
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8)


class Neighbors(NamedTuple):
    """The nearest rows of every query, nearest first; of equal ones the lower id."""

    distances: Tensor
    ids: Tensor


class Within(NamedTuple):
    """The rows within a limit; those of query i are ids[lims[i]:lims[i+1]], nearest first."""

    lims: Tensor
    ids: Tensor
    distances: Tensor


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
        codes = self._encode(rows, _round_up(len(rows), _TILE))
        order = codes.error[:len(rows)].argsort()
        self.place = torch.cat([order, order.new_zeros(len(codes.error) - len(rows))]).int()
        padded = torch.cat([order, torch.arange(len(rows), len(codes.error), device=order.device)])
        self.codes = _Codes(codes.codes[padded], codes.norm[padded], codes.error[padded])
        self.largest_norm = codes.norm[:len(rows)].amax()

    def _encode(self, rows: Tensor, padded: int, largest_norm: Tensor | None = None) -> _Codes:
        from ._search_kernels import encode_kernel
        asked, cols, device = largest_norm is not None, _cols(rows.shape[1]), rows.device
        made = _Codes(torch.empty((padded, cols), dtype=torch.int8, device=device),
                      torch.empty(padded, dtype=torch.float64 if asked else torch.int32, device=device),
                      torch.empty(padded, dtype=torch.float32, device=device),
                      torch.empty(padded, dtype=torch.int32, device=device) if asked else None)
        per_step = torch.full((1,), 1 / self.step, dtype=torch.float64, device=device)
        encode_kernel[(padded // 16,)](rows, self.center, per_step, made.codes, made.norm, made.error, made.twice, len(rows),
                                       rows.shape[1], *rows.stride(), largest_norm, QUERIES=asked, K=cols, BK=min(cols, 128),
                                       R=16)
        return made

    def group_rows(self, k: int) -> int:
        """Rows per group: as many as leave several groups for each neighbour."""
        return next((rows for rows in (128, 64, 32) if len(self.rows) >= 4 * k * rows), 16)

    def find(self, queries: Tensor, k: int, bound: Tensor, groups_room: int, room: int) -> _Listed:
        """The rows that may be among the k nearest, or for k = 0 within the bound, which counts steps."""
        from ._search_kernels import minima_kernel, rows_kernel, select_kernel
        n, device = len(queries), queries.device
        tile = 128 if n > 64 else 64 if n > 16 else 16
        asked = self._encode(queries, _round_up(n, tile), self.largest_norm)
        own, cols, per_group = self.codes, _cols(queries.shape[1]), self.group_rows(max(k, 1))
        tiles, groups = len(own.norm) // _TILE, len(own.norm) // per_group
        smallest = torch.empty((len(asked.norm), groups), dtype=torch.int32, device=device)
        at_once = min(16, max(1, tiles * (len(asked.norm) // tile) // 1024))
        minima_kernel[(len(asked.norm) // tile, _round_up(tiles, at_once) // at_once)](
            own.codes, own.norm, asked.codes, asked.twice, smallest, tiles, groups, K=cols, BK=min(cols, 128), BM=tile, BN=_TILE,
            G=per_group, TILES=at_once, STAGES=3, num_warps=4)
        group_error = own.error.view(-1, per_group).amax(1)
        groups_room = min(groups_room, groups)
        found = torch.empty((n, groups_room), dtype=torch.int32, device=device)
        found_count, count = (torch.empty(n, dtype=torch.int32, device=device) for _ in range(2))
        select_kernel[(n,)](smallest, group_error, asked.norm, asked.error, bound, found, found_count, groups,
                            k if k > 0 else groups + 1, groups_room, NG=_power_of_two(groups), num_warps=4)
        rows = torch.empty((n, room), dtype=torch.int32, device=device)
        rows_kernel[(n,)](own.codes, own.norm, own.error, self.place, asked.codes, asked.norm, asked.error, asked.twice, bound,
                          found, found_count, rows, count, groups_room, room, K=cols, BK=min(cols, 128), G=per_group,
                          P=256 // per_group, num_warps=4)
        return _Listed(self, rows, count, found_count, groups_room, room)


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

    def measure(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Their distances, and whether one is out of range."""
        from ._search_kernels import measure_kernel
        base = self.block.rows
        values = torch.empty(self.rows.shape, dtype=torch.float64, device=queries.device)
        out_of_range = torch.zeros(1, dtype=torch.int32, device=queries.device)
        wide = torch.float64 in (base.dtype, queries.dtype)
        measure_kernel[(len(queries), 8)](base, queries, self.rows, self.count, values, out_of_range, base.shape[1], *base.stride(),
                                          *queries.stride(), self.room, WIDE=wide, C=32, enable_fp_fusion=False)
        return values, out_of_range


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
    bound = _bound(block, queries, k, best, limits)
    listed = block.find(queries, k, bound, groups_room, room)
    values, out_of_range = listed.measure(queries)
    full = (listed.groups > listed.groups_room) | (listed.count > room)
    most, needs_groups, needs_rows, fails, any_full = torch.stack(
        [listed.count.clamp(max=room).amax(), listed.groups.amax(), listed.count.amax(), out_of_range[0], full.any().int()]).tolist()
    if fails:
        raise _OutOfRange
    found = _within(listed, values, limits, most)
    keep = k if limits is None else None
    answers = _joined([found] if best is None else [best, found], keep)
    if not any_full:
        return answers
    again = full.nonzero()[:, 0]
    needs_rows = len(block.rows) if needs_groups > listed.groups_room else needs_rows
    parts = [_search_block(block, queries[some], k, None if best is None else _Answers(best.values[some], best.ids[some]),
                           None if limits is None else limits[some], needs_groups, needs_rows)
             for some in again.split(max(1, _LISTED // needs_rows))]
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
            room = min(len(block.rows), _power_of_two(512 + 16 * k))
            best[i] = _search_block(block, batch, k, best[i], bounds[i], 1024 + 4 * k, room)
    parts = [part for part in best if part is not None]
    nothing = _Answers(parts[0].values[:0], parts[0].ids[:0])
    return _put(_Answers(*(a.new_zeros((len(queries), 0)) for a in nothing)), torch.arange(len(queries), device=queries.device), parts)


# ---- the interface ----


def _has_kernels(device: torch.device) -> bool:
    return device.type == "cuda" and find_spec("triton") is not None


def _rows_of(rows: Tensor) -> Tensor:
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
        if self._in_c or not usual or not bool(torch.isfinite(queries).all()) or (limits is None and not 1 <= k <= len(self.base)):
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
    return Index(base, queries.device).knn(queries, k)


def range_search(base: Tensor, queries: Tensor, radius: float | Tensor) -> Within:
    """All rows within a radius of each query, as `capball.range_search` finds them; on the device of the queries."""
    return Index(base, queries.device).range_search(queries, radius)
