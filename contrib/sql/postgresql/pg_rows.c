/* The aggregates. Rows are held in memory of the library, which a callback frees with the context of the state. */
#include <postgres.h>

#include <fmgr.h>
#include <miscadmin.h>
#include <utils/builtins.h>
#include <utils/memutils.h>

#include "pg_error.h"
#include "pg_exchange.h"
#include "sql_error.h"
#include "sql_rows.h"

typedef struct held {
  MemoryContextCallback callback;
  sql_rows *rows;
} held;

static void held_clear(void *given) {
  held *h = given;
  sql_rows_free(h->rows);
  h->rows = NULL;
}

static held *held_new(MemoryContext context) {
  held *h = MemoryContextAllocZero(context, sizeof *h);
  h->callback.func = held_clear;
  h->callback.arg = h;
  MemoryContextRegisterResetCallback(context, &h->callback);
  return h;
}

static MemoryContext context_of_state(FunctionCallInfo fcinfo) {
  MemoryContext context;
  if (AggCheckCallContext(fcinfo, &context) == 0)
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this function is a part of an aggregate")));
  return context;
}

static held *state_of(FunctionCallInfo fcinfo, int argument) {
  return PG_ARGISNULL(argument) ? NULL : (held *)PG_GETARG_POINTER(argument);
}

static Datum state_datum(FunctionCallInfo fcinfo, held *state) {
  if (state == NULL) PG_RETURN_NULL();
  PG_RETURN_POINTER(state);
}

static bool any_null(FunctionCallInfo fcinfo) {
  int i = 1;
  while (i < PG_NARGS() && !PG_ARGISNULL(i)) i++;
  return i < PG_NARGS();
}

/* The places of the arguments after x; 0: there is no such argument. */
typedef struct places {
  int goal, share, row;
} places;

static sql_settings settings_of(FunctionCallInfo fcinfo, places at) {
  sql_settings settings = {.numbered = at.row != 0};
  cpb_error error;
  if (at.share != 0) settings.share = PG_GETARG_FLOAT8(at.share);
  if (at.goal != 0) {
    text *name = PG_GETARG_TEXT_PP(at.goal);
    if (sql_goal(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &settings.goal, &error) != CPB_OK)
      pg_report(&error);
  }
  return settings;
}

static Datum add(FunctionCallInfo fcinfo, places at) {
  MemoryContext context = context_of_state(fcinfo);
  held *state = state_of(fcinfo, 0);
  if (any_null(fcinfo)) return state_datum(fcinfo, state);
  cpb_view x = pg_vector(PG_GETARG_ARRAYTYPE_P(1), "x");
  sql_settings settings = settings_of(fcinfo, at);
  cpb_error error;
  if (state == NULL) state = held_new(context);
  if (state->rows == NULL) state->rows = sql_rows_new();
  if (state->rows == NULL) ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  int64_t number = at.row != 0 ? PG_GETARG_INT64(at.row) : 0;
  if (sql_rows_add(state->rows, x, &number, &settings, &error) != CPB_OK) pg_report(&error);
  PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(capball_add);
Datum capball_add(PG_FUNCTION_ARGS) { return add(fcinfo, (places){0}); }
PG_FUNCTION_INFO_V1(capball_add_row);
Datum capball_add_row(PG_FUNCTION_ARGS) { return add(fcinfo, (places){.row = 2}); }
PG_FUNCTION_INFO_V1(capball_add_goal);
Datum capball_add_goal(PG_FUNCTION_ARGS) { return add(fcinfo, (places){.goal = 2}); }
PG_FUNCTION_INFO_V1(capball_add_goal_row);
Datum capball_add_goal_row(PG_FUNCTION_ARGS) { return add(fcinfo, (places){.goal = 2, .row = 3}); }
PG_FUNCTION_INFO_V1(capball_add_share);
Datum capball_add_share(PG_FUNCTION_ARGS) { return add(fcinfo, (places){.share = 2}); }
PG_FUNCTION_INFO_V1(capball_add_share_row);
Datum capball_add_share_row(PG_FUNCTION_ARGS) { return add(fcinfo, (places){.share = 2, .row = 3}); }

/* ---- parallel plans ---- */

PG_FUNCTION_INFO_V1(capball_merge);
Datum capball_merge(PG_FUNCTION_ARGS) {
  MemoryContext context = context_of_state(fcinfo);
  held *state = state_of(fcinfo, 0), *piece = state_of(fcinfo, 1);
  cpb_error error;
  if (piece == NULL) return state_datum(fcinfo, state);
  if (state == NULL) { /* takes the rows of the piece, which is in a context of short life */
    state = held_new(context);
    state->rows = piece->rows;
    piece->rows = NULL;
  } else if (piece->rows != NULL && sql_rows_take(state->rows, piece->rows, &error) != CPB_OK)
    pg_report(&error);
  PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(capball_serialize);
Datum capball_serialize(PG_FUNCTION_ARGS) {
  context_of_state(fcinfo);
  PG_RETURN_BYTEA_P(pg_exchange_send(((held *)PG_GETARG_POINTER(0))->rows));
}

PG_FUNCTION_INFO_V1(capball_deserialize);
Datum capball_deserialize(PG_FUNCTION_ARGS) {
  context_of_state(fcinfo);
  held *state = held_new(CurrentMemoryContext);
  state->rows = pg_exchange_receive(PG_GETARG_BYTEA_PP(0));
  PG_RETURN_POINTER(state);
}

/* ---- results ---- */

/* Stops the library, which frees what it holds; the error is raised after it has returned. */
static int cancelled(void *context, double share) {
  return InterruptPending && (QueryCancelPending || ProcDiePending);
}

/* Copies before it can fail: an error would lose the string of the library. */
static text *take_text(char *given) {
  Size length = strlen(given);
  text *copy = palloc_extended(VARHDRSZ + length, MCXT_ALLOC_NO_OOM);
  if (copy != NULL) {
    SET_VARSIZE(copy, VARHDRSZ + length);
    memcpy(VARDATA(copy), given, length);
  }
  cpb_free(given);
  if (copy == NULL) ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  return copy;
}

static Datum finish(FunctionCallInfo fcinfo, sql_fit fit) {
  held *state = state_of(fcinfo, 0);
  char *found = NULL;
  cpb_exec exec;
  cpb_error error;
  context_of_state(fcinfo);
  if (state == NULL) PG_RETURN_NULL();
  cpb_exec_init(&exec, sizeof exec);
  exec.progress = cancelled;
  if (sql_rows_fit(state->rows, fit, &exec, &found, &error) != CPB_OK) pg_report(&error);
  PG_RETURN_TEXT_P(take_text(found));
}

PG_FUNCTION_INFO_V1(capball_finish_map);
Datum capball_finish_map(PG_FUNCTION_ARGS) { return finish(fcinfo, SQL_FIT_MAP); }
PG_FUNCTION_INFO_V1(capball_finish_ball);
Datum capball_finish_ball(PG_FUNCTION_ARGS) { return finish(fcinfo, SQL_FIT_BALL); }
PG_FUNCTION_INFO_V1(capball_finish_svdd);
Datum capball_finish_svdd(PG_FUNCTION_ARGS) { return finish(fcinfo, SQL_FIT_SVDD); }
PG_FUNCTION_INFO_V1(capball_finish_detector);
Datum capball_finish_detector(PG_FUNCTION_ARGS) { return finish(fcinfo, SQL_FIT_DETECTOR); }
