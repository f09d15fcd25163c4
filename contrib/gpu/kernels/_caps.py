"""A linear layer on the sphere in one kernel: the embedded rows stay in registers. For rows of up to 512 numbers and few units."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ._blocks import _block, _image, _part, _read, _scale, _slope, _write
from ._kernels import Plan, _power_of_two, eager

_MOST = 8192  # units times numbers of a row, both to powers of two: what a program accumulates
_LONGEST = 512
_SUMS = 32  # sums of gradients that a program adds


@triton.jit
def _weights(w, unit, col, d):
    return tl.load(w + unit * (d + 1) + col, mask=col < d, other=0).to(tl.float32)


@triton.jit
def _rounded(value, x):
    """As `Sphere` stores it."""
    return value.to(x.dtype.element_ty).to(tl.float32)


@triton.jit(do_not_specialize=["rows"])
def caps_kernel(x, t, w, b, out, rows, units, d: tl.constexpr, FINE: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    before = tl.program_id(0).to(tl.int64) * R
    row, col, count, here = _block(rows, before, d, True, R, D)
    z = _read(x, row, col, before, here, d, 1, False)
    image, last = _image(z, _scale(t, False), False, FINE)
    image = _rounded(image, x)
    last = _rounded(last, x)
    for unit in range(units):
        value = tl.sum(image * _weights(w, unit, col, d)[None, :], axis=1)
        value += last * tl.load(w + unit * (d + 1) + d).to(tl.float32) + tl.load(b + unit).to(tl.float32)
        tl.store(out + (before + row) * units + unit, value.to(out.dtype.element_ty), mask=row < count)


@triton.jit
def _up(g, w, row, col, before, count, d, units, R: tl.constexpr, D: tl.constexpr):
    """The gradients of the embedded rows from those of the units."""
    up = tl.zeros([R, D], tl.float32)
    up0 = tl.zeros([R], tl.float32)
    for unit in range(units):
        own = tl.load(g + (before + row) * units + unit, mask=row < count, other=0).to(tl.float32)
        up += own[:, None] * _weights(w, unit, col, d)[None, :]
        up0 += own * tl.load(w + unit * (d + 1) + d).to(tl.float32)
    return up, up0


@triton.jit(do_not_specialize=["rows", "tiles"])
def caps_backward_kernel(x, t, w, g, gx, part, rows, tiles, units, d: tl.constexpr, FINE: tl.constexpr, R: tl.constexpr,
                         D: tl.constexpr, U: tl.constexpr, PRECISION: tl.constexpr):
    """Writes the gradient of x; `part` gets a program's parts of those of the weights, of the biases and of t."""
    of_weights = tl.zeros([U, D], tl.float32)
    of_lasts = tl.zeros([U], tl.float32)
    of_biases = tl.zeros([U], tl.float32)
    s = _scale(t, False)
    of_t = s * 0
    unit = tl.arange(0, U)
    own_tile = tl.program_id(0).to(tl.int64)
    for step in range(tl.cdiv(tiles - tl.program_id(0), tl.num_programs(0))):
        before = (own_tile + step * tl.num_programs(0)) * R
        row, col, count, here = _block(rows, before, d, True, R, D)
        z = _read(x, row, col, before, here, d, 1, False)
        up, up0 = _up(g, w, row, col, before, count, d, units, R, D)
        slope, image, last, slope_of_t = _slope(z, up, up0, s, False, FINE)
        _write(gx, slope, row, col, before, here, d)
        of_t += _part(slope_of_t, row, count)
        there = (row < count)[None, :] & (unit < units)[:, None]
        own = tl.load(g + ((before + row)[None, :] * units + unit[:, None]), mask=there, other=0).to(tl.float32)
        of_lasts += tl.sum(own * last[None, :], axis=1)
        of_biases += tl.sum(own, axis=1)
        of_weights = tl.dot(own, _rounded(image, x), of_weights, input_precision=PRECISION)
    col = tl.arange(0, D)
    to = part + tl.program_id(0) * (units * (d + 2) + 1)
    tl.store(to + unit[:, None] * (d + 1) + col[None, :], of_weights, mask=(unit < units)[:, None] & (col < d)[None, :])
    tl.store(to + unit * (d + 1) + d, of_lasts, mask=unit < units)
    tl.store(to + units * (d + 1) + unit, of_biases, mask=unit < units)
    tl.store(to + units * (d + 2), of_t)


@triton.jit(do_not_specialize=["parts"])
def sum_kernel(part, total, parts, width, R: tl.constexpr, C: tl.constexpr):
    """The sum of the rows of `part`, in an order that is the same in eager and compiled nets."""
    col = tl.program_id(0) * C + tl.arange(0, C)
    sums = tl.zeros([C], tl.float32)
    for first in range(0, parts, R):
        row = first + tl.arange(0, R)
        here = (row < parts)[:, None] & (col < width)[None, :]
        sums += tl.sum(tl.load(part + row[:, None] * width + col[None, :], mask=here, other=0), axis=0)
    tl.store(total + col, sums, mask=col < width)


@cache
def _programs(device: int) -> int:
    """How many programs keep a device busy."""
    return 2 * torch.cuda.get_device_properties(device).multi_processor_count if device >= 0 else 3


class Caps:
    """Both layers for rows of d numbers and so many units. An object serves tensors of the same types."""

    def __init__(self, dtype: torch.dtype, d: int, units: int, D: int, U: int) -> None:
        self.d, self.units, self.at = d, units, units * (d + 1)
        known, warps = dict(d=d, FINE=dtype == torch.float32 and D >= 512, R=max(16, min(128, 4096 // D)), D=D), 8 if d > 128 else 4
        # TF32 holds the numbers of f16 and bf16; three products of it those of f32.
        precision = "tf32x3" if dtype == torch.float32 else "tf32"
        self.forward = Plan(caps_kernel, known["R"], (), known, warps)
        self.backward = Plan(caps_backward_kernel, known["R"], (), dict(known, U=U, PRECISION=precision), warps)
        self.sum = Plan(sum_kernel, 64, (), dict(R=64, C=_SUMS), 4)

    def values(self, x: Tensor, t: Tensor, w: Tensor, b: Tensor, run: Any = eager) -> Tensor:
        n, plan = x.numel() // self.d, self.forward
        out = x.new_empty((*x.shape[:-1], self.units))
        run(plan, (x, t, w, b, out), (n, self.units), -(-n // plan.rows))
        return out

    def gradients(self, x: Tensor, t: Tensor, w: Tensor, g: Tensor, run: Any = eager) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Those of x, t, the weights and the biases, the last three in f32."""
        n, plan, at = x.numel() // self.d, self.backward, self.at
        tiles, width = -(-n // plan.rows), at + self.units + 1
        programs = min(tiles, _programs(x.get_device()))
        gx, total = torch.empty_like(x), x.new_empty((programs, width), dtype=torch.float32)
        run(plan, (x, t, w, g, gx, total), (n, tiles, self.units), programs)
        if programs > 1:
            part, total = total, total.new_empty(width)
            run(self.sum, (part, total), (programs, width), -(-width // _SUMS))
        of_t, of_weights = total.as_strided(t.shape, t.stride(), width - 1), total.as_strided(w.shape, (self.d + 1, 1))
        return gx, of_t, of_weights, total.as_strided((self.units,), (1,), at)


def caps_of(dtype: torch.dtype, d: int, units: int, *others: torch.dtype) -> Caps | None:
    """The kernels for rows of this type, and scale, weights and biases of the other types; None where there are none."""
    D, U = (max(16, _power_of_two(n)) for n in (d, units))
    serves = dtype in (torch.float32, torch.float16, torch.bfloat16) and 1 <= d <= _LONGEST and D * U <= _MOST
    return Caps(dtype, d, units, D, U) if serves else None
