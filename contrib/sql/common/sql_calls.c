#include "sql_calls.h"

#include <stdlib.h>

#include "sphere/map_object.h"
#include "capball/advanced/candidates.h"
#include "capball/ball.h"
#include "sphere/dual_json.h"
#include "sql_error.h"

struct sql_object {
  size_t d;
  cpb_map *map;                     /* SQL_MAP */
  cpb_map_one embed[2], unembed[2]; /* of f32 and f64 */
  cpb_model *model;                 /* SQL_MODEL, and a region given by a model */
  dual_line region;                 /* SQL_REGION otherwise */
};

static cpb_status read_map(sql_object *o, const char *text, size_t length, cpb_error *error) {
  cpb_status status = cpb_map_from_json(text, length, "map", &o->map, error);
  if (status != CPB_OK) return status;
  cpb_map_options options = {.size = sizeof options};
  cpb_map_describe(o->map, &options);
  o->d = options.d;
  for (int dtype = CPB_F32; dtype <= CPB_F64; dtype++) {
    cpb_map_one_init(&o->embed[dtype], o->map, true, (cpb_dtype)dtype);
    cpb_map_one_init(&o->unembed[dtype], o->map, false, (cpb_dtype)dtype);
  }
  return CPB_OK;
}

static cpb_status read_model(sql_object *o, const char *text, size_t length, cpb_error *error) {
  cpb_status status = cpb_model_from_json(text, length, "model", &o->model, error);
  if (status != CPB_OK) return status;
  cpb_model_options options = {.size = sizeof options};
  cpb_model_describe(o->model, &options);
  o->d = options.d;
  return CPB_OK;
}

static cpb_status read_shape(sql_object *o, const cpb_json *json, cpb_error *error) {
  bool whole = dual_line_read(&o->region, json, 0);
  const dual_line *line = &o->region;
  o->d = line->d;
  if (line->memory.failed) return sql_fail(error, CPB_WHY_MEMORY, "no memory for a region");
  if (!whole) return sql_fail(error, CPB_WHY_DUAL_LINE, "region: %s", line->fault);
  if (line->is_cap || line->pole != NULL || line->m != NULL || line->W != line->region.W)
    return sql_fail(error, CPB_WHY_DUAL_LINE, "region: it belongs to a map; capball dual converts it");
  return CPB_OK;
}

static cpb_status read_region(sql_object *o, const char *text, size_t length, cpb_error *error) {
  cpb_json *json;
  cpb_status status = cpb_json_read(text, length, CPB_JSON_AS_REALS, "region", &json, error);
  if (status != CPB_OK) return status;
  bool is_model = cpb_json_get(json, "capball") != NULL;
  if (!is_model) status = read_shape(o, json, error);
  free(json);
  return is_model ? read_model(o, text, length, error) : status;
}

cpb_status sql_object_new(sql_kind kind, const char *text, size_t length, sql_object **object,
                          cpb_error *error) {
  sql_object *o = calloc(1, sizeof *o);
  *object = NULL;
  if (o == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for a map, model or region");
  cpb_status status = (kind == SQL_MAP     ? read_map
                       : kind == SQL_MODEL ? read_model
                                           : read_region)(o, text, length, error);
  if (status == CPB_OK)
    *object = o;
  else
    sql_object_free(o);
  return status;
}

void sql_object_free(sql_object *object) {
  if (object == NULL) return;
  cpb_map_free(object->map);
  cpb_model_free(object->model);
  dual_line_clear(&object->region);
  free(object);
}

/* ---- the calls ---- */

static size_t length_x(const sql_object *o) { return o->d; }
static size_t length_y(const sql_object *o) { return o->d + 1; }

/* Most databases pass one row per call. */
static bool is_one(const cpb_map_one *one, cpb_view x, cpb_out y) {
  return one->loop != NULL && x.rows == 1 && x.cols == one->rows.in.cols && y.dtype == x.dtype &&
         (uintptr_t)x.data % cpb_dtype_size(x.dtype) == 0;
}

static cpb_status embed(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  const cpb_map_one *one = &o->embed[in->x.dtype];
  if (is_one(one, in->x, out->vector)) return cpb_map_one_apply(one, in->x.data, out->vector.data, error);
  return cpb_map_embed(o->map, in->x, out->vector, NULL, error);
}

static cpb_status unembed(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  const cpb_map_one *one = &o->unembed[in->x.dtype];
  if (is_one(one, in->x, out->vector)) return cpb_map_one_apply(one, in->x.data, out->vector.data, error);
  return cpb_map_unembed(o->map, in->x, out->vector, NULL, error);
}

static cpb_status query(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  return cpb_query_caps(o->map, in->x, &in->radius, out->vector, &out->number, NULL, NULL, error);
}

static cpb_status distance(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  return cpb_query_distances(o->map, in->q, in->x, &out->number, error);
}

static cpb_status score(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  return cpb_model_scores(o->model, in->x, cpb_rows_out(&out->number, CPB_F64, 1, 1), NULL, error);
}

static cpb_status why(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  cpb_status status = score(o, in, out, error); /* checks x */
  if (status != CPB_OK) return status;
  double *x = malloc(o->d * sizeof *x);
  if (x == NULL) return sql_fail(error, CPB_WHY_MEMORY, "no memory for %zu numbers", o->d);
  cpb_view_widen(in->x, x);
  status = cpb_model_parts(o->model, x, out->vector.data, NULL, error);
  free(x);
  return status;
}

static cpb_status inside(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  if (o->model != NULL) {
    cpb_status status = score(o, in, out, error);
    out->number = cpb_model_is_outlier(o->model, out->number) ? -1 : 1;
    return status;
  }
  return cpb_region_scores(&o->region.region, in->x, cpb_rows_out(&out->number, CPB_F64, 1, 1), NULL, error);
}

static cpb_status is_outlier(const sql_object *o, const sql_arguments *in, sql_answer *out,
                             cpb_error *error) {
  cpb_status status = score(o, in, out, error);
  out->number = cpb_model_is_outlier(o->model, out->number) ? 1 : -1;
  return status;
}

static cpb_status p_value(const sql_object *o, const sql_arguments *in, sql_answer *out, cpb_error *error) {
  cpb_model_options model = {.size = sizeof model};
  cpb_model_describe(o->model, &model);
  if (model.calibrated == 0)
    return sql_fail(error, CPB_WHY_MISSING,
                    "the model has no p-values: fit it by capball_detector or `capball ball --calibrate`");
  cpb_status status = score(o, in, out, error);
  out->number = cpb_model_p_value(o->model, out->number);
  return status;
}

const sql_call sql_calls[SQL_CALLS] = {
    [SQL_EMBED] = {"capball_embed", SQL_MAP, SQL_NOTHING, SQL_VECTOR, length_y, embed, true},
    [SQL_UNEMBED] = {"capball_unembed", SQL_MAP, SQL_NOTHING, SQL_VECTOR, length_x, unembed, true},
    [SQL_BALL_QUERY] = {"capball_query", SQL_MAP, SQL_RADIUS, SQL_VECTOR, length_y, query, false},
    [SQL_BALL_CAP] = {"capball_cap", SQL_MAP, SQL_RADIUS, SQL_CAP, length_y, query, false},
    [SQL_DISTANCE] = {"capball_distance", SQL_MAP, SQL_QUERY, SQL_NUMBER, NULL, distance, false},
    [SQL_SCORE] = {"capball_score", SQL_MODEL, SQL_NOTHING, SQL_NUMBER, NULL, score, false},
    [SQL_WHY] = {"capball_why", SQL_MODEL, SQL_NOTHING, SQL_DOUBLES, length_x, why, false},
    [SQL_INSIDE] = {"capball_inside", SQL_REGION, SQL_NOTHING, SQL_TRUTH, NULL, inside, false},
    [SQL_IS_OUTLIER] = {"capball_is_outlier", SQL_MODEL, SQL_NOTHING, SQL_TRUTH, NULL, is_outlier, false},
    [SQL_P_VALUE] = {"capball_p_value", SQL_MODEL, SQL_NOTHING, SQL_NUMBER, NULL, p_value, false},
};
