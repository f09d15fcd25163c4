/* Exact search, and sketches. Hits are pairs {uint64 id, double value}. */
#include <stdlib.h>
#include <string.h>

#include "capball/search.h"
#include "capball/advanced/estimator.h"
#include "capball/sketch.h"
#include "base/fail.h"
#include "web.h"

WEB(knn)
int web_knn(const web_rows *base, const web_rows *queries, size_t k, cpb_metric metric, cpb_hit *hits) {
  return cpb_knn(base->view, queries->view, k, metric, hits, web_exec(), &web_error) == CPB_OK ? 0 : -1;
}

/* All hits of all queries; query i has those from ends[i-1] to ends[i]. */
typedef struct web_found {
  cpb_hit *hits;
  uint32_t *ends;
  size_t used, room;
} web_found;

WEB(found_free) void web_found_free(web_found *found) {
  free(found->hits);
  free(found->ends);
  free(found);
}
WEB(found_hits) const cpb_hit *web_found_hits(const web_found *found) { return found->hits; }
WEB(found_ends) const uint32_t *web_found_ends(const web_found *found) { return found->ends; }

static cpb_status take(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  web_found *found = context;
  if (found->used + count > found->room) {
    size_t room = 2 * (found->used + count);
    cpb_hit *larger = realloc(found->hits, room * sizeof *larger);
    if (larger == NULL) return cpb_fail_memory(error, "%zu hits", room);
    found->hits = larger;
    found->room = room;
  }
  memcpy(found->hits + found->used, hits, count * sizeof *hits);
  found->used += count;
  found->ends[query] = (uint32_t)found->used;
  return CPB_OK;
}

WEB(range_search)
web_found *web_range_search(const web_rows *base, const web_rows *queries, const double *limits,
                            cpb_metric metric) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = metric;
  options.limits = limits;
  web_found *found = calloc(1, sizeof *found);
  if (found != NULL) found->ends = calloc(queries->view.rows + 1, sizeof *found->ends);
  if (found != NULL) found->hits = malloc(sizeof *found->hits);
  if (found == NULL || found->ends == NULL || found->hits == NULL) abort(); /* a few bytes */
  found->room = 1;
  cpb_source source = web_source(base);
  if (cpb_search_run(&source, queries->view, &options, take, found, web_exec(), &web_error) == CPB_OK)
    return found;
  web_found_free(found);
  return NULL;
}

/* ---- sketches ---- */

WEB(sketch_fit) cpb_sketch *web_sketch_fit(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  cpb_sketch_training training;
  cpb_sketch_fit_options fit;
  cpb_sketch *sketch = NULL;
  cpb_sketch_training_init(&training, sizeof training);
  cpb_sketch_fit_options_init(&fit, sizeof fit);
  fit.training = &training;
  web_get_choice(&o, "form", cpb_sketch_form, cpb_estimator_form_name, CPB_SKETCH_FORMS, &training.form);
  web_get_count(&o, "bits", &training.bits);
  web_get_count(&o, "bytes", &training.bytes);
  web_get_flag(&o, "certain", &training.certain);
  web_get_seed(&o, "seed", &training.seed);
  web_get_number(&o, "s", &fit.s);
  web_get_choice(&o, "goal", cpb_goal, cpb_goal_name, CPB_GOALS, &fit.goal);
  web_get_count(&o, "sample", &fit.sample);
  web_get_flag(&o, "skipBad", &fit.skip_bad);
  cpb_source source = web_source(rows);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_sketch_fit(&source, &fit, &sketch, NULL, web_exec(), &web_error);
  return web_close(&o, status) == CPB_OK ? sketch : NULL;
}

WEB(sketch_free) void web_sketch_free(cpb_sketch *sketch) { cpb_sketch_free(sketch); }

WEB(sketch_parse) cpb_sketch *web_sketch_parse(const char *text, const char *name) {
  cpb_sketch *sketch = NULL;
  return cpb_sketch_from_json(text, strlen(text), name, &sketch, &web_error) == CPB_OK ? sketch : NULL;
}

WEB(sketch_file) char *web_sketch_file(const cpb_sketch *sketch) {
  char *text = NULL;
  return cpb_sketch_to_json(sketch, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(sketch_json) char *web_sketch_json(const cpb_sketch *sketch) {
  cpb_sketch_options o = {.size = sizeof o};
  cpb_sketch_describe(sketch, &o);
  return web_text(CPB_OK,
                  web_new("{s:s, s:I, s:I, s:I, s:f, s:V, s:I}", "kind", cpb_sketch_kind_name(o.kind), "d",
                          (uint64_t)o.d, "bits", (uint64_t)o.bits, "bytes", (uint64_t)o.code_bytes, "s", o.s,
                          "center", o.center, o.d, "seed", (uint64_t)o.seed));
}

WEB(sketch_encode) int web_sketch_encode(const cpb_sketch *sketch, const web_rows *x, uint8_t *codes) {
  return cpb_sketch_encode(sketch, x->view, codes, web_exec(), &web_error) == CPB_OK ? 0 : -1;
}

/* By estimates: sketches of earlier releases without estimates are refused, and searched by hamming_knn. */
WEB(sketch_search)
int web_sketch_search(const cpb_sketch *sketch, const web_rows *codes, const web_rows *queries, size_t k,
                      cpb_hit *hits) {
  cpb_estimator *estimator = NULL;
  cpb_estimator_options how;
  cpb_estimator_options_init(&how, sizeof how);
  how.k = k;
  cpb_status status = cpb_estimator_new(sketch, codes->view, &estimator, &web_error);
  if (status == CPB_OK)
    status = cpb_estimator_search(estimator, queries->view, &how, hits, NULL, web_exec(), &web_error);
  cpb_estimator_free(estimator);
  return status == CPB_OK ? 0 : -1;
}

WEB(hamming_knn)
int web_hamming_knn(const web_rows *codes, const web_rows *queries, size_t k, cpb_hit *hits) {
  return cpb_hamming_knn(codes->view, queries->view, k, hits, web_exec(), &web_error) == CPB_OK ? 0 : -1;
}
