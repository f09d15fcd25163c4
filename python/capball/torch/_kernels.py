"""T1 and T12 in Triton: one pass over memory for the embedding, its inverse and their gradients.

A program takes a block of rows, R x D numbers, D the power of two from d on. Where a row of the block has numbers whose squares
would leave the range of the type, powers of two are taken out of all of them and go back in with the last product. f16 and bf16
are computed in f32, f64 in f64.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ._shapes import shape_of

_FINE = 512  # from so many f32 numbers on, squares are added in double
LONGEST = 8192  # numbers in a row; longer rows are for plain operations


# ---- numbers ----


@triton.jit
def _exponent(a):
    """The exponent of a >= 0, kept where 2^e and 2^-e are normal numbers with room on both sides."""
    if a.dtype == tl.float64:
        raw = ((a.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1023
        return tl.minimum(tl.maximum(raw, -960), 960)
    else:
        raw = ((a.to(tl.int32, bitcast=True) >> 23) & 255) - 127
        return tl.minimum(tl.maximum(raw, -120), 120)


@triton.jit
def _power(e, WIDE: tl.constexpr):
    """2^e of a normal number."""
    if WIDE:
        return ((e + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    else:
        return ((e + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _half_power(e, WIDE: tl.constexpr):
    """2^(e/2) twice, as a pair, for exponents beyond those of the type."""
    most: tl.constexpr = 2040 if WIDE else 250
    e = tl.minimum(tl.maximum(e, -most), most)
    half = e >> 1
    return _power(half, WIDE), _power(e - half, WIDE)


@triton.jit
def _quotient(a, b):
    if b.dtype == tl.float64:
        return a / b
    else:
        return tl.math.div_rn(a, b)


@triton.jit
def _inverse(a):
    """1/a of a normal number, nearly rounded."""
    if a.dtype == tl.float64:
        return 1.0 / a
    else:
        near = 1.0 / a
        return tl.fma(near, tl.fma(-a, near, 1.0), near)


@triton.jit
def _root(a):
    if a.dtype == tl.float64:
        return tl.sqrt(a)
    else:
        return tl.math.sqrt_rn(a)


@triton.jit
def _exp(t):
    """exp(t) in f32 within a rounding and a half, for |t| <= 87; far less work than the double function."""
    high = t.to(tl.float32)
    low = (t - high.to(t.dtype)).to(tl.float32)
    high = tl.where(high > 87.0, 87.0, tl.where(high < -87.0, -87.0, high))
    k = tl.floor(high * 1.4426950408889634 + 0.5)
    r = tl.fma(k, -0.693145751953125, high)  # ln 2 in two parts, of which the first has few digits
    r = tl.fma(k, -1.428606765330187e-06, r) + low
    q = tl.fma(r, 1.0 / 5040, 1.0 / 720)
    q = tl.fma(q, r, 1.0 / 120)
    q = tl.fma(q, r, 1.0 / 24)
    q = tl.fma(q, r, 1.0 / 6)
    q = tl.fma(q, r, 0.5)
    return (tl.fma(q * r, r, r) + 1.0) * _power(k.to(tl.int32), False)


@triton.jit
def _scale(t, WIDE: tl.constexpr):
    """s = exp(t), in the range of the type."""
    if WIDE:
        return tl.exp(tl.load(t).to(tl.float64))
    else:
        return _exp(tl.load(t))


@triton.jit
def _wide(a, WIDE: tl.constexpr):
    return a.to(tl.float64) if WIDE else a.to(tl.float32)


@triton.jit
def _largest(a):
    return tl.max(tl.abs(a), axis=1)


@triton.jit
def _square(z, FINE: tl.constexpr):
    """|z|^2; FINE: added in double, so that its error does not grow with the length of rows."""
    if FINE:
        wide = z.to(tl.float64)
        return tl.sum(wide * wide, axis=1).to(z.dtype)
    else:
        return tl.sum(z * z, axis=1)


# ---- rows ----
#
# d and the distance of rows come divided by ALIGN, so that the compiler knows by what they can be divided and moves whole vectors.
# Places within a block are numbers of 32 bits where these hold them (NEAR).


@triton.jit
def _block(rows, d, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    """Rows and columns of this program's block, how many rows are before it and in it, and which places have a number."""
    before = tl.program_id(0).to(tl.int64) * R
    count = tl.minimum(rows - before, R).to(tl.int32)
    row = tl.arange(0, R)
    col = tl.arange(0, D)
    here = (row < count)[:, None] & (col < d)[None, :]
    if not NEAR:
        row = row.to(tl.int64)
        col = col.to(tl.int64)
    return row, col, before, count, here


@triton.jit
def _read(a, row, col, before, here, row_stride, col_stride, WIDE: tl.constexpr):
    from_ = a + before * row_stride
    return _wide(tl.load(from_ + (row[:, None] * row_stride + col[None, :] * col_stride), mask=here, other=0), WIDE)


@triton.jit
def _write(a, value, row, col, before, here, cols):
    to = a + before * cols
    tl.store(to + (row[:, None] * cols + col[None, :]), value.to(a.dtype.element_ty), mask=here)


@triton.jit
def _read_points(a, row, col, before, count, here, d, row_stride, col_stride, WIDE: tl.constexpr):
    """Rows of d+1 numbers: R x D, and the last ones."""
    v = _read(a, row, col, before, here, row_stride, col_stride, WIDE)
    lasts = a + before * row_stride + d * col_stride
    return v, _wide(tl.load(lasts + row * row_stride, mask=row < count, other=0), WIDE)


# Rows of d+1 numbers begin anywhere, so that whole vectors of them cannot be moved. But a program's R (d+1) numbers are one
# aligned run: short rows are rearranged inside the program and written as that (FLAT).


@triton.jit
def _in_run(i, cols):
    """Row and column of number i of a run of rows; exact while there are fewer than 2^20 of them."""
    row = ((i.to(tl.float32) + 0.5) * (1.0 / cols)).to(tl.int32)
    return row, i - row * cols


@triton.jit
def _of_run(v, last, i, d, R: tl.constexpr, D: tl.constexpr):
    row, col = _in_run(i, d + 1)
    row = tl.minimum(row, R - 1)
    return tl.where(col == d, tl.gather(last, row, 0), tl.gather(v, row * D + tl.minimum(col, D - 1), 0))


@triton.jit
def _write_points(a, v, last, row, col, before, count, here, d, FLAT: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    """Rows of d+1 numbers."""
    v = v.to(a.dtype.element_ty)
    last = last.to(a.dtype.element_ty)
    run = a + before * (d + 1)
    if FLAT and count == R:
        flat = tl.reshape(v, [R * D])
        i = tl.arange(0, R * D)
        tl.store(run + i, _of_run(flat, last, i, d, R, D), mask=i < R * (d + 1))
        i = R * D + tl.arange(0, R)
        tl.store(run + i, _of_run(flat, last, i, d, R, D), mask=i < R * (d + 1))
    else:
        tl.store(run + (row[:, None] * (d + 1) + col[None, :]), v, mask=here)
        tl.store(run + (row * (d + 1) + d), last, mask=row < count)


@triton.jit
def _about(x, center, col, d, sign: tl.constexpr, WIDE: tl.constexpr):
    """x - c or x + c of a centre that may have more digits than x."""
    c = tl.load(center + col, mask=col < d, other=0)
    high = _wide(c, WIDE)
    low = _wide(c - high.to(c.dtype), WIDE)
    if sign < 0:
        return (x - high[None, :]) - low[None, :]
    else:
        return (x + low[None, :]) + high[None, :]


# ---- T1 and T12 ----
#
# A law is written once, for z, sigma and g from which powers of two were taken out, 2^-e of rows and s, 2^-h of gradients, and
# `first` and `second`, whose product puts them back in. Where all rows of a block are of usual size nothing is taken out.


@triton.jit
def _usual(a, WIDE: tl.constexpr):
    """Whether squares of this size, and products of such numbers, keep their digits."""
    edge: tl.constexpr = 2.0**400 if WIDE else 2.0**60
    return (a > 1 / edge) & (a < edge)


@triton.jit
def _all(ok):
    return tl.min(ok.to(tl.int32), axis=0) == 1


@triton.jit
def _taken_out(v, s, WIDE: tl.constexpr, FINE: tl.constexpr):
    """z = 2^-e v, |z|^2, sigma = 2^-e s, e, and which rows have inf: numbers of -e take their place, the limit."""
    e = _exponent(tl.maximum(_largest(v), s))
    unit = _power(-e, WIDE)
    z = v * unit[:, None]
    N = _square(z, FINE)
    infinite = N == float("inf")
    z = tl.where(infinite[:, None], 0.0, z)
    return z, tl.where(infinite, 1.0, N), tl.where(infinite, 0.0, s * unit), e, infinite


@triton.jit
def embed_kernel(x, t, center, y, rows, d, x_row, x_col, CENTER: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                 FLAT: tl.constexpr, ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    d = d * ALIGN
    x_row = x_row * ALIGN
    row, col, before, count, here = _block(rows, d, NEAR, R, D)
    z = _read(x, row, col, before, here, x_row, x_col, WIDE)
    if CENTER:
        z = _about(z, center, col, d, -1, WIDE)
    s = _scale(t, WIDE)
    N = _square(z, FINE)
    sigma = tl.zeros_like(N) + s
    if not _all(_usual(N + s * s, WIDE)):
        z, N, sigma, e, infinite = _taken_out(z, s, WIDE, FINE)
    per_q = _inverse(N + sigma * sigma)
    factor = 2 * sigma * per_q
    last = (sigma * sigma - N) * per_q
    _write_points(y, z * factor[:, None], last, row, col, before, count, here, d, FLAT, R, D)


@triton.jit
def embed_backward_kernel(x, t, center, g, gx, part, rows, d, x_row, x_col, g_row, g_col, CENTER: tl.constexpr,
                          WIDE: tl.constexpr, FINE: tl.constexpr, ALIGN: tl.constexpr, NEAR: tl.constexpr,
                          R: tl.constexpr, D: tl.constexpr):
    d = d * ALIGN
    x_row = x_row * ALIGN
    row, col, before, count, here = _block(rows, d, NEAR, R, D)
    z = _read(x, row, col, before, here, x_row, x_col, WIDE)
    up, up0 = _read_points(g, row, col, before, count, here, d, g_row, g_col, WIDE)
    if CENTER:
        z = _about(z, center, col, d, -1, WIDE)
    s = _scale(t, WIDE)
    N = _square(z, FINE)
    product = tl.sum(z * up, axis=1)
    sigma = tl.zeros_like(N) + s
    most = tl.maximum(_largest(up), tl.abs(up0))
    first = tl.zeros_like(N) + 1.0
    second = first
    back = first
    if not _all(_usual(N + s * s, WIDE) & (_usual(most, WIDE) | (most == 0)) & (product == product)):
        h = _exponent(most)
        back = _power(h, WIDE)
        up = up * _power(-h, WIDE)[:, None]
        up0 = up0 * _power(-h, WIDE)
        z, N, sigma, e, infinite = _taken_out(z, s, WIDE, FINE)
        product = tl.sum(z * up, axis=1)
        first, second = _half_power(h - e, WIDE)
        first = tl.where(infinite, float("nan"), first)
    per_q = _inverse(N + sigma * sigma)
    factor = 2 * sigma * per_q
    k = 2 * (product + sigma * up0) * per_q
    _write(gx, (up - z * k[:, None]) * (factor * first * second)[:, None], row, col, before, here, d)
    y0 = (sigma * sigma - N) * per_q
    _write_part(part, factor * (factor * N * up0 - y0 * product) * back, row, count)


@triton.jit
def _write_part(part, of_t, row, count):
    tl.store(part + tl.program_id(0), tl.sum(tl.where(row < count, of_t, 0.0), axis=0))


@triton.jit
def _place(z, z0, WIDE: tl.constexpr, FINE: tl.constexpr):
    """Of y = (y', y0): 2^-c y', its square N, L = 2^-b |y|, 2^-b y0, b, c, and whether nothing had to be taken out."""
    N = _square(z, FINE)
    L = _root(N + z0 * z0)
    b = tl.zeros_like(N).to(tl.int32)
    c = b
    usual = _all(_usual(L, WIDE) & ((z0 >= 0) | _usual(N, WIDE)))
    if not usual:
        largest = _largest(z)
        c = _exponent(largest)
        b = _exponent(tl.maximum(largest, tl.abs(z0)))
        z = z * _power(-c, WIDE)[:, None]
        N = _square(z, FINE)
        first, second = _half_power(c - b, WIDE)
        z0 = z0 * _power(-b, WIDE)
        L = _root((N * first * second) * first * second + z0 * z0)
        L = tl.where(N < float("inf"), L, float("nan"))
    return z, N, L, z0, b, c, usual


@triton.jit
def unembed_kernel(y, t, center, x, rows, d, y_row, y_col, CENTER: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                   ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    d = d * ALIGN
    row, col, before, count, here = _block(rows, d, NEAR, R, D)
    v, last = _read_points(y, row, col, before, count, here, d, y_row, y_col, WIDE)
    z, N, L, z0, b, c, usual = _place(v, last, WIDE, FINE)
    s = _scale(t, WIDE)
    south = z0 < 0
    factor = _quotient(s * tl.where(south, L - z0, 1.0), tl.where(south, N, L + z0))
    if not usual:
        first, second = _half_power(tl.where(south, b - c, c - b), WIDE)
        z = z * first[:, None]
        factor = factor * second
    v = z * factor[:, None]
    if CENTER:
        v = _about(v, center, col, d, 1, WIDE)
    _write(x, v, row, col, before, here, d)


@triton.jit
def unembed_backward_kernel(y, t, g, gy, part, rows, d, g_row, g_col, y_row, y_col, WIDE: tl.constexpr, FINE: tl.constexpr,
                            ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr):
    """With |y| + y0 = 2^r rise: g s/(|y|+y0) - y' <y',g> s/((|y|+y0)^2 |y|), and -<y',g> s/((|y|+y0) |y|)."""
    d = d * ALIGN
    g_row = g_row * ALIGN
    row, col, before, count, here = _block(rows, d, NEAR, R, D)
    v, last = _read_points(y, row, col, before, count, here, d, y_row, y_col, WIDE)
    up = _read(g, row, col, before, here, g_row, g_col, WIDE)
    z, N, L, z0, b, c, usual = _place(v, last, WIDE, FINE)
    most = _largest(up)
    h = tl.zeros_like(b)
    usual = usual & _all(_usual(most, WIDE) | (most == 0))
    if not usual:
        h = _exponent(most)
        up = up * _power(-h, WIDE)[:, None]
    product = tl.sum(z * up, axis=1)
    south = z0 < 0
    rise = tl.where(south, _quotient(N, L - z0), L + z0)
    factor = _quotient(_scale(t, WIDE), rise)
    k = _quotient(product, rise * L)
    of_last = -_quotient(product, L)
    of_t = product * factor
    if not usual:
        r = tl.where(south, 2 * c - b, b)
        first, second = _half_power(tl.where(south, 0, 2 * (c - b)), WIDE)
        k = k * first * second
        first, second = _half_power(c - b, WIDE)
        of_last = of_last * first * second
        first, second = _half_power(h - r, WIDE)
        factor = factor * first * second
        first, second = _half_power(h + c - r, WIDE)
        of_t = of_t * first * second
    slope = (up - z * k[:, None]) * factor[:, None]
    _write_points(gy, slope, of_last * factor, row, col, before, count, here, d, False, R, D)
    _write_part(part, of_t, row, count)


# ---- calls ----

_shape = shape_of  # which a benchmark and tests replace
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def takes(x: Tensor, d: int) -> bool:
    """Whether these kernels serve rows of d numbers of this type."""
    return x.dtype in _TYPES and 1 <= d <= LONGEST


def _flat(x: Tensor) -> Tensor:
    return x if x.dim() == 2 else x.reshape(-1, x.shape[-1])


def _launch(kernel: Any, name: str, pointers: tuple[Any, ...], n: int, d: int, plain: Tensor | None, points: Tensor | None,
            **known: Any) -> Any:
    """Runs a kernel over n rows, of d numbers in `plain` and of d+1 in `points`, where it reads such. Those of gradients give a
    part of dL/dt for each block."""
    like: Any = points if plain is None else plain
    D = triton.next_power_of_2(d)
    shape = _shape(name, like.element_size(), d, D)
    R = max(1, shape.numbers // D)
    align, strides, far = math.gcd(d, 16), [], R * (d + 1)
    if plain is not None:
        align = math.gcd(align, plain.stride(0))
        strides += [plain.stride(0) // align, plain.stride(1)]
        far = max(far, R * plain.stride(0) + D * plain.stride(1))
    if points is not None:
        strides += points.stride()
        far = max(far, R * points.stride(0) + D * points.stride(1))
    if name == "embed":
        known["FLAT"] = shape.flat
    grid = (-(-n // R),)
    if name.endswith("backward"):
        pointers = (*pointers, part := torch.empty(grid, dtype=known.pop("part"), device=like.device))
    if n > 0:
        with torch.cuda.device_of(like):
            kernel[grid](*pointers, n, d // align, *strides, WIDE=like.dtype == torch.float64,
                         FINE=like.dtype == torch.float32 and D >= _FINE, ALIGN=align, NEAR=far < 1 << 31, R=R, D=D,
                         num_warps=shape.warps, **known)
    return part if name.endswith("backward") else None


def _part_type(t: Tensor) -> torch.dtype:
    return torch.float64 if t.dtype == torch.float64 else torch.float32


def embed(x: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    d, rows = x.shape[-1], _flat(x)
    y = x.new_empty((*x.shape[:-1], d + 1))
    _launch(embed_kernel, "embed", (rows, t, center, y), len(rows), d, rows, None, CENTER=center is not None)
    return y


def unembed(y: Tensor, t: Tensor, center: Tensor | None) -> Tensor:
    d, rows = y.shape[-1] - 1, _flat(y)
    x = y.new_empty((*y.shape[:-1], d))
    _launch(unembed_kernel, "unembed", (rows, t, center, x), len(rows), d, None, rows, CENTER=center is not None)
    return x


def embed_backward(x: Tensor, t: Tensor, center: Tensor | None, g: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of x, and parts of dL/dt that are to be added."""
    gx, rows, up = x.new_empty(x.shape), _flat(x), _flat(g)
    part = _launch(embed_backward_kernel, "embed backward", (rows, t, center, up, gx), len(rows), x.shape[-1], rows, up,
                   CENTER=center is not None, part=_part_type(t))
    return gx, part


def unembed_backward(y: Tensor, t: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of y, and parts of dL/dt that are to be added."""
    gy, rows, up = y.new_empty(y.shape), _flat(y), _flat(g)
    part = _launch(unembed_backward_kernel, "unembed backward", (rows, t, up, gy), len(rows), g.shape[-1], up, rows,
                   part=_part_type(t))
    return gy, part
