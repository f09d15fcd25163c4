/* Inline. T1 in plain C: the reference that the other instruction sets are tested against. */
#ifndef CPB_LOOPS_ROWS_PLAIN_H
#define CPB_LOOPS_ROWS_PLAIN_H

#include <stdint.h>

#include "loops/lanes_f64.h"
#include "loops/row_factor.h"

static float element(const void *row, cpb_dtype dtype, size_t i) {
  double value;
  switch (dtype) {
  case CPB_U8: return ((const uint8_t *)row)[i];
  case CPB_I8: return ((const int8_t *)row)[i];
  case CPB_F16: widen_f16((const uint16_t *)row + i, 1, &value); return (float)value;
  default: return ((const float *)row)[i];
  }
}

/* Embedding: minus the centre, z = (x - high) - low. */
static float centered(const cpb_rows_job *job, const void *row, size_t i) {
  float x = element(row, job->in_type, i);
  return !job->embedding || job->center.high == NULL ? x : (x - job->center.high[i]) - job->center.low[i];
}

static row_factor factor_of(const cpb_rows_job *job, const void *row) {
  const size_t d = job->d;
  const float y0 = job->embedding ? 0 : element(row, job->in_type, d);
  if (d <= CPB_SHORT_MOST) {
    float x[CPB_SHORT_MOST + 1] = {0};
    for (size_t i = 0; i < d; i++) x[i] = centered(job, row, i);
    x[d] = y0;
    short_scale scale = short_scale_of(job->s);
    row_factor f = short_factor(x, d, job->embedding, &scale);
    if (f.fine) return f;
  }
  double lane[CPB_LANES] = {0};
  for (size_t i = 0; i < d; i++) {
    double x = (double)centered(job, row, i);
    lane[i % CPB_LANES] += x * x;
  }
  double n = add_lanes(lane);
  return job->embedding ? embed_factor(n, job->s) : unembed_factor(n, (double)y0, job->s);
}

/* T1 in floats */
static void float_rows(const cpb_rows_job *job, size_t first, size_t count) {
  const float *high = job->embedding ? NULL : job->center.high, *low = job->center.low;
  for (size_t row = first; row < first + count; row++) {
    const void *x = (const char *)job->in + row * job->in_stride * cpb_dtype_size(job->in_type);
    float *y = (float *)job->out + row * job->out_stride;
    row_factor f = factor_of(job, x);
    if (!f.fine) {
      job->careful(job->context, row);
      continue;
    }
    for (size_t i = 0; i < job->d; i++) {
      float z = f.factor * centered(job, x, i);
      y[i] = high == NULL ? z : (z + low[i]) + high[i];
    }
    if (job->embedding) y[job->d] = f.last;
  }
}

static double wide_element(const cpb_rows_job *job, const char *row, size_t i) {
  return job->in_type == CPB_F64 ? ((const double *)row)[i] : (double)element(row, job->in_type, i);
}

/* Embedding: minus the centre. */
static double wide_centered(const cpb_rows_job *job, const char *row, size_t i) {
  double x = wide_element(job, row, i);
  return job->embedding && job->center.wide != NULL ? x - job->center.wide[i] : x;
}

static double wide_norm(const cpb_rows_job *job, const char *row) {
  double sum = 0;
  for (size_t start = 0; start < job->d; start += CPB_CHUNK) {
    double lane[CPB_LANES] = {0};
    for (size_t i = start; i < job->d && i < start + CPB_CHUNK; i++) {
      double x = wide_centered(job, row, i);
      lane[i % CPB_LANES] += x * x;
    }
    sum += add_lanes(lane);
  }
  return sum;
}

static void wide_result(const cpb_rows_job *job, size_t row, size_t i, double x) {
  size_t at = row * job->out_stride + i;
  if (job->out_type == CPB_F32)
    ((float *)job->out)[at] = (float)x;
  else
    ((double *)job->out)[at] = x;
}

/* T1 in doubles */
static void wide_rows(const cpb_rows_job *job, size_t first, size_t count) {
  double most = job->out_type == CPB_F32 ? RESULT_MOST_F32 : RESULT_MOST_F64;
  for (size_t row = first; row < first + count; row++) {
    const char *in = (const char *)job->in + row * job->in_stride * cpb_dtype_size(job->in_type);
    double n = wide_norm(job, in);
    double_factor f = job->embedding ? embed_double(n, job->s)
                                     : unembed_double(n, wide_element(job, in, job->d), job->s, most);
    if (!f.fine) {
      job->careful(job->context, row);
      continue;
    }
    for (size_t i = 0; i < job->d; i++) {
      double x = wide_centered(job, in, i), y = f.factor * x;
      wide_result(job, row, i, job->embedding || job->center.wide == NULL ? y : y + job->center.wide[i]);
    }
    if (job->embedding) wide_result(job, row, job->d, f.last);
  }
}

void cpb_rows_plain_some(const cpb_rows_job *job, size_t first, size_t count) {
  bool floats =
      job->out_type == CPB_F32 && (job->embedding ? job->in_type != CPB_F64 : job->in_type == CPB_F32);
  (floats ? float_rows : wide_rows)(job, first, count);
}

void cpb_rows_plain(const cpb_rows_job *job) { cpb_rows_plain_some(job, 0, job->n); }

#endif
