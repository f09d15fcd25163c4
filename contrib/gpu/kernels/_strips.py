"""T1 and T12 on strips: contiguous rows, T neighbouring numbers of each strip at a time, kept in registers from the sums to the
results.

A strip is a row; where rows of d+1 numbers of two bytes would start between words of four bytes it is two rows, so that numbers move
in pairs, and two columns that are left over are a tile of their own. A block that is not full, or has numbers whose squares leave the
range of the type, is left to _blocks.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ._blocks import (_all, _embed_back_block, _last_slope, _preimage_factor, _preimage_slope_factors, _root, _scale,
                      _slope_factors, _unembed_back_block, _unembed_block, _usual, _usual_point, _wide)


@triton.jit
def _tile(a, first, col, here, COLS: tl.constexpr, R: tl.constexpr, PART: tl.constexpr, WIDE: tl.constexpr):
    """Columns of R strips of COLS numbers after `first` numbers; PART: some columns are not there, which gives 0."""
    place = a + first + (tl.arange(0, R)[:, None] * COLS + col[None, :])
    if PART:
        return _wide(tl.load(place, mask=here[None, :], other=0), WIDE)
    else:
        return _wide(tl.load(place), WIDE)


@triton.jit
def _write_tile(a, value, first, col, here, COLS: tl.constexpr, R: tl.constexpr, PART: tl.constexpr):
    place = a + first + (tl.arange(0, R)[:, None] * COLS + col[None, :])
    if PART:
        tl.store(place, value.to(a.dtype.element_ty), mask=here[None, :])
    else:
        tl.store(place, value.to(a.dtype.element_ty))


@triton.jit
def _lasts_of_rows(a, first, d: tl.constexpr, R: tl.constexpr, WIDE: tl.constexpr):
    return _wide(tl.load(a + first * (d + 1) + (tl.arange(0, R) * (d + 1) + d)), WIDE)


@triton.jit
def _plus_product(total, a, b):
    return tl.fma(a.to(total.dtype), b.to(total.dtype), total)


@triton.jit
def _zeros(R: tl.constexpr, T: tl.constexpr, WIDE: tl.constexpr):
    if WIDE:
        return tl.zeros([R, T], tl.float64)
    else:
        return tl.zeros([R, T], tl.float32)


@triton.jit
def _total(part, WIDE: tl.constexpr):
    """Of each row; FINE sums are double until here."""
    total = tl.sum(part, axis=1)
    return total if WIDE else total.to(tl.float32)


@triton.jit
def _apart(a, R: tl.constexpr):
    """The same numbers, one for each thread: the threads that added up a row need not all go on with it."""
    return tl.gather(a, tl.arange(0, R), 0)


@triton.jit(do_not_specialize=["rows"])
def unembed_strip_kernel(y, t, x, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr, R: tl.constexpr, T: tl.constexpr,
                         APART: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr):
    ROUGH: tl.constexpr = y.dtype.element_ty.primitive_bitwidth == 16
    first = tl.program_id(0).to(tl.int64) * R
    usual = rows - first >= R
    if usual:
        z0 = _lasts_of_rows(y, first, d, R, WIDE)
        N = _zeros(R, T, WIDE or FINE)
        zs = ()
        for start in tl.static_range(0, d, T):
            col = start + tl.arange(0, T)
            z = _tile(y, first * (d + 1), col, col < d, d + 1, R, start + T > d, WIDE)
            N = _plus_product(N, z, z)
            zs = zs + (z,)  # type: ignore[assignment]
        N = _total(N, WIDE)
        if APART:
            N = _apart(N, R)
        L = _root(N + z0 * z0, ROUGH)
        usual = _all(_usual_point(N, L, z0, WIDE))
        if usual:
            factor = _preimage_factor(N, L, z0, _scale(t, WIDE), ROUGH)
            for start in tl.static_range(0, d, T):
                col = start + tl.arange(0, T)
                _write_tile(x, zs[start // T] * factor[:, None], first * d, col, col < d, d, R, start + T > d)
    if not usual:
        for i in range(0, R, STEP):
            _unembed_block(y, t, y, x, rows, first + i, d, d + 1, 1, False, WIDE, FINE, True, STEP, D)


@triton.jit(do_not_specialize=["rows"])
def embed_back_strip_kernel(x, t, g, gx, part, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr, R: tl.constexpr,
                            T: tl.constexpr, APART: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr):
    END: tl.constexpr = d if d % T == 0 else d + 1  # the last tile has room for the last numbers
    first = tl.program_id(0).to(tl.int64) * R
    s = _scale(t, WIDE)
    of_t = s * 0
    usual = rows - first >= R
    if usual:
        N = _zeros(R, T, WIDE or FINE)
        product = N
        most = _zeros(R, T, WIDE)
        zs = ()
        ups = ()
        for start in tl.static_range(0, d, T):
            col = start + tl.arange(0, T)
            z = _tile(x, first * d, col, col < d, d, R, start + T > d, WIDE)
            up = _tile(g, first * (d + 1), col, col < END, d + 1, R, start + T > END, WIDE)
            N = _plus_product(N, z, z)
            product = _plus_product(product, z, up)
            most = tl.maximum(most, tl.abs(up))
            zs = zs + (z,)  # type: ignore[assignment]
            ups = ups + (up,)  # type: ignore[assignment]
        if END > d:
            up0 = tl.sum(tl.where((col == d)[None, :], up, 0.0), axis=1)
        else:
            up0 = _lasts_of_rows(g, first, d, R, WIDE)
        N = _total(N, WIDE)
        product = _total(product, WIDE)
        most = tl.max(most, axis=1)
        if APART:
            N = _apart(N, R)
            product = _apart(product, R)
            most = _apart(most, R)
        most = tl.maximum(most, tl.abs(up0))
        usual = _all(_usual(N + s * s, WIDE) & (_usual(most, WIDE) | (most == 0)) & (product == product))
        if usual:
            factor, k, y0, slope_of_t = _slope_factors(N, s, product, up0)
            of_t = tl.sum(slope_of_t, axis=0)
            for start in tl.static_range(0, d, T):
                col = start + tl.arange(0, T)
                slope = (ups[start // T] - zs[start // T] * k[:, None]) * factor[:, None]
                _write_tile(gx, slope, first * d, col, col < d, d, R, start + T > d)
    if not usual:
        for i in range(0, R, STEP):
            of_t += _embed_back_block(x, t, x, g, gx, rows, first + i, d, d, 1, d + 1, 1, False, WIDE, FINE, True, STEP, D)
    tl.store(part + tl.program_id(0), of_t)


@triton.jit
def _pick(second, a, b, ONE: tl.constexpr, TWO: tl.constexpr):
    """a in the first row of strips, b in the second; ONE, TWO: all columns are there."""
    if ONE:
        return a[:, None]
    elif TWO:
        return b[:, None]
    else:
        return tl.where(second[None, :], b[:, None], a[:, None])


@triton.jit
def _in_rows(a, b, G: tl.constexpr, R: tl.constexpr):
    """Numbers of the rows of strips of G rows, in the order of rows."""
    if G == 2:
        return tl.reshape(tl.join(a, b), [R])
    else:
        return a


@triton.jit
def _of_strips(a, G: tl.constexpr, R: tl.constexpr):
    """The reverse."""
    if G == 2:
        return tl.split(tl.reshape(a, [R // 2, 2]))
    else:
        return a, a


@triton.jit
def _point_tile(y, g, first, START: tl.constexpr, C: tl.constexpr, d: tl.constexpr, G: tl.constexpr, S: tl.constexpr,
                WIDE: tl.constexpr):
    """C columns of strips of y from START on, and of g, which has 0 for the last numbers of rows."""
    W: tl.constexpr = G * (d + 1)
    col = START + tl.arange(0, C)
    second = (col > d) & (col < W - 1)
    v = _tile(y, first * (d + 1), col, col < W, W, S, START + C > W, WIDE)
    if START >= d:
        up = _tile(g, first * d, col - 1, second, G * d, S, START == d or START + C >= W, WIDE)
    else:
        up = _tile(g, first * d, col, col < d, G * d, S, START + C > d, WIDE)
        if START + C > d and G == 2:
            up += _tile(g, first * d, col - 1, second, G * d, S, True, WIDE)
    return v, up


@triton.jit
def _own(a, START: tl.constexpr, C: tl.constexpr, FROM: tl.constexpr, TO: tl.constexpr):
    """Columns of a tile from FROM on and before TO, 0 in place of others."""
    if START >= FROM and START + C <= TO:
        return a
    else:
        col = START + tl.arange(0, C)
        return tl.where(((col >= FROM) & (col < TO))[None, :], a, 0.0)


@triton.jit
def _plus_tile(sums, v, up, START: tl.constexpr, C: tl.constexpr, FROM: tl.constexpr, TO: tl.constexpr):
    """|z|^2, <z,up> and the largest |up| with the columns of this tile that are between FROM and TO."""
    if START < TO and START + C > FROM:
        z = _own(v, START, C, FROM, TO)
        return _plus_product(sums[0], z, z), _plus_product(sums[1], z, up), tl.maximum(sums[2], tl.abs(_own(up, START, C, FROM, TO)))
    else:
        return sums


@triton.jit
def _no_sums(S: tl.constexpr, C: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr):
    return _zeros(S, C, WIDE or FINE), _zeros(S, C, WIDE or FINE), _zeros(S, C, WIDE)


@triton.jit
def _totals(sums, WIDE: tl.constexpr):
    return _total(sums[0], WIDE), _total(sums[1], WIDE), tl.max(sums[2], axis=1)


@triton.jit
def _write_slopes(gy, v, up, k1, k2, f1, f2, s, first, START: tl.constexpr, C: tl.constexpr, d: tl.constexpr, G: tl.constexpr,
                  S: tl.constexpr):
    W: tl.constexpr = G * (d + 1)
    col = START + tl.arange(0, C)
    k = _pick(col > d, k1, k2, START + C <= d + 1 or G == 1, START > d)
    slope = (up - v * k) * _pick(col > d, f1, f2, START + C <= d + 1 or G == 1, START > d)
    if (START <= d and START + C > d) or START + C >= W:
        slope = tl.where(((col == d) | (col == W - 1))[None, :], _last_slope(k, s), slope)
    _write_tile(gy, slope, first * (d + 1), col, col < W, W, S, START + C > W)


@triton.jit(do_not_specialize=["rows"])
def unembed_back_strip_kernel(y, t, g, gy, part, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr, R: tl.constexpr,
                              T: tl.constexpr, G: tl.constexpr, APART: tl.constexpr, STEP: tl.constexpr, D: tl.constexpr):
    W: tl.constexpr = G * (d + 1)
    S: tl.constexpr = R // G
    PAIR: tl.constexpr = G == 2 and W % T == 2  # a tile of two columns follows those of T
    END: tl.constexpr = W - 2 if PAIR else W
    first = tl.program_id(0).to(tl.int64) * R
    s = _scale(t, WIDE)
    of_t = s * 0
    usual = rows - first >= R
    if usual:
        z0 = _lasts_of_rows(y, first, d, R, WIDE)
        sums = _no_sums(S, T, WIDE, FINE)
        sums2 = sums
        vs = ()
        ups = ()
        for start in tl.static_range(0, END, T):
            v, up = _point_tile(y, g, first, start, T, d, G, S, WIDE)
            sums = _plus_tile(sums, v, up, start, T, 0, d)
            sums2 = _plus_tile(sums2, v, up, start, T, d + 1, W - 1)
            vs = vs + (v,)  # type: ignore[assignment]
            ups = ups + (up,)  # type: ignore[assignment]
        if PAIR:  # read before anything is added across threads
            pair, pair_up = _point_tile(y, g, first, END, 2, d, G, S, WIDE)
        N, product, most = _totals(sums, WIDE)
        N2, product2, most2 = _totals(sums2, WIDE)
        if PAIR:
            more = _totals(_plus_tile(_no_sums(S, 2, WIDE, FINE), pair, pair_up, END, 2, d + 1, W - 1), WIDE)
            N2 += more[0]
            product2 += more[1]
            most2 = tl.maximum(most2, more[2])
        N = _in_rows(N, N2, G, R)
        product = _in_rows(product, product2, G, R)
        most = _in_rows(most, most2, G, R)
        if APART:
            N = _apart(N, R)
            product = _apart(product, R)
            most = _apart(most, R)
        L = tl.sqrt(N + z0 * z0)
        usual = _all(_usual_point(N, L, z0, WIDE) & (_usual(most, WIDE) | (most == 0)))
        if usual:
            factor, k, of_last, slope_of_t = _preimage_slope_factors(N, L, z0, product, s)
            of_t = tl.sum(slope_of_t, axis=0)
            f1, f2 = _of_strips(factor, G, R)
            k1, k2 = _of_strips(k, G, R)
            for start in tl.static_range(0, END, T):
                _write_slopes(gy, vs[start // T], ups[start // T], k1, k2, f1, f2, s, first, start, T, d, G, S)
            if PAIR:
                _write_slopes(gy, pair, pair_up, k1, k2, f1, f2, s, first, END, 2, d, G, S)
    if not usual:
        for i in range(0, R, STEP):
            of_t += _unembed_back_block(y, t, g, gy, rows, first + i, d, d, 1, d + 1, 1, WIDE, FINE, True, STEP, D)
    tl.store(part + tl.program_id(0), of_t)
