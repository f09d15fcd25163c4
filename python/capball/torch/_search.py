"""Exact neighbours on the device of the tensors: the ids, distances and order of `capball.knn`.

On a CUDA device by codes (contrib/gpu/kernels/_codes.py), elsewhere by the C library."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor

import capball
from capball import Neighbors, Within

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


# ---- the interface ----


def _has_kernels(device: torch.device) -> bool:
    return device.type == "cuda" and all(find_spec(name) is not None for name in ("triton", "capball.torch._codes"))


def _codes() -> Any:
    """The search by codes, imported when a base on a CUDA device comes."""
    return import_module("capball.torch._codes")


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
        self._blocks: list[Any] | None = None
        self._in_c = not _has_kernels(self.device) or base.dtype not in _TYPES or len(self.base) == 0 or self.base.shape[1] > 8192
        if not self._in_c and self.base.device == self.device:
            self._prepare()

    def _prepare(self) -> None:
        codes = _codes()
        try:
            self._blocks = list(codes.blocks_of(self.base, self.device))
        except codes.OutOfRange:
            self._in_c = True

    def _by_codes(self, queries: Tensor, k: int, limits: Tensor | None) -> Any:
        """None where the C library has to search: numbers out of range, and arguments it has words for."""
        usual = queries.dtype in _TYPES and queries.dim() == 2 and queries.shape[1] == self.base.shape[1] and len(queries) > 0
        if self._in_c or not usual or (limits is None and not 1 <= k <= len(self.base)):
            return None
        if limits is not None and not bool((limits >= 0).all()):
            return None
        codes = _codes()
        try:
            blocks = codes.blocks_of(self.base, self.device) if self._blocks is None else self._blocks
            return codes.search(blocks, queries, k, limits)
        except codes.OutOfRange:
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
        there = found.ids != _codes().NO_ID
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
