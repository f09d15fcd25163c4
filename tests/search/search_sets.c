/* T13 on real data: range search by one inner product per row equals the Euclidean one, and certificates are never
 * wrong. Uses a part of each set; `search_sets full [SET]` uses all rows, 1000 queries and more scales:
 * bench/bench_caps.sh. */
#include <stdbool.h>

#include "capball/capball.h"
#include "capball/advanced/candidates.h"
#include "capball/advanced/feed.h"
#include "engine/t13_certificate.h"
#include "engine/t13_query.h"
#include "support/check.h"
#include "sphere/embedded_distance.h"

enum { MOST_K = 100, MOST_C = 400 };
static const size_t ks[] = {1, 10, MOST_K};

typedef struct set {
  const char *name;
  bool ranges; /* range search is checked, too */
} set;

static const set sets[] = {
    {"fashion-mnist-784-euclidean", true},  {"sift-bsds-128-euclidean", true},
    {"bigann10k-sift-128-euclidean", true}, {"glove-100-angular", true},
    {"movies-mf-16-angular", true},         {"mnist-784-euclidean", false},
    {"lastfm-65-angular", false},           {"reuters-256-angular", false},
    {"moons-2-euclidean", false},           {"blobs-16-euclidean", false},
};
enum { SETS = sizeof sets / sizeof *sets };

static bool full;

/* One set with what all scales share. */
typedef struct table {
  cpb_view base, queries;
  size_t n, d;
  double *center, mean_norm, *norms;
  cpb_hit *nearest; /* queries x (MOST_K+1) */
} table;

static void *room(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  assert_non_null(memory);
  return memory;
}

/* The first rows of a file; data NULL when there is no such file. */
static cpb_view load(const char *name, const char *file, size_t most) {
  char path[256];
  cpb_reader *reader;
  cpb_error error;
  cpb_view block, rows = {0};
  snprintf(path, sizeof path, "../shared/data/%s/%s.npy", name, file);
  if (cpb_reader_open(path, NULL, &reader, &error) != CPB_OK) return rows;
  test_status((int)cpb_reader_next(reader, most, &block, &error), CPB_OK, error.text);
  size_t bytes = block.rows * block.cols * cpb_dtype_size(block.dtype);
  assert_int_equal(block.stride, block.cols);
  rows = cpb_rows(memcpy(room(bytes, 1), block.data, bytes), block.dtype, block.rows, block.cols);
  cpb_reader_free(reader);
  return rows;
}

static double number_at(cpb_view view, size_t row, size_t column) {
  size_t i = row * view.stride + column;
  switch (view.dtype) {
  case CPB_F32: return (double)((const float *)view.data)[i];
  case CPB_F64: return ((const double *)view.data)[i];
  case CPB_U8: return ((const uint8_t *)view.data)[i];
  default: fail_msg("unexpected dtype"); return 0;
  }
}

static double true_distance(const table *t, size_t row, size_t query) {
  double sum = 0;
  for (size_t k = 0; k < t->d; k++) {
    double difference = number_at(t->base, row, k) - number_at(t->queries, query, k);
    sum += difference * difference;
  }
  return sqrt(sum);
}

static cpb_map *map_at(const table *t, double s) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map;
  options.d = t->d;
  options.s = s;
  options.center = t->center;
  test_status((int)cpb_map_new(&options, &map, NULL), CPB_OK, "");
  return map;
}

static bool table_load(table *t, const char *name) {
  t->base = load(name, "base", full ? SIZE_MAX : 900);
  t->queries = load(name, "queries", full ? 1000 : 4);
  if (t->base.data == NULL || t->queries.data == NULL) return false;
  t->n = t->queries.rows;
  t->d = t->base.cols;
  t->center = room(t->d, sizeof(double));
  for (size_t i = 0; i < t->base.rows; i++)
    for (size_t k = 0; k < t->d; k++) t->center[k] += number_at(t->base, i, k) / (double)t->base.rows;
  cpb_map *map = map_at(t, 1);
  double *norms = room(t->base.rows, sizeof *norms);
  test_status((int)cpb_query_norms(map, t->base, norms, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < t->base.rows; i++) t->mean_norm += norms[i] / (double)t->base.rows;
  free(norms);
  t->norms = room(t->n, sizeof *t->norms);
  test_status((int)cpb_query_norms(map, t->queries, t->norms, NULL, NULL), CPB_OK, "");
  cpb_map_free(map);
  t->nearest = room(t->n * (MOST_K + 1), sizeof *t->nearest);
  cpb_error error;
  test_status((int)cpb_knn(t->base, t->queries, MOST_K + 1, CPB_L2, t->nearest, NULL, &error), CPB_OK,
              error.text);
  return true;
}

static void table_free(table *t) {
  free((void *)(uintptr_t)t->base.data);
  free((void *)(uintptr_t)t->queries.data);
  free(t->center);
  free(t->norms);
  free(t->nearest);
}

static cpb_view embed(const table *t, const cpb_map *map, cpb_dtype dtype) {
  void *rows = room(t->base.rows * (t->d + 1), cpb_dtype_size(dtype));
  test_status((int)cpb_map_embed(map, t->base, cpb_rows_out(rows, dtype, t->base.rows, t->d + 1), NULL, NULL),
              CPB_OK, "");
  return cpb_rows(rows, dtype, t->base.rows, t->d + 1);
}

static void ask(const table *t, const cpb_map *map, const double *radii, double *p, double *b) {
  cpb_error error = {.text = ""};
  test_status((int)cpb_query_caps(map, t->queries, radii, cpb_rows_out(p, CPB_F64, t->n, t->d + 1), b, NULL,
                                  NULL, &error),
              CPB_OK, error.text);
}

/* ---- range search ---- */

/* A radius half way between neighbour `rank` and the next one that is farther; false: there is none. */
static bool radius_between(const cpb_hit *nearest, size_t rank, double *radius, size_t *inside) {
  for (size_t i = rank; i <= MOST_K; i++) {
    double before = nearest[i - 1].value, after = nearest[i].value;
    if (!(after > before * (1 + 1e-12))) continue;
    *radius = before + (after - before) / 2;
    *inside = i;
    return true;
  }
  return false;
}

/* How many rows the caps and the balls disagree on, and how far from b their scores are: a ball that is small
 * against s has neighbours that no double can separate. */
typedef struct difference {
  size_t rows;
  double farthest;
} difference;

static void compare(const table *t, size_t query, const cpb_hit *hits, size_t count, size_t inside,
                    const double *p, double b, cpb_view exact, bool *seen, difference *found) {
  const cpb_hit *nearest = t->nearest + query * (MOST_K + 1);
  for (size_t i = 0; i < count; i++) seen[hits[i].id] ^= true;
  for (size_t i = 0; i < inside; i++) seen[nearest[i].id] ^= true;
  for (size_t row = 0; row < t->base.rows; row++) {
    if (!seen[row]) continue;
    seen[row] = false;
    long double score = 0;
    for (size_t k = 0; k <= t->d; k++) score += (long double)p[k] * (long double)number_at(exact, row, k);
    found->rows++;
    test_worst(&found->farthest, fabs((double)(score - (long double)b)));
  }
}

/* With rows of double the complete cap (T3) decides correctly where a product and a threshold no longer can. */
static void chords_decide(const table *t, const cpb_map *map, cpb_view f64, size_t query, double radius,
                          size_t inside) {
  double *q = room(t->d, sizeof *q), *p = room(t->d + 1, sizeof *p);
  cpb_region ball = {.kind = CPB_BALL, .d = t->d, .c = q, .r = radius};
  cpb_cap cap = {.d = t->d, .p = p};
  for (size_t k = 0; k < t->d; k++) q[k] = number_at(t->queries, query, k);
  test_status((int)cpb_map_cap(map, &ball, &cap, NULL), CPB_OK, "");
  for (size_t i = 0; i <= MOST_K; i++) {
    size_t row = (size_t)t->nearest[query * (MOST_K + 1) + i].id;
    const double *y = (const double *)f64.data + row * (t->d + 1);
    double score;
    test_status((int)cpb_cap_scores(&cap, cpb_rows(y, CPB_F64, 1, t->d + 1),
                                    cpb_rows_out(&score, CPB_F64, 1, 1), NULL, NULL),
                CPB_OK, "");
    assert_true((score >= 0) == (i < inside));
  }
  free(q);
  free(p);
}

static difference ranges_at(const table *t, const cpb_map *map, cpb_view rows, cpb_view exact, size_t rank) {
  double *radii = room(t->n, sizeof *radii), *b = room(t->n, sizeof *b);
  double *p = room(t->n * (t->d + 1), sizeof *p);
  size_t *inside = room(t->n, sizeof *inside);
  bool *seen = room(t->base.rows, sizeof *seen);
  for (size_t i = 0; i < t->n; i++)
    if (!radius_between(t->nearest + i * (MOST_K + 1), rank, &radii[i], &inside[i])) radii[i] = 0;
  ask(t, map, radii, p, b);
  for (size_t i = 0; i < t->n; i++)
    if (radii[i] == 0) b[i] = 2; /* no query */
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  cpb_search *search;
  difference found = {0, 0};
  options.metric = CPB_IP;
  options.limits = b;
  test_status((int)cpb_search_new(cpb_rows(p, CPB_F64, t->n, t->d + 1), &options, &search, NULL), CPB_OK, "");
  test_status((int)cpb_search_feed(search, rows, 0, NULL, NULL), CPB_OK, "");
  for (size_t i = 0; i < t->n; i++) {
    const cpb_hit *hits;
    size_t count;
    test_status((int)cpb_search_hits(search, i, &hits, &count, NULL), CPB_OK, "");
    if (radii[i] == 0) continue;
    compare(t, i, hits, count, inside[i], p + i * (t->d + 1), b[i], exact, seen, &found);
    if (rows.dtype == CPB_F64) chords_decide(t, map, exact, i, radii[i], inside[i]);
  }
  cpb_search_free(search);
  free(radii);
  free(b);
  free(p);
  free(inside);
  free(seen);
  return found;
}

static void judge_ranges(const table *t, const char *name) {
  static const size_t ranks[] = {1, 2, 5, 10, 20, 50, MOST_K};
  cpb_map *map = map_at(t, t->mean_norm);
  cpb_view f64 = embed(t, map, CPB_F64), f32 = embed(t, map, CPB_F32);
  difference all64 = {0, 0}, all32 = {0, 0};
  for (size_t i = 0; i < 7; i++) {
    difference in64 = ranges_at(t, map, f64, f64, ranks[i]), in32 = ranges_at(t, map, f32, f64, ranks[i]);
    all64.rows += in64.rows;
    all32.rows += in32.rows;
    test_worst(&all64.farthest, in64.farthest);
    test_worst(&all32.farthest, in32.farthest);
  }
  print_message("# %-30s ranges of %zu queries at 7 radii: %zu rows differ with f64, %zu with f32\n", name,
                t->n, all64.rows, all32.rows);
  law_holds("T13", "rows on the wrong side of a cap, from its edge", "f64", all64.farthest / U64, 8);
  law_holds("T13", "rows on the wrong side of a cap, from its edge", "f32", all32.farthest / U32, 4);
  free((void *)(uintptr_t)f64.data);
  free((void *)(uintptr_t)f32.data);
  cpb_map_free(map);
}

/* ---- certificates ---- */

typedef struct proofs {
  size_t asked, proven, lies;
} proofs;

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The k nearest are among the first C candidates, except for ties and what the rows cannot resolve. */
static bool is_true(const table *t, size_t query, size_t k, const cpb_hit *hits, const double *distances,
                    size_t C, double D, double slack) {
  const cpb_hit *nearest = t->nearest + query * (MOST_K + 1);
  double limit = nearest[k - 1].value;
  for (size_t i = 0; i < k; i++) {
    bool found = !(nearest[i].value < limit * (1 - 1e-12));
    for (size_t j = 0; j < C && !found; j++) found = hits[j].id == nearest[i].id;
    if (!found) return false;
  }
  for (size_t j = 0; j < C; j++)
    if (distances[j] <= D && true_distance(t, (size_t)hits[j].id, query) > limit + slack) return false;
  return true;
}

static void judge_query(const table *t, const cpb_map *map, size_t query, size_t k, double r,
                        const cpb_hit *hits, size_t most, cpb_view rows, proofs *all) {
  double distances[MOST_C], sorted[MOST_C];
  cpb_map_options made_from = {.size = sizeof made_from};
  cpb_map_describe(map, &made_from);
  double s = made_from.s, norm = t->norms[query];
  double row_error = cpb_query_row_error(map, rows.dtype), score_error = 1e-13;
  size_t bytes = rows.cols * cpb_dtype_size(rows.dtype);
  cpb_view asked = t->queries;
  asked.data = (const char *)asked.data + query * asked.stride * cpb_dtype_size(asked.dtype);
  asked.rows = 1;
  char *found = room(most, bytes);
  for (size_t i = 0; i < most; i++)
    memcpy(found + i * bytes, (const char *)rows.data + hits[i].id * bytes, bytes);
  cpb_view candidates = cpb_rows(found, rows.dtype, most, rows.cols);
  test_status((int)cpb_query_distances(map, asked, candidates, distances, NULL), CPB_OK, "");
  for (size_t C = k; C <= most; C *= 2) {
    memcpy(sorted, distances, C * sizeof *sorted);
    qsort(sorted, C, sizeof *sorted, ascending);
    double D = sorted[k - 1], slack = 16 * row_error * (pow(norm + D, 2) + s * s) / s;
    all->asked++;
    if (!(hits[C - 1].value < cpb_query_floor(map, norm, r, D, row_error, score_error))) continue;
    all->proven++;
    all->lies += !is_true(t, query, k, hits, distances, C, D, slack);
  }
  free(found);
}

static double usual_radius(const table *t, size_t k) {
  double *kth = room(t->n, sizeof *kth);
  for (size_t i = 0; i < t->n; i++) kth[i] = t->nearest[i * (MOST_K + 1) + k - 1].value;
  qsort(kth, t->n, sizeof *kth, ascending);
  double median = kth[(t->n - 1) / 2];
  free(kth);
  return median;
}

static void judge_scale(const table *t, double s, cpb_dtype dtype, proofs *all) {
  cpb_map *map = map_at(t, s);
  cpb_view rows = embed(t, map, dtype);
  double *radii = room(t->n, sizeof *radii), *p = room(t->n * (t->d + 1), sizeof *p);
  size_t most = t->base.rows < MOST_C ? t->base.rows : MOST_C;
  cpb_hit *hits = room(t->n * most, sizeof *hits);
  for (size_t kind = 0; kind < 4; kind++) { /* a point query, and a ball for each k */
    double r = kind == 0 ? 0 : usual_radius(t, ks[kind - 1]);
    for (size_t i = 0; i < t->n; i++) radii[i] = r;
    ask(t, map, radii, p, NULL);
    test_status((int)cpb_knn(rows, cpb_rows(p, CPB_F64, t->n, t->d + 1), most, CPB_IP, hits, NULL, NULL),
                CPB_OK, "");
    for (size_t i = 0; i < t->n; i++)
      for (size_t k = 0; k < 3; k++)
        if (kind == 0 || kind == k + 1)
          judge_query(t, map, i, ks[k], r, hits + i * most, most, rows, &all[kind == 0 ? 0 : 1]);
  }
  free((void *)(uintptr_t)rows.data);
  free(radii);
  free(p);
  free(hits);
  cpb_map_free(map);
}

static size_t judge_certificates(const table *t, const char *name) {
  static const double factors[] = {0.5, 32, 2, 1, 4, 8, 16};
  size_t proven = 0;
  for (size_t i = 0; i < (full ? 7 : 3); i++) {
    proofs all[2] = {{0, 0, 0}, {0, 0, 0}};
    judge_scale(t, factors[i] * t->mean_norm, CPB_F32, all);
    if (!full && i < 2) judge_scale(t, factors[i] * t->mean_norm, CPB_F64, all);
    print_message("# %-30s s = %4g mean norms: proven %zu of %zu by points, %zu of %zu by balls\n", name,
                  factors[i], all[0].proven, all[0].asked, all[1].proven, all[1].asked);
    assert_int_equal(all[0].lies + all[1].lies, 0);
    proven += all[0].proven + all[1].proven;
  }
  return proven;
}

static void one_set(void **state) {
  const set *which = *state;
  table t = {0};
  if (!table_load(&t, which->name)) {
    print_message("# ../shared/data/%s is not here\n", which->name);
    skip();
  }
  if (which->ranges) judge_ranges(&t, which->name);
  assert_true(judge_certificates(&t, which->name) > 0);
  table_free(&t);
}

int main(int count, char **words) {
  struct CMUnitTest tests[SETS];
  size_t chosen = 0;
  full = count > 1 && strcmp(words[1], "full") == 0;
  for (size_t i = 0; i < SETS; i++)
    if (count < 3 || strcmp(words[2], sets[i].name) == 0)
      tests[chosen++] = (struct CMUnitTest){sets[i].name, one_set, NULL, NULL, (void *)(uintptr_t)&sets[i]};
  return _cmocka_run_group_tests("search_sets", tests, chosen, NULL, NULL);
}
