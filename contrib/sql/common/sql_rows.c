#include "sql_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/ball.h"
#include "base/system.h"
#include "sql_error.h"

typedef struct head {
  sql_settings settings;
  cpb_dtype dtype;
  size_t d, count;
} head;

/* Rows of another state, with its memory. */
typedef struct piece {
  struct piece *next;
  size_t count;
  char *data;
  int64_t *numbers;
  void *lent; /* the memory of both, if not from malloc */
  size_t lent_size;
  void (*release)(void *bytes, size_t size);
} piece;

struct sql_rows {
  head head;        /* counts the rows of pieces as well */
  size_t own, room; /* in rows */
  char *data;       /* own rows, densely packed */
  int64_t *numbers; /* own numbers if numbered */
  piece *pieces;
};

cpb_status sql_goal(const char *name, size_t length, cpb_goal *goal, cpb_error *error) {
  for (int i = 0; i < CPB_GOALS; i++) {
    const char *known = cpb_goal_name((cpb_goal)i);
    if (strlen(known) == length && memcmp(known, name, length) == 0) {
      *goal = (cpb_goal)i;
      return CPB_OK;
    }
  }
  return sql_fail(error, CPB_WHY_CHOICE,
                  "there is no goal \"%.*s\", only mean, median, hemisphere, spread and recall",
                  length > 40 ? 40 : (int)length, name);
}

sql_rows *sql_rows_new(void) { return calloc(1, sizeof(sql_rows)); }

static void piece_free(piece *p) {
  if (p->release != NULL)
    p->release(p->lent, p->lent_size);
  else {
    free(p->data);
    free(p->numbers);
  }
  free(p);
}

void sql_rows_free(sql_rows *rows) {
  if (rows == NULL) return;
  for (piece *p = rows->pieces, *next; p != NULL; p = next) {
    next = p->next;
    piece_free(p);
  }
  free(rows->data);
  free(rows->numbers);
  free(rows);
}

static size_t row_bytes(const head *of) { return of->d * cpb_dtype_size(of->dtype); }
static const char *row_at(const sql_rows *rows, size_t i) { return rows->data + i * row_bytes(&rows->head); }

/* ---- growing ---- */

/* Large pages, where the system has them on request: touching memory for the first time costs more than copying the rows. The
 * whole block, so that it remains one mapping, which realloc can move. */
static void use_large_pages(void *block, size_t size) {
  enum { LEAST = 4 << 20 };
  if (size >= LEAST) cpb_sys_want_large_pages(block, size);
}

static bool reserve(sql_rows *rows, size_t more) {
  size_t wanted = rows->own + more, bytes = row_bytes(&rows->head);
  if (wanted <= rows->room) return true;
  size_t room = wanted > 2 * rows->room ? wanted : 2 * rows->room;
  if (room < 16) room = 16;
  if (room > SIZE_MAX / 2 / (bytes + sizeof *rows->numbers)) return false;
  char *data = realloc(rows->data, room * bytes);
  if (data == NULL) return false;
  rows->data = data;
  use_large_pages(data, room * bytes);
  if (rows->head.settings.numbered) {
    int64_t *numbers = realloc(rows->numbers, room * sizeof *numbers);
    if (numbers == NULL) return false;
    rows->numbers = numbers;
  }
  rows->room = room;
  return true;
}

/* Copies rows to the end of the own ones; the caller counts them. */
static void append(sql_rows *rows, const void *data, const int64_t *numbers, size_t more) {
  size_t at = rows->own, bytes = row_bytes(&rows->head);
  memcpy(rows->data + at * bytes, data, more * bytes);
  if (rows->head.settings.numbered) memcpy(rows->numbers + at, numbers, more * sizeof *numbers);
  rows->own += more;
}

static cpb_status out_of_memory(const sql_rows *rows, cpb_error *error) {
  return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu rows of %zu columns", rows->head.count + 1,
                  rows->head.d);
}

static bool same_settings(const sql_settings *a, const sql_settings *b) {
  return a->goal == b->goal && a->numbered == b->numbered &&
         (a->share == b->share || (isnan(a->share) && isnan(b->share)));
}

static cpb_status check_alike(const head *rows, const head *more, cpb_error *error) {
  if (rows->d != more->d)
    return sql_fail(error, CPB_WHY_COLUMNS, "x has %zu columns, expected %zu", more->d, rows->d);
  if (rows->dtype != more->dtype)
    return sql_fail(error, CPB_WHY_DTYPE_OTHER, "x is %s, the rows before were %s",
                    cpb_dtype_name(more->dtype), cpb_dtype_name(rows->dtype));
  if (!same_settings(&rows->settings, &more->settings))
    return sql_fail(error, CPB_WHY_PIECES, "all arguments but x and the row number must be constant");
  return CPB_OK;
}

/* Adopts the shape of the first rows, and compares that of later ones with it. */
static cpb_status agree(sql_rows *rows, const head *more, cpb_error *error) {
  if (rows->head.count != 0) return check_alike(&rows->head, more, error);
  rows->head = *more;
  rows->head.count = 0;
  return CPB_OK;
}

static cpb_status check_numbers(const int64_t *numbers, size_t count, cpb_error *error) {
  for (size_t i = 0; i < count; i++)
    if (numbers[i] < 0)
      return sql_fail(error, CPB_WHY_DOMAIN, "row must be >= 0, got %lld", (long long)numbers[i]);
  return CPB_OK;
}

cpb_status sql_rows_add(sql_rows *rows, cpb_view x, const int64_t *numbers, const sql_settings *settings,
                        cpb_error *error) {
  head more = {*settings, x.dtype, x.cols, x.rows};
  if (x.cols == 0) return sql_fail(error, CPB_WHY_COLUMNS, "x is empty");
  cpb_status status = settings->numbered ? check_numbers(numbers, x.rows, error) : CPB_OK;
  if (status == CPB_OK) status = agree(rows, &more, error);
  if (status != CPB_OK) return status;
  if (!reserve(rows, x.rows)) return out_of_memory(rows, error);
  append(rows, x.data, numbers, x.rows);
  rows->head.count += x.rows;
  return CPB_OK;
}

/* Room for all rows of `from`, which are of the same kind. */
static cpb_status prepare_merge(sql_rows *rows, const sql_rows *from, cpb_error *error) {
  cpb_status status = agree(rows, &from->head, error);
  if (status != CPB_OK) return status;
  return reserve(rows, from->head.count) ? CPB_OK : out_of_memory(rows, error);
}

cpb_status sql_rows_merge(sql_rows *rows, const sql_rows *from, cpb_error *error) {
  if (from->head.count == 0) return CPB_OK;
  cpb_status status = prepare_merge(rows, from, error);
  if (status != CPB_OK) return status;
  if (from->own > 0) append(rows, from->data, from->numbers, from->own);
  for (const piece *p = from->pieces; p != NULL; p = p->next) append(rows, p->data, p->numbers, p->count);
  rows->head.count += from->head.count;
  return CPB_OK;
}

/* ---- pieces ---- */

static piece **last_piece(sql_rows *rows) {
  piece **at = &rows->pieces;
  while (*at != NULL) at = &(*at)->next;
  return at;
}

/* Makes a piece of the own rows. */
static bool put_aside(sql_rows *rows) {
  if (rows->own == 0) return true;
  piece *own = calloc(1, sizeof *own);
  if (own == NULL) return false;
  *own = (piece){.next = rows->pieces, .count = rows->own, .data = rows->data, .numbers = rows->numbers};
  rows->pieces = own;
  rows->data = NULL;
  rows->numbers = NULL;
  rows->own = rows->room = 0;
  return true;
}

cpb_status sql_rows_take(sql_rows *rows, sql_rows *from, cpb_error *error) {
  if (from->head.count == 0) return CPB_OK;
  cpb_status status = agree(rows, &from->head, error);
  if (status != CPB_OK) return status;
  if (!put_aside(from)) return out_of_memory(rows, error);
  *last_piece(rows) = from->pieces;
  rows->head.count += from->head.count;
  from->pieces = NULL;
  from->head.count = 0;
  return CPB_OK;
}

/* All rows in one block. */
static cpb_status join_pieces(sql_rows *rows, cpb_error *error) {
  if (rows->pieces == NULL) return CPB_OK;
  if (!reserve(rows, rows->head.count - rows->own)) return out_of_memory(rows, error);
  for (piece *p = rows->pieces; p != NULL; p = rows->pieces) {
    append(rows, p->data, p->numbers, p->count);
    rows->pieces = p->next;
    piece_free(p);
  }
  return CPB_OK;
}

/* ---- as bytes: head, numbers, rows ---- */

static size_t data_bytes(const head *of) { return of->count * row_bytes(of); }
static size_t number_bytes(const head *of) { return of->settings.numbered ? of->count * sizeof(int64_t) : 0; }

cpb_status sql_rows_parts(sql_rows *rows, sql_part parts[SQL_PARTS], cpb_error *error) {
  cpb_status status = join_pieces(rows, error);
  parts[0] = (sql_part){&rows->head, sizeof rows->head};
  parts[1] = (sql_part){rows->numbers, number_bytes(&rows->head)};
  parts[2] = (sql_part){rows->data, data_bytes(&rows->head)};
  return status;
}

static bool plausible(const head *of, size_t size) {
  if (of->dtype != CPB_F32 && of->dtype != CPB_F64) return false;
  if (of->count == 0) return size == sizeof(head);
  size_t most = size / of->count; /* bytes per row, before the products below can overflow */
  return of->d > 0 && of->d <= most && size == sizeof(head) + data_bytes(of) + number_bytes(of);
}

/* The bytes as a piece, or copies of its numbers and rows. */
static bool read_piece(sql_rows *rows, char *bytes, size_t size, void (*release)(void *, size_t)) {
  int64_t *numbers = (int64_t *)(void *)(bytes + sizeof(head));
  char *data = bytes + sizeof(head) + number_bytes(&rows->head);
  if (release == NULL) {
    if (!reserve(rows, rows->head.count)) return false;
    append(rows, data, numbers, rows->head.count);
    return true;
  }
  rows->pieces = malloc(sizeof *rows->pieces);
  if (rows->pieces == NULL) return false;
  *rows->pieces = (piece){NULL, rows->head.count, data, numbers, bytes, size, release};
  return true;
}

cpb_status sql_rows_read(void *bytes, size_t size, void (*release)(void *bytes, size_t size), sql_rows **rows,
                         cpb_error *error) {
  head of;
  *rows = NULL;
  if (size >= sizeof of) memcpy(&of, bytes, sizeof of);
  if (size < sizeof of || !plausible(&of, size)) return sql_fail(error, CPB_WHY_STATE, "not a state of rows");
  sql_rows *read = sql_rows_new();
  if (read == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for a state");
  read->head = of;
  if (of.count == 0 || read_piece(read, bytes, size, release)) {
    *rows = read;
    return CPB_OK;
  }
  sql_rows_free(read);
  return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu rows", of.count);
}

/* ---- the order of rows ---- */

typedef struct place {
  const sql_rows *rows;
  size_t at;
} place;

static int compare_rows(const sql_rows *rows, const char *a, const char *b) {
  for (size_t j = 0; j < rows->head.d; j++) {
    double u = rows->head.dtype == CPB_F32 ? (double)((const float *)a)[j] : ((const double *)a)[j];
    double v = rows->head.dtype == CPB_F32 ? (double)((const float *)b)[j] : ((const double *)b)[j];
    if (u < v) return -1;
    if (u > v) return 1;
  }
  return memcmp(a, b, row_bytes(&rows->head)); /* 0 and -0 */
}

static int compare(const void *a, const void *b) {
  const place *u = a, *v = b;
  const sql_rows *rows = u->rows;
  if (rows->head.settings.numbered) {
    int64_t m = rows->numbers[u->at], n = rows->numbers[v->at];
    return m < n ? -1 : m > n;
  }
  return compare_rows(rows, row_at(rows, u->at), row_at(rows, v->at));
}

static bool in_order(const place *places, size_t count) {
  size_t i = 1;
  while (i < count && compare(&places[i - 1], &places[i]) <= 0) i++;
  return i >= count;
}

/* Moves row places[i].at to i for every i, one cycle at a time; `spare` is one row. */
static void permute(sql_rows *rows, place *places, char *spare) {
  size_t bytes = row_bytes(&rows->head);
  for (size_t start = 0; start < rows->head.count; start++) {
    if (places[start].at == start) continue;
    int64_t number = rows->numbers == NULL ? 0 : rows->numbers[start];
    memcpy(spare, row_at(rows, start), bytes);
    size_t to = start;
    for (size_t from = places[to].at; from != start; from = places[to].at) {
      memcpy(rows->data + to * bytes, row_at(rows, from), bytes);
      if (rows->numbers != NULL) rows->numbers[to] = rows->numbers[from];
      places[to].at = to;
      to = from;
    }
    memcpy(rows->data + to * bytes, spare, bytes);
    if (rows->numbers != NULL) rows->numbers[to] = number;
    places[to].at = to;
  }
}

static cpb_status check_unique(const sql_rows *rows, cpb_error *error) {
  for (size_t i = 1; rows->numbers != NULL && i < rows->head.count; i++)
    if (rows->numbers[i] == rows->numbers[i - 1])
      return sql_fail(error, CPB_WHY_ROW_TWICE, "row %lld was given twice", (long long)rows->numbers[i]);
  return CPB_OK;
}

static cpb_status put_in_order(sql_rows *rows, cpb_error *error) {
  cpb_status status = join_pieces(rows, error);
  if (status != CPB_OK) return status;
  size_t count = rows->head.count;
  place *places = malloc(count * sizeof *places);
  char *spare = malloc(row_bytes(&rows->head));
  bool held = places != NULL && spare != NULL;
  for (size_t i = 0; held && i < count; i++) places[i] = (place){rows, i};
  if (held && !in_order(places, count)) {
    qsort(places, count, sizeof *places, compare);
    permute(rows, places, spare);
  }
  free(places);
  free(spare);
  if (!held) return sql_fail(error, CPB_WHY_MEMORY, "no memory for the order of %zu rows", count);
  return check_unique(rows, error);
}

/* ---- fitting ---- */

/* The own rows, then those of the pieces. */
typedef struct walk {
  const sql_rows *rows;
  const piece *next;
  bool began;
} walk;

static cpb_status next_block(cpb_source *source, cpb_view *block, cpb_error *error) {
  (void)error;
  walk *w = source->self;
  const head *of = &w->rows->head;
  const piece own = {.count = w->rows->own, .data = w->rows->data}, none = {0};
  const piece *now = &none;
  if (!w->began && own.count > 0)
    now = &own;
  else if (w->next != NULL) {
    now = w->next;
    w->next = now->next;
  }
  w->began = true;
  *block = cpb_rows(now->data, of->dtype, now->count, of->d);
  return CPB_OK;
}

static cpb_status rewind_blocks(cpb_source *source, cpb_error *error) {
  (void)error;
  walk *w = source->self;
  w->next = w->rows->pieces;
  w->began = false;
  return CPB_OK;
}

static cpb_source source_of(const sql_rows *rows, walk *w) {
  const head *of = &rows->head;
  if (rows->pieces == NULL) return cpb_source_from_view(cpb_rows(rows->data, of->dtype, of->count, of->d));
  *w = (walk){.rows = rows};
  return (cpb_source){.size = sizeof(cpb_source),
                      .cols = of->d,
                      .dtype = of->dtype,
                      .rows = of->count,
                      .next = next_block,
                      .rewind = rewind_blocks,
                      .self = w};
}

static cpb_status map_text(const cpb_map *map, const cpb_map_fit_options *options,
                           const cpb_map_fit_report *report, char **text, cpb_error *error) {
  char *evidence = NULL;
  cpb_status status = CPB_OK;
  if (report->choice != NULL) status = cpb_choice_to_json(report->choice, options, &evidence, error);
  cpb_map_origin origin = {sizeof origin, cpb_goal_name(options->goal), NULL, report->rows, evidence};
  if (status == CPB_OK) status = cpb_map_to_json(map, &origin, text, error);
  cpb_free(evidence);
  return status;
}

static cpb_status fit_map(const sql_rows *rows, const cpb_exec *exec, char **text, cpb_error *error) {
  walk w;
  cpb_source source = source_of(rows, &w);
  cpb_map_fit_options options;
  cpb_map_fit_report report = {.size = sizeof report};
  cpb_map *map = NULL;
  cpb_map_fit_options_init(&options, sizeof options);
  options.goal = rows->head.settings.goal;
  cpb_status status = cpb_map_fit(&source, &options, &map, &report, exec, error);
  if (status == CPB_OK) status = map_text(map, &options, &report, text, error);
  cpb_map_free(map);
  cpb_choice_free(report.choice);
  return status;
}

/* The model with its support vectors named by the caller's row numbers, or not listed. */
static cpb_status name_support(const sql_rows *rows, cpb_model **model, cpb_error *error) {
  cpb_model_options options = {.size = sizeof options};
  cpb_model_describe(*model, &options);
  size_t listed = rows->numbers == NULL ? 0 : options.listed;
  uint64_t *names = malloc((listed + 1) * sizeof *names);
  if (names == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu support vectors", listed);
  for (size_t i = 0; i < listed; i++) names[i] = (uint64_t)rows->numbers[options.support_rows[i]];
  options.listed = listed;
  options.support_rows = listed == 0 ? NULL : names;
  if (listed == 0) options.multipliers = NULL;
  cpb_model *named = NULL;
  cpb_status status = cpb_model_new(&options, &named, error);
  free(names);
  if (status != CPB_OK) return status;
  cpb_model_free(*model);
  *model = named;
  return CPB_OK;
}

static cpb_status fit_model(const sql_rows *rows, sql_fit fit, const cpb_exec *exec, char **text,
                            cpb_error *error) {
  walk w;
  cpb_source source = source_of(rows, &w);
  cpb_model_fit_options options;
  cpb_model *model = NULL;
  cpb_model_fit_options_init(&options, sizeof options);
  if (fit == SQL_FIT_SVDD) options.nu = rows->head.settings.share;
  options.robust = options.calibrate = fit == SQL_FIT_DETECTOR;
  if (fit == SQL_FIT_DETECTOR) options.contamination = rows->head.settings.share;
  cpb_status status = cpb_model_fit(&source, &options, &model, NULL, exec, error);
  if (status == CPB_OK) status = name_support(rows, &model, error);
  if (status == CPB_OK) status = cpb_model_to_json(model, text, error);
  cpb_model_free(model);
  return status;
}

cpb_status sql_rows_fit(sql_rows *rows, sql_fit fit, const cpb_exec *exec, char **text, cpb_error *error) {
  const sql_settings *settings = &rows->head.settings;
  cpb_status status = CPB_OK;
  if (fit >= SQL_FIT_SVDD && !(settings->share > 0)) /* 0 has a meaning of its own in cpb_model_fit */
    return sql_fail(error, CPB_WHY_DOMAIN, "%s must be > 0, got %g",
                    fit == SQL_FIT_SVDD ? "nu" : "contamination", settings->share);
  if (fit != SQL_FIT_MAP || settings->goal >= CPB_GOAL_SPREAD) status = put_in_order(rows, error);
  if (status != CPB_OK) return status;
  if (fit == SQL_FIT_MAP) return fit_map(rows, exec, text, error);
  return fit_model(rows, fit, exec, text, error);
}
