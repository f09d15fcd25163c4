#define _POSIX_C_SOURCE 200809L
#include "io/sealing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "io/format.h"
#include "io/number.h"

/* Elements are converted through doubles, in pieces that fit in the L1 cache. Only i64 -> f32 would be rounded twice
 * that way; it has a loop of its own. */
enum { PIECE = 256 };

static void widen(const void *from, cpb_dtype dtype, size_t count, double *to) {
  const float *f32 = from;
  const uint16_t *f16 = from;
  const uint8_t *u8 = from;
  const int8_t *i8 = from;
  const int32_t *i32 = from;
  const int64_t *i64 = from;
  switch (dtype) {
  case CPB_F32:
    for (size_t i = 0; i < count; i++) to[i] = (double)f32[i];
    break;
  case CPB_F64: memcpy(to, from, count * sizeof *to); break;
  case CPB_F16:
    for (size_t i = 0; i < count; i++) to[i] = cpb_half_to_double(f16[i]);
    break;
  case CPB_U8:
    for (size_t i = 0; i < count; i++) to[i] = u8[i];
    break;
  case CPB_I8:
    for (size_t i = 0; i < count; i++) to[i] = i8[i];
    break;
  case CPB_I32:
    for (size_t i = 0; i < count; i++) to[i] = i32[i];
    break;
  case CPB_I64:
    for (size_t i = 0; i < count; i++) to[i] = (double)i64[i];
    break;
  }
}

/* Rounds to nearest even; the caller rejects a finite x of 65520 or more. */
static uint16_t half_from_double(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(x);
  if (isnan(x)) return sign | 0x7e00;
  if (isinf(x)) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | (uint16_t)rint(size * 0x1p24);
  int exponent;
  double mantissa = rint(ldexp(frexp(size, &exponent), 11)); /* 1024 .. 2048; the carry is correct */
  return sign | (uint16_t)(((exponent + 14) << 10) + (int)mantissa - 1024);
}

static size_t narrow_float(const double *from, size_t count, void *to, cpb_dtype dtype) {
  /* halfway from the largest number of the type to the next: from here on rounding overflows */
  double limit = dtype == CPB_F16 ? 65520 : dtype == CPB_F32 ? (double)FLT_MAX + 0x1p103 : INFINITY;
  size_t fit = 0;
  while (fit < count && !(fabs(from[fit]) >= limit && !isinf(from[fit]))) fit++;
  if (dtype == CPB_F16)
    for (size_t i = 0; i < fit; i++) ((uint16_t *)to)[i] = half_from_double(from[i]);
  else if (dtype == CPB_F32)
    for (size_t i = 0; i < fit; i++) ((float *)to)[i] = (float)from[i];
  else
    memcpy(to, from, fit * sizeof *from);
  return fit;
}

static size_t narrow_integer(const double *from, size_t count, void *to, cpb_dtype dtype) {
  double low = dtype == CPB_U8 ? 0 : dtype == CPB_I8 ? -0x1p7 : dtype == CPB_I32 ? -0x1p31 : -0x1p63;
  double end = dtype == CPB_U8 ? 0x1p8 : -low;
  size_t fit = 0;
  while (fit < count && from[fit] >= low && from[fit] < end && from[fit] == trunc(from[fit])) fit++;
  switch (dtype) {
  case CPB_U8:
    for (size_t i = 0; i < fit; i++) ((uint8_t *)to)[i] = (uint8_t)from[i];
    break;
  case CPB_I8:
    for (size_t i = 0; i < fit; i++) ((int8_t *)to)[i] = (int8_t)from[i];
    break;
  case CPB_I32:
    for (size_t i = 0; i < fit; i++) ((int32_t *)to)[i] = (int32_t)from[i];
    break;
  default:
    for (size_t i = 0; i < fit; i++) ((int64_t *)to)[i] = (int64_t)from[i];
    break;
  }
  return fit;
}

size_t cpb_convert(const void *from, cpb_dtype from_dtype, void *to, cpb_dtype to_dtype, size_t count) {
  size_t from_size = cpb_dtype_size(from_dtype), to_size = cpb_dtype_size(to_dtype);
  if (from_dtype == to_dtype) {
    memcpy(to, from, count * to_size);
    return count;
  }
  if (from_dtype == CPB_I64 && to_dtype == CPB_F32) {
    for (size_t i = 0; i < count; i++) ((float *)to)[i] = (float)((const int64_t *)from)[i];
    return count;
  }
  for (size_t done = 0; done < count;) {
    double wide[PIECE];
    size_t piece = count - done < PIECE ? count - done : PIECE;
    widen((const char *)from + done * from_size, from_dtype, piece, wide);
    size_t fit = (to_dtype <= CPB_F16 ? narrow_float : narrow_integer)(wide, piece,
                                                                       (char *)to + done * to_size, to_dtype);
    done += fit;
    if (fit < piece) return done;
  }
  return count;
}

/* ---- used by the formats ---- */

bool cpb_writer_flush(cpb_writer *writer, size_t least) {
  if (writer->out.failure != CPB_JSON_WHOLE)
    return cpb_fail_memory(writer->of.error, "%zu bytes", writer->out.used) == CPB_OK;
  if (writer->out.used < least) return true;
  size_t used = writer->out.used;
  writer->out.used = 0;
  return cpb_whole_write(&writer->whole, writer->out.bytes, used, writer->of.error) == CPB_OK;
}

void cpb_writer_printed(cpb_writer *writer, size_t j, const char *text, size_t length) {
  if (writer->seal == NULL) return;
  double *numbers = (double *)(void *)writer->parsed.bytes;
  if (!cpb_number_parse(text, length, &numbers[j])) numbers[j] = NAN;
}
