"""Exact neighbours by codes on a CUDA device, for the searches of capball.torch.

The base is kept as codes of one byte per number (T13; _search_kernels.py says what they prove). A product of codes gives every group of
rows its smallest code distance; the k-th smallest bounds the answer, and groups, then rows, that cannot be within the bound are left
out. What remains is measured in double, in the order of additions of the C library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ._search_kernels import encode_kernel, measure_kernel, minima_kernel, rank_kernel, rows_kernel, select_kernel

_TILE = 128  # rows that a program multiplies at a time; the base is padded to whole ones
_BLOCK_ROWS = 1 << 20  # of codes that are searched at once: the groups of one query fit a program
_QUERIES = 4096  # at once
_LISTED = 1 << 27  # rows that may be listed at once, of all queries
_RANKED = 4096  # rows of a query that are put in order by counting; more are sorted
_CLIPPED = 0.001  # of the rows may have numbers outside the codes' range
NO_ID = torch.iinfo(torch.int64).max


class OutOfRange(Exception):
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
            raise OutOfRange
        reach = torch.cat([(part.double() - self.center).abs().amax(1) for part in rows.split(1 << 16)])
        if float(reach.max()) > 1e130:
            raise OutOfRange
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
        own, cols, tiles, padded = self.codes, self.codes.codes.shape[1], len(self.codes.norm) // _TILE, len(asked.norm)
        smallest = torch.empty((padded, len(own.norm) // per_group), dtype=torch.int32, device=own.norm.device)
        at_once = min(16, max(1, tiles * (padded // tile) // 1024))
        minima_kernel[(padded // tile, _round_up(tiles, at_once) // at_once)](
            own.codes, own.norm, asked.codes, asked.twice, smallest, tiles, smallest.shape[1], K=cols, BK=min(cols, 128), BM=tile,
            BN=_TILE, G=per_group, TILES=at_once, STAGES=3, num_warps=4)
        return smallest

    def find(self, queries: Tensor, k: int, bound: Tensor, groups_room: int, room: int) -> _Listed:
        """The rows that may be among the k nearest, or for k = 0 within the bound, which counts steps."""
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
        base = self.block.rows
        values = torch.empty(self.rows.shape, dtype=torch.float64, device=queries.device)
        wide = torch.float64 in (base.dtype, queries.dtype)
        measure_kernel[(len(queries), 8)](base, queries, self.rows, self.count, values, self.state, base.shape[1], *base.stride(),
                                          *queries.stride(), self.room, WIDE=wide, C=32, enable_fp_fusion=False)
        return values

    def nearest(self, values: Tensor, k: int, most: int) -> Answers:
        """The k nearest of at most _RANKED rows of each query."""
        made = Answers(values.new_empty((len(values), k)), self.rows.new_empty((len(values), k), dtype=torch.int64))
        rank_kernel[(len(values), -(-most // 64))](values, self.rows, self.count, made.values, made.ids, self.block.first_id, k,
                                                   self.room, C=64)
        return made


def _in_order(values: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Each row by value, and by id where values are equal."""
    ids, order = ids.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, stable=True)
    return values, ids.gather(1, order)


class Answers(NamedTuple):
    """Values and ids of each query in order, with inf where there are fewer."""

    values: Tensor
    ids: Tensor


def _joined(parts: list[Answers], most: int | None) -> Answers:
    values, ids = (torch.cat(some, dim=1) for some in zip(*parts))
    return Answers(*(some[:, :most] for some in _in_order(values, ids)))


def _within(listed: _Listed, values: Tensor, limits: Tensor | None, count: int) -> Answers:
    """Of the rows measured, those that are there, and within the limits."""
    slot = torch.arange(count, device=values.device)
    values, rows = values[:, :count], listed.rows[:, :count].long() + listed.block.first_id
    there = slot[None, :] < listed.count[:, None]
    if limits is not None:
        there &= values <= limits[:, None]
    return Answers(values.masked_fill(~there, torch.inf), rows.masked_fill(~there, NO_ID))


def _search_block(block: _Block, queries: Tensor, k: int, best: Answers | None, limits: Tensor | None,
                  groups_room: int, room: int) -> Answers:
    """The answers of a block joined with those before. Queries for which the lists have no room are done again with more."""
    listed = block.find(queries, k, _bound(block, queries, k, best, limits), groups_room, room)
    values = listed.measure(queries)
    groups, most, out_of_range = listed.state[:3].tolist()
    if out_of_range:
        raise OutOfRange
    if best is None and limits is None and k <= most <= min(room, _RANKED) and len(block.rows) >= k:
        answers = listed.nearest(values, k, most)
    else:
        found = _within(listed, values, limits, min(most, room))
        answers = _joined([found] if best is None else [best, found], k if limits is None else None)
    if groups <= listed.groups_room and most <= room:
        return answers
    again = ((listed.groups > listed.groups_room) | (listed.count > room)).nonzero()[:, 0]
    rows = len(block.rows) if groups > listed.groups_room else most
    parts = [_search_block(block, queries[some], k, None if best is None else Answers(best.values[some], best.ids[some]),
                           None if limits is None else limits[some], groups, rows)
             for some in again.split(max(1, _LISTED // rows))]
    return _put(answers, again, parts)


def _put(answers: Answers, at: Tensor, parts: list[Answers]) -> Answers:
    """Answers with those of some queries replaced."""
    width = max(answers.values.shape[1], *(part.values.shape[1] for part in parts))
    made = []
    for before, own, nothing in ((answers.values, [p.values for p in parts], torch.inf), (answers.ids, [p.ids for p in parts], NO_ID)):
        whole = before.new_full((len(before), width), nothing)
        whole[:, :before.shape[1]] = before
        wide = [torch.nn.functional.pad(p, (0, width - p.shape[1]), value=nothing) for p in own]
        whole[at] = torch.cat(wide)
        made.append(whole)
    return Answers(*made)


def _bound(block: _Block, queries: Tensor, k: int, best: Answers | None, limits: Tensor | None) -> Tensor:
    """How far an answer can be, in steps of the block, rounded up."""
    if limits is not None:
        known = limits
    elif best is not None and best.values.shape[1] >= k:
        known = best.values[:, k - 1]
    else:
        return torch.full((len(queries),), torch.inf, dtype=torch.float32, device=queries.device)
    return (known / block.step * (1 + 2.0**-20)).float()


def blocks_of(base: Tensor, device: torch.device) -> Iterator[_Block]:
    """The base on the device, block after block."""
    for first in range(0, len(base), _BLOCK_ROWS):
        yield _Block(base[first:first + _BLOCK_ROWS].to(device), first)


def search(blocks: Any, queries: Tensor, k: int, limits: Tensor | None) -> Answers:
    """One answer from all blocks."""
    batches = queries.split(_QUERIES)
    best: list[Answers | None] = [None] * len(batches)
    bounds = [None] * len(batches) if limits is None else limits.split(_QUERIES)
    for block in blocks:
        for i, batch in enumerate(batches):
            room = min(len(block.rows), max(_RANKED, _power_of_two(16 * k)))
            best[i] = _search_block(block, batch, k, best[i], bounds[i], 1024 + 4 * k, room)
    parts = [part for part in best if part is not None]
    if len(parts) == 1:
        return parts[0]
    nothing = Answers(*(a.new_zeros((len(queries), 0)) for a in parts[0]))
    return _put(nothing, torch.arange(len(queries), device=queries.device), parts)
