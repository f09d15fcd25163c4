#define _GNU_SOURCE

/* T1's float rows: every instruction set gives the bits of the plain loop, whatever the length, the
 * strides, the alignment and the way of storing, and leaves the same rows to the careful way. */
#include <sys/mman.h>

#include "support/check.h"

#include "loops/table.h"

/* Under sanitizers, which slow the walks a lot, every third length and count is tried. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#ifdef SANITIZED
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

enum { MOST_ROWS = 400, MANY_ROWS = 1200 };

typedef struct care {
  unsigned char asked[MANY_ROWS];
} care;

static void note_careful(void *context, size_t row) { ((care *)context)->asked[row]++; }

typedef struct shape {
  size_t n, d, in_pad, out_pad, shift; /* pads beyond the columns; shift of the output in floats */
  bool stream, in_place;
  double s, longest; /* 0: 2.5, and rows of length 1e-3 .. 1e3; else 1/longest .. longest */
  bool sound;        /* no row of another kind among them, so that whole blocks go the fast way */
  size_t but;        /* sound but for this one, counted from 1 */
} shape;

/* A row of a length that lies half way between two doubles, but for little: by chance, or one of those closest to it. */
static void nearly_one(test_rng *rng, double *x, size_t d) {
  static const double closest[] = {0x1.00000648ef697p0, 0x1.0000067b11dd1p0, 0x1.000006bed0887p0,
                                   0x1.000006db0c39dp0, 0x1.0000072434b41p0, 0x1.0000076a8c09bp0,
                                   0x1.000007efefef7p0};
  memset(x, 0, (d + 1) * sizeof *x);
  x[d] = test_below(rng, 2) == 0 ? 1 : -1;
  x[0] = test_log_uniform(rng, 0x1p-27, 0x1p-11);
  if (d == 1 || test_below(rng, 2) == 0) return;
  double rest = closest[test_below(rng, sizeof closest / sizeof *closest)] - 1;
  x[0] = (double)(float)(sqrt(rest) * (1 - 0x1p-23));
  x[1] = (double)(float)sqrt(rest - x[0] * x[0]);
}

/* n rows of random lengths, with some that need care; embed: any rows, unembed: unit rows. */
static void fill(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype, size_t stride, void *in) {
  for (size_t row = 0; row < sh.n; row++) {
    double longest = sh.longest > 0 ? sh.longest : 1e3, norm2 = 0;
    double length = test_log_uniform(rng, 1 / longest, longest);
    size_t cols = sh.d + (embedding ? 0 : 1);
    double x[5000];
    for (size_t i = 0; i < cols; i++) {
      x[i] = 2 * test_uniform(rng) - 1;
      norm2 += x[i] * x[i];
    }
    for (size_t i = 0; i < cols; i++) x[i] *= (embedding ? length : 1) / sqrt(norm2);
    if (!embedding && sh.longest > 0) { /* the image of such a row, and a few not quite of length 1 */
      double to = 1 / (length * length + 1), off = 1;
      if (test_below(rng, 50) == 0) off += test_gauss(rng) * test_log_uniform(rng, 1e-8, 1e-3);
      norm2 = 1 - x[sh.d] * x[sh.d];
      for (size_t i = 0; i < sh.d; i++) x[i] *= off * 2 * length * to / sqrt(norm2);
      x[sh.d] = off * (1 - length * length) * to;
      if (test_below(rng, 50) == 0) nearly_one(rng, x, sh.d);
    }
    size_t kind = sh.but == row + 1 ? test_below(rng, 4) : sh.sound ? 4 : test_below(rng, 40);
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
      case CPB_F64: ((double *)in)[at] = x[i]; break;
      case CPB_F16: ((uint16_t *)in)[at] = (uint16_t)(test_bits(rng) & (kind == 0 ? 0xffff : 0xbfff)); break;
      case CPB_U8: ((uint8_t *)in)[at] = (uint8_t)test_bits(rng); break;
      default: ((int8_t *)in)[at] = (int8_t)test_bits(rng); break;
      }
    }
  }
}

enum { MOST_COLUMNS = 4096 };

/* A centre in two floats, and the places beyond it that may be read. */
typedef struct center_room {
  float high[MOST_COLUMNS + CPB_LANES], low[MOST_COLUMNS + CPB_LANES];
  double wide[MOST_COLUMNS + CPB_LANES];
} center_room;

static cpb_rows_center some_center(test_rng *rng, size_t d, bool centered, center_room *room) {
  memset(room, 0, sizeof *room);
  if (!centered) return (cpb_rows_center){0};
  bool twofold = test_below(rng, 2) == 0; /* else a centre of floats, as fit finds it */
  for (size_t i = 0; i < d; i++) {
    double m = room->wide[i] = twofold ? test_gauss(rng) : (double)(float)test_gauss(rng);
    room->high[i] = (float)m;
    room->low[i] = (float)(m - (double)room->high[i]);
  }
  return (cpb_rows_center){room->high, room->low, twofold, room->wide};
}

enum { FENCED = 1 << 24 };

/* Room for input between pages that must not be touched, at its beginning or at its end: whoever reads too far, by
 * whatever instruction, is stopped. */
static void *fenced_room(size_t bytes, bool at_end) {
  static char *pages;
  if (pages == NULL) {
    size_t fence = 1 << 16;
    char *all = mmap(NULL, FENCED + 2 * fence, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    pages = all + fence;
    assert_int_equal(mprotect(pages, FENCED, PROT_READ | PROT_WRITE), 0);
  }
  assert_true(bytes <= FENCED);
  char *room = at_end ? pages + FENCED - bytes : pages;
  return memset(room, 0, bytes);
}

static void run_about(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype, cpb_dtype to, bool centered) {
  static center_room room;
  cpb_rows_center center = some_center(rng, sh.d, centered, &room);
  size_t in_cols = sh.d + (embedding ? 0 : 1), out_cols = sh.d + (embedding ? 1 : 0);
  size_t in_stride = in_cols + sh.in_pad, out_stride = out_cols + sh.out_pad;
  if (sh.in_place) in_stride = out_stride = sh.d + 1 + sh.in_pad;
  size_t in_room = sh.n > 0 ? (sh.n - 1) * in_stride + in_cols : 0, out_size = cpb_dtype_size(to);
  size_t out_room = (sh.n * out_stride + 64) * out_size, size = cpb_dtype_size(dtype);
  void *in = fenced_room(in_room * size, test_below(rng, 4) > 0);
  char *wanted = aligned_alloc(128, (out_room + 127) / 128 * 128),
       *got = aligned_alloc(128, (out_room + 127) / 128 * 128);
  fill(rng, sh, embedding, dtype, in_stride, in);
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  care wanted_care = {{0}};
  for (size_t t = 0; t < count; t++) {
    char *out = t == 0 ? wanted : got, *first = out + sh.shift * out_size;
    care this_care = {{0}};
    memset(out, 0x5a, out_room);
    if (sh.in_place) memcpy(first, in, in_room * size);
    cpb_rows_job job = {.embedding = embedding,
                        .in_type = dtype,
                        .out_type = to,
                        .n = sh.n,
                        .d = sh.d,
                        .in = sh.in_place ? (const void *)first : in,
                        .in_stride = in_stride,
                        .out = first,
                        .out_stride = out_stride,
                        .s = sh.s > 0 ? sh.s : 2.5,
                        .center = center,
                        .stream = sh.stream && !sh.in_place,
                        .careful = note_careful,
                        .context = &this_care};
    cpb_rows_of(tables[t], &job)(&job);
    if (t == 0)
      wanted_care = this_care;
    else if (memcmp(wanted, got, out_room) != 0 || memcmp(&wanted_care, &this_care, sizeof this_care) != 0)
      fail_msg(
          "%s differs from plain: %s %s to %s n=%zu d=%zu strides %zu %zu shift %zu stream %d in place %d "
          "centre %d",
          tables[t]->name, embedding ? "embed" : "unembed", cpb_dtype_name(dtype), cpb_dtype_name(to), sh.n,
          sh.d, in_stride, out_stride, sh.shift, sh.stream, sh.in_place, centered);
  }
  free(wanted);
  free(got);
}

static void run_shape(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype) {
  run_about(rng, sh, embedding, dtype, CPB_F32, false);
  run_about(rng, sh, embedding, dtype, CPB_F32, true);
}

/* The same where the arithmetic is in doubles. */
static void run_doubles(test_rng *rng, shape sh, bool embedding, cpb_dtype dtype) {
  bool about = test_below(rng, 2) == 1;
  if (!sh.in_place || dtype == CPB_F64) run_about(rng, sh, embedding, dtype, CPB_F64, about);
  if (dtype == CPB_F64 && !sh.in_place) run_about(rng, sh, embedding, dtype, CPB_F32, !about);
}

static void all_doubles(bool embedding, cpb_dtype dtype) {
  static const size_t large[] = {100, 255, 256, 257, 784, 4096};
  test_rng rng = {11};
  for (size_t k = 0; k < 67 + 6; k += EVERY) {
    size_t d = k < 67 ? k + 1 : large[k - 67];
    for (int stream = 0; stream < 2; stream++)
      for (size_t pad = 0; pad < 3; pad++) {
        size_t n = d > 1000 ? 70 : test_below(&rng, MOST_ROWS / 2);
        bool sound = test_below(&rng, 2) == 1;
        run_doubles(&rng, (shape){n, d, pad, pad == 2, test_below(&rng, 16), stream, false, 0, 0, sound, 0},
                    embedding, dtype);
      }
    if (dtype == CPB_F64)
      run_doubles(&rng, (shape){150, d, k % 2, 0, test_below(&rng, 16), false, true, 0, 0, false, 0},
                  embedding, dtype);
  }
}

static void doubles_of_every_type(void **state) {
  (void)state;
  for (cpb_dtype dtype = CPB_F32; dtype <= CPB_I8; dtype++) {
    all_doubles(true, dtype);
    all_doubles(false, dtype);
  }
}

/* Rows back to f32 from halves and bytes, which go by doubles. */
static void back_from_bytes(void **state) {
  (void)state;
  test_rng rng = {12};
  for (cpb_dtype dtype = CPB_F16; dtype <= CPB_I8; dtype++)
    for (size_t d = 1; d < 40; d++)
      run_shape(&rng, (shape){100, d, d % 3, d % 2, 3, d % 5 == 0, false, 0, 0, true, 0}, false, dtype);
}

/* Every remainder of blocks and ranges. */
static void every_count_of_doubles(void **state) {
  (void)state;
  test_rng rng = {13};
  static const size_t dims[] = {1, 2, 3, 4, 5, 10, 24, 40};
  for (size_t n = 0; n <= 131; n += EVERY)
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
      for (int stream = 0; stream < 2; stream++)
        for (int embedding = 0; embedding < 2; embedding++)
          run_doubles(&rng,
                      (shape){n, dims[i], 0, 0, n % 3 * 4, stream, false, 0, 0, true, n % 7 ? 0 : n / 2},
                      embedding, n % 2 ? CPB_F64 : CPB_F32);
}

static void all_shapes(bool embedding, cpb_dtype dtype) {
  static const size_t large[] = {100, 784, 4096};
  test_rng rng = {1};
  for (size_t k = 0; k < 67 + 3; k += EVERY) {
    size_t d = k < 67 ? k + 1 : large[k - 67];
    for (int stream = 0; stream < 2; stream++)
      for (size_t pad = d > 1000 && EVERY > 1 ? 2 : 0; pad < 3; pad++) {
        size_t n = d > 1000 ? 70 : test_below(&rng, MOST_ROWS / 2);
        run_shape(&rng, (shape){n, d, pad, pad == 2, test_below(&rng, 16), stream, false, 0, 0, false, 0},
                  embedding, dtype);
      }
    if (dtype == CPB_F32)
      run_shape(&rng,
                (shape){d > 1000 ? 40 : 150, d, k % 2, 0, test_below(&rng, 16), false, true, 0, 0, false, 0},
                embedding, dtype);
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

/* Few rows: 0 .. 131 of them, so that every remainder of the blocks and ranges is met. */
static void every_count_of_rows(void **state) {
  (void)state;
  test_rng rng = {2};
  static const size_t dims[] = {1, 2, 3, 10, 24, 40, 64};
  for (size_t n = 0; n <= 131; n += EVERY)
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
      for (int stream = 0; stream < 2; stream++)
        for (int sound = 0; sound < 2; sound++) {
          run_shape(&rng, (shape){n, dims[i], 0, 0, 0, stream, false, 0, 0, sound, 0}, true, CPB_F32);
          run_shape(&rng, (shape){n, dims[i], 0, 0, 8, stream, false, 0, 0, sound, 0}, false, CPB_F32);
        }
}

/* Sound rows only, so that it is the blocks of sixteen that are judged; then all sound but one, so that
 * blocks go the careful way between others that do not. */
static void whole_blocks(void **state) {
  (void)state;
  test_rng rng = {3};
  for (size_t d = 1; d <= 50; d += EVERY)
    for (int embedding = 0; embedding < 2; embedding++)
      for (int way = 0; way < 4;
           way++) { /* kept, past the cache, in place, with a place free in the output */
        shape sh = {MOST_ROWS, d, 0, way == 3, 0, way == 1, way == 2, 0, 0, true, 0};
        run_shape(&rng, sh, embedding, CPB_F32);
        for (int k = 0; k < 3; k++) {
          sh.but = 1 + test_below(&rng, MOST_ROWS);
          run_shape(&rng, sh, embedding, CPB_F32);
        }
      }
}

/* Short rows of other types, or far apart, are put together some 8000 numbers at a time: more rows than that,
 * one of them, or for bytes all, for the careful way. */
static void rows_put_together(void **state) {
  (void)state;
  test_rng rng = {5};
  static const cpb_dtype types[] = {CPB_F32, CPB_F16, CPB_U8, CPB_I8};
  for (size_t d = 7; d <= 17; d += EVERY)
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
      for (size_t pad = 0; pad < 4; pad += 3)
        for (int stream = 0; stream < 2; stream++) {
          double s = types[i] == CPB_U8 && stream ? 1e-35 : 0;
          shape sh = {MANY_ROWS - 3, d, pad, 0, test_below(&rng, 16), stream, false, s, 0, true, 0};
          sh.but = 1 + test_below(&rng, sh.n);
          run_shape(&rng, sh, true, types[i]);
          if (types[i] == CPB_F32) run_shape(&rng, sh, false, CPB_F32);
        }
}

/* Many rows in place, one of them for the careful way. */
static void rows_in_place(void **state) {
  (void)state;
  test_rng rng = {7};
  for (size_t d = 5; d <= 42; d += EVERY)
    for (int embedding = 0; embedding < 2; embedding++) {
      shape sh = {
          MANY_ROWS - test_below(&rng, 100), d, 0, 0, test_below(&rng, 16), false, true, 0, 0, true, 0};
      sh.but = 1 + test_below(&rng, sh.n);
      run_shape(&rng, sh, embedding, CPB_F32);
    }
}

/* Rows that never begin a line, and rows with a free place, of every length about the choice between loops.
 */
static void rows_that_begin_no_line(void **state) {
  (void)state;
  test_rng rng = {6};
  for (size_t d = 12; d <= 44; d += EVERY)
    for (size_t pad = 0; pad < 2; pad++)
      for (size_t shift = 0; shift < 5; shift += 2) {
        run_shape(&rng, (shape){MOST_ROWS, d, pad, 0, shift, true, false, 0, 0, true, 0}, true, CPB_F32);
        run_shape(&rng, (shape){MOST_ROWS, d, 0, pad, shift, true, false, 0, 0, true, 0}, false, CPB_F32);
      }
}

/* Short rows have factors in pairs of floats up to some size and scale, and beyond it in doubles. */
static void short_rows_of_every_size(void **state) {
  (void)state;
  test_rng rng = {4};
  static const double scales[] = {0x1p-21, 0x1p-20, 1e-3, 1, 1234.5, 0x1p20, 0x1.000002p20, 1e9};
  for (size_t d = 1; d <= 5; d++)
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
      for (int stream = 0; stream < 2; stream++)
        for (double longest = 10; longest < 1e20; longest *= 1e4) {
          shape sh = {MOST_ROWS, d, 0, 0, 0, stream, false, scales[i], longest, true, 0};
          run_shape(&rng, sh, true, CPB_F32);
          run_shape(&rng, sh, false, CPB_F32);
        }
}

/* Rows of few doubles with sums of squares of every size: of quotients whose divisor is inverted once, every bit. */
static void few_columns_of_every_size(void **state) {
  (void)state;
  test_rng rng = {14};
  for (size_t i = 0; i < 200; i++) {
    double s = test_log_uniform(&rng, 1e-60, 1e60), about = i % 2 == 0 ? 2 : 1e60;
    shape sh = {1200, 1 + i % 4, 0, 0, 0, i % 3 == 0, false, i % 2 == 0 ? 1.3 : s, about, true, 0};
    run_about(&rng, sh, i % 8 < 6, CPB_F64, CPB_F64, false);
    run_about(&rng, sh, i % 8 < 6, i % 5 == 0 ? CPB_F32 : CPB_F64, i % 5 == 0 ? CPB_F64 : CPB_F32,
              i % 2 == 0);
  }
}

/* Floats back to doubles: lengths near 1 have roots of their own, factors of every size are fine or not. */
static void few_floats_back_to_doubles(void **state) {
  (void)state;
  test_rng rng = {15};
  static const double scales[] = {0x1.3p-963, 1e-290, 3e-290,  5e-290,  1e-9,
                                  1,          1e269,  0x1p899, 0x1p900, 1e271};
  for (size_t i = 0; i < 400; i++) {
    size_t scale = i % (sizeof scales / sizeof *scales);
    shape sh = {MANY_ROWS, 2 + i / 10 % 2, 0, 0, 0, i / 20 % 2 == 0, false, scales[scale], 4, true, 0};
    run_about(&rng, sh, false, CPB_F32, CPB_F64, i % 3 == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(embeds_f32),
      cmocka_unit_test(embeds_f16),
      cmocka_unit_test(embeds_u8),
      cmocka_unit_test(embeds_i8),
      cmocka_unit_test(unembeds_f32),
      cmocka_unit_test(every_count_of_rows),
      cmocka_unit_test(whole_blocks),
      cmocka_unit_test(rows_put_together),
      cmocka_unit_test(rows_that_begin_no_line),
      cmocka_unit_test(rows_in_place),
      cmocka_unit_test(short_rows_of_every_size),
      cmocka_unit_test(doubles_of_every_type),
      cmocka_unit_test(back_from_bytes),
      cmocka_unit_test(every_count_of_doubles),
      cmocka_unit_test(few_columns_of_every_size),
      cmocka_unit_test(few_floats_back_to_doubles),
  };
  return cmocka_run_group_tests_name("loop_rows", tests, NULL, NULL);
}
