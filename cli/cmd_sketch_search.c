/* The codes nearest to each query, put in order by exact distances where the data or their images are there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "format_names.h"
#include "table_file.h"

typedef struct search {
  const cli_job *job;
  cpb_sketch *sketch;
  cpb_sketch_options of; /* the sketch */
  cpb_view codes, queries;
  size_t k, candidates;
  cpb_hit *found, *hits; /* queries x candidates, queries x k */
} search;

static int read_rows(const cli_job *job, const char *path, const char *format, size_t wanted,
                     const char *what, cpb_view *rows) {
  cpb_reader *reader;
  int result = cli_open_reader(job, path, format, &reader);
  if (result != CLI_OK) return result;
  cpb_file_info info = cpb_reader_info(reader);
  if (info.cols != wanted)
    result = cli_fail(job, "%s has %zu column%s, but %s of %s have %zu", cli_name(path), info.cols,
                      cli_s(info.cols), what, job->options.sketch, wanted);
  if (result == CLI_OK) result = cli_read_table(job, reader, rows);
  if (result == CLI_OK && rows->rows == 0) result = cli_fail(job, "%s has no rows", cli_name(path));
  cpb_reader_free(reader);
  return result;
}

static int load(search *s) {
  const cli_job *job = s->job;
  int result = read_rows(job, job->operands[0], cli_operand_format(job, job->operands[0]), s->of.bits / 8,
                         "codes", &s->codes);
  if (result == CLI_OK && s->codes.dtype != CPB_U8)
    result = cli_fail(job, "%s holds %s, but codes are u8", cli_name(job->operands[0]),
                      cpb_dtype_name(s->codes.dtype));
  if (result == CLI_OK)
    result = read_rows(job, job->operands[1], cli_operand_format(job, job->operands[1]), s->of.d, "queries",
                       &s->queries);
  if (result == CLI_OK && s->k > s->codes.rows)
    result = cli_fail(job, "%s has %zu row%s, fewer than the %zu neighbours asked for",
                      cli_name(job->operands[0]), s->codes.rows, cli_s(s->codes.rows), s->k);
  if (s->candidates > s->codes.rows) s->candidates = s->codes.rows;
  return result;
}

static int scan(search *s) {
  const cpb_exec *exec = cpb_pool_exec(s->job->pool);
  size_t n = s->queries.rows, bytes = s->of.bits / 8;
  uint8_t *asked = cli_alloc(n, bytes);
  cpb_error error = {.row = -1};
  s->found = cli_alloc(n * s->candidates, sizeof *s->found);
  cpb_status status = cpb_sketch_encode(s->sketch, s->queries, asked, exec, &error);
  int result = status == CPB_OK ? CLI_OK : cli_fail_row(s->job, s->job->operands[1], 0, &error);
  if (result == CLI_OK && cpb_hamming_knn(s->codes, cpb_rows(asked, CPB_U8, n, bytes), s->candidates,
                                          s->found, exec, &error) != CPB_OK)
    result = cli_fail(s->job, "%s", error.text);
  free(asked);
  return result;
}

/* ---- re-ranking: only the rows that are candidates are read ---- */

typedef struct chosen {
  uint64_t *ids; /* ascending */
  size_t count;
  char *rows;
  cpb_view view;
} chosen;

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void list_ids(const search *s, chosen *c) {
  size_t all = s->queries.rows * s->candidates;
  c->ids = cli_alloc(all, sizeof *c->ids);
  for (size_t i = 0; i < all; i++) c->ids[i] = s->found[i].id;
  qsort(c->ids, all, sizeof *c->ids, ascending);
  for (size_t i = 0; i < all; i++)
    if (i == 0 || c->ids[i] != c->ids[i - 1]) c->ids[c->count++] = c->ids[i];
}

static void copy_row(chosen *c, size_t at, cpb_view from, size_t row) {
  size_t size = cpb_dtype_size(from.dtype), bytes = from.cols * size;
  if (c->rows == NULL) {
    c->rows = cli_alloc(c->count, bytes);
    c->view = cpb_rows(c->rows, from.dtype, c->count, from.cols);
  }
  memcpy(c->rows + at * bytes, (const char *)from.data + row * from.stride * size, bytes);
}

static int read_in_place(const search *s, cpb_reader *reader, chosen *c) {
  void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(reader, 1) + 63) / 64 * 64);
  cpb_error error;
  int result = buffer != NULL ? CLI_OK : cli_fail(s->job, "no memory for a row");
  for (size_t i = 0; i < c->count && result == CLI_OK; i++) {
    cpb_view row;
    if (cli_interrupted() != 0)
      result = CLI_FAILED;
    else if (cpb_reader_at(reader, c->ids[i], 1, buffer, &row, &error) != CPB_OK)
      result = cli_fail(s->job, "%s", error.text);
    else
      copy_row(c, i, row, 0);
  }
  free(buffer);
  return result;
}

static int read_in_turn(const search *s, cpb_reader *reader, chosen *c, uint64_t *rows) {
  enum { ROWS = 4096 };
  cpb_view block;
  cpb_error error;
  size_t next = 0;
  for (*rows = 0;; *rows += block.rows) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(reader, ROWS, &block, &error) != CPB_OK) return cli_fail(s->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    for (; next < c->count && c->ids[next] < *rows + block.rows; next++)
      copy_row(c, next, block, (size_t)(c->ids[next] - *rows));
  }
}

static int read_chosen(const search *s, const char *path, size_t wanted, chosen *c) {
  cpb_reader *reader;
  int result = cli_open_reader(s->job, path, NULL, &reader);
  if (result != CLI_OK) return result;
  cpb_file_info info = cpb_reader_info(reader);
  uint64_t rows = info.rows;
  if (info.cols != wanted)
    result = cli_fail(s->job, "%s has %zu column%s, wanted %zu", cli_name(path), info.cols, cli_s(info.cols),
                      wanted);
  bool in_place = info.random_access && info.rows == s->codes.rows;
  if (result == CLI_OK) result = in_place ? read_in_place(s, reader, c) : read_in_turn(s, reader, c, &rows);
  if (result == CLI_OK && rows != s->codes.rows)
    result = cli_fail(s->job, "%s has %llu row%s, but there are %zu codes", cli_name(path),
                      (unsigned long long)rows, cli_s(rows), s->codes.rows);
  cpb_reader_free(reader);
  return result;
}

/* Ids count the chosen rows while they are ranked; both orders are the same, so ties stay right. */
static void renumber(const search *s, const chosen *c) {
  for (size_t i = 0; i < s->queries.rows * s->candidates; i++) {
    const uint64_t *at = bsearch(&s->found[i].id, c->ids, c->count, sizeof *c->ids, ascending);
    s->found[i].id = (uint64_t)(at - c->ids);
  }
}

/* ---- whether codes and rows belong together ---- */

static cpb_status make_map(const search *s, cpb_map **map, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = s->of.d;
  options.s = s->of.s;
  options.center = s->of.center;
  return cpb_map_new(&options, map, error);
}

/* Whether each bit is the side on which the image y lies, but for images nearer to a boundary than rounding
 * to the narrowest type. */
static bool are_sides(const search *s, const uint8_t *code, const double *y, double room) {
  size_t cols = s->of.d + 1;
  for (size_t i = 0; i < s->of.bits; i++) {
    double side = cli_dot(s->of.normals + i * cols, y, cols);
    if (fabs(side) > room && (side >= 0) != (code[i / 8] >> i % 8 & 1)) return false;
  }
  return true;
}

/* A row without a code is for the ranking to tell. */
static bool is_code(const search *s, const uint8_t *code, cpb_view row, uint8_t *own) {
  size_t bytes = s->of.bits / 8;
  return cpb_sketch_encode(s->sketch, row, own, NULL, NULL) != CPB_OK || memcmp(own, code, bytes) == 0;
}

/* Some of the chosen rows, spread over all; room is for images. */
static int check_some(const search *s, const chosen *c, double room) {
  enum { LOOK = 64 };
  const cli_options *o = &s->job->options;
  const char *of = o->base != NULL ? "" : "the image ";
  size_t look = c->count < LOOK ? c->count : LOOK;
  double *y = cli_alloc(c->view.cols, sizeof *y);
  uint8_t *own = cli_alloc(s->of.bits / 8, 1);
  int result = CLI_OK;
  for (size_t at = 0; at < look && result == CLI_OK; at++) {
    size_t i = at * c->count / look;
    unsigned long long id = c->ids[i];
    const uint8_t *code = (const uint8_t *)s->codes.data + id * s->codes.stride;
    bool fits = o->base != NULL ? is_code(s, code, cli_rows_slice(c->view, i, 1), own)
                                : are_sides(s, code, cli_row(c->view, i, y), room);
    if (!fits)
      result = cli_fail(s->job, "%s row %llu is not the code of %s%s row %llu under %s",
                        cli_name(s->job->operands[0]), id, of, o->base != NULL ? o->base : o->embedded, id,
                        o->sketch);
  }
  free(y);
  free(own);
  return result;
}

static int check_codes(const search *s, const chosen *c) {
  cpb_map *map;
  cpb_error error;
  if (make_map(s, &map, &error) != CPB_OK)
    return cli_fail(s->job, "%s: %s", s->job->options.sketch, error.text);
  int result = check_some(s, c, cpb_query_row_error(map, CPB_F16));
  cpb_map_free(map);
  return result;
}

static cpb_status rank(const search *s, const chosen *c, cpb_error *error) {
  const cpb_exec *exec = cpb_pool_exec(s->job->pool);
  if (s->job->options.base != NULL)
    return cpb_rerank(c->view, s->queries, s->found, s->candidates, s->k, s->hits, exec, error);
  cpb_map *map = NULL;
  cpb_status status = make_map(s, &map, error);
  if (status == CPB_OK)
    status =
        cpb_rerank_embedded(map, c->view, s->queries, s->found, s->candidates, s->k, s->hits, exec, error);
  cpb_map_free(map);
  return status;
}

static int rerank(search *s) {
  const cli_options *o = &s->job->options;
  const char *path = o->base != NULL ? o->base : o->embedded;
  chosen c = {0};
  cpb_error error = {.row = -1};
  list_ids(s, &c);
  int result = read_chosen(s, path, o->base != NULL ? s->of.d : s->of.d + 1, &c);
  if (result == CLI_OK) result = check_codes(s, &c);
  if (result == CLI_OK) {
    renumber(s, &c);
    if (rank(s, &c, &error) != CPB_OK) {
      uint64_t before = error.row < 0 ? 0 : c.ids[error.row] - (uint64_t)error.row; /* rows not chosen */
      result = cli_fail_row(s->job, path, before, &error);
    }
    for (size_t i = 0; i < s->queries.rows * s->k && result == CLI_OK; i++)
      s->hits[i].id = c.ids[s->hits[i].id];
  }
  free(c.ids);
  free(c.rows);
  return result;
}

/* ---- output ---- */

static int write_rows(const search *s, const char *path, const char *format, cpb_dtype dtype, cpb_view rows) {
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  cpb_writer *writer = NULL;
  cpb_error error;
  options.format = format;
  options.dtype = dtype;
  options.cols = rows.cols;
  options.rows = rows.rows;
  cpb_status status = cpb_writer_open(path, &options, &writer, &error);
  if (status == CPB_OK) status = cpb_writer_append(writer, rows, &error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, &error);
  cpb_writer_free(writer);
  return status == CPB_OK ? CLI_OK : cli_fail(s->job, "%s", error.text);
}

static int write_hits(const search *s) {
  const cli_options *o = &s->job->options;
  size_t all = s->queries.rows * s->k;
  int64_t *ids = cli_alloc(all, sizeof *ids);
  double *values = cli_alloc(all, sizeof *values);
  for (size_t i = 0; i < all; i++) {
    ids[i] = (int64_t)s->hits[i].id;
    values[i] = s->hits[i].value;
  }
  int result = CLI_OK;
  if (o->distances != NULL)
    result = write_rows(s, o->distances, NULL, cli_distance_dtype(o->distances, o->dtype),
                        cpb_rows(values, CPB_F64, s->queries.rows, s->k));
  if (result == CLI_OK)
    result = write_rows(s, o->output, o->to, cli_id_dtype(o->output, o->to, s->codes.rows),
                        cpb_rows(ids, CPB_I64, s->queries.rows, s->k));
  free(ids);
  free(values);
  return result;
}

static int run_search(search *s) {
  bool ranks = s->job->options.base != NULL || s->job->options.embedded != NULL;
  int result = load(s);
  if (result == CLI_OK) result = scan(s);
  if (result != CLI_OK) return result;
  s->hits = cli_alloc(s->queries.rows * s->k, sizeof *s->hits);
  if (ranks)
    result = rerank(s);
  else
    memcpy(s->hits, s->found, s->queries.rows * s->k * sizeof *s->hits);
  return result == CLI_OK ? write_hits(s) : result;
}

static int check(const search *s) {
  const cli_job *job = s->job;
  const cli_options *o = &job->options;
  if (o->base != NULL && o->embedded != NULL)
    return cli_misuse(job, "--base and --embedded exclude each other");
  if (o->candidates != 0 && o->base == NULL && o->embedded == NULL)
    return cli_misuse(job, "--candidates are re-ranked from --base or --embedded: give one of them");
  if (s->candidates < s->k)
    return cli_misuse(job, "%zu candidate%s cannot hold %zu neighbours", s->candidates, cli_s(s->candidates),
                      s->k);
  int result = cli_check_id_format(job, o->output, o->to, "to");
  return result == CLI_OK ? cli_check_distances(job) : result;
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  bool ranks = o->base != NULL || o->embedded != NULL;
  search s = {.job = job, .k = o->neighbours == 0 ? 10 : (size_t)o->neighbours};
  s.candidates = !ranks ? s.k : o->candidates != 0 ? (size_t)o->candidates : s.k > 100 ? s.k : 100;
  int result = check(&s);
  cpb_error error;
  if (result != CLI_OK) return result;
  if (cpb_sketch_load(o->sketch, &s.sketch, &error) != CPB_OK) return cli_fail(job, "%s", error.text);
  s.of.size = sizeof s.of;
  cpb_sketch_describe(s.sketch, &s.of);
  result = run_search(&s);
  free((void *)(uintptr_t)s.codes.data);
  free((void *)(uintptr_t)s.queries.data);
  free(s.found);
  free(s.hits);
  cpb_sketch_free(s.sketch);
  return result;
}

const cli_command cli_verb_sketch_search = {
    .verb = "sketch search",
    .operands = "-m SKETCH.json CODES QUERIES -o IDS",
    .summary = "the codes nearest to each query, re-ranked exactly",
    .formula =
        "bits in which codes differ, then |x-q|, from images by                                  T13 T14\n"
        "|x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0)",
    .text = "QUERIES are rows of the data space. Writes one row of k row numbers per query, the nearest "
            "first; of "
            "equal rows the one with the lower number goes first. With --base or --embedded the nearest "
            "--candidates codes are put in order by their exact distances, and only their rows are read; "
            "without, "
            "the order is that of the differing bits, and so are --distances.\n"
            "EMB must come from a map with the centre and the scale of the sketch. Codes that are not those "
            "of the "
            "rows, or of their images, are refused. The codes are held in memory, the rows are not.",
    .example = "seq 0 99 | awk '{ print $1 % 10 \",\" int($1 / 10) }' > points.csv\n"
               "capball sketch train points.csv -o sketch.json --bits 64\n"
               "capball sketch encode -m sketch.json points.csv -o codes.u8bin\n"
               "capball convert points.csv queries.csv --rows :3\n"
               "capball sketch search -m sketch.json codes.u8bin queries.csv -k 2 --base points.csv -o "
               "ids.csv\n"
               "cat ids.csv",
    .least = 2,
    .most = 2,
    .accepts = CLI_BIT(CLI_SKETCH) | CLI_BIT(CLI_NEIGHBOURS) | CLI_BIT(CLI_CANDIDATES) | CLI_BIT(CLI_BASE) |
               CLI_BIT(CLI_EMBEDDED) | CLI_BIT(CLI_OUTPUT) | CLI_BIT(CLI_DISTANCES) | CLI_BIT(CLI_DTYPE) |
               CLI_BIT(CLI_FORMAT) | CLI_BIT(CLI_TO) | CLI_BIT(CLI_QUIET) | CLI_BIT(CLI_THREADS) |
               CLI_BIT(CLI_HELP),
    .requires = CLI_BIT(CLI_SKETCH) | CLI_BIT(CLI_OUTPUT),
    .run = run};
