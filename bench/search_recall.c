/* Recall of Euclidean search on a cosine-only index: every transform, index and query form that `capball recommend`
 * measures, compared with a full evaluation by exact search over all rows. From the project's root:
 *   build/bench/search_recall [quick]     quick: the two smallest sets, no page
 * Writes docs/explanation/search.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/capball.h"
#include "capball/advanced/laws.h"
#include "capball/advanced/statistics.h"
#include "files/reader.h"
#include "show/recommend_text.h"
#include "support/timing.h"

enum { K = 10 };

static const char *const sets[] = {"moons-2-euclidean",           "bigann10k-sift-128-euclidean",
                                   "blobs-16-euclidean",          "sift-bsds-128-euclidean",
                                   "fashion-mnist-784-euclidean", "mnist-784-euclidean",
                                   "glove-100-angular",           "lastfm-65-angular",
                                   "movies-mf-16-angular",        "reuters-256-angular"};
enum { SETS = sizeof sets / sizeof *sets, QUICK = 2 };

static void must(cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return;
  fprintf(stderr, "search_recall: %s\n", error->text);
  exit(1);
}

/* Rows without an image become zeros (zero_refused). */
static void must_but_rows(cpb_status status, const cpb_error *error) {
  if (status != CPB_EROW) must(status, error);
}

static void *memory(size_t count, size_t size) {
  void *got = calloc(count, size);
  if (got == NULL) exit(1);
  return got;
}

static cpb_view read_rows(const char *set, const char *file) {
  char path[256];
  cpb_reader *reader;
  cpb_error error;
  cpb_view rows;
  snprintf(path, sizeof path, "../shared/data/%s/%s", set, file);
  must(cpb_reader_open(path, NULL, &reader, &error), &error);
  cpb_file_info info = cpb_reader_info(reader);
  void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(reader, (size_t)info.rows) + 63) / 64 * 64);
  if (buffer == NULL) exit(1);
  must(cpb_reader_at(reader, 0, (size_t)info.rows, buffer, &rows, &error), &error);
  cpb_reader_free(reader);
  return rows;
}

/* ---- the full evaluation ---- */

typedef struct experiment {
  const char *name;
  cpb_view base, queries;
  const cpb_exec *exec;
  double *mean, norm_max;
  double *kth;   /* per query */
  double *x, *q; /* all rows and queries as doubles */
} experiment;

static double *as_doubles(cpb_view rows) {
  double *to = memory(rows.rows * rows.cols, sizeof *to);
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  cpb_transform *copy;
  cpb_error error;
  options.d = rows.cols;
  must(cpb_transform_new(&options, &copy, &error), &error);
  must(cpb_transform_apply(copy, CPB_ROLE_BASE, rows, cpb_rows_out(to, CPB_F64, rows.rows, rows.cols), NULL,
                           &error),
       &error);
  cpb_transform_free(copy);
  return to;
}

static double distance(const double *a, const double *b, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum);
}

/* The fraction of the true k nearest among the k best by inner product; ties with the k-th count as found. */
static double full_recall(const experiment *e, const float *y, const float *p, size_t cols) {
  size_t queries = e->queries.rows, d = e->base.cols, found = 0;
  cpb_hit *hits = memory(queries * K, sizeof *hits);
  cpb_error error;
  must(cpb_knn(cpb_rows(y, CPB_F32, e->base.rows, cols), cpb_rows(p, CPB_F32, queries, cols), K, CPB_IP, hits,
               e->exec, &error),
       &error);
  for (size_t i = 0; i < queries * K; i++)
    found += distance(e->x + hits[i].id * d, e->q + i / K * d, d) <= e->kth[i / K] * (1 + 1e-14);
  free(hits);
  return (double)found / (double)(queries * K);
}

static void zero_refused(float *y, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++)
    if (isnan(y[i * cols])) memset(y + i * cols, 0, cols * sizeof *y);
}

static size_t transform(const experiment *e, cpb_transform_kind kind, float *y, float *p) {
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = kind == CPB_TRANSFORM_NONE ? CPB_TRANSFORM_NORMALIZE : kind; /* by cosine */
  options.d = e->base.cols;
  options.center = kind == CPB_TRANSFORM_NONE ? NULL : e->mean;
  options.max_norm = e->norm_max;
  cpb_transform *made;
  cpb_error error;
  must(cpb_transform_new(&options, &made, &error), &error);
  size_t cols = cpb_transform_cols(made);
  must_but_rows(cpb_transform_apply(made, CPB_ROLE_BASE, e->base,
                                    cpb_rows_out(y, CPB_F32, e->base.rows, cols), e->exec, &error),
                &error);
  must_but_rows(cpb_transform_apply(made, CPB_ROLE_QUERY, e->queries,
                                    cpb_rows_out(p, CPB_F32, e->queries.rows, cols), e->exec, &error),
                &error);
  zero_refused(y, e->base.rows, cols);
  zero_refused(p, e->queries.rows, cols);
  cpb_transform_free(made);
  return cols;
}

/* S about a centre; r > 0: queries are the centres of the caps of balls. */
static size_t embed(const experiment *e, const double *center, double s, double r, float *y, float *p) {
  size_t d = e->base.cols;
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  cpb_map *map;
  cpb_error error;
  options.d = d;
  options.center = center;
  options.s = s;
  must(cpb_map_new(&options, &map, &error), &error);
  must(cpb_map_embed(map, e->base, cpb_rows_out(y, CPB_F32, e->base.rows, d + 1), e->exec, &error), &error);
  must(cpb_map_embed(map, e->queries, cpb_rows_out(p, CPB_F32, e->queries.rows, d + 1), e->exec, &error),
       &error);
  double *axis = memory(d + 1, sizeof *axis);
  for (size_t q = 0; r > 0 && q < e->queries.rows; q++) {
    cpb_region ball = {.kind = CPB_BALL, .d = d, .c = e->q + q * d, .r = r, .along = r};
    cpb_cap cap = {.d = d, .p = axis};
    must(cpb_map_cap(map, &ball, &cap, &error), &error);
    for (size_t i = 0; i <= d; i++) p[q * (d + 1) + i] = (float)axis[i];
  }
  free(axis);
  cpb_map_free(map);
  return d + 1;
}

/* Rounds as an index of this kind stores numbers: one factor for all of them, or their signs. */
static void store_as(cpb_engine index, float *y, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; i++) largest = fabsf(y[i]) > largest ? fabsf(y[i]) : largest;
  float factor = 127 / largest;
  for (size_t i = 0; i < count; i++)
    y[i] = index == CPB_ENGINE_FLOAT  ? y[i]
           : index == CPB_ENGINE_INT8 ? rintf(y[i] * factor)
           : y[i] >= 0                ? 1
                                      : -1;
}

static double evaluate(const experiment *e, const cpb_recommend_row *row, double radius, float *y, float *p) {
  size_t cols = isnan(row->scale) ? transform(e, row->kind, y, p)
                                  : embed(e, e->mean, row->scale, row->ball ? radius : 0, y, p);
  store_as(row->index, y, e->base.rows * cols);
  store_as(row->index, p, e->queries.rows * cols);
  return full_recall(e, y, p, cols);
}

/* ---- one set ---- */

enum { ROWS = 42 }; /* of a recommendation */

typedef struct result {
  cpb_recommendation *recommendation;
  cpb_recommendation_facts told;
  double full[ROWS];
  double about_zero[2]; /* S(q) and ball with no centre, s = the mean norm about 0 */
  size_t d;
  double seconds, worst;
} result;

static double mean_norm(const experiment *e) {
  size_t d = e->base.cols;
  double sum = 0, *zero = memory(d, sizeof *zero);
  for (size_t i = 0; i < e->base.rows; i++) sum += distance(e->x + i * d, zero, d);
  free(zero);
  return sum / (double)e->base.rows;
}

static void find_facts(experiment *e) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_statistics *statistics;
  cpb_statistics_result facts = {.size = sizeof facts};
  cpb_error error;
  options.d = e->base.cols;
  options.dtype = e->base.dtype;
  must(cpb_statistics_new(&options, &statistics, &error), &error);
  must(cpb_statistics_update(statistics, e->base, 0, &error), &error);
  must(cpb_statistics_finish(statistics, &facts, &error), &error);
  e->mean = memory(options.d, sizeof *e->mean);
  memcpy(e->mean, facts.mean, options.d * sizeof *e->mean);
  cpb_statistics_free(statistics);
  must(cpb_max_norm(e->base, e->mean, &e->norm_max, e->exec, &error), &error);
  cpb_hit *hits = memory(e->queries.rows * K, sizeof *hits);
  must(cpb_knn(e->base, e->queries, K, CPB_L2, hits, e->exec, &error), &error);
  e->kth = memory(e->queries.rows, sizeof *e->kth);
  for (size_t q = 0; q < e->queries.rows; q++) e->kth[q] = hits[q * K + K - 1].value;
  free(hits);
  e->x = as_doubles(e->base);
  e->q = as_doubles(e->queries);
}

static void run_set(const char *name, const cpb_exec *exec, result *r) {
  experiment e = {.name = name,
                  .base = read_rows(name, "base.npy"),
                  .queries = read_rows(name, "queries.npy"),
                  .exec = exec};
  cpb_recommend_options options;
  cpb_recommend_options_init(&options, sizeof options);
  cpb_error error;
  double start = bench_now();
  must(cpb_recommend(e.base, e.queries, &options, &r->recommendation, exec, &error), &error);
  r->told.size = sizeof r->told;
  cpb_recommendation_describe(r->recommendation, &r->told);
  if (r->told.count != ROWS) exit(1);
  r->seconds = bench_now() - start;
  find_facts(&e);
  size_t wide = e.base.cols + 2;
  r->d = e.base.cols;
  float *y = memory(e.base.rows * wide, sizeof *y), *p = memory(e.queries.rows * wide, sizeof *p);
  r->worst = 0;
  for (size_t i = 0; i < r->told.count; i++) {
    r->full[i] = evaluate(&e, r->told.rows[i], r->told.radius, y, p);
    r->worst = fmax(r->worst, 100 * fabs(r->full[i] - r->told.rows[i]->recall));
  }
  for (size_t form = 0; form < 2; form++) {
    size_t cols = embed(&e, NULL, mean_norm(&e), form == 1 ? r->told.radius : 0, y, p);
    r->about_zero[form] = full_recall(&e, y, p, cols);
  }
  free(y);
  free(p);
  free(e.x);
  free(e.q);
  free(e.mean);
  free(e.kth);
  free((void *)(uintptr_t)e.base.data);
  free((void *)(uintptr_t)e.queries.data);
}

/* ---- the page ---- */

/* Rows of one index are in the order of the header: 2 other transforms, 5 scales twice, 2 lifts. */
enum { PER_INDEX = ROWS / CPB_ENGINES, AT_NONE = 0, AT_NORMALIZE = 1, AT_MEAN = 4, AT_LIFT_IP = 12 };

static void print_head(FILE *to) {
  fprintf(
      to,
      "# Euclidean search on an index that supports only cosine\n"
      "\n"
      "Recall of the true 10 nearest rows among the first 10 of an index (10@10, in %%), 1000 queries, all\n"
      "rows compared. Generated by `build/bench/search_recall`, with the data at ../shared/data; `capball "
      "recommend`\n"
      "computes the same figures for other files.\n"
      "\n"
      "Centre of S and of centre + normalise: the mean of the base. Scale: s = the mean norm about that "
      "mean.\n"
      "Ball queries p(q,r): r = the median distance of the 10th neighbour over all queries. The last two\n"
      "columns are S and ball queries about 0, s = the mean norm about 0: the centre matters. Bold is the "
      "better\n"
      "of the two query forms about the mean, S(q) and ball.\n"
      "\n"
      "| set | rows x d | raw rows | centre + normalise | S(q) | ball | lift-ip | lift-cosine | S(q) about 0 "
      "| ball about 0 |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_summary(const char *name, const result *r, FILE *to) {
  double point = 100 * r->full[AT_MEAN], ball = 100 * r->full[AT_MEAN + 1];
  const char *of_point = point > ball ? "**" : "", *of_ball = point > ball ? "" : "**";
  fprintf(to, "| %s | %zu x %zu | %.1f | %.1f | %s%.1f%s | %s%.1f%s | %.1f | %.1f | %.1f | %.1f |\n", name,
          r->told.base_rows, r->d, 100 * r->full[AT_NONE], 100 * r->full[AT_NORMALIZE], of_point, point,
          of_point, of_ball, ball, of_ball, 100 * r->full[AT_LIFT_IP], 100 * r->full[AT_LIFT_IP + 1],
          100 * r->about_zero[0], 100 * r->about_zero[1]);
  fflush(to);
}

static void print_set(const char *name, const result *r, FILE *to) {
  fprintf(to,
          "\n"
          "## %s\n"
          "\n"
          "Mean norm about the mean %.5g, ball queries of radius %.5g. `recommend` differs from the full "
          "evaluation by at most %.2f points.\n"
          "\n"
          "| transform | s | query | float | recommend | for 99 %% | int8 | recommend | for 99 %% | bits | "
          "recommend | for 99 %% |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
          name, r->told.norm_mean, r->told.radius, r->worst);
  for (size_t i = 0; i < PER_INDEX; i++) {
    const cpb_recommend_row *row = r->told.rows[i];
    char s[32] = "";
    if (!isnan(row->scale)) snprintf(s, sizeof s, "%.5g", row->scale);
    fprintf(to, "| %s | %s | %s", row->name, s, row->ball ? "ball" : "point");
    for (size_t at = i; at < r->told.count; at += PER_INDEX)
      fprintf(to, " | %.1f | %.1f | %llu", 100 * r->full[at], 100 * r->told.rows[at]->recall,
              (unsigned long long)r->told.rows[at]->candidates_for_99);
    fputs(" |\n", to);
  }
  char *text = show_recommend_text(&r->told);
  fprintf(to, "\n%s\n", text);
  free(text);
}

static void print_details(FILE *to) {
  fprintf(to, "\n"
              "Below, per set and kind of index: the full evaluation, the figure of `capball recommend`, and "
              "the number of candidates\n"
              "to re-rank for 99 %% of the true neighbours. Where exact lifts miss neighbours on a float "
              "index, single precision cannot\n"
              "distinguish them: their distances are small relative to the largest norm.\n");
}

static void write_page(const result *results, size_t count) {
  FILE *page = fopen("docs/explanation/search.md", "w");
  if (page == NULL) exit(1);
  print_head(page);
  for (size_t i = 0; i < count; i++) print_summary(sets[i], &results[i], page);
  print_details(page);
  for (size_t i = 0; i < count; i++) print_set(sets[i], &results[i], page);
  if (fclose(page) != 0) exit(1);
}

int main(int argc, char **argv) {
  bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
  size_t count = quick ? QUICK : SETS;
  cpb_pool *pool;
  cpb_error error;
  bench_print_machine();
  printf("command: build/bench/search_recall%s\n", quick ? " quick" : "");
  if (access("../shared/data", R_OK) != 0) {
    puts("skipped: ../shared/data does not exist");
    return 0;
  }
  must(cpb_pool_new(0, &pool, &error), &error);
  result *results = memory(SETS, sizeof *results);
  print_head(stdout);
  for (size_t i = 0; i < count; i++) {
    run_set(sets[i], cpb_pool_exec(pool), &results[i]);
    print_summary(sets[i], &results[i], stdout);
  }
  for (size_t i = 0; i < count; i++)
    printf("%s: recommend took %.1f s, differs from the full evaluation by at most %.2f points\n", sets[i],
           results[i].seconds, results[i].worst);
  if (!quick) write_page(results, count);
  free(results);
  cpb_pool_free(pool);
  return 0;
}
