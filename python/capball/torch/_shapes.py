"""Block sizes of the layer's kernels: measured on an H200 (torch 2.11, Triton 3.6) by bench/bench_gpu.py tune, November 2026."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """How many numbers a program takes, D for each row, and by how many warps. Runs (_runs.py) have `word` > 0: the numbers that
    neighbouring threads are apart; `columns`: one thread per row adds squares."""

    numbers: int
    warps: int
    word: int = 0
    columns: bool = True


# By kernel and bytes of a number: up to a width D, numbers and warps. Wider rows are a block of their own.
_TABLE = {
    "embed": {
        2: ((8, 512, 2), (16, 1024, 1), (32, 512, 1), (64, 2048, 2), (256, 1024, 1), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((8, 256, 1), (64, 512, 1), (1024, 1024, 1), (4096, 2048, 2), (8192, 8192, 16)),
        8: ((256, 512, 1), (1024, 1024, 4), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed": {
        2: ((1, 256, 1), (2, 512, 1), (8, 256, 1), (16, 1024, 2), (32, 2048, 2), (64, 1024, 2), (256, 2048, 4), (1024, 1024, 2),
            (4096, 2048, 2), (8192, 8192, 4)),
        4: ((1, 512, 2), (2, 1024, 2), (8, 512, 1), (16, 1024, 1), (256, 512, 2), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 16)),
        8: ((256, 512, 1), (1024, 1024, 4), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "embed backward": {
        2: ((1, 256, 1), (2, 512, 2), (8, 256, 1), (256, 512, 1), (1024, 1024, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((1, 512, 1), (8, 256, 1), (64, 512, 1), (256, 512, 2), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 8)),
        8: ((8, 256, 1), (16, 512, 2), (256, 256, 1), (1024, 1024, 4), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed backward": {
        2: ((8, 256, 1), (256, 512, 1), (1024, 1024, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((8, 256, 1), (16, 512, 1), (256, 256, 1), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 4)),
        8: ((256, 256, 1), (1024, 1024, 1), (4096, 2048, 4), (8192, 8192, 16)),
    },
}
# The same for rows of d = D numbers that are written as one run.
_RUNS = {4: ((1, 2048, 4), (8, 1024, 4), (32, 2048, 4)), 8: ((16, 1024, 4),)}


def shape_of(kernel: str, size: int, d: int, D: int) -> Shape:
    """For rows of d numbers of `size` bytes in blocks that are D wide, the power of two from d on."""
    runs = _RUNS.get(size, ()) if kernel == "embed" and d == D else ()
    for flat, lines in ((True, runs), (False, _TABLE[kernel][size])):
        for most, numbers, warps in lines:
            if D <= most:
                return Shape(max(numbers, D), warps)
    raise ValueError(f"rows of {d} numbers are longer than a block")
