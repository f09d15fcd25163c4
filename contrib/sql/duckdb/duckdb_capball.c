/* DuckDB extension by the C API: LOAD 'capball.duckdb_extension'. Vectors are FLOAT[] or DOUBLE[]; arrays of fixed length
 * are cast to them. */
#include <stdlib.h>
#include <string.h>

#include "duckdb_api.h"
#include "sql_calls.h"
#include "sql_error.h"
#include "sql_rows.h"

static duckdb_functions duckdb; /* set when the extension is loaded */

/* ---- columns of a chunk ---- */

typedef struct column {
  uint64_t *valid; /* NULL: all */
  void *data;
} column;

static column column_of(duckdb_vector vector) {
  return (column){duckdb.vector_get_validity(vector), duckdb.vector_get_data(vector)};
}

static bool is_valid(const column *c, idx_t row) {
  return c->valid == NULL || duckdb.validity_row_is_valid(c->valid, row);
}

/* A column of lists of numbers. */
typedef struct lists {
  column entries, numbers;
  cpb_dtype dtype;
} lists;

static lists lists_of(duckdb_vector vector, cpb_dtype dtype) {
  return (lists){column_of(vector), column_of(duckdb.list_vector_get_child(vector)), dtype};
}

static duckdb_list_entry entry_at(const lists *l, idx_t row) {
  return ((duckdb_list_entry *)l->entries.data)[row];
}

static cpb_status row_at(const lists *l, idx_t row, const char *name, cpb_view *x, cpb_error *error) {
  duckdb_list_entry entry = entry_at(l, row);
  const char *numbers = (const char *)l->numbers.data + entry.offset * cpb_dtype_size(l->dtype);
  if (entry.length == 0) return sql_fail(error, CPB_WHY_COLUMNS, "%s is empty", name);
  for (uint64_t i = 0; l->numbers.valid != NULL && i < entry.length; i++)
    if (!is_valid(&l->numbers, entry.offset + i))
      return sql_fail(error, CPB_WHY_MISSING, "%s must not contain NULL", name);
  *x = cpb_rows(numbers, l->dtype, 1, entry.length);
  return CPB_OK;
}

static const char *text_at(const column *c, idx_t row, size_t *length) {
  duckdb_string_t *text = (duckdb_string_t *)c->data + row;
  *length = duckdb.string_t_length(*text);
  return duckdb.string_t_data(text);
}

/* ---- scalar functions ---- */

typedef struct scalar {
  const sql_call *call;
  cpb_dtype dtype;
} scalar;

/* The object of the last row; a chunk of rows usually has one. */
typedef struct cache {
  const char *text;
  size_t length;
  sql_object *object;
} cache;

static cpb_status object_at(cache *c, sql_kind kind, const column *texts, idx_t row, cpb_error *error) {
  size_t length;
  const char *text = text_at(texts, row, &length);
  if (c->object != NULL && length == c->length && (text == c->text || memcmp(text, c->text, length) == 0))
    return CPB_OK;
  sql_object_free(c->object);
  c->text = text;
  c->length = length;
  return sql_object_new(kind, text, length, &c->object, error);
}

/* Where results go: numbers, and the vectors of a list that grows. */
typedef struct results {
  duckdb_vector whole, list; /* list: NULL without vectors */
  double *numbers;           /* NULL: truths, or none */
  bool *truths;
  duckdb_list_entry *entries;
  cpb_dtype dtype;
  idx_t used;
} results;

static results results_of(duckdb_vector output, const scalar *f) {
  results r = {.whole = output, .dtype = f->call->result == SQL_DOUBLES ? CPB_F64 : f->dtype};
  if (f->call->result == SQL_NUMBER) r.numbers = duckdb.vector_get_data(output);
  if (f->call->result == SQL_TRUTH) r.truths = duckdb.vector_get_data(output);
  if (f->call->result == SQL_VECTOR || f->call->result == SQL_DOUBLES) r.list = output;
  if (f->call->result == SQL_CAP) {
    r.list = duckdb.struct_vector_get_child(output, 0);
    r.numbers = duckdb.vector_get_data(duckdb.struct_vector_get_child(output, 1));
  }
  if (r.list != NULL) r.entries = duckdb.vector_get_data(r.list);
  return r;
}

/* Rows of `length` numbers at the end of the list; NULL when out of memory. */
static void *grow(results *r, idx_t rows, size_t length) {
  idx_t at = r->used, size = at + rows * length;
  if (duckdb.list_vector_reserve(r->list, size) != DuckDBSuccess) return NULL;
  duckdb.list_vector_set_size(r->list, size);
  r->used = size;
  return (char *)duckdb.vector_get_data(duckdb.list_vector_get_child(r->list)) +
         at * cpb_dtype_size(r->dtype);
}

static void put_null(results *r, idx_t row) {
  duckdb.vector_ensure_validity_writable(r->whole);
  duckdb.validity_set_row_invalid(duckdb.vector_get_validity(r->whole), row);
  if (r->list == NULL) return;
  duckdb.vector_ensure_validity_writable(r->list);
  duckdb.validity_set_row_invalid(duckdb.vector_get_validity(r->list), row);
  r->entries[row] = (duckdb_list_entry){r->used, 0};
}

/* The columns of a call. */
typedef struct given {
  column texts, radii;
  lists x, q;
} given;

static given given_of(const scalar *f, duckdb_data_chunk input) {
  given g = {.texts = column_of(duckdb.data_chunk_get_vector(input, 0)),
             .x = lists_of(duckdb.data_chunk_get_vector(input, 1), f->dtype)};
  if (f->call->third == SQL_RADIUS) g.radii = column_of(duckdb.data_chunk_get_vector(input, 2));
  if (f->call->third == SQL_QUERY) g.q = lists_of(duckdb.data_chunk_get_vector(input, 2), f->dtype);
  return g;
}

static bool all_given(const scalar *f, const given *g, idx_t row) {
  return is_valid(&g->texts, row) && is_valid(&g->x.entries, row) &&
         (f->call->third != SQL_RADIUS || is_valid(&g->radii, row)) &&
         (f->call->third != SQL_QUERY || is_valid(&g->q.entries, row));
}

static cpb_status answer_row(const scalar *f, const given *g, cache *c, results *r, idx_t row,
                             cpb_error *error) {
  sql_arguments in = {0};
  sql_answer out = {0};
  cpb_status status = object_at(c, f->call->kind, &g->texts, row, error);
  if (status == CPB_OK) status = row_at(&g->x, row, "x", &in.x, error);
  if (status == CPB_OK && f->call->third == SQL_QUERY) status = row_at(&g->q, row, "query", &in.q, error);
  if (status != CPB_OK) return status;
  if (f->call->third == SQL_RADIUS) in.radius = ((const double *)g->radii.data)[row];
  if (r->list != NULL) {
    size_t length = f->call->length(c->object);
    r->entries[row] = (duckdb_list_entry){r->used, length};
    out.vector = cpb_rows_out(grow(r, 1, length), r->dtype, 1, length);
    if (out.vector.data == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu numbers", length);
  }
  status = f->call->run(c->object, &in, &out, error);
  if (r->numbers != NULL) r->numbers[row] = out.number;
  if (r->truths != NULL) r->truths[row] = out.number >= 0;
  return status;
}

/* Whether all rows have one map and are a matrix without gaps: then one call embeds them all. */
static bool is_matrix(const given *g, idx_t rows) {
  duckdb_list_entry first = entry_at(&g->x, 0);
  if (g->texts.valid != NULL || g->x.entries.valid != NULL || g->x.numbers.valid != NULL) return false;
  size_t length, other;
  const char *text = text_at(&g->texts, 0, &length);
  for (idx_t i = 1; i < rows; i++) {
    duckdb_list_entry entry = entry_at(&g->x, i);
    if (entry.length != first.length || entry.offset != first.offset + i * first.length) return false;
    if (text_at(&g->texts, i, &other) != text || other != length) return false;
  }
  return first.length > 0;
}

static cpb_status answer_matrix(const scalar *f, const given *g, cache *c, results *r, idx_t rows,
                                cpb_error *error) {
  sql_arguments in = {0};
  cpb_status status = object_at(c, f->call->kind, &g->texts, 0, error);
  if (status == CPB_OK) status = row_at(&g->x, 0, "x", &in.x, error);
  if (status != CPB_OK) return status;
  in.x.rows = rows;
  size_t length = f->call->length(c->object);
  void *to = grow(r, rows, length);
  if (to == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu numbers", (size_t)rows * length);
  for (idx_t i = 0; i < rows; i++) r->entries[i] = (duckdb_list_entry){i * length, length};
  sql_answer out = {.vector = cpb_rows_out(to, r->dtype, rows, length)};
  return f->call->run(c->object, &in, &out, error);
}

static void call_scalar(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  const scalar *f = duckdb.scalar_function_get_extra_info(info);
  idx_t rows = duckdb.data_chunk_get_size(input);
  given g = given_of(f, input);
  results r = results_of(output, f);
  cache c = {0};
  cpb_error error;
  cpb_status status = CPB_OK;
  if (rows > 0 && f->call->many && is_matrix(&g, rows))
    status = answer_matrix(f, &g, &c, &r, rows, &error);
  else
    for (idx_t i = 0; i < rows && status == CPB_OK; i++) {
      if (all_given(f, &g, i))
        status = answer_row(f, &g, &c, &r, i, &error);
      else
        put_null(&r, i);
    }
  sql_object_free(c.object);
  if (status != CPB_OK) duckdb.scalar_function_set_error(info, sql_message(&error));
}

/* ---- aggregates ---- */

typedef struct aggregate {
  const char *name;
  sql_fit fit;
  bool goal, share, row;
} aggregate;

static const aggregate aggregates[] = {
    {"capball_fit", SQL_FIT_MAP, false, false, false},
    {"capball_fit", SQL_FIT_MAP, true, false, false},
    {"capball_fit", SQL_FIT_MAP, true, false, true},
    {"capball_enclosing_ball", SQL_FIT_BALL, false, false, false},
    {"capball_enclosing_ball", SQL_FIT_BALL, false, false, true},
    {"capball_svdd", SQL_FIT_SVDD, false, true, false},
    {"capball_svdd", SQL_FIT_SVDD, false, true, true},
    {"capball_detector", SQL_FIT_DETECTOR, false, true, false},
    {"capball_detector", SQL_FIT_DETECTOR, false, true, true},
};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };

typedef struct collector {
  const aggregate *of;
  cpb_dtype dtype;
} collector;

static idx_t state_size(duckdb_function_info info) {
  (void)info;
  return sizeof(sql_rows *);
}

static void state_init(duckdb_function_info info, duckdb_aggregate_state state) {
  (void)info;
  *(sql_rows **)state = NULL;
}

static void state_destroy(duckdb_aggregate_state *states, idx_t count) {
  for (idx_t i = 0; i < count; i++) {
    sql_rows_free(*(sql_rows **)states[i]);
    *(sql_rows **)states[i] = NULL;
  }
}

/* The columns of an update. */
typedef struct rows_given {
  lists x;
  column goal, share, row;
} rows_given;

static rows_given rows_of(const collector *f, duckdb_data_chunk input) {
  idx_t next = 1;
  rows_given g = {.x = lists_of(duckdb.data_chunk_get_vector(input, 0), f->dtype)};
  if (f->of->goal) g.goal = column_of(duckdb.data_chunk_get_vector(input, next++));
  if (f->of->share) g.share = column_of(duckdb.data_chunk_get_vector(input, next++));
  if (f->of->row) g.row = column_of(duckdb.data_chunk_get_vector(input, next++));
  return g;
}

static cpb_status add_row(const collector *f, const rows_given *g, idx_t row, sql_rows **rows,
                          cpb_error *error) {
  sql_settings settings = {.numbered = f->of->row};
  int64_t number = 0;
  cpb_view x;
  cpb_status status = row_at(&g->x, row, "x", &x, error);
  if (f->of->share) settings.share = ((const double *)g->share.data)[row];
  if (f->of->row) number = ((const int64_t *)g->row.data)[row];
  if (status == CPB_OK && f->of->goal) {
    size_t length;
    const char *name = text_at(&g->goal, row, &length);
    status = sql_goal(name, length, &settings.goal, error);
  }
  if (status != CPB_OK) return status;
  if (*rows == NULL) *rows = sql_rows_new();
  if (*rows == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for rows");
  return sql_rows_add(*rows, x, &number, &settings, error);
}

static void update(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state *states) {
  const collector *f = duckdb.aggregate_function_get_extra_info(info);
  rows_given g = rows_of(f, input);
  cpb_error error;
  cpb_status status = CPB_OK;
  idx_t rows = duckdb.data_chunk_get_size(input);
  for (idx_t i = 0; i < rows && status == CPB_OK; i++)
    if (is_valid(&g.x.entries, i) && is_valid(&g.goal, i) && is_valid(&g.share, i) && is_valid(&g.row, i))
      status = add_row(f, &g, i, (sql_rows **)states[i], &error);
  if (status != CPB_OK) duckdb.aggregate_function_set_error(info, error.text);
}

static void combine(duckdb_function_info info, duckdb_aggregate_state *source, duckdb_aggregate_state *target,
                    idx_t count) {
  cpb_error error;
  cpb_status status = CPB_OK;
  for (idx_t i = 0; i < count && status == CPB_OK; i++) {
    sql_rows **from = (sql_rows **)source[i], **to = (sql_rows **)target[i];
    if (*from == NULL) continue;
    if (*to == NULL && (*to = sql_rows_new()) == NULL)
      status = sql_fail(&error, CPB_WHY_MEMORY, "no memory for rows");
    else
      status = sql_rows_merge(*to, *from, &error);
  }
  if (status != CPB_OK) duckdb.aggregate_function_set_error(info, error.text);
}

static void finalize(duckdb_function_info info, duckdb_aggregate_state *source, duckdb_vector result,
                     idx_t count, idx_t offset) {
  const collector *f = duckdb.aggregate_function_get_extra_info(info);
  cpb_error error;
  for (idx_t i = 0; i < count; i++) {
    sql_rows *rows = *(sql_rows **)source[i];
    char *text = NULL;
    if (rows == NULL) {
      duckdb.vector_ensure_validity_writable(result);
      duckdb.validity_set_row_invalid(duckdb.vector_get_validity(result), offset + i);
    } else if (sql_rows_fit(rows, f->of->fit, NULL, &text, &error) == CPB_OK)
      duckdb.vector_assign_string_element(result, offset + i, text);
    else
      duckdb.aggregate_function_set_error(info, error.text);
    cpb_free(text);
  }
}

/* ---- registration ---- */

static duckdb_logical_type simple(duckdb_type type) { return duckdb.create_logical_type(type); }

static duckdb_logical_type list_type(cpb_dtype dtype) {
  duckdb_logical_type element = simple(dtype == CPB_F32 ? DUCKDB_TYPE_FLOAT : DUCKDB_TYPE_DOUBLE);
  duckdb_logical_type list = duckdb.create_list_type(element);
  duckdb.destroy_logical_type(&element);
  return list;
}

static duckdb_logical_type cap_type(cpb_dtype dtype) {
  duckdb_logical_type members[2] = {list_type(dtype), simple(DUCKDB_TYPE_DOUBLE)};
  const char *names[2] = {"p", "b"};
  duckdb_logical_type cap = duckdb.create_struct_type(members, names, 2);
  for (int i = 0; i < 2; i++) duckdb.destroy_logical_type(&members[i]);
  return cap;
}

static duckdb_logical_type result_type(sql_result result, cpb_dtype dtype) {
  switch (result) {
  case SQL_VECTOR: return list_type(dtype);
  case SQL_DOUBLES: return list_type(CPB_F64);
  case SQL_CAP: return cap_type(dtype);
  case SQL_NUMBER: return simple(DUCKDB_TYPE_DOUBLE);
  default: return simple(DUCKDB_TYPE_BOOLEAN);
  }
}

static void scalar_parameter(duckdb_scalar_function function, duckdb_logical_type type) {
  duckdb.scalar_function_add_parameter(function, type);
  duckdb.destroy_logical_type(&type);
}

static bool add_scalar(duckdb_scalar_function_set set, const sql_call *call, cpb_dtype dtype) {
  scalar *f = malloc(sizeof *f);
  if (f == NULL) return false;
  *f = (scalar){call, dtype};
  duckdb_scalar_function function = duckdb.create_scalar_function();
  duckdb.scalar_function_set_name(function, call->name);
  duckdb.scalar_function_set_extra_info(function, f, free);
  duckdb.scalar_function_set_function(function, call_scalar);
  scalar_parameter(function, simple(DUCKDB_TYPE_VARCHAR));
  scalar_parameter(function, list_type(dtype));
  if (call->third == SQL_RADIUS) scalar_parameter(function, simple(DUCKDB_TYPE_DOUBLE));
  if (call->third == SQL_QUERY) scalar_parameter(function, list_type(dtype));
  duckdb_logical_type result = result_type(call->result, dtype);
  duckdb.scalar_function_set_return_type(function, result);
  duckdb.destroy_logical_type(&result);
  bool added = duckdb.add_scalar_function_to_set(set, function) == DuckDBSuccess;
  duckdb.destroy_scalar_function(&function);
  return added;
}

static bool register_call(duckdb_connection connection, const sql_call *call) {
  duckdb_scalar_function_set set = duckdb.create_scalar_function_set(call->name);
  bool added = add_scalar(set, call, CPB_F32) && add_scalar(set, call, CPB_F64) &&
               duckdb.register_scalar_function_set(connection, set) == DuckDBSuccess;
  duckdb.destroy_scalar_function_set(&set);
  return added;
}

static void aggregate_parameter(duckdb_aggregate_function function, duckdb_logical_type type) {
  duckdb.aggregate_function_add_parameter(function, type);
  duckdb.destroy_logical_type(&type);
}

static bool add_aggregate(duckdb_aggregate_function_set set, const aggregate *of, cpb_dtype dtype) {
  collector *f = malloc(sizeof *f);
  if (f == NULL) return false;
  *f = (collector){of, dtype};
  duckdb_aggregate_function function = duckdb.create_aggregate_function();
  duckdb.aggregate_function_set_name(function, of->name);
  duckdb.aggregate_function_set_extra_info(function, f, free);
  duckdb.aggregate_function_set_functions(function, state_size, state_init, update, combine, finalize);
  duckdb.aggregate_function_set_destructor(function, state_destroy);
  aggregate_parameter(function, list_type(dtype));
  if (of->goal) aggregate_parameter(function, simple(DUCKDB_TYPE_VARCHAR));
  if (of->share) aggregate_parameter(function, simple(DUCKDB_TYPE_DOUBLE));
  if (of->row) aggregate_parameter(function, simple(DUCKDB_TYPE_BIGINT));
  duckdb_logical_type text = simple(DUCKDB_TYPE_VARCHAR);
  duckdb.aggregate_function_set_return_type(function, text);
  duckdb.destroy_logical_type(&text);
  bool added = duckdb.add_aggregate_function_to_set(set, function) == DuckDBSuccess;
  duckdb.destroy_aggregate_function(&function);
  return added;
}

/* All aggregates of this name, which are neighbours in the table. */
static bool register_aggregates(duckdb_connection connection, const char *name) {
  duckdb_aggregate_function_set set = duckdb.create_aggregate_function_set(name);
  bool added = true;
  for (size_t i = 0; i < AGGREGATES; i++)
    if (strcmp(aggregates[i].name, name) == 0)
      added =
          added && add_aggregate(set, &aggregates[i], CPB_F32) && add_aggregate(set, &aggregates[i], CPB_F64);
  added = added && duckdb.register_aggregate_function_set(connection, set) == DuckDBSuccess;
  duckdb.destroy_aggregate_function_set(&set);
  return added;
}

static void tell_version(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
  (void)info;
  for (idx_t i = 0; i < duckdb.data_chunk_get_size(input); i++)
    duckdb.vector_assign_string_element(output, i, cpb_version());
}

static bool register_version(duckdb_connection connection) {
  duckdb_scalar_function_set set = duckdb.create_scalar_function_set("capball_version");
  duckdb_scalar_function function = duckdb.create_scalar_function();
  duckdb_logical_type text = simple(DUCKDB_TYPE_VARCHAR);
  duckdb.scalar_function_set_name(function, "capball_version");
  duckdb.scalar_function_set_function(function, tell_version);
  duckdb.scalar_function_set_return_type(function, text);
  duckdb.destroy_logical_type(&text);
  bool added = duckdb.add_scalar_function_to_set(set, function) == DuckDBSuccess &&
               duckdb.register_scalar_function_set(connection, set) == DuckDBSuccess;
  duckdb.destroy_scalar_function(&function);
  duckdb.destroy_scalar_function_set(&set);
  return added;
}

static bool register_all(duckdb_connection connection) {
  bool added = register_version(connection) && register_aggregates(connection, "capball_fit") &&
               register_aggregates(connection, "capball_enclosing_ball") &&
               register_aggregates(connection, "capball_svdd") &&
               register_aggregates(connection, "capball_detector");
  for (size_t i = 0; added && i < SQL_CALLS; i++) added = register_call(connection, &sql_calls[i]);
  return added;
}

/* Called by DuckDB, which finds it by its name. */
__attribute__((visibility("default"))) bool capball_init_c_api(duckdb_extension_info info,
                                                               struct duckdb_extension_access *access);
bool capball_init_c_api(duckdb_extension_info info, struct duckdb_extension_access *access) {
  const duckdb_functions *functions = access->get_api(info, DUCKDB_API_VERSION);
  duckdb_connection connection;
  if (functions == NULL) return false;
  duckdb = *functions;
  if (duckdb.connect(*access->get_database(info), &connection) == DuckDBError) {
    access->set_error(info, "capball: no connection to the database");
    return false;
  }
  bool added = register_all(connection);
  duckdb.disconnect(&connection);
  if (!added) access->set_error(info, "capball: the functions could not be registered");
  return added;
}
