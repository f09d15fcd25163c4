/* SQLite loadable extension: .load ./capball. Vectors are blobs of f32 (the layout of sqlite-vec) or JSON arrays. */
#include <sqlite3ext.h>
#include <stdlib.h>
#include <string.h>

#include "files/json_read.h"
#include "sql_calls.h"
#include "sql_error.h"
#include "sql_rows.h"
#include "base/json_text.h"

SQLITE_EXTENSION_INIT1

enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

static void report(sqlite3_context *context, cpb_error *error) {
  sqlite3_result_error(context, sql_message(error), -1);
  if (error->status == CPB_ENOMEM) sqlite3_result_error_code(context, SQLITE_NOMEM);
}

static bool any_null(int count, sqlite3_value **values) {
  int i = 0;
  while (i < count && sqlite3_value_type(values[i]) != SQLITE_NULL) i++;
  return i < count;
}

/* ---- arguments ---- */

/* A vector in memory of its own, since blobs may be unaligned. */
typedef struct vector {
  void *numbers; /* freed by the caller */
  size_t count;
  cpb_dtype dtype;
} vector;

static cpb_view view_of(const vector *v) { return cpb_rows(v->numbers, v->dtype, 1, v->count); }

static cpb_status no_memory(cpb_error *error, size_t count) {
  return sql_fail(error, CPB_WHY_MEMORY, "no memory for a vector of %zu numbers", count);
}

static cpb_status read_blob(sqlite3_value *value, const char *name, vector *v, cpb_error *error) {
  const void *bytes = sqlite3_value_blob(value);
  size_t size = (size_t)sqlite3_value_bytes(value);
  if (size == 0 || size % sizeof(float) != 0)
    return sql_fail(error, CPB_WHY_COLUMNS, "%s has %zu bytes: not a blob of f32", name, size);
  *v = (vector){malloc(size), size / sizeof(float), CPB_F32};
  if (v->numbers == NULL) return no_memory(error, v->count);
  memcpy(v->numbers, bytes, size);
  return CPB_OK;
}

static cpb_status read_numbers(const cpb_json *array, const char *name, vector *v, cpb_error *error) {
  size_t i = 0;
  *v = (vector){NULL, cpb_json_size(array), CPB_F64};
  if (v->count == 0) return sql_fail(error, CPB_WHY_COLUMNS, "%s is not a JSON array of numbers", name);
  double *numbers = v->numbers = malloc(v->count * sizeof *numbers);
  if (numbers == NULL) return no_memory(error, v->count);
  for (const cpb_json *number = cpb_json_first(array); number != NULL; number = number->next, i++) {
    if (!cpb_json_is_number(number))
      return sql_fail(error, CPB_WHY_JSON_VALUE, "%s: element %zu is not a number", name, i);
    numbers[i] = number->real;
  }
  return CPB_OK;
}

static cpb_status read_json(sqlite3_value *value, const char *name, vector *v, cpb_error *error) {
  cpb_json *json;
  const char *text = (const char *)sqlite3_value_text(value);
  if (text == NULL) return no_memory(error, 0);
  size_t length = (size_t)sqlite3_value_bytes(value);
  cpb_status status = cpb_json_read(text, length, CPB_JSON_AS_REALS, name, &json, error);
  if (status != CPB_OK) return status;
  status = read_numbers(json, name, v, error);
  free(json);
  return status;
}

static cpb_status read_vector(sqlite3_value *value, const char *name, vector *v, cpb_error *error) {
  *v = (vector){0};
  switch (sqlite3_value_type(value)) {
  case SQLITE_BLOB: return read_blob(value, name, v, error);
  case SQLITE_TEXT: return read_json(value, name, v, error);
  default: return sql_fail(error, CPB_WHY_DTYPE_IN, "%s is neither a blob of f32 nor a JSON array", name);
  }
}

static cpb_status read_number(sqlite3_value *value, const char *name, double *number, cpb_error *error) {
  int type = sqlite3_value_type(value);
  *number = sqlite3_value_double(value);
  if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) return CPB_OK;
  return sql_fail(error, CPB_WHY_DTYPE_IN, "%s is not a number", name);
}

/* ---- scalar functions ---- */

/* A function of one connection, with the object of its last call. */
typedef struct scalar {
  const sql_call *call;
  char *text; /* NULL: no object is cached */
  size_t length;
  sql_object *object;
} scalar;

static void forget(scalar *f) {
  free(f->text);
  sql_object_free(f->object);
  f->text = NULL;
  f->object = NULL;
}

static void scalar_free(void *given) {
  forget(given);
  free(given);
}

static cpb_status find_object(scalar *f, sqlite3_value *value, cpb_error *error) {
  const char *text = (const char *)sqlite3_value_text(value);
  size_t length = (size_t)sqlite3_value_bytes(value);
  if (text == NULL) return no_memory(error, 0);
  if (f->text != NULL && f->length == length && memcmp(f->text, text, length) == 0) return CPB_OK;
  forget(f);
  cpb_status status = sql_object_new(f->call->kind, text, length, &f->object, error);
  if (status != CPB_OK) return status;
  f->text = malloc(length + 1);
  if (f->text == NULL) return no_memory(error, length);
  memcpy(f->text, text, length);
  f->length = length;
  return CPB_OK;
}

static void give_text(sqlite3_context *context, cpb_text *text) {
  if (text->failure == CPB_JSON_UNSAYABLE)
    sqlite3_result_error(context, "JSON cannot represent inf or NaN", -1);
  else if (text->failure != CPB_JSON_WHOLE)
    sqlite3_result_error_nomem(context);
  else
    sqlite3_result_text(context, text->bytes, (int)text->used, SQLITE_TRANSIENT);
  free(text->bytes);
}

static void give_json(sqlite3_context *context, const sql_call *call, const sql_answer *answer) {
  size_t count = answer->vector.cols;
  cpb_text text = {.style = {.compact = true, .fewest = true}};
  double *numbers = malloc(count * sizeof *numbers);
  if (numbers == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  cpb_view_widen(cpb_rows(answer->vector.data, answer->vector.dtype, 1, count), numbers);
  if (call->result == SQL_CAP)
    cpb_json_pack(&text, "{s:V, s:f}", "p", numbers, count, "b", answer->number);
  else
    cpb_json_vector(&text, numbers, count);
  free(numbers);
  give_text(context, &text);
}

static void give(sqlite3_context *context, const sql_call *call, const sql_answer *answer) {
  if (call->result == SQL_NUMBER)
    sqlite3_result_double(context, answer->number);
  else if (call->result == SQL_TRUTH)
    sqlite3_result_int(context, answer->number >= 0);
  else if (call->result == SQL_VECTOR && answer->vector.dtype == CPB_F32)
    sqlite3_result_blob64(context, answer->vector.data, answer->vector.cols * sizeof(float),
                          SQLITE_TRANSIENT);
  else
    give_json(context, call, answer);
}

static cpb_status answer_row(const scalar *f, const sql_arguments *in, sqlite3_context *context,
                             cpb_error *error) {
  const sql_call *call = f->call;
  size_t length = call->length == NULL ? 0 : call->length(f->object);
  cpb_dtype dtype = call->result == SQL_DOUBLES ? CPB_F64 : in->x.dtype;
  void *numbers = malloc((length + 1) * sizeof(double));
  if (numbers == NULL) return no_memory(error, length);
  sql_answer out = {.vector = cpb_rows_out(numbers, dtype, 1, length)};
  cpb_status status = call->run(f->object, in, &out, error);
  if (status == CPB_OK) give(context, call, &out);
  free(numbers);
  return status;
}

static void call_scalar(sqlite3_context *context, int count, sqlite3_value **values) {
  scalar *f = sqlite3_user_data(context);
  vector x = {0}, q = {0};
  cpb_error error;
  if (any_null(count, values)) return;
  sql_arguments in = {0};
  cpb_status status = find_object(f, values[0], &error);
  if (status == CPB_OK) status = read_vector(values[1], "x", &x, &error);
  if (status == CPB_OK && f->call->third == SQL_QUERY) status = read_vector(values[2], "query", &q, &error);
  if (status == CPB_OK && f->call->third == SQL_RADIUS)
    status = read_number(values[2], "radius", &in.radius, &error);
  in.x = view_of(&x);
  in.q = view_of(&q);
  if (status == CPB_OK) status = answer_row(f, &in, context, &error);
  if (status != CPB_OK) report(context, &error);
  free(x.numbers);
  free(q.numbers);
}

/* ---- aggregates ---- */

typedef struct aggregate {
  const char *name;
  int count; /* of arguments */
  sql_fit fit;
} aggregate;

static const aggregate aggregates[] = {
    {"capball_fit", 1, SQL_FIT_MAP},
    {"capball_fit", 2, SQL_FIT_MAP},
    {"capball_fit", 3, SQL_FIT_MAP},
    {"capball_enclosing_ball", 1, SQL_FIT_BALL},
    {"capball_enclosing_ball", 2, SQL_FIT_BALL},
    {"capball_svdd", 2, SQL_FIT_SVDD},
    {"capball_svdd", 3, SQL_FIT_SVDD},
    {"capball_detector", 2, SQL_FIT_DETECTOR},
    {"capball_detector", 3, SQL_FIT_DETECTOR},
};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };

static cpb_status read_settings(const aggregate *of, sqlite3_value **values, sql_settings *settings,
                                int64_t *number, cpb_error *error) {
  int next = 1;
  cpb_status status = CPB_OK;
  *settings = (sql_settings){0};
  if (of->fit == SQL_FIT_MAP && of->count > 1) {
    const char *name = (const char *)sqlite3_value_text(values[next]);
    if (name == NULL) return no_memory(error, 0);
    status = sql_goal(name, (size_t)sqlite3_value_bytes(values[next++]), &settings->goal, error);
  }
  if (of->fit >= SQL_FIT_SVDD)
    status = read_number(values[next++], of->fit == SQL_FIT_SVDD ? "nu" : "contamination", &settings->share,
                         error);
  settings->numbered = next < of->count;
  if (!settings->numbered || status != CPB_OK) return status;
  *number = sqlite3_value_int64(values[next]);
  if (sqlite3_value_type(values[next]) == SQLITE_INTEGER) return CPB_OK;
  return sql_fail(error, CPB_WHY_DTYPE_IN, "row is not an integer");
}

static void step(sqlite3_context *context, int count, sqlite3_value **values) {
  const aggregate *of = sqlite3_user_data(context);
  vector x = {0};
  sql_settings settings;
  int64_t number = 0;
  cpb_error error;
  if (any_null(count, values)) return;
  sql_rows **rows = sqlite3_aggregate_context(context, sizeof *rows);
  if (rows != NULL && *rows == NULL) *rows = sql_rows_new();
  if (rows == NULL || *rows == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  cpb_status status = read_vector(values[0], "x", &x, &error);
  if (status == CPB_OK) status = read_settings(of, values, &settings, &number, &error);
  if (status == CPB_OK) status = sql_rows_add(*rows, view_of(&x), &number, &settings, &error);
  if (status != CPB_OK) report(context, &error);
  free(x.numbers);
}

static void final(sqlite3_context *context) {
  const aggregate *of = sqlite3_user_data(context);
  sql_rows **rows = sqlite3_aggregate_context(context, 0);
  if (rows == NULL || *rows == NULL) return; /* NULL, as of all aggregates over no rows */
  char *text = NULL;
  cpb_error error;
  if (sql_rows_fit(*rows, of->fit, NULL, &text, &error) == CPB_OK)
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
  else
    report(context, &error);
  cpb_free(text);
  sql_rows_free(*rows);
  *rows = NULL;
}

/* ---- registration ---- */

static int add_scalar(sqlite3 *db, const sql_call *call) {
  scalar *f = calloc(1, sizeof *f);
  if (f == NULL) return SQLITE_NOMEM;
  f->call = call;
  int count = call->third == SQL_NOTHING ? 2 : 3;
  return sqlite3_create_function_v2(db, call->name, count, FLAGS, f, call_scalar, NULL, NULL, scalar_free);
}

static void tell_version(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)count, (void)values;
  sqlite3_result_text(context, cpb_version(), -1, SQLITE_STATIC);
}

__attribute__((visibility("default"))) int sqlite3_capball_init(sqlite3 *db, char **message,
                                                                const sqlite3_api_routines *api);
int sqlite3_capball_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
  (void)message;
  SQLITE_EXTENSION_INIT2(api);
  int code =
      sqlite3_create_function_v2(db, "capball_version", 0, FLAGS, NULL, tell_version, NULL, NULL, NULL);
  for (size_t i = 0; code == SQLITE_OK && i < SQL_CALLS; i++) code = add_scalar(db, &sql_calls[i]);
  for (size_t i = 0; code == SQLITE_OK && i < AGGREGATES; i++)
    code = sqlite3_create_function_v2(db, aggregates[i].name, aggregates[i].count, FLAGS,
                                      (void *)(uintptr_t)&aggregates[i], NULL, step, final, NULL);
  return code;
}
