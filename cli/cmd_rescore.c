/* Candidates of an engine in the order of their Euclidean distances, with a proof that they are enough. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "doubles.h"
#include "format_names.h"
#include "json_print.h"
#include "table_file.h"

typedef struct rescoring {
  const cli_job *job;
  cpb_map *map;
  size_t d, n, C, k;
  double s, r, row_error, score_error;
  cli_embedded embedded;
  cpb_view queries, scores;  /* scores.data NULL: from the rows */
  bool distance_scores;      /* 1 - cosine */
  uint64_t *ids;             /* n x C */
  double *norms, *p;         /* n, n x (d+1) */
  int64_t *nearest;          /* n x k */
  double *distances, *least; /* n x k; n: the floor of the certificate */
  uint64_t *certificates;    /* n: 0, or how many candidates prove it */
  _Atomic size_t failed;     /* the first query that failed, n: none */
} rescoring;

/* One query's candidates. */
typedef struct candidates {
  char *rows;
  double *row, *distance, *at_most; /* d+1, C, C: what the distance may truly be */
  cpb_hit *hits;
  void *buffer;
  double lowest; /* score */
} candidates;

static candidates candidates_new(const rescoring *r) {
  candidates c = {.rows = cli_alloc(r->C, r->embedded.row_bytes),
                  .row = cli_alloc(r->d + 1, sizeof(double)),
                  .distance = cli_alloc(2 * r->C, sizeof(double)),
                  .hits = cli_alloc(r->C, sizeof(cpb_hit)),
                  .buffer = aligned_alloc(64, cli_embedded_buffer(&r->embedded))};
  c.at_most = c.distance + r->C;
  return c;
}

static void candidates_free(candidates *c) {
  free(c->rows);
  free(c->row);
  free(c->distance);
  free(c->hits);
  free(c->buffer);
}

static const double *row_of(const rescoring *r, const candidates *c, size_t i) {
  return cli_row(cpb_rows(c->rows, r->embedded.dtype, r->C, r->d + 1), i, c->row);
}

static cpb_status fail_on_row(const rescoring *r, size_t query, size_t i, cpb_error *error) {
  snprintf(error->text, sizeof error->text, "row %llu is no point of the sphere",
           (unsigned long long)r->ids[query * r->C + i]);
  return CPB_EROW;
}

/* From the rows: the engine's own scores may have been off by score_error each way. */
static cpb_status measure_rows(const rescoring *r, size_t query, candidates *c, cpb_error *error) {
  const double *p = r->p + query * (r->d + 1);
  cpb_view rows = cpb_rows(c->rows, r->embedded.dtype, r->C, r->d + 1);
  cpb_status status =
      cpb_query_distances(r->map, cli_rows_slice(r->queries, query, 1), rows, c->distance, error);
  if (status != CPB_EROW && status != CPB_OK) return status;
  if (status == CPB_EROW) return fail_on_row(r, query, (size_t)error->row, error);
  for (size_t i = 0; i < r->C; i++) {
    c->lowest = fmin(c->lowest, cli_dot(p, row_of(r, c, i), r->d + 1) + r->score_error);
    c->at_most[i] = c->distance[i];
  }
  return CPB_OK;
}

/* Distances count from 1 down, and back. */
static double flip(const rescoring *r, double score) { return r->distance_scores ? 1 - score : score; }

static double given_score(const rescoring *r, size_t query, size_t candidate) {
  double number;
  size_t at = (query * r->C + candidate) * cpb_dtype_size(r->scores.dtype);
  cpb_view one = cpb_rows((const char *)r->scores.data + at, r->scores.dtype, 1, 1);
  return flip(r, *cli_row(one, 0, &number));
}

/* EINVAL for a score that the row y cannot have: distance and proof would believe it. Lengths that an engine
 * divides by are those of rounded rows. */
static cpb_status check_score(const rescoring *r, size_t query, size_t i, double score, const double *y,
                              cpb_error *error) {
  const char *what = r->job->options.as == NULL ? "ip" : r->job->options.as;
  double room = r->score_error + 2 * r->row_error, product = cli_dot(r->p + query * (r->d + 1), y, r->d + 1);
  char where[128];
  snprintf(where, sizeof where, "query %zu, candidate %zu (row %llu)", query, i,
           (unsigned long long)r->ids[query * r->C + i]);
  if (!isfinite(score))
    snprintf(error->text, sizeof error->text, "%s has the score %g", where, flip(r, score));
  else if (fabs(score) > 1 + room)
    snprintf(error->text, sizeof error->text,
             "%s has the score %.9g, but no %s of unit vectors lies outside [%d,%d]; see --as", where,
             flip(r, score), what, r->distance_scores ? 0 : -1, r->distance_scores ? 2 : 1);
  else if (fabs(score - product) > room)
    snprintf(
        error->text, sizeof error->text,
        "%s has the score %.9g, but its embedded row gives %.9g as %s; are --as and --radius those of the "
        "queries, and is --score-error (%.3g) as large as the engine's?",
        where, flip(r, score), flip(r, product), what, r->score_error);
  else
    return CPB_OK;
  return CPB_EINVAL;
}

/* From the engine's numbers and 1+y0, which a row knows within three times its own error. */
static cpb_status measure_scores(const rescoring *r, size_t query, candidates *c, cpb_error *error) {
  double norm = r->norms[query];
  for (size_t i = 0; i < r->C; i++) {
    const double *y = row_of(r, c, i);
    double score = given_score(r, query, i);
    double rise = cpb_rise(y[r->d], cli_dot(y, y, r->d)), lift = sqrt(2 * rise) - 4 * r->row_error;
    if (isnan(rise)) return fail_on_row(r, query, i, error);
    cpb_status status = check_score(r, query, i, score, y, error);
    if (status != CPB_OK) return status;
    c->distance[i] = cpb_query_distance(norm, r->r, r->s, score, rise);
    c->at_most[i] =
        lift > 0 ? cpb_query_distance(norm, r->r, r->s, score - r->score_error, lift * lift / 2) : INFINITY;
    c->lowest = fmin(c->lowest, score);
    if (isnan(c->distance[i])) return fail_on_row(r, query, i, error);
  }
  return CPB_OK;
}

static void rank(const rescoring *r, size_t query, candidates *c) {
  for (size_t i = 0; i < r->C; i++) c->hits[i] = (cpb_hit){r->ids[query * r->C + i], c->at_most[i]};
  cpb_hits_by_distance(c->hits, r->C);
  double D = c->hits[r->k - 1].value;
  r->least[query] = cpb_query_floor(r->map, r->norms[query], r->r, D, r->row_error, r->score_error);
  r->certificates[query] = r->C == r->embedded.rows || c->lowest < r->least[query] ? 0 : r->embedded.rows;
  for (size_t i = 0; i < r->C; i++) c->hits[i] = (cpb_hit){r->ids[query * r->C + i], c->distance[i]};
  cpb_hits_by_distance(c->hits, r->C);
  for (size_t i = 0; i < r->k; i++) {
    r->nearest[query * r->k + i] = (int64_t)c->hits[i].id;
    r->distances[query * r->k + i] = c->hits[i].value;
  }
}

/* EROW: the embedded rows are at fault; EINVAL: the scores; else the sentence names its file. */
static cpb_status rescore_query(const rescoring *r, size_t query, cpb_error *error) {
  candidates c = candidates_new(r);
  c.lowest = INFINITY;
  cpb_status status = c.buffer == NULL ? CPB_ENOMEM : CPB_OK;
  if (status != CPB_OK) snprintf(error->text, sizeof error->text, "no memory for the rows of a query");
  if (status == CPB_OK)
    status = cli_embedded_fetch(&r->embedded, r->ids + query * r->C, r->C, c.rows, c.buffer, error);
  if (status == CPB_OK)
    status = r->scores.data == NULL ? measure_rows(r, query, &c, error) : measure_scores(r, query, &c, error);
  if (status == CPB_OK) rank(r, query, &c);
  candidates_free(&c);
  return status;
}

static void rescore_task(void *arg, size_t query) {
  rescoring *r = arg;
  cpb_error error;
  if (cli_interrupted() != 0 || rescore_query(r, query, &error) == CPB_OK) return;
  size_t known = atomic_load(&r->failed);
  while (query < known && !atomic_compare_exchange_weak(&r->failed, &known, query)) {
  }
}

static int rescore_all(rescoring *r) {
  const cpb_exec *exec = cpb_pool_exec(r->job->pool);
  cpb_error error;
  atomic_store(&r->failed, r->n);
  exec->run(exec->pool, r->n, rescore_task, r);
  if (cli_interrupted() != 0) return CLI_FAILED;
  if (atomic_load(&r->failed) == r->n) return CLI_OK;
  cpb_status status = rescore_query(r, atomic_load(&r->failed), &error);
  if (status == CPB_OK) return rescore_all(r); /* there was no memory, and now there is */
  if (status != CPB_EROW && status != CPB_EINVAL) return cli_fail(r->job, "%s", error.text);
  return cli_fail(r->job, "%s: %s", status == CPB_EROW ? r->job->options.embedded : r->job->options.scores,
                  error.text);
}

/* ---- how many candidates would prove the rest ---- */

static int count_pass(const rescoring *r, cpb_view p, const double *limits, uint64_t *counts) {
  const cpb_exec *exec = cpb_pool_exec(r->job->pool);
  cpb_view block = r->embedded.table;
  cpb_error error;
  if (block.data != NULL)
    return cpb_query_count(p, limits, block, counts, exec, &error) == CPB_OK
               ? CLI_OK
               : cli_fail_row(r->job, r->job->options.embedded, 0, &error);
  for (uint64_t first = 0;; first += block.rows) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(r->embedded.reader, 4096, &block, &error) != CPB_OK)
      return cli_fail(r->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    if (cpb_query_count(p, limits, block, counts, exec, &error) != CPB_OK)
      return cli_fail_row(r->job, r->job->options.embedded, first, &error);
  }
}

/* Every row that may be scored as high as the floor is in the way; one more candidate lies below it. */
static int count_needed(rescoring *r) {
  size_t open = 0, cols = r->d + 1;
  for (size_t i = 0; i < r->n; i++) open += r->certificates[i] != 0;
  if (open == 0) return CLI_OK;
  double *p = cli_alloc(open * cols, sizeof *p), *limits = cli_alloc(open, sizeof *limits);
  uint64_t *counts = cli_alloc(open, sizeof *counts);
  for (size_t i = 0, at = 0; i < r->n; i++) {
    if (r->certificates[i] == 0) continue;
    memcpy(p + at * cols, r->p + i * cols, cols * sizeof *p);
    limits[at++] = r->least[i] - r->score_error;
  }
  int result = count_pass(r, cpb_rows(p, CPB_F64, open, cols), limits, counts);
  for (size_t i = 0, at = 0; i < r->n && result == CLI_OK; i++)
    if (r->certificates[i] != 0) {
      uint64_t needed = counts[at++] + 1;
      r->certificates[i] = needed < r->embedded.rows ? needed : r->embedded.rows;
    }
  free(p);
  free(limits);
  free(counts);
  return result;
}

/* ---- results ---- */

static cpb_status open_output(const char *path, const char *format, cpb_dtype dtype, cpb_view rows,
                              cpb_writer **writer, cpb_error *error) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = format;
  options.dtype = dtype;
  options.cols = rows.cols;
  options.rows = rows.rows;
  cpb_status status = cpb_writer_open(path, &options, writer, error);
  return status == CPB_OK ? cpb_writer_append(*writer, rows, error) : status;
}

static int write_outputs(const rescoring *r) {
  const cli_options *o = &r->job->options;
  const char *paths[3] = {o->output, o->distances, o->certificates};
  cpb_dtype dtypes[3] = {cli_id_dtype(o->output, o->to, r->embedded.rows),
                         paths[1] != NULL ? cli_distance_dtype(paths[1], o->dtype) : CPB_F32,
                         paths[2] != NULL ? cli_id_dtype(paths[2], NULL, r->embedded.rows) : CPB_I32};
  cpb_view rows[3] = {cpb_rows(r->nearest, CPB_I64, r->n, r->k), cpb_rows(r->distances, CPB_F64, r->n, r->k),
                      cpb_rows(r->certificates, CPB_I64, r->n, 1)};
  cpb_writer *writers[3] = {NULL, NULL, NULL};
  cpb_error error;
  cpb_status status = CPB_OK;
  for (int i = 0; i < 3 && status == CPB_OK; i++)
    if (paths[i] != NULL)
      status = open_output(paths[i], i == 0 ? o->to : NULL, dtypes[i], rows[i], &writers[i], &error);
  for (int i = 0; i < 3 && status == CPB_OK; i++)
    if (writers[i] != NULL) status = cpb_writer_commit(writers[i], &error);
  for (int i = 0; i < 3; i++) cpb_writer_free(writers[i]);
  return status == CPB_OK ? CLI_OK : cli_fail(r->job, "%s", error.text);
}

static int tell(const rescoring *r) {
  const cli_options *o = &r->job->options;
  size_t proven = 0;
  uint64_t needed = 0;
  for (size_t i = 0; i < r->n; i++) {
    proven += r->certificates[i] == 0;
    if (r->certificates[i] > needed) needed = r->certificates[i];
  }
  if (cli_map_options(r->map).whiten != NULL) cli_say(r->job, "the map whitens: distances are |W(x-q)|");
  if (o->certificates != NULL && needed > 0)
    cli_say(r->job, "%zu of %zu queries proven exact; %llu candidates would prove all", proven, r->n,
            (unsigned long long)needed);
  else
    cli_say(r->job, "%zu of %zu queries proven exact", proven, r->n);
  if (!o->json) return CLI_OK;
  json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I}", "ids", o->output, "queries", (json_int_t)r->n, "k",
                             (json_int_t)r->k, "candidates", (json_int_t)r->C, "proven", (json_int_t)proven);
  if (object != NULL && o->certificates != NULL)
    object = cli_json_set(object, "needed", json_integer((json_int_t)needed));
  return cli_print_json(r->job, object);
}

/* ---- inputs ---- */

static int read_queries(rescoring *r) {
  const cli_job *job = r->job;
  cpb_reader *reader;
  int result = cli_open_reader(job, job->operands[0], cli_operand_format(job, job->operands[0]), &reader);
  if (result != CLI_OK) return result;
  size_t cols = cpb_reader_info(reader).cols;
  if (cols != r->d)
    result = cli_fail(job, "%s has %zu column%s, but %s embeds rows of %zu", cli_name(job->operands[0]), cols,
                      cli_s(cols), job->options.map, r->d);
  else
    result = cli_read_table(job, reader, &r->queries);
  cpb_reader_free(reader);
  r->n = r->queries.rows;
  if (result == CLI_OK && r->n == 0) result = cli_fail(job, "%s has no rows", cli_name(job->operands[0]));
  return result;
}

static int read_scores(rescoring *r) {
  const char *path = r->job->options.scores;
  cpb_reader *reader;
  if (path == NULL) return CLI_OK;
  int result = cli_open_reader(r->job, path, NULL, &reader);
  if (result != CLI_OK) return result;
  result = cli_read_table(r->job, reader, &r->scores);
  cpb_reader_free(reader);
  if (result == CLI_OK && (r->scores.rows != r->n || r->scores.cols != r->C))
    result = cli_fail(r->job, "%s has %zu x %zu scores for %zu x %zu candidates", path, r->scores.rows,
                      r->scores.cols, r->n, r->C);
  return result;
}

/* Norms and vectors p of the queries. */
static int prepare(rescoring *r) {
  const cpb_exec *exec = cpb_pool_exec(r->job->pool);
  cpb_error error;
  double *radii = cli_alloc(r->n, sizeof *radii);
  for (size_t i = 0; i < r->n; i++) radii[i] = r->r;
  r->norms = cli_alloc(r->n, sizeof *r->norms);
  r->p = cli_alloc(r->n * (r->d + 1), sizeof *r->p);
  r->nearest = cli_alloc(r->n * r->k, sizeof *r->nearest);
  r->distances = cli_alloc(r->n * r->k, sizeof *r->distances);
  r->least = cli_alloc(r->n, sizeof *r->least);
  r->certificates = cli_alloc(r->n, sizeof *r->certificates);
  cpb_status status = cpb_query_norms(r->map, r->queries, r->norms, exec, &error);
  if (status == CPB_OK)
    status = cpb_query_caps(r->map, r->queries, radii, cpb_rows_out(r->p, CPB_F64, r->n, r->d + 1), NULL,
                            NULL, exec, &error);
  free(radii);
  if (status == CPB_OK) return CLI_OK;
  if (status == CPB_EROW) return cli_fail_row(r->job, r->job->operands[0], 0, &error);
  return cli_fail(r->job, "%s: %s", r->job->options.map, error.text);
}

static int rescore(rescoring *r) {
  const cli_options *o = &r->job->options;
  cpb_map_options map = {.size = sizeof map};
  cpb_map_describe(r->map, &map);
  r->d = map.d;
  r->s = map.s;
  r->r = o->radius.given ? o->radius.value : 0;
  r->k = o->neighbours == 0 ? 10 : (size_t)o->neighbours;
  r->score_error = o->score_error.given ? o->score_error.value : cpb_query_score_error(r->d);
  r->distance_scores = o->as != NULL && strcmp(o->as, "cosine-distance") == 0;
  int result = read_queries(r);
  if (result == CLI_OK) result = cli_embedded_open(r->job, o->embedded, r->d + 1, &r->embedded);
  if (result != CLI_OK) return result;
  result = cli_read_candidates(r->job, r->job->operands[1], r->n, r->embedded.rows, &r->C, &r->ids);
  if (result != CLI_OK) return result;
  if (r->k > r->C)
    return cli_fail(r->job, "%zu neighbours wanted, but %s has %zu candidate%s per query", r->k,
                    r->job->operands[1], r->C, cli_s(r->C));
  result = cli_embedded_error(r->job, &r->embedded, r->map, r->ids, r->n * r->C, &r->row_error);
  if (result == CLI_OK) result = read_scores(r);
  if (result == CLI_OK) result = prepare(r);
  if (result == CLI_OK) result = rescore_all(r);
  if (result == CLI_OK && o->certificates != NULL) result = count_needed(r);
  if (result == CLI_OK) result = write_outputs(r);
  return result == CLI_OK ? tell(r) : result;
}

static int check(const cli_job *job) {
  const cli_options *o = &job->options;
  if (o->as != NULL && o->scores == NULL) return cli_misuse(job, "--as says what --scores are");
  if (o->radius.given && (!(o->radius.value >= 0) || isinf(o->radius.value)))
    return cli_misuse(job, "--radius must be a number >= 0, got %g", o->radius.value);
  if (o->score_error.given && !(o->score_error.value >= 0))
    return cli_misuse(job, "--score-error must be a number >= 0, got %g", o->score_error.value);
  int result = cli_check_id_format(job, o->output, o->to, "to");
  if (result == CLI_OK) result = cli_check_distances(job);
  if (result == CLI_OK && o->certificates != NULL)
    result = cli_check_id_format(job, o->certificates, NULL, NULL);
  return result;
}

static int run(cli_job *job) {
  rescoring r = {.job = job};
  cpb_error error;
  int result = check(job);
  if (result != CLI_OK) return result;
  if (cpb_map_load(job->options.map, &r.map, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  result = rescore(&r);
  cpb_map_free(r.map);
  cli_embedded_close(&r.embedded);
  free((void *)(uintptr_t)r.queries.data);
  free((void *)(uintptr_t)r.scores.data);
  free(r.ids);
  free(r.norms);
  free(r.p);
  free(r.nearest);
  free(r.distances);
  free(r.least);
  free(r.certificates);
  return result;
}

const cli_command cli_verb_rescore = {
    .verb = "rescore",
    .operands = "-m MAP.json QUERIES IDS --embedded EMB -o IDS_OUT",
    .summary = "order an engine's candidates by Euclidean distance, and prove that they are enough",
    .formula =
        "|x-q|^2 = (|q|^2+s^2)(|y-S(q)|^2/2)/(1+y0) = r^2 + (2 s^2/(1+y0))(b-<p,y>)/a                T8 T13",
    .text =
        "IDS holds one row of row numbers per query, all of the engine's best by <p,y>; EMB the embedded "
        "rows, by the same MAP.json, which are read where they lie; rows of another map are points of the "
        "sphere, too, and are noticed by --scores alone. Distances come from these rows, or from the "
        "engine's --scores and "
        "the "
        "last coordinate of the rows. Scores that are not those of the rows are refused. --radius R says "
        "that IDS were found by `capball query --radius R`, or "
        "by "
        "--knn which printed R; without it they were found by --point.\n"
        "An answer is proven when the lowest score among the candidates lies below that of every row as near "
        "as the k-th, all roundings counted. Rows whose distances differ by less than EMB resolves may "
        "change places. The proof believes the engine that no other row has a higher score: approximate "
        "engines may have missed one. With --certificates it is counted how many candidates would prove what "
        "is "
        "not proven, by a pass over EMB.",
    .example =
        "printf '0,0\\n3,4\\n6,8\\n1,1\\n' > base.csv\n"
        "printf '0,1\\n5,5\\n' > queries.csv\n"
        "printf '0,3,1\\n1,2,3\\n' > ids.csv\n"
        "capball fit base.csv -o map.json -q\n"
        "capball embed -m map.json base.csv -o sphere.csv\n"
        "capball rescore -m map.json queries.csv ids.csv --embedded sphere.csv -k 2 -o nearest.csv \\\n"
        "  --distances distances.csv --certificates certificates.csv",
    .least = 2,
    .most = 2,
    .accepts = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_EMBEDDED) | CLI_BIT(CLI_NEIGHBOURS) |
               CLI_BIT(CLI_DISTANCES) | CLI_BIT(CLI_SCORES) | CLI_BIT(CLI_AS) | CLI_BIT(CLI_RADIUS) |
               CLI_BIT(CLI_SCORE_ERROR) | CLI_BIT(CLI_CERTIFICATES) | CLI_BIT(CLI_DTYPE) |
               CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) | CLI_BIT(CLI_JSON) | CLI_BIT(CLI_QUIET) |
               CLI_BIT(CLI_THREADS) | CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_EMBEDDED),
    .run = run};
