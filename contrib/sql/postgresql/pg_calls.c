/* The scalar functions. The object that a map, model or region describes is cached in fn_extra. */
#include <postgres.h>

#include <catalog/pg_type.h>
#include <fmgr.h>
#include <funcapi.h>
#include <utils/builtins.h>
#include <utils/memutils.h>

#include "pg_error.h"
#include "sql_calls.h"

PG_MODULE_MAGIC;

typedef struct cache {
  struct varlena *key; /* the argument as passed, perhaps compressed or a TOAST pointer; NULL: no object */
  bool constant;       /* it is the same for all calls of this query */
  sql_object *object;
  TupleDesc row; /* of the result of capball_cap */
} cache;

static void cache_clear(void *given) {
  cache *c = given;
  sql_object_free(c->object);
  c->object = NULL;
}

static cache *cache_of(FmgrInfo *function) {
  if (function->fn_extra == NULL) {
    cache *c = MemoryContextAllocZero(function->fn_mcxt, sizeof *c);
    MemoryContextCallback *callback = MemoryContextAlloc(function->fn_mcxt, sizeof *callback);
    callback->func = cache_clear;
    callback->arg = c;
    MemoryContextRegisterResetCallback(function->fn_mcxt, callback);
    function->fn_extra = c;
  }
  return function->fn_extra;
}

/* Pointers to memory may be reused for another value; those to TOAST tables are not, within a transaction. */
static bool comparable(const struct varlena *text) {
  return !VARATT_IS_EXTERNAL(text) || VARATT_IS_EXTERNAL_ONDISK(text);
}

static bool same(const struct varlena *a, const struct varlena *b) {
  return VARSIZE_ANY(a) == VARSIZE_ANY(b) && memcmp(a, b, VARSIZE_ANY(a)) == 0;
}

static void parse(cache *c, sql_kind kind, struct varlena *given) {
  struct varlena *text = PG_DETOAST_DATUM_PACKED(PointerGetDatum(given));
  cpb_error error;
  cache_clear(c);
  if (sql_object_new(kind, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text), &c->object, &error) != CPB_OK)
    pg_report(&error);
  if (text != given) pfree(text);
}

static const sql_object *object_of(FunctionCallInfo fcinfo, cache *c, sql_kind kind) {
  struct varlena *given = (struct varlena *)PG_GETARG_POINTER(0);
  if (c->key != NULL && (c->constant || same(c->key, given))) return c->object;
  if (c->key != NULL) pfree(c->key);
  c->key = NULL;
  parse(c, kind, given);
  if (comparable(given)) {
    struct varlena *key = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, VARSIZE_ANY(given));
    memcpy(key, given, VARSIZE_ANY(given));
    c->key = key;
    c->constant = get_fn_expr_arg_stable(fcinfo->flinfo, 0);
  }
  return c->object;
}

static ArrayType *new_array(size_t count, cpb_dtype dtype) {
  Size size = ARR_OVERHEAD_NONULLS(1) + count * cpb_dtype_size(dtype);
  ArrayType *array = palloc(size);
  SET_VARSIZE(array, size);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = dtype == CPB_F32 ? FLOAT4OID : FLOAT8OID;
  ARR_DIMS(array)[0] = (int)count;
  ARR_LBOUND(array)[0] = 1;
  return array;
}

static Datum pair(FunctionCallInfo fcinfo, cache *c, ArrayType *p, double b) {
  if (c->row == NULL) {
    MemoryContext before = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
    if (get_call_result_type(fcinfo, NULL, &c->row) != TYPEFUNC_COMPOSITE)
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("the result must be a row")));
    c->row = BlessTupleDesc(c->row);
    MemoryContextSwitchTo(before);
  }
  Datum values[2] = {PointerGetDatum(p), Float8GetDatum(b)};
  bool nulls[2] = {false, false};
  return HeapTupleGetDatum(heap_form_tuple(c->row, values, nulls));
}

static Datum answer(FunctionCallInfo fcinfo, const sql_call *call) {
  cache *c = cache_of(fcinfo->flinfo);
  const sql_object *object = object_of(fcinfo, c, call->kind);
  sql_arguments in = {.x = pg_vector(PG_GETARG_ARRAYTYPE_P(1), "x")};
  if (call->third == SQL_RADIUS) in.radius = PG_GETARG_FLOAT8(2);
  if (call->third == SQL_QUERY) in.q = pg_vector(PG_GETARG_ARRAYTYPE_P(2), "query");
  ArrayType *array = NULL;
  sql_answer out = {0};
  if (call->length != NULL) {
    size_t length = call->length(object);
    cpb_dtype dtype = call->result == SQL_DOUBLES ? CPB_F64 : in.x.dtype;
    array = new_array(length, dtype);
    out.vector = cpb_rows_out(ARR_DATA_PTR(array), dtype, 1, length);
  }
  cpb_error error;
  if (call->run(object, &in, &out, &error) != CPB_OK) pg_report(&error);
  switch (call->result) {
  case SQL_NUMBER: PG_RETURN_FLOAT8(out.number);
  case SQL_TRUTH: PG_RETURN_BOOL(out.number >= 0);
  case SQL_CAP: return pair(fcinfo, c, array, out.number);
  default: PG_RETURN_POINTER(array);
  }
}

PG_FUNCTION_INFO_V1(capball_embed);
Datum capball_embed(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_EMBED]); }
PG_FUNCTION_INFO_V1(capball_unembed);
Datum capball_unembed(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_UNEMBED]); }
PG_FUNCTION_INFO_V1(capball_query);
Datum capball_query(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_BALL_QUERY]); }
PG_FUNCTION_INFO_V1(capball_cap);
Datum capball_cap(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_BALL_CAP]); }
PG_FUNCTION_INFO_V1(capball_distance);
Datum capball_distance(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_DISTANCE]); }
PG_FUNCTION_INFO_V1(capball_score);
Datum capball_score(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_SCORE]); }
PG_FUNCTION_INFO_V1(capball_why);
Datum capball_why(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_WHY]); }
PG_FUNCTION_INFO_V1(capball_inside);
Datum capball_inside(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_INSIDE]); }
PG_FUNCTION_INFO_V1(capball_is_outlier);
Datum capball_is_outlier(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_IS_OUTLIER]); }
PG_FUNCTION_INFO_V1(capball_p_value);
Datum capball_p_value(PG_FUNCTION_ARGS) { return answer(fcinfo, &sql_calls[SQL_P_VALUE]); }

PG_FUNCTION_INFO_V1(capball_version);
Datum capball_version(PG_FUNCTION_ARGS) { PG_RETURN_TEXT_P(cstring_to_text(cpb_version())); }
