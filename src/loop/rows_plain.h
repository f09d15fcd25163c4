/* T1 for float rows in plain C: the reference that judges the other instruction sets. */
#include <stdint.h>

#include "loop/row_factor.h"

static float element(const void *row, cpb_dtype dtype, size_t i) {
  double value;
  switch (dtype) {
  case CPB_U8: return ((const uint8_t *)row)[i];
  case CPB_I8: return ((const int8_t *)row)[i];
  case CPB_F16: widen_f16((const uint16_t *)row + i, 1, &value); return (float)value;
  default: return ((const float *)row)[i];
  }
}

static double square_norm(const void *row, cpb_dtype dtype, size_t d) {
  double lane[CPB_LANES] = {0};
  for (size_t i = 0; i < d; i++) {
    double x = (double)element(row, dtype, i);
    lane[i % CPB_LANES] += x * x;
  }
  return add_lanes(lane);
}

static row_factor factor_of(const void *row, cpb_dtype dtype, size_t d, bool embedding, double s) {
  if (d <= CPB_SHORT_MOST) {
    float x[CPB_SHORT_MOST + 1];
    for (size_t i = 0; i < d + (embedding ? 0 : 1); i++) x[i] = element(row, dtype, i);
    short_scale scale = short_scale_of(s);
    row_factor f = short_factor(x, d, embedding, &scale);
    if (f.fine) return f;
  }
  double n = square_norm(row, dtype, d);
  return embedding ? embed_factor(n, s) : unembed_factor(n, (double)element(row, dtype, d), s);
}

static void embed_rows(const cpb_rows_job *job, cpb_dtype dtype, size_t size) {
  for (size_t row = 0; row < job->n; row++) {
    const void *x = (const char *)job->in + row * job->in_stride * size;
    float *y = job->out + row * job->out_stride;
    row_factor f = factor_of(x, dtype, job->d, true, job->s);
    if (!f.fine) {
      job->careful(job->context, row);
      continue;
    }
    for (size_t i = 0; i < job->d; i++) y[i] = f.factor * element(x, dtype, i);
    y[job->d] = f.last;
  }
}

static void embed_f32(const cpb_rows_job *job) { embed_rows(job, CPB_F32, 4); }
static void embed_f16(const cpb_rows_job *job) { embed_rows(job, CPB_F16, 2); }
static void embed_u8(const cpb_rows_job *job) { embed_rows(job, CPB_U8, 1); }
static void embed_i8(const cpb_rows_job *job) { embed_rows(job, CPB_I8, 1); }

static void unembed_f32(const cpb_rows_job *job) {
  for (size_t row = 0; row < job->n; row++) {
    const float *y = (const float *)job->in + row * job->in_stride;
    float *x = job->out + row * job->out_stride;
    row_factor f = factor_of(y, CPB_F32, job->d, false, job->s);
    if (!f.fine) {
      job->careful(job->context, row);
      continue;
    }
    for (size_t i = 0; i < job->d; i++) x[i] = f.factor * y[i];
  }
}
