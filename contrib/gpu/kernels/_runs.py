"""T1 and T12 on runs: the R rows of a program are contiguous and start at a multiple of 16 bytes, whatever the length of a row.

Rows are read in whole vectors and rearranged in shared memory, where one thread adds the squares of a short row; gradients add T
neighbouring numbers of each row at a time, and read what they need out of the cache once more. The results are computed and written
number by number in the order of memory, with the factors of their rows. A block that is not full, or has numbers whose squares leave
the range of the type, is left to _blocks.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ._blocks import (_all, _embed_back_block, _embed_block, _image_factors, _last_slope, _preimage_factor, _preimage_slope_factors,
                      _root, _scale, _slope_factors, _unembed_back_block, _unembed_block, _usual, _usual_point, _wide)
from ._strips import _lasts_of_rows, _plus_product, _tile, _total, _zeros


@triton.jit
def _read_run(a, first, COLS: tl.constexpr, R: tl.constexpr, SIZE: tl.constexpr):
    """R rows of COLS numbers as one row of SIZE, a power of two."""
    i = tl.arange(0, SIZE)
    return tl.load(a + first * COLS + i, mask=i < R * COLS, other=0)


@triton.jit
def _columns(run, COLS: tl.constexpr, d: tl.constexpr, R: tl.constexpr, D: tl.constexpr, WIDE: tl.constexpr):
    """The first d numbers of each row of a run, D x R: a thread has whole rows."""
    i = tl.arange(0, R * D)
    col = i // R
    v = _wide(tl.gather(run, i % R * COLS + tl.minimum(col, COLS - 1), 0), WIDE)
    return tl.reshape(tl.where(col < d, v, 0.0), [D, R])


@triton.jit
def _sum_of_products(v, w, FINE: tl.constexpr):
    """FINE: added in double, so that the error does not grow with the length of rows."""
    if FINE:
        return tl.sum(v.to(tl.float64) * w.to(tl.float64), axis=0).to(v.dtype)
    else:
        return tl.sum(v * w, axis=0)


@triton.jit
def _places(rows, START: tl.constexpr, SIZE: tl.constexpr, COLS: tl.constexpr, R: tl.constexpr, WORD: tl.constexpr):
    """Places in a run of rows of COLS numbers from START on, their rows and columns, and which are in the run. `rows` > 0 hides
    from the compiler that places start at multiples of more than WORD, so that neighbouring threads get neighbouring words: wider
    accesses to memory would give bank conflicts in shared memory."""
    i = START + tl.arange(0, SIZE) + tl.minimum(rows - 1, 0) * WORD
    inside = i
    if START + SIZE > R * COLS:
        inside = tl.minimum(i, R * COLS - 1)
    row = (inside.to(tl.uint32) // COLS).to(tl.int32)
    return i, row, inside - row * COLS, i < R * COLS


@triton.jit
def _from(run, row, col, R: tl.constexpr, COLS: tl.constexpr, SIZE: tl.constexpr, WIDE: tl.constexpr):
    """Numbers of a run; those of column COLS are not used."""
    i = row * COLS + col
    if R * COLS == SIZE:
        i = tl.minimum(i, SIZE - 1)
    return _wide(tl.gather(run, i, 0), WIDE)


@triton.jit
def _of_rows(a, b, row, WIDE: tl.constexpr):
    """a[row] and b[row]; two f32 are taken from shared memory as one."""
    if WIDE:
        return tl.gather(a, row, 0), tl.gather(b, row, 0)
    else:
        low = a.to(tl.uint32, bitcast=True).to(tl.uint64)
        high = b.to(tl.uint32, bitcast=True).to(tl.uint64)
        both = tl.gather((high << 32) | low, row, 0)
        return both.to(tl.uint32).to(tl.float32, bitcast=True), (both >> 32).to(tl.uint32).to(tl.float32, bitcast=True)


@triton.jit
def _write_run(a, value, first, i, here, COLS: tl.constexpr, PART: tl.constexpr):
    """PART: some places are not in the run."""
    if PART:
        tl.store(a + first * COLS + i, value.to(a.dtype.element_ty), mask=here)
    else:
        tl.store(a + first * COLS + i, value.to(a.dtype.element_ty))


@triton.jit
def _embed_piece(x, y, factor, last, rows, first, START: tl.constexpr, SIZE: tl.constexpr, d: tl.constexpr, R: tl.constexpr,
                 IN: tl.constexpr, WORD: tl.constexpr, WIDE: tl.constexpr):
    PART: tl.constexpr = START + SIZE > R * (d + 1)
    i, row, col, here = _places(rows, START, SIZE, d + 1, R, WORD)
    f, of_last = _of_rows(factor, last, row, WIDE)
    value = tl.where(col == d, of_last, _from(x, row, col, R, d, IN, WIDE) * f)
    _write_run(y, value, first, i, here, d + 1, PART)


@triton.jit(do_not_specialize=["rows"])
def embed_run_kernel(x, t, y, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                     WORD: tl.constexpr, R: tl.constexpr, D: tl.constexpr, IN: tl.constexpr, HEAD: tl.constexpr,
                     REST: tl.constexpr, STEP: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * R
    usual = rows - first >= R
    if usual:
        run = _read_run(x, first, d, R, IN)
        z = _columns(run, d, d, R, D, WIDE)
        N = _sum_of_products(z, z, FINE)
        s = _scale(t, WIDE)
        usual = _all(_usual(N + s * s, WIDE))
        if usual:
            factor, last = _image_factors(N, s)
            _embed_piece(run, y, factor, last, rows, first, 0, HEAD, d, R, IN, WORD, WIDE)
            if REST > 0:
                _embed_piece(run, y, factor, last, rows, first, HEAD, REST, d, R, IN, WORD, WIDE)
    if not usual:
        for i in range(0, R, STEP):
            _embed_block(x, t, x, y, rows, first + i, d, d, 1, False, WIDE, FINE, True, STEP, D)


@triton.jit
def _unembed_piece(y, x, factor, rows, first, START: tl.constexpr, SIZE: tl.constexpr, d: tl.constexpr, R: tl.constexpr,
                   IN: tl.constexpr, WORD: tl.constexpr, WIDE: tl.constexpr):
    PART: tl.constexpr = START + SIZE > R * d
    i, row, col, here = _places(rows, START, SIZE, d, R, WORD)
    _write_run(x, _from(y, row, col, R, d + 1, IN, WIDE) * tl.gather(factor, row, 0), first, i, here, d, PART)


@triton.jit
def _lasts(run, d: tl.constexpr, R: tl.constexpr, WIDE: tl.constexpr):
    return _wide(tl.gather(run, tl.arange(0, R) * (d + 1) + d, 0), WIDE)


@triton.jit(do_not_specialize=["rows"])
def unembed_run_kernel(y, t, x, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr,
                       WORD: tl.constexpr, R: tl.constexpr, D: tl.constexpr, IN: tl.constexpr, HEAD: tl.constexpr,
                       REST: tl.constexpr, STEP: tl.constexpr):
    ROUGH: tl.constexpr = y.dtype.element_ty.primitive_bitwidth == 16
    first = tl.program_id(0).to(tl.int64) * R
    usual = rows - first >= R
    if usual:
        run = _read_run(y, first, d + 1, R, IN)
        z = _columns(run, d + 1, d, R, D, WIDE)
        z0 = _lasts(run, d, R, WIDE)
        N = _sum_of_products(z, z, FINE)
        L = _root(N + z0 * z0, ROUGH)
        usual = _all(_usual_point(N, L, z0, WIDE))
        if usual:
            factor = _preimage_factor(N, L, z0, _scale(t, WIDE), ROUGH)
            _unembed_piece(run, x, factor, rows, first, 0, HEAD, d, R, IN, WORD, WIDE)
            if REST > 0:
                _unembed_piece(run, x, factor, rows, first, HEAD, REST, d, R, IN, WORD, WIDE)
    if not usual:
        for i in range(0, R, STEP):
            _unembed_block(y, t, y, x, rows, first + i, d, d + 1, 1, False, WIDE, FINE, True, STEP, D)


@triton.jit
def _products(a, g, first, COLS: tl.constexpr, UP: tl.constexpr, d: tl.constexpr, R: tl.constexpr, T: tl.constexpr, WIDE: tl.constexpr,
              FINE: tl.constexpr):
    """|z|^2, <z,up> and the largest |up| of the first d numbers of rows z of COLS numbers and up of UP numbers."""
    N = _zeros(R, T, WIDE or FINE)
    product = N
    most = _zeros(R, T, WIDE)
    for start in tl.static_range(0, d, T):
        col = start + tl.arange(0, T)
        z = _tile(a, first * COLS, col, col < d, COLS, R, start + T > d, WIDE)
        up = _tile(g, first * UP, col, col < d, UP, R, start + T > d, WIDE)
        N = _plus_product(N, z, z)
        product = _plus_product(product, z, up)
        most = tl.maximum(most, tl.abs(up))
    return _total(N, WIDE), _total(product, WIDE), tl.max(most, axis=1)


@triton.jit
def _again(a, first, i, here, COLS: tl.constexpr, PART: tl.constexpr, WIDE: tl.constexpr):
    """Numbers of a run that were read before."""
    if PART:
        return _wide(tl.load(a + first * COLS + i, mask=here, other=0), WIDE)
    else:
        return _wide(tl.load(a + first * COLS + i), WIDE)


@triton.jit
def _embed_back_piece(x, g, gx, factor, k, rows, first, START: tl.constexpr, SIZE: tl.constexpr, d: tl.constexpr,
                      R: tl.constexpr, WORD: tl.constexpr, WIDE: tl.constexpr):
    PART: tl.constexpr = START + SIZE > R * d
    i, row, col, here = _places(rows, START, SIZE, d, R, WORD)
    f, of_z = _of_rows(factor, k, row, WIDE)
    up = _again(g, first, i + row, here, d + 1, PART, WIDE)
    _write_run(gx, (up - _again(x, first, i, here, d, PART, WIDE) * of_z) * f, first, i, here, d, PART)


@triton.jit(do_not_specialize=["rows"])
def embed_back_run_kernel(x, t, g, gx, part, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr, WORD: tl.constexpr,
                          R: tl.constexpr, T: tl.constexpr, D: tl.constexpr, HEAD: tl.constexpr, REST: tl.constexpr,
                          STEP: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * R
    s = _scale(t, WIDE)
    of_t = s * 0
    usual = rows - first >= R
    if usual:
        up0 = _lasts_of_rows(g, first, d, R, WIDE)
        N, product, most = _products(x, g, first, d, d + 1, d, R, T, WIDE, FINE)
        most = tl.maximum(most, tl.abs(up0))
        usual = _all(_usual(N + s * s, WIDE) & (_usual(most, WIDE) | (most == 0)) & (product == product))
        if usual:
            factor, k, y0, slope_of_t = _slope_factors(N, s, product, up0)
            of_t = tl.sum(slope_of_t, axis=0)
            _embed_back_piece(x, g, gx, factor, k, rows, first, 0, HEAD, d, R, WORD, WIDE)
            if REST > 0:
                _embed_back_piece(x, g, gx, factor, k, rows, first, HEAD, REST, d, R, WORD, WIDE)
    if not usual:
        for i in range(0, R, STEP):
            of_t += _embed_back_block(x, t, x, g, gx, rows, first + i, d, d, 1, d + 1, 1, False, WIDE, FINE, True, STEP, D)
    tl.store(part + tl.program_id(0), of_t)


@triton.jit
def _unembed_back_piece(y, g, gy, factor, k, s, rows, first, START: tl.constexpr, SIZE: tl.constexpr, d: tl.constexpr,
                        R: tl.constexpr, WORD: tl.constexpr, WIDE: tl.constexpr):
    PART: tl.constexpr = START + SIZE > R * (d + 1)
    i, row, col, here = _places(rows, START, SIZE, d + 1, R, WORD)
    f, of_z = _of_rows(factor, k, row, WIDE)
    up = _again(g, first, tl.minimum(i - row, R * d - 1), here, d, PART, WIDE)
    value = (up - _again(y, first, i, here, d + 1, PART, WIDE) * of_z) * f
    _write_run(gy, tl.where(col == d, _last_slope(of_z, s), value), first, i, here, d + 1, PART)


@triton.jit(do_not_specialize=["rows"])
def unembed_back_run_kernel(y, t, g, gy, part, rows, d: tl.constexpr, WIDE: tl.constexpr, FINE: tl.constexpr, WORD: tl.constexpr,
                            R: tl.constexpr, T: tl.constexpr, D: tl.constexpr, HEAD: tl.constexpr, REST: tl.constexpr,
                            STEP: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * R
    s = _scale(t, WIDE)
    of_t = s * 0
    usual = rows - first >= R
    if usual:
        z0 = _lasts_of_rows(y, first, d, R, WIDE)
        N, product, most = _products(y, g, first, d + 1, d, d, R, T, WIDE, FINE)
        L = tl.sqrt(N + z0 * z0)
        usual = _all(_usual_point(N, L, z0, WIDE) & (_usual(most, WIDE) | (most == 0)))
        if usual:
            factor, k, of_last, slope_of_t = _preimage_slope_factors(N, L, z0, product, s)
            of_t = tl.sum(slope_of_t, axis=0)
            _unembed_back_piece(y, g, gy, factor, k, s, rows, first, 0, HEAD, d, R, WORD, WIDE)
            if REST > 0:
                _unembed_back_piece(y, g, gy, factor, k, s, rows, first, HEAD, REST, d, R, WORD, WIDE)
    if not usual:
        for i in range(0, R, STEP):
            of_t += _unembed_back_block(y, t, g, gy, rows, first + i, d, d, 1, d + 1, 1, WIDE, FINE, True, STEP, D)
    tl.store(part + tl.program_id(0), of_t)
