/* T14: bits of the ball form equal those of the sphere; codes, limits and ranks are the same for every loop table and any number of
 * threads. */
#define _POSIX_C_SOURCE 200809L
#include "sketch/t14_sketch.h"
#include "sketch/sketch_train.h"
#include "support/check.h"

#include "capball/advanced/candidates.h"
#include "capball/advanced/feed.h"
#include "capball/capball.h"
#include "loops/table.h"
#include "support/big.h"

enum { ROWS = 200, BITS = 72 };

static cpb_pool *pool;

static double *gauss_rows(test_rng *rng, size_t n, size_t d, double offset, double spread) {
  double *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n * d; i++) x[i] = offset + spread * test_gauss(rng);
  return x;
}

/* Directions that are not equally wide, as data are. */
static float *wide_rows(test_rng *rng, size_t n, size_t d) {
  float *x = malloc(n * d * sizeof *x);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++) x[i * d + k] = (float)(3 + test_gauss(rng) / (1 + (double)k));
  return x;
}

static cpb_sketch *any_sketch(test_rng *rng, size_t d, size_t bits, double s, const double *center) {
  double *normals = malloc(bits * (d + 1) * sizeof *normals);
  cpb_sketch_options options;
  cpb_sketch_options_init(&options, sizeof options);
  cpb_sketch *sketch;
  cpb_error error;
  for (size_t i = 0; i < bits; i++) test_direction(rng, d + 1, normals + i * (d + 1));
  for (size_t k = 0; k <= d; k++) normals[k] = k == d; /* the equator: |x-m| <= s */
  options.d = d;
  options.bits = bits;
  options.s = s;
  options.center = center;
  options.normals = normals;
  test_status((int)cpb_sketch_new(&options, &sketch, &error), CPB_OK, error.text);
  free(normals);
  return sketch;
}

static int bit_at(const uint8_t *codes, size_t bits, size_t row, size_t i) {
  return codes[row * (bits / 8) + i / 8] >> i % 8 & 1;
}

/* Embedding and then taking the product, in 300 bits: the distance from the boundary, in u. */
static double side_of(const cpb_sketch_options *o, const double *x, size_t i) {
  const double *normal = o->normals + i * (o->d + 1);
  big_reset();
  big n = big_of(0), along = big_of(0), s = big_of(o->s);
  for (size_t k = 0; k < o->d; k++) {
    big z = big_sub(big_of(x[k]), big_of(o->center == NULL ? 0 : o->center[k]));
    n = big_add(n, big_mul(z, z));
    along = big_add(along, big_mul(big_of(normal[k]), z));
  }
  big s2 = big_mul(s, s), top = big_mul(big_mul(big_of(2), s), along);
  top = big_add(top, big_mul(big_of(normal[o->d]), big_sub(s2, n)));
  return big_to_double(big_div(top, big_add(n, s2))) / U64;
}

static double worst_wrong_side(const cpb_sketch *sketch, const double *x, const uint8_t *codes, size_t rows) {
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  double worst = 0;
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < o.bits; i++) {
      double side = side_of(&o, x + row * o.d, i);
      if (bit_at(codes, o.bits, row, i) != (side >= 0)) test_worst(&worst, fabs(side));
    }
  return worst;
}

/* Every other row is moved onto a boundary, by Newton's method along its normal, so that its bits are close calls. */
static void push_to_boundaries(const cpb_sketch_options *o, double *x, size_t rows) {
  size_t d = o->d;
  for (size_t row = 0; row < rows; row += 2) {
    const double *normal = o->normals + (row + 1) % o->bits * (d + 1);
    double *p = x + row * d, norm2 = 1 - normal[d] * normal[d];
    for (int step = 0; step < 8; step++) {
      double along = 0, n = 0;
      for (size_t k = 0; k < d; k++) {
        double z = (p[k] - o->center[k]) / o->s;
        along += normal[k] * z;
        n += z * z;
      }
      double slope = 2 * norm2 - 2 * normal[d] * along;
      double t = fabs(slope) < 0.01 ? 0 : -(2 * along + normal[d] * (1 - n)) / slope;
      for (size_t k = 0; k < d && fabs(t) < 1e3; k++) p[k] += o->s * t * normal[k];
    }
    double off = row % 4 != 0 ? 0 : (row % 8 == 0 ? 1 : -1) * pow(10, -9 - (double)(row / 8 % 5));
    for (size_t k = 0; k < d; k++) p[k] += o->s * off * normal[k];
  }
}

static void balls_are_caps(void **state) {
  (void)state;
  static const size_t dims[] = {1, 2, 5, 17, 100, 300};
  static const double scales[] = {1, 1e-3, 1e6, 1e-200, 1e200};
  test_rng rng = {141};
  double worst = 0;
  for (size_t trial = 0; trial < sizeof dims / sizeof *dims; trial++) {
    size_t d = dims[trial], rows = d > 50 ? 20 : ROWS / 4;
    double s = scales[trial % 5], *center = gauss_rows(&rng, 1, d, 0, s);
    cpb_sketch *sketch = any_sketch(&rng, d, BITS, s, center);
    cpb_sketch_options o = {.size = sizeof o};
    cpb_sketch_describe(sketch, &o);
    double *x = gauss_rows(&rng, rows, d, 0, s / sqrt((double)d));
    for (size_t k = 0; k < d; k++) x[k] = center[k]; /* the pole */
    push_to_boundaries(&o, x, rows);
    uint8_t codes[ROWS * BITS / 8];
    cpb_error error;
    test_status((int)cpb_sketch_encode(sketch, cpb_rows(x, CPB_F64, rows, d), codes, NULL, &error), CPB_OK,
                error.text);
    test_worst(&worst, worst_wrong_side(sketch, x, codes, rows));
    cpb_sketch_free(sketch);
    free(center);
    free(x);
  }
  law_holds("T14", "wrong bits only this near a boundary", "f64", worst, 8);
}

/* Far and near rows: the limits are the centre, inside of the balls with c0 > 0, and infinity, outside. */
static void limits_are_right(void **state) {
  (void)state;
  test_rng rng = {142};
  cpb_sketch *sketch = any_sketch(&rng, 3, BITS, 2, NULL);
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  double x[4][3] = {{0, 0, 0}, {1e-320, 0, -1e-320}, {1e160, -1e160, 3}, {1e308, 1e308, -1e308}};
  uint8_t codes[4 * BITS / 8];
  cpb_error error;
  test_status((int)cpb_sketch_encode(sketch, cpb_rows(x, CPB_F64, 4, 3), codes, NULL, &error), CPB_OK,
              error.text);
  for (size_t i = 0; i < BITS; i++)
    for (size_t row = 0; row < 4; row++)
      assert_int_equal(bit_at(codes, BITS, row, i), (o.normals[i * 4 + 3] > 0) == (row < 2));
  float bad[3][3] = {{1, 2, 3}, {1, NAN, 3}, {INFINITY, 0, 0}};
  assert_int_equal(cpb_sketch_encode(sketch, cpb_rows(bad, CPB_F32, 3, 3), codes, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 1);
  for (size_t i = BITS / 8; i < 3 * BITS / 8; i++) assert_int_equal(codes[i], 0);
  assert_int_equal(cpb_sketch_encode(sketch, cpb_rows(x, CPB_F64, 0, 3), codes, NULL, &error), CPB_OK);
  assert_int_equal(cpb_sketch_encode(sketch, cpb_rows(x, CPB_F64, 1, 2), codes, NULL, &error), CPB_ESHAPE);
  cpb_sketch_free(sketch);
}

/* Every dtype gives the code of its values as doubles. */
static void dtypes_agree(void **state) {
  (void)state;
  enum { D = 21, N = 40 };
  test_rng rng = {143};
  uint8_t bytes[N * D], codes[N * BITS / 8], other[N * BITS / 8];
  double wide[N * D];
  float narrow[N * D];
  for (size_t i = 0; i < N * D; i++) wide[i] = narrow[i] = bytes[i] = (uint8_t)test_below(&rng, 256);
  double center[D];
  for (size_t k = 0; k < D; k++) center[k] = 120 + test_gauss(&rng);
  cpb_sketch *sketch = any_sketch(&rng, D, BITS, 300, center);
  cpb_error error;
  test_status((int)cpb_sketch_encode(sketch, cpb_rows(wide, CPB_F64, N, D), codes, NULL, &error), CPB_OK,
              error.text);
  test_status((int)cpb_sketch_encode(sketch, cpb_rows(narrow, CPB_F32, N, D), other, NULL, &error), CPB_OK,
              error.text);
  assert_memory_equal(codes, other, sizeof codes);
  test_status((int)cpb_sketch_encode(sketch, cpb_rows(bytes, CPB_U8, N, D), other, NULL, &error), CPB_OK,
              error.text);
  assert_memory_equal(codes, other, sizeof codes);
  cpb_sketch_free(sketch);
}

static cpb_sketch *train(cpb_view x, const cpb_sketch_training *training, cpb_sketch_report *report,
                         const cpb_exec *exec) {
  cpb_sketch *sketch;
  cpb_error error;
  test_status((int)cpb_sketch_train(x, training, &sketch, report, exec, &error), CPB_OK, error.text);
  return sketch;
}

static cpb_sketch_training training_for(const double *center, double s) {
  cpb_sketch_training training;
  cpb_sketch_training_init(&training, sizeof training);
  training.bits = BITS;
  training.s = s;
  training.center = center;
  training.seed = 7;
  return training;
}

/* The same codes and hits of bits for one thread and four, on every table. */
static void same_bits_everywhere(void **state) {
  (void)state;
  enum { N = 500, D = 33, K = 7 };
  test_rng rng = {146};
  float *x = wide_rows(&rng, N, D);
  cpb_view rows = cpb_rows(x, CPB_F32, N, D);
  const cpb_loops *tables[CPB_TABLES];
  size_t count = cpb_loops_all(tables);
  static uint8_t codes[N * BITS / 8], again[N * BITS / 8];
  static cpb_hit hits[N * K], hits_again[N * K];
  cpb_sketch *sketch = any_sketch(&rng, D, BITS, 3, NULL);
  for (size_t trial = 0; trial < 2 * count; trial++) {
    const cpb_exec *exec = trial % 2 == 0 ? NULL : cpb_pool_exec(pool);
    setenv("CPB_ISA", tables[trial / 2]->name, 1);
    assert_int_equal(cpb_sketch_encode(sketch, rows, again, exec, NULL), CPB_OK);
    cpb_view view = cpb_rows(again, CPB_U8, N, BITS / 8);
    memset(hits_again, 0, sizeof hits_again);
    assert_int_equal(cpb_hamming_knn(view, view, K, hits_again, exec, NULL), CPB_OK);
    if (trial == 0) {
      memcpy(codes, again, sizeof codes);
      memcpy(hits, hits_again, sizeof hits);
    }
    assert_memory_equal(codes, again, sizeof codes);
    assert_memory_equal(hits, hits_again, sizeof hits);
  }
  unsetenv("CPB_ISA");
  cpb_sketch_free(sketch);
  free(x);
}

typedef struct entry {
  unsigned distance;
  size_t id;
} entry;

static int nearer(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

/* The last share first: its hits must not hide equally near codes of lower ids. */
static void run_backwards(void *none, size_t tasks, void (*task)(void *arg, size_t i), void *arg) {
  (void)none;
  while (tasks-- > 0) task(arg, tasks);
}

/* Against sorting all codes, with many ties, over odd lengths, and shares that several threads scan. */
static void hamming_search_is_exact(void **state) {
  (void)state;
  enum { N = TEST_SANITIZED ? 4000 : 20000, QUERIES = 5, K = 30 };
  static uint8_t codes[N * 19];
  static entry all[N];
  static cpb_hit hits[QUERIES * N];
  test_rng rng = {147};
  cpb_exec backwards = {.size = sizeof backwards, .run = run_backwards, .threads = 4};
  static const size_t widths[] = {1, 3, 8, 19}, counts[] = {1, 7, 8, 9, 100, N};
  for (size_t w = 0; w < 4; w++)
    for (size_t c = 0; c < 6; c++) {
      size_t bytes = widths[w], n = counts[c], k = n < K ? n : K;
      for (size_t i = 0; i < n * bytes; i++) codes[i] = (uint8_t)(test_bits(&rng) & test_bits(&rng));
      cpb_view base = cpb_rows(codes, CPB_U8, n, bytes), asked = base;
      asked.rows = n < QUERIES ? n : QUERIES;
      assert_int_equal(
          cpb_hamming_knn(base, asked, k, hits, c % 2 == 1 ? &backwards : cpb_pool_exec(pool), NULL), CPB_OK);
      for (size_t q = 0; q < asked.rows; q++) {
        for (size_t i = 0; i < n; i++) {
          all[i] = (entry){0, i};
          for (size_t j = 0; j < bytes; j++)
            all[i].distance += (unsigned)__builtin_popcount(codes[i * bytes + j] ^ codes[q * bytes + j]);
        }
        qsort(all, n, sizeof *all, nearer);
        for (size_t i = 0; i < k; i++) {
          assert_int_equal(hits[q * k + i].id, all[i].id);
          assert_true(hits[q * k + i].value == all[i].distance);
        }
      }
    }
  cpb_error error;
  cpb_view base = cpb_rows(codes, CPB_U8, 3, 8), other = cpb_rows(codes, CPB_U8, 1, 7);
  assert_int_equal(cpb_hamming_knn(base, other, 1, hits, NULL, &error), CPB_ESHAPE);
  assert_int_equal(cpb_hamming_knn(base, base, 4, hits, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_hamming_knn(base, base, 0, hits, NULL, &error), CPB_EINVAL);
  base.rows = 0;
  assert_int_equal(cpb_hamming_knn(base, other, 1, hits, NULL, &error), CPB_ESHAPE);
}

/* All rows as candidates: re-ranking is exact search, from the data and from their images. */
static void ranks_are_those_of_exact_search(void **state) {
  (void)state;
  enum { N = 300, D = 9, QUERIES = 20, K = 10 };
  test_rng rng = {148};
  double *x = gauss_rows(&rng, N, D, 5, 2), *q = gauss_rows(&rng, QUERIES, D, 5, 3), worst = 0;
  static cpb_hit candidates[QUERIES * N], exact[QUERIES * K], hits[QUERIES * K];
  static double images[N * (D + 1)];
  double center[D];
  for (size_t k = 0; k < D; k++) center[k] = 5;
  for (size_t i = 0; i < QUERIES * N; i++) candidates[i].id = i % N;
  for (size_t k = 0; k < D; k++) x[k] = 1e4; /* far in the south */
  cpb_view base = cpb_rows(x, CPB_F64, N, D), queries = cpb_rows(q, CPB_F64, QUERIES, D);
  cpb_store rows = cpb_store_from_view(base);
  cpb_rerank_options plain = {.size = sizeof plain, .k = K};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map;
  cpb_error error;
  options.d = D;
  options.s = 6;
  options.center = center;
  test_status((int)cpb_map_new(&options, &map, &error), CPB_OK, error.text);
  test_status((int)cpb_map_embed(map, base, cpb_rows_out(images, CPB_F64, N, D + 1), NULL, &error), CPB_OK,
              error.text);
  test_status((int)cpb_knn(base, queries, K, CPB_L2, exact, NULL, &error), CPB_OK, error.text);
  test_status((int)cpb_rerank_store(&rows, queries, candidates, N, &plain, hits, cpb_pool_exec(pool), &error),
              CPB_OK, error.text);
  for (size_t i = 0; i < QUERIES * K; i++)
    assert_true(hits[i].id == exact[i].id && hits[i].value == exact[i].value);
  cpb_store embedded = cpb_store_from_view(cpb_rows(images, CPB_F64, N, D + 1));
  cpb_rerank_options how = {.size = sizeof how, .k = K, .map = map};
  test_status(
      (int)cpb_rerank_store(&embedded, queries, candidates, N, &how, hits, cpb_pool_exec(pool), &error),
      CPB_OK, error.text);
  for (size_t i = 0; i < QUERIES * K; i++) {
    assert_int_equal(hits[i].id, exact[i].id);
    test_worst(&worst, fabs(hits[i].value / exact[i].value - 1) / U64);
  }
  law_holds("T13", "|x-q| from images", "f64", worst, 64);
  uint64_t kept = candidates[N + 17].id;
  candidates[N + 17].id = N;
  assert_int_equal(cpb_rerank_store(&rows, queries, candidates, N, &plain, hits, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_rerank_store(&rows, queries, candidates, 5, &plain, hits, NULL, &error), CPB_EINVAL);
  for (size_t other = 0; other < N; other += 16) {
    candidates[N + 17].id = candidates[N + other].id;
    test_status(
        (int)cpb_rerank_store(&rows, queries, candidates, N, &plain, hits, cpb_pool_exec(pool), &error),
        CPB_EINVAL, error.text);
    assert_int_equal(error.reason, CPB_WHY_ROW_TWICE);
    assert_string_equal(error.text, "query 1 has a candidate twice");
  }
  candidates[N + 17].id = kept;
  x[3 * D] = NAN;
  assert_int_equal(cpb_rerank_store(&rows, queries, candidates, N, &plain, hits, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 3);
  q[D] = INFINITY;
  assert_int_equal(cpb_rerank_store(&rows, queries, candidates, N, &plain, hits, NULL, &error), CPB_EROW);
  assert_int_equal(error.row, 1);
  cpb_map_free(map);
  free(x);
  free(q);
}

static void refused(cpb_view x, cpb_sketch_training training, const char *sentence) {
  cpb_sketch *sketch = NULL;
  cpb_error error;
  assert_int_equal(cpb_sketch_train(x, &training, &sketch, NULL, NULL, &error), CPB_EINVAL);
  assert_null(sketch);
  assert_string_equal(error.text, sentence);
}

static void edges(void **state) {
  (void)state;
  float x[8] = {1, 1, 1, 1, 2, 1, 1, NAN};
  cpb_view same = cpb_rows(x, CPB_F32, 4, 1);
  cpb_sketch_training training = training_for(NULL, 1);
  cpb_sketch *sketch = train(same, &training, NULL, NULL); /* repeated rows, d = 1 */
  cpb_sketch_free(sketch);
  cpb_error error;
  assert_int_equal(cpb_sketch_train(cpb_rows(x, CPB_F32, 8, 1), &training, &sketch, NULL, NULL, &error),
                   CPB_EROW);
  assert_int_equal(error.row, 7);
  refused(cpb_rows(x, CPB_F32, 1, 1), training, "a sketch is trained on at least 2 rows, got 1");
  training.bits = 12;
  refused(same, training, "bits must be a multiple of 8 in 8 .. 65536, got 12");
  training.bits = 8;
  training.bytes = 2;
  refused(same, training, "bytes must be in 3 .. 8192, got 2");
  training.bytes = 0;
  training.s = -1;
  refused(same, training, "scale s must be > 0 and finite, got -1");
  training.s = 1;
  training.form = CPB_FORM_SIGNS;
  refused(same, training, "signs need at least 8 columns, got 1");
  training.form = (cpb_sketch_form)9;
  assert_int_equal(cpb_sketch_train(same, &training, &sketch, NULL, NULL, &error), CPB_EINVAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(balls_are_caps),
                                     cmocka_unit_test(limits_are_right),
                                     cmocka_unit_test(dtypes_agree),
                                     cmocka_unit_test(same_bits_everywhere),
                                     cmocka_unit_test(hamming_search_is_exact),
                                     cmocka_unit_test(ranks_are_those_of_exact_search),
                                     cmocka_unit_test(edges)};
  if (cpb_pool_new(4, &pool, NULL) != CPB_OK) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpb_pool_free(pool);
  return failed;
}
