"""T13 in Triton: codes of one byte, smallest code distances of groups of rows, the rows that may be answers, and their distances.

Numbers are w = (x - center)/step, codes c = round(w) within -127 .. 127. Code distances are exact integers, and |w_x - w_q| is
within error_x + error_q of |c_x - c_q|, error = |w - c|. A query outside the range of the codes has codes of a step that is larger
by a power of two, half of `twice`: |c_x - (twice/2) c_q|^2 = |c_x|^2 - twice <c_x,c_q> + (twice/2)^2 |c_q|^2.
"""

from __future__ import annotations

import triton
import triton.language as tl

# What kernels report in `state`: the most groups and rows that a query has, and whether distances or queries are out of range.
MOST_GROUPS = tl.constexpr(0)
MOST_ROWS = tl.constexpr(1)
OUT_OF_RANGE = tl.constexpr(2)

FAR = tl.constexpr(1 << 30)  # the norm of rows that are not there
SAFE = tl.constexpr(float(1 << 29))  # what a product may be at most, so that 32 bits hold it and the largest norm
MARGIN = tl.constexpr(2.0**-20)  # more than all roundings of bounds


@triton.jit
def _numbers(x, center, row, col, rows, d, x_row, x_col, per_step):
    """w of a block of rows, in double."""
    here = (row < rows)[:, None] & (col < d)[None, :]
    v = tl.load(x + row[:, None] * x_row + col[None, :] * x_col, mask=here, other=0).to(tl.float64)
    w = (v - tl.load(center + col, mask=col < d, other=0)[None, :]) * per_step
    return tl.where(here, w, 0.0)


@triton.jit
def _half_twice(reach):
    """The power of two that brings numbers up to `reach` into the range of codes."""
    times = reach / 127.0
    raised = ((times.to(tl.int64, bitcast=True) >> 52) & 2047).to(tl.int32) - 1022
    return tl.where(times <= 1.0, 0, tl.minimum(raised, 24))


@triton.jit
def encode_kernel(x, center, per_step, codes, norm, error, twice, state, rows, d, x_row, x_col, largest_norm,
                  QUERIES: tl.constexpr, K: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    """Codes, |c|^2 and error of rows. Of queries: (twice/2)^2 |c|^2 in double and twice; error is inf where products could
    leave 32 bits, and queries with NaN or inf are reported."""
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    scale = tl.load(per_step)
    raised = tl.zeros([R], tl.int32)
    if QUERIES:
        reach = tl.zeros([R], tl.float64)
        for k in range(0, K, BK):
            w = _numbers(x, center, row, k + tl.arange(0, BK), rows, d, x_row, x_col, scale)
            reach = tl.maximum(reach, tl.max(tl.abs(w), axis=1))
        raised = _half_twice(reach)
    step = ((raised + 1023).to(tl.int64) << 52).to(tl.float64, bitcast=True)
    norm2 = tl.zeros([R], tl.int32)
    rest2 = tl.zeros([R], tl.float64)
    size2 = tl.zeros([R], tl.float64)
    for k in range(0, K, BK):
        col = k + tl.arange(0, BK)
        w = _numbers(x, center, row, col, rows, d, x_row, x_col, scale)
        c = tl.floor(w / step[:, None] + 0.5)
        c = tl.minimum(tl.maximum(c, -127.0), 127.0)
        rest = w - c * step[:, None]
        rest2 += tl.sum(rest * rest, axis=1)
        size2 += tl.sum(w * w, axis=1)
        c = c.to(tl.int32)
        norm2 += tl.sum(c * c, axis=1)
        tl.store(codes + row[:, None] * K + col[None, :], c.to(tl.int8))
    bound = tl.sqrt(rest2) + 1e-12 * tl.sqrt(size2)
    bound = (bound * (1.0 + MARGIN)).to(tl.float32)
    if QUERIES:
        tl.atomic_max(state + OUT_OF_RANGE, tl.max((size2 < float("inf")).to(tl.int32) ^ 1, axis=0))
        product = tl.sqrt(norm2.to(tl.float64) * tl.load(largest_norm).to(tl.float64)) * 2.0 * step
        tl.store(error + row, tl.where(product <= SAFE, bound, float("inf")))
        tl.store(norm + row, norm2.to(tl.float64) * step * step)
        tl.store(twice + row, tl.where(product <= SAFE, 2.0 * step, 0.0).to(tl.int32))
    else:
        tl.store(error + row, tl.where(row < rows, bound, 0.0))
        tl.store(norm + row, tl.where(row < rows, norm2, FAR))


@triton.jit
def minima_kernel(codes, norm, queries, twice, smallest, tiles, groups, K: tl.constexpr, BK: tl.constexpr, BM: tl.constexpr,
                  BN: tl.constexpr, G: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr):
    """The smallest |c_x|^2 - twice <c_x,c_q> of each group of G rows, for each query."""
    query = tl.program_id(0) * BM + tl.arange(0, BM)
    first = tl.program_id(1) * TILES
    col = tl.arange(0, BK)
    times = tl.load(twice + query)
    asked = queries + query[:, None] * K + col[None, :]
    if K == BK:
        q = tl.load(asked)
    for tile in tl.range(first, tl.minimum(first + TILES, tiles), num_stages=STAGES):
        row = tl.arange(0, BN).to(tl.int64) + tile * BN
        at = codes + row[:, None] * K + col[None, :]
        if K == BK:
            product = tl.dot(q, tl.trans(tl.load(at)), out_dtype=tl.int32)
        else:
            product = tl.zeros([BM, BN], tl.int32)
            for k in range(0, K, BK):
                product = tl.dot(tl.load(asked + k), tl.trans(tl.load(at + k)), product, out_dtype=tl.int32)
        value = tl.load(norm + row)[None, :] - product * times[:, None]
        least = tl.min(tl.reshape(value, [BM, BN // G, G]), axis=2)
        group = tile * (BN // G) + tl.arange(0, BN // G)
        tl.store(smallest + query.to(tl.int64)[:, None] * groups + group[None, :], least)


@triton.jit
def _distance(value, norm):
    """|c_x - c_q| from the integer of minima_kernel."""
    square = value.to(tl.float64) + norm
    return tl.sqrt(tl.where(square > 0, square, 0.0))


@triton.jit
def select_kernel(smallest, group_error, norm, error, bound, found, count, state, groups, k, most, NG: tl.constexpr):
    """Lowers a query's bound to what k groups can hold at the farthest, and lists the groups that may have a row within it."""
    query = tl.program_id(0).to(tl.int64)
    group = tl.arange(0, NG)
    there = group < groups
    value = tl.load(smallest + query * groups + group, mask=there, other=FAR)
    distance = _distance(value, tl.load(norm + query))
    either = tl.load(group_error + group, mask=there, other=0) + tl.load(error + query)
    farthest = ((distance + either) * (1.0 + MARGIN)).to(tl.float32)
    # Floats that are not negative are in the order of their bits.
    bits = tl.where(value < FAR, farthest, float("inf")).to(tl.int32, bitcast=True)
    low = 0
    high = 0x7F800000
    for _ in range(31):
        middle = low + (high - low) // 2
        enough = tl.sum((bits <= middle).to(tl.int32), axis=0) >= k
        high = tl.where(enough, middle, high)
        low = tl.where(enough, low, tl.minimum(middle + 1, high))
    limit = tl.minimum(tl.load(bound + query), tl.cast(high, tl.float32, bitcast=True))
    tl.store(bound + query, limit)
    near = there & (value < FAR) & (distance * (1.0 - MARGIN) - either <= limit)
    at = tl.cumsum(near.to(tl.int32), axis=0) - 1
    tl.store(found + query * most + at, group, mask=near & (at < most))
    listed = tl.sum(near.to(tl.int32), axis=0)
    tl.store(count + query, listed)
    tl.atomic_max(state + MOST_GROUPS, listed)


@triton.jit
def rows_kernel(codes, norm, error, place, queries, query_norm, query_error, twice, bound, found, found_count, rows, count, state,
                most_groups, most, K: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, P: tl.constexpr):
    """The rows of the groups found that may be within the bound, in any order; P groups at a time, several programs for a query.
    `count`, 0 before, goes on where the room ends."""
    query = tl.program_id(0).to(tl.int64)
    groups = tl.minimum(tl.load(found_count + query), most_groups)
    limit = tl.load(bound + query)
    own_norm = tl.load(query_norm + query)
    own_error = tl.load(query_error + query)
    times = tl.load(twice + query)
    col = tl.arange(0, BK)
    for first in range(tl.program_id(1) * P, groups, P * tl.num_programs(1)):
        slot = first + tl.arange(0, P)
        group = tl.load(found + query * most_groups + slot, mask=slot < groups, other=-1)
        row = tl.reshape(group[:, None] * G + tl.arange(0, G)[None, :], [P * G])
        there = row >= 0
        row = tl.where(there, row, 0).to(tl.int64)
        product = tl.zeros([P * G], tl.int32)
        for k in range(0, K, BK):
            c = tl.load(codes + row[:, None] * K + k + col[None, :]).to(tl.int32)
            q = tl.load(queries + query * K + k + col).to(tl.int32)
            product += tl.sum(c * q[None, :], axis=1)
        own = tl.load(norm + row)
        distance = _distance(own - product * times, own_norm)
        near = distance * (1.0 - MARGIN) - (tl.load(error + row) + own_error) <= limit
        near = near & there & (own < FAR)
        more = tl.sum(near.to(tl.int32), axis=0)
        begin = tl.atomic_add(count + query, more)
        at = begin + tl.cumsum(near.to(tl.int32), axis=0) - 1
        tl.store(rows + query * most + at, tl.load(place + row), mask=near & (at < most))
        tl.atomic_max(state + MOST_ROWS, begin + more)


@triton.jit
def _pairs(a, C: tl.constexpr, half: tl.constexpr):
    """Lane j and lane j + half."""
    return tl.sum(tl.reshape(a, [C, 2, half]), axis=1)


@triton.jit
def measure_kernel(x, queries, rows, count, values, state, d, x_row, x_col, q_row, q_col, most, WIDE: tl.constexpr,
                   C: tl.constexpr):
    """|x - q| of listed rows in double, in the C library's order of additions: 16 lanes within chunks of 256 numbers. Of doubles
    it also says where a sum has left the range in which its root is exact."""
    query = tl.program_id(0).to(tl.int64)
    listed = tl.minimum(tl.load(count + query), most)
    lane = tl.arange(0, 16)
    for first in range(tl.program_id(1) * C, listed, C * tl.num_programs(1)):
        slot = first + tl.arange(0, C)
        row = tl.load(rows + query * most + slot, mask=slot < listed, other=0).to(tl.int64)
        total = tl.zeros([C], tl.float64)
        moved = tl.zeros([C], tl.int32)
        for chunk in range(0, d, 256):
            sums = tl.zeros([C, 16], tl.float64)
            for i in range(chunk, tl.minimum(chunk + 256, d), 16):
                col = i + lane
                v = tl.load(x + row[:, None] * x_row + col[None, :] * x_col, mask=(col < d)[None, :], other=0)
                q = tl.load(queries + query * q_row + col * q_col, mask=col < d, other=0)
                difference = v.to(tl.float64) - q.to(tl.float64)[None, :]
                sums += difference * difference
                if WIDE:
                    moved = tl.maximum(moved, tl.max((difference != 0).to(tl.int32), axis=1))
            total += tl.sum(_pairs(_pairs(_pairs(sums, C, 8), C, 4), C, 2), axis=1)
        if WIDE:
            bad = (slot < listed) & (moved > 0) & ((total <= 1e-270) | (total >= 1e270))
            tl.atomic_max(state + OUT_OF_RANGE, tl.max(bad.to(tl.int32), axis=0))
        tl.store(values + query * most + slot, tl.sqrt(total), mask=slot < listed)


@triton.jit
def rank_kernel(values, rows, count, distances, ids, first_id, k, most, C: tl.constexpr):
    """The k nearest of the rows measured, in order: each goes to the place that is the number of rows before it."""
    query = tl.program_id(0).to(tl.int64)
    listed = tl.minimum(tl.load(count + query), most)
    slot = tl.program_id(1) * C + tl.arange(0, C)
    value = tl.load(values + query * most + slot, mask=slot < listed, other=float("inf"))
    row = tl.load(rows + query * most + slot, mask=slot < listed, other=0)
    place = tl.zeros([C], tl.int32)
    for first in range(0, listed, C):
        other = first + tl.arange(0, C)
        theirs = tl.load(values + query * most + other, mask=other < listed, other=float("inf"))
        their_row = tl.load(rows + query * most + other, mask=other < listed, other=2147483647)
        before = (theirs[None, :] < value[:, None]) | ((theirs[None, :] == value[:, None]) & (their_row[None, :] < row[:, None]))
        place += tl.sum(before.to(tl.int32), axis=1)
    among = (slot < listed) & (place < k)
    tl.store(distances + query * k + place, value, mask=among)
    tl.store(ids + query * k + place, row.to(tl.int64) + first_id, mask=among)
