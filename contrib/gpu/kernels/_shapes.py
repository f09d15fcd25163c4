"""Block sizes of the layer's kernels: measured on an H200 (torch 2.11, Triton 3.6) by bench/bench_gpu.py tune, November 2026."""

from __future__ import annotations

from typing import NamedTuple


BLOCK, RUN, STRIP = range(3)  # _blocks.py, _runs.py, _strips.py


class Shape(NamedTuple):
    """How many numbers a program takes, D for each row, and by how many warps. Blocks: `word` > 0 limits the neighbouring numbers
    that a thread takes. Runs: `word` is the numbers that neighbouring threads are apart. Runs of gradients and strips: `across` is the
    numbers of a row that are added at a time; `word` > 0 gives each thread rows of its own between sums and results of strips."""

    numbers: int
    warps: int
    word: int = 0
    across: int = 0
    kind: int = BLOCK


_Lines = dict[str, dict[int, tuple[tuple[int, ...], ...]]]

# By kernel and bytes of a number: up to a width D, the shape. Wider rows are a block of their own.
_TABLE: _Lines = {
    "embed": {
        2: ((32, 512, 1), (64, 1024, 2), (256, 1024, 1), (1024, 2048, 1), (4096, 2048, 2), (8192, 8192, 4)),
        4: ((16, 512, 2), (256, 512, 1), (1024, 1024, 1), (4096, 2048, 1), (8192, 8192, 8)),
        8: ((2, 512, 4, 1, 0, RUN), (16, 256, 1), (128, 512, 2), (1024, 1024, 2), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed": {
        2: ((64, 2048, 2), (256, 1024, 1), (1024, 2048, 1, 0, 64, STRIP), (4096, 2048, 2),
            (8192, 8192, 4)),
        4: ((16, 512, 2), (128, 512, 1), (256, 1024, 2), (1024, 2048, 4), (4096, 4096, 8), (8192, 8192, 16)),
        8: ((16, 512, 1), (128, 512, 2), (1024, 1024, 1), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "embed backward": {
        2: ((16, 1024, 1), (128, 512, 1), (1024, 1024, 1), (4096, 2048, 1), (8192, 8192, 4)),
        4: ((16, 1024, 2), (64, 512, 2), (128, 512, 1), (256, 512, 2), (1024, 2048, 4), (4096, 4096, 8), (8192, 8192, 16)),
        8: ((128, 256, 1), (1024, 1024, 2), (4096, 2048, 4), (8192, 8192, 16)),
    },
    "unembed backward": {
        2: ((16, 512, 1, 8, 8, RUN), (32, 512, 1, 0, 32, STRIP), (256, 1024, 1, 0, 32, STRIP), (1024, 2048, 1, 0, 64, STRIP),
            (4096, 2048, 2), (8192, 8192, 4)),
        4: ((128, 256, 1), (1024, 1024, 2), (4096, 2048, 2), (8192, 8192, 4)),
        8: ((128, 256, 1), (1024, 1024, 1), (4096, 2048, 4), (8192, 8192, 16)),
    },
}
# The same for rows whose bytes are not a multiple of 16, and for gradients of rows that do not fill D, where these are different.
_OTHERS: _Lines = {
    "embed": {
        2: ((1, 1024, 4, 2, 0, RUN), (2, 512, 2), (4, 2048, 4, 8, 0, RUN), (16, 2048, 2, 2, 0, RUN), (64, 4096, 4, 2, 0, RUN),
            (128, 2048, 1, 4)),
        4: ((1, 512, 4, 4, 0, RUN), (2, 1024, 4, 1, 0, RUN), (4, 1024, 4, 4, 0, RUN), (16, 2048, 2, 4, 0, RUN), (64, 1024, 2)),
    },
    "unembed": {
        2: ((1, 1024, 4, 2, 0, RUN), (2, 512, 1), (4, 2048, 4, 2, 0, RUN), (16, 4096, 4, 2, 0, RUN), (64, 1024, 2, 0, 16, STRIP),
            (128, 2048, 2, 0, 32, STRIP)),
        4: ((1, 1024, 4, 1, 0, RUN), (2, 512, 2), (4, 512, 1), (16, 2048, 2, 4, 0, RUN), (64, 4096, 2, 1, 0, RUN)),
    },
    "embed backward": {
        2: ((1, 256, 1, 4, 1, RUN), (2, 256, 1), (4, 2048, 2, 2, 1, RUN), (16, 2048, 2, 2, 2, RUN), (64, 1024, 2, 0, 8, STRIP),
            (128, 1024, 2, 0, 32, STRIP)),
        4: ((1, 512, 1, 0, 2, STRIP), (2, 512, 2, 2, 1, RUN), (4, 1024, 2, 1, 1, RUN), (16, 512, 1, 4, 2, RUN), (64, 512, 2, 0, 16, STRIP),
            (128, 1024, 2, 1, 32, STRIP)),
    },
    "unembed backward": {
        2: ((1, 128, 1, 4, 1, RUN), (2, 256, 1), (4, 2048, 2, 4, 1, RUN), (16, 2048, 2, 4, 2, RUN), (64, 1024, 1, 0, 16, STRIP),
            (128, 1024, 1, 0, 16, STRIP), (1024, 2048, 1, 0, 64, STRIP)),
        4: ((1, 512, 2, 0, 2, STRIP), (2, 1024, 2, 1, 1, RUN), (4, 512, 1, 4, 1, RUN), (16, 512, 1, 4, 2, RUN), (64, 1024, 1, 0, 32, STRIP),
            (128, 1024, 1, 0, 32, STRIP)),
    },
}


def shape_of(kernel: str, size: int, d: int, D: int) -> Shape:
    """For rows of d numbers of `size` bytes in blocks that are D wide, the power of two from d on."""
    uneven = d * size % 16 or (d < D and kernel.endswith("backward"))
    for lines in (_OTHERS[kernel].get(size, ()) if uneven else (), _TABLE[kernel][size]):
        for most, numbers, *rest in lines:
            if D <= most:
                return Shape(max(numbers, D), *rest)
    raise ValueError(f"rows of {d} numbers are longer than a block")
