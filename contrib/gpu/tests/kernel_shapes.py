"""Shapes of kernels that tests ask for in place of the measured ones."""

from capball.torch._shapes import BLOCK, RUN, STRIP, Shape

SHAPES = {"blocks": (0, 0, BLOCK), "narrow blocks": (2, 0, BLOCK), "runs": (1, 1, RUN), "wide runs": (4, 2, RUN),
          "strips": (0, 4, STRIP), "strips and rows": (1, 16, STRIP)}  # what follows numbers and warps in Shape


def shapes_of(name, rows):
    """What gives every kernel such a shape; there are no strips of embeddings."""
    word, across, kind = SHAPES[name]
    return lambda kernel, size, d, D: Shape(rows * D, 4, word, across, BLOCK if kind == STRIP and kernel == "embed" else kind)
