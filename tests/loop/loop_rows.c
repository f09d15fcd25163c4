/* T1's float rows: every instruction set gives the bits of the plain loop, whatever the length, the
 * strides, the alignment and the way of storing, and leaves the same rows to the careful way. */
#include "support/check.h"

#include "loop/table.h"

enum { MOST_ROWS = 200 };

typedef struct care {
  unsigned char asked[MOST_ROWS];
} care;

static void note_careful(void *context, size_t row) { ((care *)context)->asked[row]++; }

typedef struct shape {
  size_t n, d, in_pad, out_pad, shift; /* pads beyond the columns; shift of the output in floats */
  bool stream, in_place;
} shape;

/* n rows of random lengths, with some that need care; embed: any rows, unembed: unit rows. */
static void fill(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype, size_t stride, void *in) {
  for (size_t row = 0; row < sh.n; row++) {
    double length = test_log_uniform(rng, 1e-3, 1e3), norm2 = 0;
    size_t cols = sh.d + (embedding ? 0 : 1);
    double x[5000];
    for (size_t i = 0; i < cols; i++) {
      x[i] = test_gauss(rng);
      norm2 += x[i] * x[i];
    }
    for (size_t i = 0; i < cols; i++) x[i] *= (embedding ? length : 1) / sqrt(norm2);
    size_t kind = test_below(rng, 40);
    if (kind == 0) x[0] = NAN;
    if (kind == 1) x[cols - 1] = INFINITY;
    if (kind == 2)
      for (size_t i = 0; i < cols; i++) x[i] *= 1e36;
    if (kind == 3)
      for (size_t i = 0; i < cols; i++) x[i] = i + 1 == cols && !embedding ? -1 : 0;
    for (size_t i = 0; i < cols; i++) {
      size_t at = row * stride + i;
      switch (dtype) {
      case CPB_F32: ((float *)in)[at] = (float)x[i]; break;
      case CPB_F16: ((uint16_t *)in)[at] = (uint16_t)(test_bits(rng) & (kind == 0 ? 0xffff : 0xbfff)); break;
      case CPB_U8: ((uint8_t *)in)[at] = (uint8_t)test_bits(rng); break;
      default: ((int8_t *)in)[at] = (int8_t)test_bits(rng); break;
      }
    }
  }
}

static void run_shape(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype) {
  size_t in_cols = sh.d + (embedding ? 0 : 1), out_cols = sh.d + (embedding ? 1 : 0);
  size_t in_stride = in_cols + sh.in_pad, out_stride = out_cols + sh.out_pad;
  if (sh.in_place) in_stride = out_stride = sh.d + 1 + sh.in_pad;
  size_t in_room = sh.n * in_stride + 16, out_room = sh.n * out_stride + 64, size = cpb_dtype_size(dtype);
  void *in = calloc(in_room, size);
  float *wanted = aligned_alloc(64, (out_room * 4 + 63) / 64 * 64),
        *got = aligned_alloc(64, (out_room * 4 + 63) / 64 * 64);
  fill(rng, sh, embedding, dtype, in_stride, in);
  const cpb_loops *tables[4];
  size_t count = cpb_loops_all(tables);
  care wanted_care = {{0}};
  for (size_t t = 0; t < count; t++) {
    float *out = t == 0 ? wanted : got;
    care this_care = {{0}};
    memset(out, 0x5a, out_room * 4);
    if (sh.in_place) memcpy(out + sh.shift, in, sh.n * in_stride * 4);
    cpb_rows_job job = {.n = sh.n,
                        .d = sh.d,
                        .in = sh.in_place ? (const void *)(out + sh.shift) : in,
                        .in_stride = in_stride,
                        .out = out + sh.shift,
                        .out_stride = out_stride,
                        .s = 2.5,
                        .stream = sh.stream && !sh.in_place,
                        .careful = note_careful,
                        .context = &this_care};
    (embedding ? tables[t]->embed[dtype] : tables[t]->unembed)(&job);
    if (t == 0)
      wanted_care = this_care;
    else if (memcmp(wanted, got, out_room * 4) != 0 ||
             memcmp(&wanted_care, &this_care, sizeof this_care) != 0)
      fail_msg("%s differs from plain: %s %s n=%zu d=%zu strides %zu %zu shift %zu stream %d in place %d",
               tables[t]->name, embedding ? "embed" : "unembed", cpb_dtype_name(dtype), sh.n, sh.d, in_stride,
               out_stride, sh.shift, sh.stream, sh.in_place);
  }
  free(in);
  free(wanted);
  free(got);
}

static void all_shapes(bool embedding, cpb_dtype dtype) {
  static const size_t large[] = {100, 784, 4096};
  test_rng rng = {1};
  for (size_t k = 0; k < 67 + 3; k++) {
    size_t d = k < 67 ? k + 1 : large[k - 67];
    for (int stream = 0; stream < 2; stream++)
      for (size_t pad = 0; pad < 3; pad++) {
        size_t n = d > 1000 ? 70 : test_below(&rng, MOST_ROWS);
        run_shape(&rng, (shape){n, d, pad, pad == 2, test_below(&rng, 16), stream, false}, embedding, dtype);
      }
    if (dtype == CPB_F32)
      run_shape(&rng, (shape){150, d, k % 2, 0, test_below(&rng, 16), false, true}, embedding, dtype);
  }
}

static void embeds_f32(void **state) {
  (void)state;
  all_shapes(true, CPB_F32);
}
static void embeds_f16(void **state) {
  (void)state;
  all_shapes(true, CPB_F16);
}
static void embeds_u8(void **state) {
  (void)state;
  all_shapes(true, CPB_U8);
}
static void embeds_i8(void **state) {
  (void)state;
  all_shapes(true, CPB_I8);
}
static void unembeds_f32(void **state) {
  (void)state;
  all_shapes(false, CPB_F32);
}

/* Few rows: 0 .. 67 of them, so that every remainder of the blocks and ranges is met. */
static void every_count_of_rows(void **state) {
  (void)state;
  test_rng rng = {2};
  static const size_t dims[] = {1, 2, 3, 10, 24, 64};
  for (size_t n = 0; n <= 131; n++)
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
      for (int stream = 0; stream < 2; stream++) {
        run_shape(&rng, (shape){n, dims[i], 0, 0, 0, stream, false}, true, CPB_F32);
        run_shape(&rng, (shape){n, dims[i], 0, 0, 4, stream, false}, false, CPB_F32);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(embeds_f32), cmocka_unit_test(embeds_f16),   cmocka_unit_test(embeds_u8),
      cmocka_unit_test(embeds_i8),  cmocka_unit_test(unembeds_f32), cmocka_unit_test(every_count_of_rows),
  };
  return cmocka_run_group_tests_name("loop_rows", tests, NULL, NULL);
}
