"""Block sizes of the layer's kernels: measured on an H200 (torch 2.11, Triton 3.6) by bench/bench_gpu.py tune, November 2026."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """How many numbers a program takes, D for each row, and by how many warps. Runs (_runs.py) have `word` > 0: the numbers that
    neighbouring threads are apart."""

    numbers: int
    warps: int
    word: int = 0


_Lines = dict[str, dict[int, tuple[tuple[int, ...], ...]]]

# By kernel and bytes of a number: up to a width D, the shape. Wider rows are a block of their own.
_TABLE: _Lines = {
    "embed": {
        2: ((32, 512, 1), (64, 1024, 2), (256, 1024, 1), (1024, 2048, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((16, 512, 2), (256, 512, 1), (1024, 1024, 1), (4096, 2048, 1), (8192, 8192, 8)),
        8: ((2, 512, 4, 1), (16, 256, 1), (128, 512, 2), (1024, 1024, 2), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed": {
        2: ((64, 2048, 2), (256, 1024, 1), (1024, 2048, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((16, 512, 2), (128, 512, 1), (256, 1024, 2), (1024, 2048, 4), (4096, 4096, 8), (8192, 8192, 16)),
        8: ((16, 512, 1), (128, 512, 2), (1024, 1024, 1), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "embed backward": {
        2: ((16, 1024, 1), (128, 512, 1), (1024, 1024, 1), (4096, 2048, 1), (8192, 8192, 4)),
        4: ((16, 1024, 2), (64, 512, 2), (128, 512, 1), (256, 512, 2), (1024, 2048, 4), (4096, 4096, 8), (8192, 8192, 16)),
        8: ((128, 256, 1), (1024, 1024, 2), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed backward": {
        2: ((16, 512, 1), (32, 1024, 2), (256, 512, 1), (1024, 1024, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((128, 256, 1), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 4)),
        8: ((128, 256, 1), (1024, 1024, 1), (4096, 2048, 4), (8192, 8192, 16)),
    },
}
# The same for rows whose bytes are not a multiple of 16, where these are different.
_OTHERS: _Lines = {
    "embed": {
        2: ((1, 1024, 4, 2), (2, 512, 2), (4, 2048, 4, 8), (16, 2048, 2, 2), (64, 4096, 4, 2), (128, 2048, 2)),
        4: ((1, 512, 4, 4), (2, 1024, 4, 1), (4, 1024, 4, 4), (16, 2048, 2, 4), (64, 1024, 2)),
    },
    "unembed": {
        2: ((1, 1024, 4, 2), (2, 512, 1), (4, 2048, 4, 2), (16, 4096, 4, 2), (64, 4096, 2, 2), (128, 8192, 4, 2)),
        4: ((1, 1024, 4, 1), (2, 512, 2), (4, 512, 1), (16, 2048, 2, 4), (64, 4096, 2, 1)),
    },
    "embed backward": {
        2: ((1, 512, 4, 8), (2, 256, 1), (4, 2048, 4, 2), (16, 4096, 4, 8), (64, 4096, 4, 2), (128, 512, 1)),
        4: ((1, 1024, 4, 4), (2, 256, 1), (4, 2048, 4, 1), (16, 2048, 2, 4), (64, 4096, 4, 1)),
    },
    "unembed backward": {
        2: ((1, 512, 4, 2), (2, 256, 1), (4, 2048, 4, 8), (16, 2048, 2, 2), (64, 4096, 2, 2), (128, 512, 1)),
        4: ((1, 512, 4, 4), (2, 512, 2), (4, 1024, 4, 4), (16, 2048, 2, 4), (64, 4096, 2, 1)),
    },
}


def shape_of(kernel: str, size: int, d: int, D: int) -> Shape:
    """For rows of d numbers of `size` bytes in blocks that are D wide, the power of two from d on."""
    others = _OTHERS[kernel].get(size, ()) if d * size % 16 else ()
    for lines in (others, _TABLE[kernel][size]):
        for most, numbers, *rest in lines:
            if D <= most:
                return Shape(max(numbers, D), *rest)
    raise ValueError(f"rows of {d} numbers are longer than a block")
