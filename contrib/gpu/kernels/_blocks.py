"""T1 and T12 in Triton: one pass over memory for the embedding, its inverse and their gradients, for rows with any strides.

A program takes a block of rows, R x D numbers, D the power of two from d on. Where a row of the block has numbers whose squares
leave the range of the type, all of them are scaled by powers of two, which the last product reverts. f16 and bf16 are computed in
f32, f64 in f64.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
def _inverse(a):
    """1/a of a normal number, nearly rounded."""
    if a.dtype == tl.float64:
        return 1.0 / a
    else:
        near = 1.0 / a
        return tl.fma(near, tl.fma(-a, near, 1.0), near)


# ROUGH: for f16 and bf16, f32 need not be right to the last digit.


@triton.jit
def _root(a, ROUGH: tl.constexpr):
    if ROUGH or a.dtype == tl.float64:
        return tl.sqrt(a)
    else:
        return tl.math.sqrt_rn(a)


@triton.jit
def _ratio(s, a, b, ROUGH: tl.constexpr):
    """s a/b; in f32 with one rounding."""
    if ROUGH or b.dtype == tl.float64:
        return s * a / b
    else:
        c = s * a
        near = tl.math.div_rn(c, b)
        rest = tl.fma(-near, b, c) + tl.fma(s, a, -c)
        return tl.fma(rest, 1.0 / b, near)


@triton.jit
def _exp(t):
    """exp(t) in f32, hardly ever off the nearest number, for |t| <= 87; far less work than the double function."""
    t = t.to(tl.float64)
    t = tl.where(t > 87.0, 87.0, tl.where(t < -87.0, -87.0, t))
    k = tl.floor(t.to(tl.float32) * 1.4426950408889634 + 0.5)
    r = t - k.to(tl.float64) * 0.6931471805599453
    q = tl.fma(r, 1.0 / 362880, 1.0 / 40320)
    q = tl.fma(q, r, 1.0 / 5040)
    q = tl.fma(q, r, 1.0 / 720)
    q = tl.fma(q, r, 1.0 / 120)
    q = tl.fma(q, r, 1.0 / 24)
    q = tl.fma(q, r, 1.0 / 6)
    q = tl.fma(q, r, 0.5)
    return (tl.fma(q * r, r, r) + 1.0).to(tl.float32) * _power(k.to(tl.int32), False)


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
def _first(R: tl.constexpr):
    """The first row of this program."""
    return tl.program_id(0).to(tl.int64) * R


@triton.jit
def _block(rows, before, d, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr = 0):
    """Rows and columns of the block after `before` rows, how many rows are in it, and which places have a number. WORD > 0 is how
    many neighbouring numbers a thread takes: `rows` > 0 hides from the compiler that columns start at multiples of more."""
    count = tl.minimum(rows - before, R).to(tl.int32)
    row = tl.arange(0, R)
    col = tl.arange(0, D)
    if WORD > 0:
        col += tl.minimum(rows - 1, 0).to(tl.int32) * WORD
    here = (row < count)[:, None] & (col < d)[None, :]
    if not NEAR:
        row = row.to(tl.int64)
        col = col.to(tl.int64)
    return row, col, count, here


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


@triton.jit
def _write_points(a, v, last, row, col, before, count, here, d):
    """Rows of d+1 numbers."""
    run = a + before * (d + 1)
    tl.store(run + (row[:, None] * (d + 1) + col[None, :]), v.to(a.dtype.element_ty), mask=here)
    tl.store(run + (row * (d + 1) + d), last.to(a.dtype.element_ty), mask=row < count)


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
def _image_factors(N, sigma):
    """What z is multiplied by, and y0."""
    per_q = _inverse(N + sigma * sigma)
    return 2 * sigma * per_q, (sigma * sigma - N) * per_q


@triton.jit
def _slope_factors(N, sigma, product, up0):
    """Of the gradient (up - k z) factor: factor and k; y0 and the gradient of t. product = <z,up>."""
    per_q = _inverse(N + sigma * sigma)
    factor = 2 * sigma * per_q
    y0 = (sigma * sigma - N) * per_q
    return factor, 2 * (product + sigma * up0) * per_q, y0, factor * (factor * N * up0 - y0 * product)


@triton.jit
def _image(z, s, WIDE: tl.constexpr, FINE: tl.constexpr):
    """y = (y', y0) of rows z."""
    N = _square(z, FINE)
    sigma = tl.zeros_like(N) + s
    if not _all(_usual(N + s * s, WIDE)):
        z, N, sigma, e, infinite = _taken_out(z, s, WIDE, FINE)
    factor, last = _image_factors(N, sigma)
    return z * factor[:, None], last


@triton.jit
def _embed_block(x, t, center, y, rows, before, d, x_row, x_col, CENTER: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                 NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr = 0):
    row, col, count, here = _block(rows, before, d, NEAR, R, D, WORD)
    z = _read(x, row, col, before, here, x_row, x_col, WIDE)
    if CENTER:
        z = _about(z, center, col, d, -1, WIDE)
    image, last = _image(z, _scale(t, WIDE), WIDE, FINE)
    _write_points(y, image, last, row, col, before, count, here, d)


@triton.jit(do_not_specialize=["rows"])
def embed_kernel(x, t, center, y, rows, d, x_row, x_col, CENTER: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                 ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr):
    _embed_block(x, t, center, y, rows, _first(R), d * ALIGN, x_row * ALIGN, x_col, CENTER, WIDE, FINE, NEAR, R, D, WORD)


@triton.jit
def _embed_back_block(x, t, center, g, gx, rows, before, d, x_row, x_col, g_row, g_col, CENTER: tl.constexpr,
                      WIDE: tl.constexpr, FINE: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr,
                      WORD: tl.constexpr = 0):
    """Writes the gradient of x, and returns this block's part of dL/dt."""
    row, col, count, here = _block(rows, before, d, NEAR, R, D, WORD)
    z = _read(x, row, col, before, here, x_row, x_col, WIDE)
    up, up0 = _read_points(g, row, col, before, count, here, d, g_row, g_col, WIDE)
    if CENTER:
        z = _about(z, center, col, d, -1, WIDE)
    slope, image, last, of_t = _slope(z, up, up0, _scale(t, WIDE), WIDE, FINE)
    _write(gx, slope, row, col, before, here, d)
    return _part(of_t, row, count)


@triton.jit
def _slope(z, up, up0, s, WIDE: tl.constexpr, FINE: tl.constexpr):
    """For rows z and gradients (up, up0) of their images y: the gradient of z, y', y0, and the gradient of t."""
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
    factor, k, y0, of_t = _slope_factors(N, sigma, product, up0)
    return (up - z * k[:, None]) * (factor * first * second)[:, None], z * factor[:, None], y0, of_t * back


@triton.jit
def _part(of_t, row, count):
    return tl.sum(tl.where(row < count, of_t, 0.0), axis=0)


@triton.jit(do_not_specialize=["rows"])
def embed_backward_kernel(x, t, center, g, gx, part, rows, d, x_row, x_col, g_row, g_col, CENTER: tl.constexpr,
                          WIDE: tl.constexpr, FINE: tl.constexpr, ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr,
                          D: tl.constexpr, WORD: tl.constexpr):
    of_t = _embed_back_block(x, t, center, g, gx, rows, _first(R), d * ALIGN, x_row * ALIGN, x_col, g_row, g_col, CENTER, WIDE,
                             FINE, NEAR, R, D, WORD)
    tl.store(part + tl.program_id(0), of_t)


@triton.jit
def _usual_point(N, L, z0, WIDE: tl.constexpr):
    return _usual(L, WIDE) & ((z0 >= 0) | _usual(N, WIDE))


@triton.jit
def _place(z, z0, WIDE: tl.constexpr, FINE: tl.constexpr, ROUGH: tl.constexpr):
    """Of y = (y', y0): 2^-c y', its square N, L = 2^-b |y|, 2^-b y0, b, c, and whether nothing had to be taken out."""
    N = _square(z, FINE)
    L = _root(N + z0 * z0, ROUGH)
    b = tl.zeros_like(N).to(tl.int32)
    c = b
    usual = _all(_usual_point(N, L, z0, WIDE))
    if not usual:
        largest = _largest(z)
        c = _exponent(largest)
        b = _exponent(tl.maximum(largest, tl.abs(z0)))
        z = z * _power(-c, WIDE)[:, None]
        N = _square(z, FINE)
        first, second = _half_power(c - b, WIDE)
        z0 = z0 * _power(-b, WIDE)
        L = _root((N * first * second) * first * second + z0 * z0, ROUGH)
        L = tl.where(N < float("inf"), L, float("nan"))
    return z, N, L, z0, b, c, usual


@triton.jit
def _preimage_factor(N, L, z0, s, ROUGH: tl.constexpr):
    """What y' is multiplied by, without cancellation on either half of the sphere."""
    south = z0 < 0
    return _ratio(s, tl.where(south, L - z0, 1.0), tl.where(south, N, L + z0), ROUGH)


@triton.jit
def _preimage_slope_factors(N, L, z0, product, s):
    """With |y| + y0 = rise: g s/rise - y' <y',g> s/(rise^2 |y|), and -<y',g> s/(rise |y|): s/rise, k of (g - k y') s/rise, the
    last number over s/rise, and the gradient of t."""
    south = z0 < 0
    per_rise = tl.where(south, L - z0, 1.0) * _inverse(tl.where(south, N, L + z0))
    slope = product * _inverse(L)
    factor = s * per_rise
    return factor, slope * per_rise, -slope, product * factor


@triton.jit
def _last_slope(k, s):
    """The last number of such a gradient: with the factor s/rise and k rise the slope, -(k rise)(s/rise)."""
    return -s * k


@triton.jit
def _unembed_block(y, t, center, x, rows, before, d, y_row, y_col, CENTER: tl.constexpr, WIDE: tl.constexpr,
                   FINE: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr = 0):
    row, col, count, here = _block(rows, before, d, NEAR, R, D, WORD)
    v, last = _read_points(y, row, col, before, count, here, d, y_row, y_col, WIDE)
    ROUGH: tl.constexpr = y.dtype.element_ty.primitive_bitwidth == 16
    z, N, L, z0, b, c, usual = _place(v, last, WIDE, FINE, ROUGH)
    south = z0 < 0
    factor = _preimage_factor(N, L, z0, _scale(t, WIDE), ROUGH)
    if not usual:
        first, second = _half_power(tl.where(south, b - c, c - b), WIDE)
        z = z * first[:, None]
        factor = factor * second
    v = z * factor[:, None]
    if CENTER:
        v = _about(v, center, col, d, 1, WIDE)
    _write(x, v, row, col, before, here, d)


@triton.jit(do_not_specialize=["rows"])
def unembed_kernel(y, t, center, x, rows, d, y_row, y_col, CENTER: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                   ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr):
    _unembed_block(y, t, center, x, rows, _first(R), d * ALIGN, y_row, y_col, CENTER, WIDE, FINE, NEAR, R, D, WORD)


@triton.jit
def _unembed_back_block(y, t, g, gy, rows, before, d, g_row, g_col, y_row, y_col, WIDE: tl.constexpr, FINE: tl.constexpr,
                        NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr = 0):
    """Writes the gradient of y, and returns this block's part of dL/dt; |y| + y0 = 2^r rise."""
    row, col, count, here = _block(rows, before, d, NEAR, R, D, WORD)
    v, last = _read_points(y, row, col, before, count, here, d, y_row, y_col, WIDE)
    up = _read(g, row, col, before, here, g_row, g_col, WIDE)
    ROUGH: tl.constexpr = y.dtype.element_ty.primitive_bitwidth == 16
    z, N, L, z0, b, c, usual = _place(v, last, WIDE, FINE, ROUGH)
    most = _largest(up)
    h = tl.zeros_like(b)
    usual = usual & _all(_usual(most, WIDE) | (most == 0))
    if not usual:
        h = _exponent(most)
        up = up * _power(-h, WIDE)[:, None]
    product = tl.sum(z * up, axis=1)
    south = z0 < 0
    factor, k, of_last, of_t = _preimage_slope_factors(N, L, z0, product, _scale(t, WIDE))
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
    _write_points(gy, slope, of_last * factor, row, col, before, count, here, d)
    return _part(of_t, row, count)


@triton.jit(do_not_specialize=["rows"])
def unembed_backward_kernel(y, t, g, gy, part, rows, d, g_row, g_col, y_row, y_col, WIDE: tl.constexpr, FINE: tl.constexpr,
                            ALIGN: tl.constexpr, NEAR: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WORD: tl.constexpr):
    of_t = _unembed_back_block(y, t, g, gy, rows, _first(R), d * ALIGN, g_row * ALIGN, g_col, y_row, y_col, WIDE, FINE, NEAR, R,
                               D, WORD)
    tl.store(part + tl.program_id(0), of_t)
