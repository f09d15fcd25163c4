/* T1 for short float rows (d < 48) on AVX-512: sixteen rows at a time; rows_wide.h comes first.
 *
 * Sixteen rows are a whole number of lines on both sides, so a block has a fixed plan: for every lane
 * of every output line, which input float and which row's factor it takes. Norms of sixteen rows are
 * summed by a transposing tree (d > 4) or from columns (d <= 4), in the order of lanes_sum(). */

enum { NARROW_MOST = 47, ROWS = 16, TINY_MOST = 4 };

typedef struct narrow_line {
  __m512i source;          /* index into the floats loaded from `start`: 16, or 32 with `beyond` */
  __m512i row;             /* whose factor */
  size_t start;            /* within the block's input */
  __mmask16 first, beyond; /* what may be read of the 16 floats at start, and of the next 16 */
  __mmask16 last;          /* lanes that take the row's last coordinate */
  __mmask16 own;           /* lanes that are written */
} narrow_line;

/* What is known when a loop is compiled, or at least before it starts. */
typedef struct narrow_shape {
  size_t d, in_stride, out_stride;
  bool embedding, stream, tiny; /* tiny: d <= TINY_MOST */
} narrow_shape;

typedef struct narrow_plan {
  __m512i column[TINY_MOST + 1];    /* index of column j of row r in the block, modulo 32 */
  __mmask16 pair[TINY_MOST + 1][3]; /* rows of that column in lines 2k, 2k+1 */
  narrow_line line[NARROW_MOST + 1];
} narrow_plan;

static __mmask16 readable(size_t start, size_t end) {
  return start >= end ? 0 : lane_mask(0, end - start < ROWS ? end - start : ROWS);
}

static void plan_line(const cpb_rows_job *job, bool embedding, size_t k, narrow_line *line) {
  size_t d = job->d, in_end = ROWS * job->in_stride;
  int32_t from[ROWS], row[ROWS];
  size_t start = SIZE_MAX;
  *line = (narrow_line){.last = 0};
  for (size_t lane = 0; lane < ROWS; lane++) {
    size_t at = k * ROWS + lane, r = at / job->out_stride, column = at % job->out_stride;
    row[lane] = (int32_t)r;
    from[lane] = -1;
    if (column < d) {
      from[lane] = (int32_t)(r * job->in_stride + column);
      if (start == SIZE_MAX) start = (size_t)from[lane];
      line->own |= (__mmask16)(1u << lane);
    } else if (embedding && column == d) {
      line->last |= (__mmask16)(1u << lane);
      line->own |= (__mmask16)(1u << lane);
    }
  }
  if (start == SIZE_MAX) start = 0;
  for (size_t lane = 0; lane < ROWS; lane++) from[lane] = from[lane] < 0 ? 0 : from[lane] - (int32_t)start;
  line->start = start;
  line->first = readable(start, in_end);
  line->beyond = readable(start + ROWS, in_end);
  line->source = _mm512_loadu_si512(from);
  line->row = _mm512_loadu_si512(row);
}

static void plan_block(const cpb_rows_job *job, bool embedding, narrow_plan *plan) {
  for (size_t k = 0; k < job->out_stride; k++) plan_line(job, embedding, k, &plan->line[k]);
  if (job->d > TINY_MOST) return;
  for (size_t j = 0; j < job->in_stride; j++) {
    int32_t index[ROWS];
    for (size_t k = 0; k < 3; k++) plan->pair[j][k] = 0;
    for (size_t r = 0; r < ROWS; r++) {
      size_t at = r * job->in_stride + j;
      index[r] = (int32_t)(at % (2 * ROWS));
      plan->pair[j][at / (2 * ROWS)] |= (__mmask16)(1u << r);
    }
    plan->column[j] = _mm512_loadu_si512(index);
  }
}

/* Column j of the sixteen rows in `lines` consecutive lines. */
LANE_INLINE __m512 column_of(const narrow_plan *plan, const __m512 *line, size_t lines, size_t j) {
  __m512 column = _mm512_permutex2var_ps(line[0], plan->column[j], line[lines > 1 ? 1 : 0]);
  for (size_t k = 2; k < lines; k += 2) {
    __m512 more = _mm512_permutex2var_ps(line[k], plan->column[j], line[k + 1 < lines ? k + 1 : k]);
    column = _mm512_mask_mov_ps(column, plan->pair[j][k / 2], more);
  }
  return column;
}

LANE_INLINE lanes_f64 widen_lanes(__m512 x) {
  return (lanes_f64){_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                     _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

LANE_INLINE lanes_f64 add_lanes_f64(lanes_f64 a, lanes_f64 b) {
  return (lanes_f64){_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}

/* Square norms of sixteen rows of d <= 4: (c0^2+c2^2)+(c1^2+c3^2), as the tree adds them. */
LANE_INLINE lanes_f64 tiny_norms(const narrow_plan *plan, const __m512 *line, size_t lines, size_t d) {
  lanes_f64 even = lanes_add_square(lanes_zero(), column_of(plan, line, lines, 0));
  if (d > 2) even = lanes_add_square(even, column_of(plan, line, lines, 2));
  if (d < 2) return even;
  lanes_f64 odd = lanes_add_square(lanes_zero(), column_of(plan, line, lines, 1));
  if (d > 3) odd = lanes_add_square(odd, column_of(plan, line, lines, 3));
  return add_lanes_f64(even, odd);
}

/* One row's sums of lane j and j+8. */
LANE_INLINE __m512d eight_lanes(const float *row, size_t d) {
  lanes_f64 sum = lanes_zero();
  size_t i = 0;
  for (; i + CPB_LANES <= d; i += CPB_LANES) sum = lanes_add_square(sum, load_f32(row + i));
  if (i < d) sum = lanes_add_square(sum, part_f32(row + i, 0, d - i));
  return _mm512_add_pd(sum.low, sum.high);
}

/* Square norms of eight rows: the tree of lanes_sum() on all of them at once, by halves. */
LANE_INLINE __m512d eight_norms(const float *rows, size_t stride, size_t d) {
  __m512d four[4], two[2];
  for (size_t k = 0; k < 4; k++) {
    __m512d a = eight_lanes(rows + 2 * k * stride, d), b = eight_lanes(rows + (2 * k + 1) * stride, d);
    four[k] = _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xee));
  }
  for (size_t k = 0; k < 2; k++)
    two[k] = _mm512_add_pd(_mm512_shuffle_f64x2(four[2 * k], four[2 * k + 1], 0x88),
                           _mm512_shuffle_f64x2(four[2 * k], four[2 * k + 1], 0xdd));
  __m512d mixed = _mm512_add_pd(_mm512_unpacklo_pd(two[0], two[1]), _mm512_unpackhi_pd(two[0], two[1]));
  return _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), mixed);
}

typedef struct eight_factors {
  __m512d factor, last;
  __mmask8 fine;
} eight_factors;

LANE_INLINE __mmask8 in_factor_range(__m512d factor) {
  return _mm512_cmp_pd_mask(factor, _mm512_set1_pd(FACTOR_LEAST), _CMP_GE_OQ) &
         _mm512_cmp_pd_mask(factor, _mm512_set1_pd(FACTOR_MOST), _CMP_LE_OQ);
}

/* embed_factor() of row_factor.h for eight rows */
LANE_INLINE eight_factors embed_factors(__m512d n, double s) {
  __m512d s2 = _mm512_set1_pd(s * s), inverse = _mm512_div_pd(_mm512_set1_pd(1), _mm512_add_pd(n, s2));
  __m512d factor = _mm512_mul_pd(_mm512_set1_pd(2 * s), inverse);
  return (eight_factors){factor, _mm512_mul_pd(_mm512_sub_pd(s2, n), inverse), in_factor_range(factor)};
}

/* unembed_factor() of row_factor.h for eight rows */
LANE_INLINE eight_factors unembed_factors(__m512d n, __m512d y0, double s) {
  __m512d one = _mm512_set1_pd(1), rise = _mm512_add_pd(one, y0);
  __m512d gap = _mm512_add_pd(n, _mm512_mul_pd(rise, rise));
  __m512d factor = _mm512_div_pd(_mm512_set1_pd(2 * s), gap);
  __m512d excess = _mm512_sub_pd(_mm512_add_pd(n, _mm512_mul_pd(y0, y0)), one);
  __mmask8 unit = _mm512_cmp_pd_mask(_mm512_abs_pd(excess), _mm512_set1_pd(UNIT_SLACK), _CMP_LE_OQ);
  return (eight_factors){factor, factor, unit & in_factor_range(factor)};
}

LANE_INLINE __m512 narrow_lanes(__m512d low, __m512d high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* Sixteen rows; false when one of them needs care (then nothing is written). The shape is a constant
 * for d <= 4. */
LANE_INLINE bool narrow_block(const cpb_rows_job *job, const narrow_plan *plan, narrow_shape shape,
                              const float *in, float *out) {
  size_t d = shape.d, in_stride = shape.in_stride;
  bool embedding = shape.embedding;
  lanes_f64 norms, y0 = lanes_zero();
  if (shape.tiny) {
    __m512 line[TINY_MOST + 1];
    for (size_t k = 0; k < in_stride; k++) line[k] = _mm512_loadu_ps(in + k * ROWS);
    norms = tiny_norms(plan, line, in_stride, d);
    if (!embedding) y0 = widen_lanes(column_of(plan, line, in_stride, d));
  } else {
    norms.low = eight_norms(in, in_stride, d);
    norms.high = eight_norms(in + 8 * in_stride, in_stride, d);
    if (!embedding) {
      __m512i at = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                      _mm512_set1_epi32((int)in_stride));
      y0 = widen_lanes(_mm512_i32gather_ps(at, in + d, 4));
    }
  }
  eight_factors low =
      embedding ? embed_factors(norms.low, job->s) : unembed_factors(norms.low, y0.low, job->s);
  eight_factors high =
      embedding ? embed_factors(norms.high, job->s) : unembed_factors(norms.high, y0.high, job->s);
  if ((low.fine & high.fine) != 0xff) return false;
  __m512 factor = narrow_lanes(low.factor, high.factor), last = narrow_lanes(low.last, high.last);
  for (size_t k = 0; k < shape.out_stride; k++) {
    const narrow_line *l = &plan->line[k];
    const float *p = in + l->start;
    _mm_prefetch((const char *)(in + k * ROWS) + PREFETCH_BYTES, _MM_HINT_T0);
    __m512 x = _mm512_maskz_loadu_ps(l->first, p);
    if (embedding)
      x = _mm512_permutexvar_ps(l->source, x);
    else
      x = _mm512_permutex2var_ps(x, l->source, _mm512_maskz_loadu_ps(l->beyond, p + ROWS));
    x = _mm512_mul_ps(x, _mm512_permutexvar_ps(l->row, factor));
    if (embedding) x = _mm512_mask_permutexvar_ps(x, l->last, l->row, last);
    if (shape.stream)
      _mm512_stream_ps(out + k * ROWS, x);
    else
      _mm512_mask_storeu_ps(out + k * ROWS, l->own, x);
  }
  return true;
}

LANE_INLINE void narrow_walk(const cpb_rows_job *job, narrow_shape shape, size_t first) {
  narrow_plan plan;
  plan_block(job, shape.embedding, &plan);
  size_t blocks = (job->n - first) / ROWS, per_range = blocks / STREAMS;
  for (size_t i = 0; i < per_range; i++)
    for (size_t r = 0; r < STREAMS; r++) {
      size_t row = first + (r * per_range + i) * ROWS;
      if (!narrow_block(job, &plan, shape, (const float *)job->in + row * shape.in_stride,
                        job->out + row * shape.out_stride))
        walk(job, &source_f32, shape.embedding, false, 1, row, ROWS);
    }
  size_t done = first + STREAMS * per_range * ROWS;
  walk(job, &source_f32, shape.embedding, false, 1, done, job->n - done);
}

/* Rows before the first that begins a line; n when none does. */
static size_t rows_to_line(const cpb_rows_job *job) {
  for (size_t row = 0; row < ROWS; row++)
    if (line_phase(job->out + row * job->out_stride) == 0) return row < job->n ? row : job->n;
  return job->n;
}

/* From row `first` on; input and output rows have `in_pad` and `out_pad` floats beyond d. */
LANE_INLINE void narrow_all(const cpb_rows_job *job, bool embedding, bool stream, size_t in_pad,
                            size_t out_pad, size_t first) {
  switch (job->d) {
  case 1:
    narrow_walk(job, (narrow_shape){1, 1 + in_pad, 1 + out_pad, embedding, stream, true}, first);
    return;
  case 2:
    narrow_walk(job, (narrow_shape){2, 2 + in_pad, 2 + out_pad, embedding, stream, true}, first);
    return;
  case 3:
    narrow_walk(job, (narrow_shape){3, 3 + in_pad, 3 + out_pad, embedding, stream, true}, first);
    return;
  case 4:
    narrow_walk(job, (narrow_shape){4, 4 + in_pad, 4 + out_pad, embedding, stream, true}, first);
    return;
  default:
    narrow_walk(job, (narrow_shape){job->d, job->d + in_pad, job->d + out_pad, embedding, stream, false},
                first);
  }
}

static void narrow_embed(const cpb_rows_job *job) {
  size_t skip = rows_to_line(job);
  if (job->in_stride > job->d)
    narrow_all(job, true, false, 1, 1, 0);
  else if (!job->stream || skip == job->n)
    narrow_all(job, true, false, 0, 1, 0);
  else {
    walk(job, &source_f32, true, false, 1, 0, skip);
    narrow_all(job, true, true, 0, 1, skip);
    _mm_sfence();
  }
}

static void narrow_unembed(const cpb_rows_job *job) {
  size_t skip = rows_to_line(job);
  if (job->out_stride > job->d)
    narrow_all(job, false, false, 1, 1, 0);
  else if (!job->stream || skip == job->n)
    narrow_all(job, false, false, 1, 0, 0);
  else {
    walk(job, &source_f32, false, false, 1, 0, skip);
    narrow_all(job, false, true, 1, 0, skip);
    _mm_sfence();
  }
}

static bool is_narrow(const cpb_rows_job *job) {
  return job->d <= NARROW_MOST && job->in_stride <= job->d + 1 && job->out_stride <= job->d + 1;
}
