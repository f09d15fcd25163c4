/* Adversarial tests of proofs from files: rows of every precision in files of every wider one, converted on the
 * way, with seals that are valid, stale, missing or of another map, queried in any order; against distances in
 * long double. Nothing proven may be wrong, no result on rows of the map may wrongly be called exact, and the
 * right map is not rejected. CPB_ADVERSARY=N runs N times as many cases. */
#include "support/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "capball/advanced/candidates.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/flow.h"
#include "capball/advanced/seal.h"
#include "capball/capball.h"
#include "support/scratch.h"

enum { TRIALS = 72, MOST_N = 40, MOST_D = 6, QUERIES = 64 };

static size_t trials(void) {
  const char *times = getenv("CPB_ADVERSARY");
  return TRIALS * (times == NULL ? 1 : (size_t)strtoul(times, NULL, 10));
}

typedef enum seal_state { FITTING, SEALED_LATER, STALE, MISSING, FOREIGN, SEAL_STATES } seal_state;
static const char *const state_names[] = {"fitting", "sealed later", "stale", "missing", "foreign"};

typedef struct set {
  size_t n, d, k, C;
  double x[MOST_N * MOST_D], q[QUERIES * MOST_D], scale;
  cpb_transform *transform, *other;
  seal_state seal;
  bool ours; /* the rows in the file are images under the transform */
  char path[512];
  uint64_t ids[QUERIES * MOST_N];
} set;

static void ok(cpb_status status, const cpb_error *error) { test_status((int)status, CPB_OK, error->text); }

/* ---- data ---- */

static void fill_row(const set *t, test_rng *rng, size_t i, double near, double *x) {
  size_t twin = i > 0 ? test_below(rng, i) : 0, kind = test_below(rng, 8);
  for (size_t k = 0; k < t->d; k++) {
    double step = kind < 4 ? near : 1;
    x[k] = (kind < 4 && i > 0 ? t->x[twin * t->d + k] : 0) + step * test_gauss(rng);
    if (kind == 6) x[k] = 0;                                     /* the image of the centre */
    if (kind == 7) x[k] = k == i % t->d ? t->scale : 0;          /* an axis */
    if (kind == 5) x[k] = (double)test_below(rng, 2) * t->scale; /* images of few bits */
  }
}

static void fill(set *t, test_rng *rng) {
  double near = test_log_uniform(rng, 1e-6, 0.3);
  for (size_t i = 0; i < t->n; i++) fill_row(t, rng, i, near, t->x + i * t->d);
  for (size_t i = 0; i < QUERIES; i++) {
    const double *x = t->x + test_below(rng, t->n) * t->d;
    for (size_t k = 0; k < t->d; k++) t->q[i * t->d + k] = x[k] + near * test_gauss(rng);
  }
}

static cpb_transform *make_map(size_t d, double s) {
  cpb_map_options options;
  cpb_map *map;
  cpb_transform *transform;
  cpb_error error;
  cpb_map_options_init(&options, sizeof options);
  options.d = d;
  options.s = s;
  ok(cpb_map_new(&options, &map, &error), &error);
  ok(cpb_transform_of_map(map, &transform, &error), &error);
  cpb_map_free(map);
  return transform;
}

/* ---- files ---- */

static const char *any_file(test_rng *rng, const char *stem, char path[512]) {
  static const char *const endings[] = {"npy", "csv", "tsv", "libsvm"};
  char name[32];
  snprintf(name, sizeof name, "%s.%s", stem, endings[test_below(rng, 4)]);
  snprintf(path, 512, "%s", scratch_path(name));
  return path;
}

static size_t width(cpb_dtype dtype) { return cpb_dtype_size(dtype); }

static cpb_dtype any_as_wide(test_rng *rng, cpb_dtype dtype) {
  static const cpb_dtype floats[] = {CPB_F16, CPB_F32, CPB_F64};
  cpb_dtype drawn;
  do drawn = floats[test_below(rng, 3)];
  while (width(drawn) < width(dtype));
  return drawn;
}

static cpb_status apply(const void *arg, cpb_view in, cpb_out out, const cpb_exec *exec, cpb_error *error) {
  return cpb_transform_apply(arg, CPB_ROLE_BASE, in, out, exec, error);
}

/* As `capball embed` does, with or without a seal. */
static void embed(const set *t, const cpb_transform *by, const char *path, cpb_dtype dtype, bool sealed) {
  cpb_flow_options flow;
  cpb_writer_options to;
  cpb_writer_options data;
  cpb_writer *writer;
  cpb_reader *reader;
  cpb_seal *seal = NULL;
  cpb_error error;
  char base[512];
  snprintf(base, sizeof base, "%s", scratch_path("base.npy"));
  cpb_writer_options_init(&data, sizeof data);
  data.dtype = CPB_F64;
  data.cols = t->d;
  data.rows = t->n;
  ok(cpb_writer_open(base, &data, &writer, &error), &error);
  ok(cpb_writer_append(writer, cpb_rows(t->x, CPB_F64, t->n, t->d), &error), &error);
  ok(cpb_writer_commit(writer, &error), &error);
  cpb_writer_free(writer);
  cpb_flow_options_init(&flow, sizeof flow);
  cpb_writer_options_init(&to, sizeof to);
  flow.transform = apply;
  flow.arg = by;
  flow.cols = t->d + 1;
  to.dtype = dtype;
  if (sealed) ok(cpb_seal_new(by, CPB_ROLE_BASE, 0, &seal, &error), &error);
  to.seal = seal;
  ok(cpb_reader_open(base, NULL, &reader, &error), &error);
  ok(cpb_flow_run(reader, &flow, path, &to, NULL, NULL, &error), &error);
  cpb_reader_free(reader);
  cpb_seal_free(seal);
}

/* Into another file of an equally wide type, without a seal. */
static void convert(const char *from, const char *path, cpb_dtype dtype) {
  cpb_flow_options flow;
  cpb_writer_options to;
  cpb_reader *reader;
  cpb_error error;
  cpb_flow_options_init(&flow, sizeof flow);
  cpb_writer_options_init(&to, sizeof to);
  to.dtype = dtype;
  ok(cpb_reader_open(from, NULL, &reader, &error), &error);
  ok(cpb_flow_run(reader, &flow, path, &to, NULL, NULL, &error), &error);
  cpb_reader_free(reader);
}

/* Embedded in some precision, after up to two conversions. */
static void make_rows(const set *t, test_rng *rng, const cpb_transform *by, char path[512]) {
  static const cpb_dtype floats[] = {CPB_F16, CPB_F32, CPB_F64};
  static const char *const stems[] = {"a", "b", "c"};
  cpb_dtype dtype = floats[test_below(rng, 3)];
  size_t steps = test_below(rng, 3);
  embed(t, by, any_file(rng, stems[0], path), dtype, false);
  for (size_t step = 0; step < steps; step++) {
    char before[512];
    snprintf(before, sizeof before, "%s", path);
    dtype = any_as_wide(rng, dtype);
    convert(before, any_file(rng, stems[step + 1], path), dtype);
  }
}

static void seal_later(const set *t, const cpb_transform *by, const char *path) {
  cpb_reader *reader;
  cpb_seal_watch *watch;
  cpb_dtype precision;
  cpb_error error;
  cpb_source base = cpb_source_from_view(cpb_rows(t->x, CPB_F64, t->n, t->d));
  ok(cpb_reader_open(path, NULL, &reader, &error), &error);
  cpb_source rows = cpb_reader_source(reader, false);
  ok(cpb_seal_watch_new(&rows, &watch, &error), &error);
  ok(cpb_transform_verify(by, &base, cpb_seal_watch_source(watch), &precision, NULL, &error), &error);
  ok(cpb_seal_put(path, by, CPB_ROLE_BASE, 0, precision, watch, &error), &error);
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
}

/* Rows in another precision, of another map or in another order, under the seal of the rows that were there
 * before. */
static void make_stale(set *t, test_rng *rng) {
  char seal[520], fresh[512];
  size_t count;
  cpb_error error;
  embed(t, t->transform, any_file(rng, "stale", t->path), any_as_wide(rng, CPB_F32), true);
  snprintf(seal, sizeof seal, "%s.capball", t->path);
  char *text = scratch_read(seal, &count);
  t->ours = test_below(rng, 2) == 0;
  make_rows(t, rng, t->ours ? t->transform : t->other, fresh);
  convert(fresh, t->path, CPB_F64);
  ok(cpb_write_whole(seal, text, count, &error), &error);
  free(text);
}

static void make_file(set *t, test_rng *rng) {
  static const cpb_dtype floats[] = {CPB_F16, CPB_F32, CPB_F64};
  t->ours = t->seal != FOREIGN && (t->seal != MISSING || test_below(rng, 4) > 0);
  const cpb_transform *by = t->ours ? t->transform : t->other;
  if (t->seal == STALE)
    make_stale(t, rng);
  else if (t->seal == FITTING || t->seal == FOREIGN)
    embed(t, by, any_file(rng, "rows", t->path), floats[test_below(rng, 3)], true);
  else
    make_rows(t, rng, by, t->path);
  if (t->seal == SEALED_LATER) seal_later(t, by, t->path);
}

/* ---- an engine over the rows of the file ---- */

static void ask_engine(set *t, test_rng *rng) {
  cpb_reader *reader;
  cpb_view rows;
  cpb_error error;
  double y[MOST_N * (MOST_D + 1)], p[QUERIES * (MOST_D + 1)], score[MOST_N];
  ok(cpb_reader_open(t->path, NULL, &reader, &error), &error);
  cpb_source source = cpb_reader_source(reader, false);
  ok(cpb_source_hold(&source, &rows, NULL, &error), &error);
  assert_true(rows.rows == t->n && rows.cols == t->d + 1);
  cpb_view_widen(rows, y);
  ok(cpb_transform_apply(t->transform, CPB_ROLE_QUERY, cpb_rows(t->q, CPB_F64, QUERIES, t->d),
                         cpb_rows_out(p, CPB_F64, QUERIES, t->d + 1), NULL, &error),
     &error);
  bool skips = test_below(rng, 3) == 0; /* candidates of an engine that misses some */
  for (size_t query = 0; query < QUERIES; query++) {
    size_t count = 0;
    uint64_t best[MOST_N];
    for (size_t i = 0; i < t->n; i++) {
      double s = 0;
      for (size_t k = 0; k <= t->d; k++) s += p[query * (t->d + 1) + k] * y[i * (t->d + 1) + k];
      size_t at = count++;
      for (; at > 0 && score[at - 1] < s; at--) {
        score[at] = score[at - 1];
        best[at] = best[at - 1];
      }
      score[at] = s;
      best[at] = i;
    }
    size_t left_out = skips ? test_below(rng, t->C + 1) : t->n;
    for (size_t i = 0; i < t->C; i++) t->ids[query * t->C + i] = best[i + (i >= left_out)];
  }
  cpb_free((void *)(uintptr_t)rows.data);
  cpb_reader_free(reader);
}

/* ---- what `capball rescore --certificates` does ---- */

typedef struct answer {
  bool refused, checked; /* rejected by its seal; the seal is valid */
  uint64_t needed[QUERIES];
  cpb_hit hits[QUERIES * MOST_N];
} answer;

static cpb_status rescore(const set *t, const double *q, const uint64_t *ids, const cpb_store *store,
                          cpb_source *all, int precision, answer *a, cpb_error *error) {
  cpb_rescore_options options;
  cpb_rescore_options_init(&options, sizeof options);
  options.k = t->k;
  options.all = all;
  options.precision = precision;
  return cpb_transform_rescore(t->transform, cpb_rows(q, CPB_F64, QUERIES, t->d), (cpb_candidates){ids, t->C},
                               store, &options, &(cpb_rescore_out){a->hits, a->needed}, NULL, error);
}

static cpb_status answer_held(const set *t, const double *q, const uint64_t *ids, cpb_view rows,
                              const cpb_seal_facts *seal, answer *a, cpb_error *error) {
  cpb_source all = cpb_source_from_view(rows);
  cpb_store store = cpb_store_from_view(rows);
  cpb_seal_watch *watch;
  cpb_status status = CPB_EINVAL;
  ok(cpb_seal_watch_new(&all, &watch, error), error);
  bool foreign = seal->found && cpb_seal_compare(seal, t->path, t->transform, CPB_ROLE_BASE, error) != CPB_OK;
  if (foreign) ok(cpb_seal_watch_all(watch, error), error);
  a->refused = foreign && cpb_seal_watch_fits(watch, seal);
  if (seal->found && !foreign) {
    status = rescore(t, q, ids, &store, cpb_seal_watch_source(watch), (int)seal->precision, a, error);
    a->checked = status == CPB_OK && cpb_seal_watch_fits(watch, seal);
  }
  if (!a->checked && !a->refused) status = rescore(t, q, ids, &store, &all, CPB_PRECISION_UNKNOWN, a, error);
  cpb_seal_watch_free(watch);
  return status;
}

static cpb_status answer_file(const set *t, const double *q, const uint64_t *ids, answer *a,
                              cpb_error *error) {
  cpb_reader *reader;
  cpb_seal_facts seal = {.size = sizeof seal};
  cpb_view rows;
  *a = (answer){0};
  ok(cpb_reader_open(t->path, NULL, &reader, error), error);
  ok(cpb_seal_read(reader, &seal, error), error);
  cpb_source source = cpb_reader_source(reader, false);
  ok(cpb_source_hold(&source, &rows, NULL, error), error);
  cpb_status status = answer_held(t, q, ids, rows, &seal, a, error);
  cpb_free((void *)(uintptr_t)rows.data);
  cpb_reader_free(reader);
  return status;
}

/* ---- the truth ---- */

static long double distance(const set *t, size_t query, size_t row) {
  long double sum = 0;
  for (size_t k = 0; k < t->d; k++) {
    long double gap = (long double)t->x[row * t->d + k] - (long double)t->q[query * t->d + k];
    sum += gap * gap;
  }
  return sqrtl(sum);
}

static int ascending(const void *left, const void *right) {
  long double a = *(const long double *)left, b = *(const long double *)right;
  return (a > b) - (a < b);
}

/* Whether a row that was left out is nearer than the k-th of the candidates. */
static bool misses(const set *t, size_t query) {
  long double of[MOST_N];
  bool is_candidate[MOST_N] = {false};
  for (size_t i = 0; i < t->C; i++) {
    is_candidate[t->ids[query * t->C + i]] = true;
    of[i] = distance(t, query, t->ids[query * t->C + i]);
  }
  qsort(of, t->C, sizeof *of, ascending);
  for (size_t row = 0; row < t->n; row++)
    if (!is_candidate[row] && distance(t, query, row) < of[t->k - 1] * (1 - 1e-17L)) return true;
  return false;
}

typedef struct counts {
  size_t verdicts, proven, exact_if_rows, refused;
} counts;

static void judge(const set *t, const answer *a, size_t trial, counts *of) {
  of->verdicts += QUERIES;
  of->refused += a->refused ? QUERIES : 0;
  if (a->refused && t->ours) fail_msg("trial %zu, %s: the right map is refused", trial, state_names[t->seal]);
  if (a->checked && !t->ours)
    fail_msg("trial %zu, %s: rows of another map are believed", trial, state_names[t->seal]);
  for (size_t query = 0; query < QUERIES && !a->refused && t->ours; query++) {
    if (a->needed[query] != 0) continue;
    *(a->checked ? &of->proven : &of->exact_if_rows) += 1;
    if (misses(t, query))
      fail_msg("trial %zu, %s, query %zu: a nearer row was left out", trial, state_names[t->seal], query);
  }
}

/* The same queries in reverse order. */
static void judge_order(const set *t, const answer *a, size_t trial, counts *of) {
  double q[QUERIES * MOST_D];
  uint64_t ids[QUERIES * MOST_N];
  cpb_error error;
  answer again;
  for (size_t i = 0; i < QUERIES; i++) {
    memcpy(q + i * t->d, t->q + (QUERIES - 1 - i) * t->d, t->d * sizeof *q);
    memcpy(ids + i * t->C, t->ids + (QUERIES - 1 - i) * t->C, t->C * sizeof *ids);
  }
  cpb_status status = answer_file(t, q, ids, &again, &error);
  if (again.refused != a->refused || again.checked != a->checked)
    fail_msg("trial %zu: the order of the queries is seen", trial);
  if (again.refused || status != CPB_OK) return;
  of->verdicts += QUERIES;
  for (size_t i = 0; i < QUERIES; i++)
    if (again.needed[i] != a->needed[QUERIES - 1 - i])
      fail_msg("trial %zu: the order of the queries is seen", trial);
}

static void begin(set *t, test_rng *rng) {
  *t = (set){.n = 8 + test_below(rng, MOST_N - 7),
             .d = 1 + test_below(rng, MOST_D),
             .seal = (seal_state)test_below(rng, SEAL_STATES)};
  t->k = 1 + test_below(rng, 3);
  t->C = t->k + test_below(rng, t->n - t->k - 1);
  t->scale = test_below(rng, 2) ? 1 : test_log_uniform(rng, 0.1, 10);
  t->transform = make_map(t->d, t->scale);
  t->other = make_map(t->d, t->scale * test_log_uniform(rng, 1.01, 3));
  fill(t, rng);
  make_file(t, rng);
  ask_engine(t, rng);
}

static void no_proof_is_wrong(void **state) {
  (void)state;
  test_rng rng = {3011};
  counts of[SEAL_STATES] = {{0}};
  size_t verdicts = 0;
  for (size_t trial = 0; trial < trials(); trial++) {
    static set t;
    static answer a;
    cpb_error error;
    begin(&t, &rng);
    cpb_status status = answer_file(&t, t.q, t.ids, &a, &error);
    if (t.ours && !a.refused) ok(status, &error);
    if (status == CPB_OK || a.refused) judge(&t, &a, trial, &of[t.seal]);
    if (status == CPB_OK && !a.refused) judge_order(&t, &a, trial, &of[t.seal]);
    cpb_transform_free(t.transform);
    cpb_transform_free(t.other);
  }
  for (size_t i = 0; i < SEAL_STATES; i++) {
    verdicts += of[i].verdicts;
    print_message(
        "# %s: %zu verdicts, %zu proven, %zu exact if the rows are the map's, %zu refused, none wrong\n",
        state_names[i], of[i].verdicts, of[i].proven, of[i].exact_if_rows, of[i].refused);
  }
  print_message("# %zu verdicts\n", verdicts);
  assert_true(of[FITTING].proven > of[FITTING].verdicts / 50 && of[SEALED_LATER].proven > 0);
  assert_true(of[MISSING].exact_if_rows > 0 && of[STALE].exact_if_rows > 0 && of[FOREIGN].refused > 0);
  assert_true(of[MISSING].proven == 0 && of[FOREIGN].proven == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_proof_is_wrong)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
