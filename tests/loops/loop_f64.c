/* Every table of loops gives the bits of the plain one, and the plain one is correct. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "base/rows.h"
#include "loops/chunk.h"
#include "support/check.h"
#include "support/big.h"

enum { LONGEST = 4096, SLACK = 8, ROOM = LONGEST + SLACK };

static const size_t long_lengths[] = {100, 255, 256, 257, 784, LONGEST};
enum { SHORT = 68, LENGTHS = SHORT + sizeof long_lengths / sizeof *long_lengths };
static size_t length_at(size_t i) { return i < SHORT ? i : long_lengths[i - SHORT]; }

static double x[ROOM], y[ROOM], z[ROOM], wanted[ROOM];
static const cpb_loops *tables[CPB_TABLES];
static size_t table_count;

static int find_tables(void **state) {
  (void)state;
  table_count = cpb_loops_all(tables);
  return 0;
}
static int free_arena(void **state) {
  (void)state;

  return 0;
}

/* NaN counts as equal to NaN: which of two NaNs an addition passes on is the machine's affair. */
static void same(const char *loop, const char *table, size_t n, size_t i, double got, double want) {
  if (isnan(want) ? !isnan(got) : memcmp(&got, &want, sizeof got) != 0)
    fail_msg("%s of %s, n = %zu, element %zu: %a instead of %a", loop, table, n, i, got, want);
}

typedef enum filling { PLAIN, WILD, ZEROS, SPECIAL, FILLINGS } filling;

static double draw(test_rng *rng, filling kind) {
  static const double special[] = {0.,     -0.,      5e-324,    -2e-310, 0x1p-1022, 1e308,
                                   -1e308, INFINITY, -INFINITY, NAN,     1};
  double sign = test_bits(rng) & 1 ? -1 : 1;
  switch (kind) {
  case WILD: return sign * test_log_uniform(rng, 1e-320, 1e150);
  case ZEROS: return sign * 0.;
  case SPECIAL:
    return test_below(rng, 4) == 0 ? special[test_below(rng, sizeof special / sizeof *special)]
                                   : test_gauss(rng);
  default: return test_gauss(rng);
  }
}

static void fill(test_rng *rng, filling kind, double *row) {
  for (size_t i = 0; i < ROOM; i++) row[i] = draw(rng, kind);
}

static void sums_have_the_same_bits(void **state) {
  (void)state;
  test_rng rng = {1};
  for (filling kind = PLAIN; kind < FILLINGS; kind++) {
    fill(&rng, kind, x);
    fill(&rng, kind, y);
    for (size_t k = 0; k < LENGTHS; k++)
      for (size_t shift = 0; shift < 4; shift++) {
        size_t n = length_at(k);
        const double *a = x + shift, *b = y + (3 * shift + 1) % 8;
        double dot = tables[0]->dot(a, b, n), dist2 = tables[0]->dist2(a, b, n),
               sum2 = tables[0]->sum2(a, b, n);
        for (size_t t = 1; t < table_count; t++) {
          same("dot", tables[t]->name, n, 0, tables[t]->dot(a, b, n), dot);
          same("dist2", tables[t]->name, n, 0, tables[t]->dist2(a, b, n), dist2);
          same("sum2", tables[t]->name, n, 0, tables[t]->sum2(a, b, n), sum2);
        }
      }
  }
}

static void axpby_is_two_products_and_a_sum(void **state) {
  (void)state;
  test_rng rng = {2};
  const double factors[] = {1, -0.5, 0, 3.7e-200, 1e200, INFINITY};
  for (filling kind = PLAIN; kind < FILLINGS; kind++)
    for (size_t k = 0; k < LENGTHS; k++) {
      size_t n = length_at(k), shift = k % 5;
      fill(&rng, kind, x);
      fill(&rng, kind, y);
      for (size_t t = 0; t < table_count; t++) {
        double alpha = factors[test_below(&rng, 6)], beta = factors[test_below(&rng, 6)], *to = z + shift;
        memcpy(z, y, sizeof z);
        const double *b = n % 2 ? to : y + shift; /* in place every other time */
        for (size_t i = 0; i < n; i++) {
          double first = alpha * x[i], second = beta * b[i];
          wanted[i] = first + second;
        }
        tables[t]->axpby(alpha, x, beta, b, to, n);
        for (size_t i = 0; i < n; i++) same("axpby", tables[t]->name, n, i, to[i], wanted[i]);
        for (size_t i = n; i + shift < ROOM; i++) same("axpby", tables[t]->name, n, i, to[i], y[i + shift]);
      }
    }
}

static void narrow_rounds_to_nearest(void **state) {
  (void)state;
  static float narrow[ROOM];
  test_rng rng = {3};
  for (filling kind = PLAIN; kind < FILLINGS; kind++) {
    fill(&rng, kind, x);
    x[0] = 1 + 0x1p-24; /* a tie, to even */
    x[1] = 0x1.ffffffp127;
    x[2] = 0x1p-150;
    x[3] = 0x1.8p-149;
    for (size_t k = 0; k < LENGTHS; k++)
      for (size_t t = 0; t < table_count; t++) {
        size_t n = length_at(k), shift = k % 3;
        for (size_t i = 0; i < ROOM; i++) narrow[i] = -7;
        tables[t]->narrow(x + shift, n, narrow + 1);
        for (size_t i = 0; i < n; i++)
          same("narrow", tables[t]->name, n, i, (double)narrow[1 + i], test_round_f32(x[shift + i]));
        assert_true(narrow[0] == -7 && narrow[1 + n] == -7);
      }
  }
}

static void every_half_is_widened_exactly(void **state) {
  (void)state;
  static uint16_t halves[65536];
  static double wide[65536];
  for (size_t i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
  for (size_t t = 0; t < table_count; t++) {
    tables[t]->widen[CPB_F16](halves, 65536, wide);
    for (size_t i = 0; i < 65536; i++)
      same("widen f16", tables[t]->name, 65536, i, wide[i], cpb_half_to_double((uint16_t)i));
  }
}

static void rows_of_every_dtype_are_widened_exactly(void **state) {
  (void)state;
  static _Alignas(64) unsigned char bytes[ROOM * sizeof(double)];
  test_rng rng = {4};
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)test_bits(&rng);
  for (cpb_dtype dtype = CPB_F32; dtype <= CPB_I8; dtype++)
    for (size_t k = 0; k < LENGTHS; k++)
      for (size_t t = 0; t < table_count; t++) {
        size_t n = length_at(k), shift = 1 + k % 5;
        const unsigned char *from = bytes + shift * cpb_dtype_size(dtype);
        cpb_view view = cpb_rows(from, dtype, 1, n);
        for (size_t i = 0; i < ROOM; i++) z[i] = -7;
        tables[t]->widen[dtype](from, n, z + 1);
        for (size_t i = 0; i < n; i++)
          same(cpb_dtype_name(dtype), tables[t]->name, n, i, z[1 + i], cpb_view_at(view, 0, i));
        assert_true(z[0] == -7 && z[1 + n] == -7);
      }
}

static void every_byte_is_widened_exactly(void **state) {
  (void)state;
  unsigned char bytes[256];
  double wide[256];
  for (int i = 0; i < 256; i++) bytes[i] = (unsigned char)i;
  for (size_t t = 0; t < table_count; t++) {
    tables[t]->widen[CPB_U8](bytes, 256, wide);
    for (int i = 0; i < 256; i++) assert_true(wide[i] == i);
    tables[t]->widen[CPB_I8](bytes, 256, wide);
    for (int i = 0; i < 256; i++) assert_true(wide[i] == (i < 128 ? i : i - 256));
  }
}

/* A lane of a chunk adds 16 products, the tree 4 levels, and the chunks one after the other: no product
 * takes part in more than 21 + n/256 roundings. */
static double proven_bound(size_t n) { return 21 + (double)(n / CPB_CHUNK); }

static void sums_are_near_the_exact_ones(void **state) {
  (void)state;
  test_rng rng = {5};
  double worst_dot = 0, worst_dist2 = 0, worst_sum2 = 0;
  for (size_t k = 0; k < LENGTHS; k++)
    for (int repeat = 0; repeat < 3; repeat++) {
      size_t n = length_at(k), mark = big_mark();
      fill(&rng, PLAIN, x);
      fill(&rng, PLAIN, y);
      if (repeat == 2)
        for (size_t i = 0; i < n; i++) x[i] *= test_log_uniform(&rng, 1e-8, 1e8);
      big dot = big_of(0), size = big_of(0), dist2 = big_of(0), sum2 = big_of(0);
      for (size_t i = 0; i < n; i++) {
        size_t inner = big_mark();
        big a = big_of(x[i]), b = big_of(y[i]), minus = big_sub(a, b), plus = big_add(a, b);
        mpfr_add(dot, dot, big_mul(a, b), MPFR_RNDN);
        mpfr_add(size, size, big_abs(big_mul(a, b)), MPFR_RNDN);
        mpfr_add(dist2, dist2, big_mul(minus, minus), MPFR_RNDN);
        mpfr_add(sum2, sum2, big_mul(plus, plus), MPFR_RNDN);
        big_release(inner);
      }
      double errors[3] = {big_error_in(tables[0]->dot(x, y, n), dot, size, U64),
                          big_error_in(tables[0]->dist2(x, y, n), dist2, dist2, U64),
                          big_error_in(tables[0]->sum2(x, y, n), sum2, sum2, U64)};
      for (int i = 0; i < 3; i++) assert_true(errors[i] <= proven_bound(n) + 2);
      test_worst(&worst_dot, errors[0]);
      test_worst(&worst_dist2, errors[1]);
      test_worst(&worst_sum2, errors[2]);
      big_release(mark);
    }
  law_holds("loops", "<x,y> relative to sum |x_i y_i|, n <= 4096", "f64", worst_dot, 16);
  law_holds("loops", "|x-y|^2, n <= 4096", "f64", worst_dist2, 16);
  law_holds("loops", "|x+y|^2, n <= 4096", "f64", worst_sum2, 16);
}

/* Chunk by chunk, whatever the dtype, is the same sum. */
static void chunks_add_up_to_the_whole(void **state) {
  (void)state;
  static float single[ROOM];
  test_rng rng = {6};
  fill(&rng, PLAIN, x);
  for (size_t i = 0; i < ROOM; i++) {
    x[i] = test_round_f32(x[i]);
    single[i] = (float)x[i];
  }
  for (size_t k = 0; k < LENGTHS; k++)
    for (size_t t = 0; t < table_count; t++) {
      size_t n = length_at(k);
      cpb_view view = cpb_rows(single, CPB_F32, 1, n);
      double sum = 0, buffer[CPB_CHUNK];
      for (size_t offset = 0; offset < n; offset += CPB_CHUNK) {
        size_t count = cpb_chunk_count(n, offset);
        const double *chunk = cpb_row_chunk(tables[t], view, 0, offset, count, buffer);
        sum += tables[t]->dot(chunk, chunk, count);
      }
      same("dot by chunks", tables[t]->name, n, 0, sum, tables[0]->dot(x, x, n));
    }
}

/* Distances of many rows are those of one row after the other, for every table. */
static void distances_of_rows_have_the_same_bits(void **state) {
  (void)state;
  static float single[ROOM];
  test_rng rng = {7};
  for (filling kind = PLAIN; kind < FILLINGS; kind++) {
    fill(&rng, kind, x);
    fill(&rng, kind, y);
    for (size_t i = 0; i < ROOM; i++) single[i] = (float)x[i];
    for (size_t k = 1; k < LENGTHS; k++)
      for (size_t t = 0; t < table_count; t++) {
        size_t d = length_at(k), stride = d + k % 3, n = ROOM / stride < 37 ? ROOM / stride : 37;
        double got[37], wide[LONGEST];
        tables[t]->rows_dist2[CPB_F64](x, stride, n, d, y, got);
        for (size_t i = 0; i < n; i++)
          same("rows_dist2 f64", tables[t]->name, d, i, got[i], tables[0]->dist2(x + i * stride, y, d));
        tables[t]->rows_dist2[CPB_F32](single, stride, n, d, y, got);
        for (size_t i = 0; i < n; i++) {
          tables[0]->widen[CPB_F32](single + i * stride, d, wide);
          same("rows_dist2 f32", tables[t]->name, d, i, got[i], tables[0]->dist2(wide, y, d));
        }
        for (cpb_dtype dtype = CPB_U8; dtype <= CPB_I8; dtype++) {
          const uint8_t *bytes = (const uint8_t *)x;
          tables[t]->rows_dist2[dtype](bytes, stride, n, d, y, got);
          for (size_t i = 0; i < n; i++) {
            tables[0]->widen[dtype](bytes + i * stride, d, wide);
            same("rows_dist2 of bytes", tables[t]->name, d, i, got[i], tables[0]->dist2(wide, y, d));
          }
          double other[LONGEST];
          const uint8_t *last = bytes + (n - 1) * stride;
          tables[0]->widen[dtype](last, d, other);
          for (size_t i = 0; i < n && d <= CPB_GRID_MOST; i++) {
            tables[0]->widen[dtype](bytes + i * stride, d, wide);
            same("whole_dist2", tables[t]->name, d, i,
                 (double)tables[t]->whole_dist2[dtype](bytes + i * stride, last, d),
                 tables[0]->dist2(wide, other, d));
            same("whole_dot", tables[t]->name, d, i,
                 (double)tables[t]->whole_dot[dtype](bytes + i * stride, last, d),
                 tables[0]->dot(wide, other, d));
          }
        }
      }
  }
}

/* The one number above, at every place of every length, and NaN for it; equal is not above. */
static void the_first_above_is_found(void **state) {
  (void)state;
  static const double above[] = {1.0000000000000002, INFINITY, NAN, -NAN};
  double row[68];
  for (size_t n = 0; n < 68; n++)
    for (size_t t = 0; t < table_count; t++)
      for (size_t at = 0; at <= n; at++)
        for (size_t k = 0; k < sizeof above / sizeof *above; k++) {
          for (size_t i = 0; i < n; i++) row[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? -INFINITY : -0.0;
          if (at < n) row[at] = above[k];
          if (at + 5 < n) row[at + 5] = INFINITY;
          assert_int_equal(tables[t]->first_above(row, n, 1), at);
        }
}

static void the_environment_chooses_a_table(void **state) {
  (void)state;
  const char *before = getenv("CPB_ISA");
  char kept[32];
  snprintf(kept, sizeof kept, "%s", before == NULL ? "" : before);
  for (size_t t = 0; t < table_count; t++) {
    setenv("CPB_ISA", tables[t]->name, 1);
    assert_ptr_equal(cpb_loops_here(), tables[t]);
    assert_string_equal(cpb_isa_name(), tables[t]->name);
  }
  setenv("CPB_ISA", "abacus", 1);
  assert_ptr_equal(cpb_loops_here(), tables[table_count - 1]);
  if (before == NULL)
    unsetenv("CPB_ISA");
  else
    setenv("CPB_ISA", kept, 1);
  assert_string_equal(tables[0]->name, "plain");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_have_the_same_bits),
      cmocka_unit_test(axpby_is_two_products_and_a_sum),
      cmocka_unit_test(narrow_rounds_to_nearest),
      cmocka_unit_test(every_half_is_widened_exactly),
      cmocka_unit_test(rows_of_every_dtype_are_widened_exactly),
      cmocka_unit_test(every_byte_is_widened_exactly),
      cmocka_unit_test(sums_are_near_the_exact_ones),
      cmocka_unit_test(chunks_add_up_to_the_whole),
      cmocka_unit_test(distances_of_rows_have_the_same_bits),
      cmocka_unit_test(the_first_above_is_found),
      cmocka_unit_test(the_environment_chooses_a_table),
  };
  return cmocka_run_group_tests(tests, find_tables, free_arena);
}
