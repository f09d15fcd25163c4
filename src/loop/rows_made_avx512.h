/* Blocks of sixteen rows made to floats about a centre on AVX-512, for loops that know neither other types nor, embedding, a
 * centre of two floats a number. */
#ifndef CPB_LOOP_ROWS_MADE_AVX512_H
#define CPB_LOOP_ROWS_MADE_AVX512_H

#include "loop/lanes_avx512.h"
#include "loop/rows_singly.h"

enum { CENTER_LINES_MOST = 25, MADE_FETCHED = 1024 /* bytes before they are made */ };

/* None, one of floats, as fit finds it for rows of floats, and one of two floats a number. */
typedef enum center_kind { NO_CENTER, FLOAT_CENTER, TWOFOLD_CENTER, CENTERS } center_kind;

/* What is made before it is embedded: halves, bytes, and floats about a centre of two floats a number, or alone in a row. */
LANE_INLINE bool is_made(const cpb_rows_job *job) {
  bool about = job->embedding && job->center.high != NULL;
  return job->in_type != CPB_F32 || (about && (job->center.twofold || job->d == 1));
}

LANE_INLINE center_kind kind_of_center(const cpb_rows_job *job) {
  return job->center.high == NULL ? NO_CENTER : job->center.twofold ? TWOFOLD_CENTER : FLOAT_CENTER;
}

/* The centre at the lanes of the lines of rows that lie one after the other, in two floats; 0 where a lane has none. */
typedef struct rows_center_lines {
  __m512 high[CENTER_LINES_MOST], low[CENTER_LINES_MOST];
} rows_center_lines;

static __attribute__((noinline)) void plan_center(const cpb_rows_job *job, size_t stride, size_t lines,
                                                  rows_center_lines *center) {
  size_t column = 0;
  for (size_t k = 0; k < lines; k++) {
    float high[CPB_LANES], low[CPB_LANES];
    for (size_t lane = 0; lane < CPB_LANES; lane++, column = column + 1 < stride ? column + 1 : 0) {
      bool some = job->center.high != NULL && column < job->d;
      high[lane] = some ? job->center.high[column] : 0;
      low[lane] = some ? job->center.low[column] : 0;
    }
    center->high[k] = _mm512_loadu_ps(high);
    center->low[k] = _mm512_loadu_ps(low);
  }
}

/* Makes so many lines at `in`. */
typedef void rows_make(const char *in, size_t lines, const rows_center_lines *center, float *made);

LANE_INLINE void make_lines(const row_source *source, const char *in, size_t lines,
                            const rows_center_lines *center, float *made) {
  for (size_t k = 0; k < lines; k++) {
    const char *p = in + k * CPB_LANES * source->size;
    if (k * CPB_LANES * source->size % 64 == 0) lanes_prefetch(p + MADE_FETCHED);
    _mm512_store_ps(made + k * CPB_LANES, source->load(p) - center->high[k] - center->low[k]);
  }
}

static void make_f32(const char *in, size_t lines, const rows_center_lines *center, float *made) {
  make_lines(&source_f32, in, lines, center, made);
}
static void make_f16(const char *in, size_t lines, const rows_center_lines *center, float *made) {
  make_lines(&source_f16, in, lines, center, made);
}
static void make_u8(const char *in, size_t lines, const rows_center_lines *center, float *made) {
  make_lines(&source_u8, in, lines, center, made);
}
static void make_i8(const char *in, size_t lines, const rows_center_lines *center, float *made) {
  make_lines(&source_i8, in, lines, center, made);
}

static rows_make *make_of(cpb_dtype type) {
  switch (type) {
  case CPB_F16: return make_f16;
  case CPB_U8: return make_u8;
  case CPB_I8: return make_i8;
  default: return make_f32;
  }
}

#endif
