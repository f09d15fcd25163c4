/* Norms, ABID, transforms, and which transform suits an index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/abid.h"
#include "capball/advanced/fitting.h"
#include "capball/transform.h"
#include "engine/transform_json.h"
#include "show/commands.h"
#include "base/fail.h"
#include "files/json_file.h"
#include "show/recommend_text.h"
#include "web.h"

static cpb_text *reals(const double *numbers, size_t count) {
  cpb_text *list = web_new("[]");
  for (size_t i = 0; i < count; i++) list = cpb_json_append(list, web_real(numbers[i]));
  return list;
}

WEB(norms) char *web_norms(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  cpb_norms_fit_options options;
  cpb_norms_report r = {.size = sizeof r};
  cpb_norms_fit_options_init(&options, sizeof options);
  web_get_vector(&o, "center", rows->view.cols, &options.center);
  web_get_count(&o, "bars", &options.bars);
  cpb_source source = web_source(rows);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_norms_fit(&source, &options, &r, web_exec(), &web_error);
  status = web_close(&o, status);
  if (status != CPB_OK) return NULL;
  cpb_text *counts = web_new("[]");
  for (size_t i = 0; i < r.bars; i++) counts = cpb_json_append(counts, web_new("I", (uint64_t)r.counts[i]));
  return web_text(status, web_new("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "rows", (uint64_t)r.rows,
                                  "nanRows", (uint64_t)r.nan_rows, "infRows", (uint64_t)r.inf_rows, "min",
                                  web_real(r.min), "mean", web_real(r.mean), "median", web_real(r.median),
                                  "max", web_real(r.max), "edges",
                                  reals(r.edges, r.bars == 0 ? 0 : r.bars + 1), "counts", counts));
}

static const char *pairs_name(cpb_pairs pairs) { return pairs == CPB_PAIRS_ALL ? "all" : "distinct"; }

/* ABID of the rows, and of their images at `count` scales: {abid, slope} for each, to the caller's memory. */
WEB(abid)
int web_abid(const web_rows *rows, const char *text, const double *s, size_t count, double *abid,
             double *slope, double *original) {
  web_options o = web_open(text);
  const double *center = NULL;
  cpb_pairs pairs = CPB_PAIRS_ALL;
  web_get_vector(&o, "center", rows->view.cols, &center);
  web_get_choice(&o, "pairs", cpb_pairs, pairs_name, 2, &pairs);
  cpb_abid_scales scales = {s, count, abid, slope};
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_abid_original(rows->view, center, pairs, original, NULL, &web_error);
  if (status == CPB_OK && count > 0)
    status = cpb_abid_embedded(rows->view, center, pairs, scales, web_exec(), &web_error);
  return web_close(&o, status) == CPB_OK ? 0 : -1;
}

/* ---- transforms ---- */

static const char *transform_name(cpb_transform_kind kind) { return cpb_transform_about(kind).name; }

WEB(transform_fit) cpb_transform *web_transform_fit(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  cpb_transform *transform = NULL;
  cpb_transform_kind kind = CPB_TRANSFORM_LIFT_COSINE;
  bool skip_bad = false;
  web_get_choice(&o, "kind", cpb_transform_kind, transform_name, CPB_TRANSFORMS, &kind);
  web_get_flag(&o, "skipBad", &skip_bad);
  cpb_source source = web_source(rows);
  cpb_status status = o.status;
  if (status == CPB_OK)
    status = cpb_transform_fit(&source, kind, skip_bad, &transform, web_exec(), &web_error);
  return web_close(&o, status) == CPB_OK ? transform : NULL;
}

WEB(transform_free) void web_transform_free(cpb_transform *transform) { cpb_transform_free(transform); }
WEB(transform_cols) size_t web_transform_cols(const cpb_transform *transform) {
  return cpb_transform_cols(transform);
}

WEB(transform_parse) cpb_transform *web_transform_parse(const char *text, const char *name) {
  cpb_transform *transform = NULL;
  return cpb_transform_from_json(text, strlen(text), name, &transform, &web_error) == CPB_OK ? transform
                                                                                             : NULL;
}

WEB(transform_file) char *web_transform_file(const cpb_transform *transform) {
  char *text = NULL;
  return cpb_transform_to_json(transform, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(transform_json) char *web_transform_json(const cpb_transform *transform) {
  cpb_transform_options o = {.size = sizeof o};
  cpb_transform_describe(transform, &o);
  cpb_transform_facts facts = cpb_transform_about(o.kind);
  return web_text(CPB_OK,
                  web_new("{s:s, s:I, s:s, s:V, s:o}", "kind", facts.name, "d", (uint64_t)o.d, "metric",
                          cpb_metric_name(facts.metric), "center", o.center, o.center == NULL ? 0 : o.d,
                          "maxNorm", facts.bounded ? web_real(o.max_norm) : web_new("null")));
}

WEB(transform_apply)
int web_transform_apply(const cpb_transform *transform, cpb_role role, const web_rows *x, const web_rows *y) {
  cpb_out out = cpb_rows_out((void *)(uintptr_t)y->view.data, y->view.dtype, y->view.rows, y->view.cols);
  cpb_status status = cpb_transform_apply(transform, role, x->view, out, web_exec(), &web_error);
  return status == CPB_OK ? 0 : status == CPB_EROW ? 1 : -1;
}

/* ---- the recommendation ---- */

static cpb_text *row_of(const cpb_recommend_row *row) {
  return web_new("{s:s, s:o, s:s, s:s, s:f, s:f, s:I, s:I}", "transform", row->name, "scale",
                 web_real(row->scale), "index", cpb_engine_name(row->index), "query",
                 row->ball ? "ball" : "point", "recall", row->recall, "recallError", row->recall_error,
                 "candidatesFor99", (uint64_t)row->candidates_for_99, "bytes", (uint64_t)row->bytes);
}

/* The file of rows, or one of the same rows by another name; no rows: none. */
static show_file file_of(const web_rows *rows, const char *name, const char *usual) {
  show_file file = rows == NULL ? (show_file){0} : rows->file;
  if (name != NULL) file.path = name;
  if (rows != NULL && file.path == NULL) file.path = usual;
  return file;
}

static char *describe(const cpb_recommendation_facts *r, show_file base, show_file queries) {
  show_recommended pick = show_recommended_of(r);
  pick.base = base;
  pick.queries = queries;
  char *commands = show_commands(&pick), *words = show_recommend_text(r);
  cpb_text *rows = web_new("[]");
  for (size_t i = 0; i < r->count; i++) rows = cpb_json_append(rows, row_of(r->rows[i]));
  char *text =
      web_text(CPB_OK, web_new("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:s, s:s, s:o}", "pick",
                               (uint64_t)r->pick, "forCosine", (uint64_t)r->for_cosine, "k", (uint64_t)r->k,
                               "baseRows", (uint64_t)r->base_rows, "queries", (uint64_t)r->queries,
                               "meanNorm", r->norm_mean, "radius", r->radius, "poor", (int)r->poor, "text",
                               words, "commands", commands, "rows", rows));
  free(commands);
  free(words);
  return text;
}

/* queries: may be NULL, then rows of the base are the queries. */
WEB(recommend) char *web_recommend(const web_rows *base, const web_rows *queries, const char *text) {
  web_options o = web_open(text);
  cpb_recommend_options options;
  cpb_recommendation *recommendation = NULL;
  cpb_recommend_options_init(&options, sizeof options);
  web_get_count(&o, "k", &options.k);
  web_get_choice(&o, "engine", cpb_engine, cpb_engine_name, CPB_ENGINES, &options.engine);
  web_get_count(&o, "sample", &options.sample);
  web_get_count(&o, "queryCount", &options.queries);
  web_get_seed(&o, "seed", &options.seed);
  bool skip_bad = false;
  web_get_flag(&o, "skipBad", &skip_bad);
  const char *name = web_get_string(&o, "name"), *asked = web_get_string(&o, "queriesName");
  cpb_source from = web_source(base), ask = queries == NULL ? from : web_source(queries);
  cpb_status status = o.status;
  if (status == CPB_OK)
    status = cpb_recommend_fit(&from, queries == NULL ? NULL : &ask, skip_bad, &options, &recommendation,
                               web_exec(), &web_error);
  cpb_recommendation_facts facts = {.size = sizeof facts};
  char *result = NULL;
  if (status == CPB_OK) {
    cpb_recommendation_describe(recommendation, &facts);
    result = describe(&facts, file_of(base, name, "BASE"), file_of(queries, asked, "QUERIES"));
  }
  cpb_recommendation_free(recommendation);
  if (web_close(&o, status) == CPB_OK) return result;
  free(result);
  return NULL;
}
