/* Maps: fitted, as files, applied to rows, caps and regions. */
#include <stdlib.h>
#include <string.h>

#include "capball/map.h"
#include "base/fail.h"
#include "web.h"

/* A map, and what its file says about its origin. */
typedef struct web_map {
  cpb_map *map;
  const char *goal;
  char *evidence;
  uint64_t rows;
  size_t d;
} web_map;

static web_map *own(cpb_status status, web_map map) {
  web_map *made = status == CPB_OK ? malloc(sizeof *made) : NULL;
  if (made != NULL) {
    cpb_map_options options = {.size = sizeof options};
    cpb_map_describe(map.map, &options);
    map.d = options.d;
    *made = map;
    return made;
  }
  if (status == CPB_OK) cpb_fail_memory(&web_error, "a map");
  cpb_map_free(map.map);
  free(map.evidence);
  return NULL;
}

WEB(map_free) void web_map_free(web_map *map) {
  cpb_map_free(map->map);
  free(map->evidence);
  free(map);
}

WEB(map_new) web_map *web_map_new(const char *text) {
  web_options o = web_open(text);
  web_map map = {.goal = "given"};
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  web_get_count(&o, "d", &options.d);
  web_get_number(&o, "s", &options.s);
  web_get_vector(&o, "center", options.d, &options.center);
  web_get_vector(&o, "pole", options.d + 1, &options.pole);
  web_get_vector(&o, "whiten", options.d * options.d, &options.whiten);
  web_get_vector(&o, "toward", options.d + 1, &options.toward);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_map_new(&options, &map.map, &web_error);
  return own(web_close(&o, status), map);
}

static void read_fit_options(web_options *o, size_t d, cpb_map_fit_options *fit) {
  cpb_map_fit_options_init(fit, sizeof *fit);
  web_get_number(o, "s", &fit->s);
  web_get_choice(o, "goal", cpb_goal, cpb_goal_name, CPB_GOALS, &fit->goal);
  web_get_number(o, "target", &fit->target);
  web_get_count(o, "k", &fit->k);
  web_get_vector(o, "center", d, &fit->center);
  if (fit->center != NULL) fit->centring = CPB_CENTRE_GIVEN;
  bool centred = true;
  web_get_flag(o, "centred", &centred);
  if (!centred) fit->centring = CPB_CENTRE_NONE;
  web_get_vector(o, "pole", d + 1, &fit->pole);
  web_get_flag(o, "whiten", &fit->whiten);
  web_get_number(o, "ridge", &fit->ridge);
  web_get_flag(o, "spherical", &fit->spherical);
  web_get_flag(o, "skipBad", &fit->skip_bad);
  web_get_count(o, "sample", &fit->sample);
  web_get_seed(o, "seed", &fit->seed);
}

WEB(map_fit) web_map *web_map_fit(const web_rows *rows, const char *text) {
  web_options o = web_open(text);
  web_map map = {.rows = rows->view.rows};
  cpb_map_fit_options fit;
  cpb_map_fit_report report = {.size = sizeof report};
  read_fit_options(&o, rows->view.cols, &fit);
  cpb_source source = web_source(rows);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_map_fit(&source, &fit, &map.map, &report, web_exec(), &web_error);
  if (report.passes > 0) map.rows = report.rows;
  map.goal = fit.spherical ? "spherical" : fit.s != 0 ? "given" : cpb_goal_name(fit.goal);
  if (status == CPB_OK && report.choice != NULL)
    status = cpb_choice_to_json(report.choice, &fit, &map.evidence, &web_error);
  cpb_choice_free(report.choice);
  return own(web_close(&o, status), map);
}

WEB(map_parse) web_map *web_map_parse(const char *text, const char *name) {
  web_map map = {.goal = "given"};
  return own(cpb_map_from_json(text, strlen(text), name, &map.map, &web_error), map);
}

WEB(map_file) char *web_map_file(const web_map *map, const char *source) {
  cpb_map_origin origin = {sizeof origin, map->goal, *source == 0 ? NULL : source, map->rows, map->evidence};
  char *text = NULL;
  return cpb_map_to_json(map->map, &origin, &text, &web_error) == CPB_OK ? text : NULL;
}

WEB(map_json) char *web_map_json(const web_map *map) {
  cpb_map_options o = {.size = sizeof o};
  cpb_map_describe(map->map, &o);
  size_t extra = o.d + 1;
  return web_text(CPB_OK, web_new("{s:I, s:f, s:V, s:V, s:V, s:V, s:o, s:s, s:o}", "d", (uint64_t)o.d, "s",
                                  o.s, "center", o.center, o.d, "pole", o.pole, extra, "whiten", o.whiten,
                                  o.d * o.d, "toward", o.toward, extra, "columns", web_names(o.columns, o.d),
                                  "goal", map->goal, "evidence", web_raw(map->evidence)));
}

/* -1 and 0 are failure and success; 1: some rows have no result, and error_json names the first. */
static int done(cpb_status status) { return status == CPB_OK ? 0 : status == CPB_EROW ? 1 : -1; }

WEB(map_embed) int web_map_embed(const web_map *map, const web_rows *x, const web_rows *y) {
  cpb_out out = cpb_rows_out((void *)(uintptr_t)y->view.data, y->view.dtype, y->view.rows, y->view.cols);
  return done(cpb_map_embed(map->map, x->view, out, web_exec(), &web_error));
}

WEB(map_unembed) int web_map_unembed(const web_map *map, const web_rows *y, const web_rows *x) {
  cpb_out out = cpb_rows_out((void *)(uintptr_t)x->view.data, x->view.dtype, x->view.rows, x->view.cols);
  return done(cpb_map_unembed(map->map, y->view, out, web_exec(), &web_error));
}

/* numbers: c (d), axis (d), r, along; from the caller. round: whether the axis counts. */
static cpb_region region_of(const web_map *map, cpb_region_kind kind, double *numbers, bool round) {
  cpb_map_options o = {.size = sizeof o};
  cpb_map_describe(map->map, &o);
  return (cpb_region){.kind = kind,
                      .d = map->d,
                      .c = numbers,
                      .r = numbers[2 * map->d],
                      .axis = round || o.whiten != NULL ? NULL : numbers + map->d,
                      .along = numbers[2 * map->d + 1],
                      .W = o.whiten};
}

/* cap: p (d+1), b, sigma, a; to the caller. */
WEB(map_cap)
int web_map_cap(const web_map *map, cpb_region_kind kind, double *numbers, int round, double *cap) {
  cpb_region region = region_of(map, kind, numbers, round != 0);
  cpb_cap made = {.d = map->d, .p = cap};
  cpb_status status = cpb_map_cap(map->map, &region, &made, &web_error);
  memcpy(cap + map->d + 1, (double[]){made.b, made.sigma, made.a}, 3 * sizeof *cap);
  return done(status);
}

/* The kind of region, or -1; numbers as above, `along` = 0 for a round one. */
WEB(map_region) int web_map_region(const web_map *map, double *cap, double *numbers) {
  const double *scalars = cap + map->d + 1;
  cpb_cap given = {.d = map->d, .p = cap, .b = scalars[0], .sigma = scalars[1], .a = scalars[2]};
  cpb_region region = {.d = map->d, .c = numbers, .axis = numbers + map->d};
  cpb_status status = cpb_map_region(map->map, &given, &region, &web_error);
  numbers[2 * map->d] = region.r;
  numbers[2 * map->d + 1] = region.axis == NULL ? 0 : region.along;
  return status == CPB_OK ? (int)region.kind : -1;
}

WEB(region_scores)
int web_region_scores(const web_map *map, cpb_region_kind kind, double *numbers, int round, const web_rows *x,
                      double *scores) {
  cpb_region region = region_of(map, kind, numbers, round != 0);
  cpb_out out = cpb_rows_out(scores, CPB_F64, x->view.rows, 1);
  return done(cpb_region_scores(&region, x->view, out, web_exec(), &web_error));
}

WEB(cap_scores) int web_cap_scores(double *cap, const web_rows *y, double *scores) {
  size_t d = y->view.cols - 1;
  cpb_cap given = {.d = d, .p = cap, .b = cap[d + 1], .sigma = cap[d + 2], .a = cap[d + 3]};
  cpb_out out = cpb_rows_out(scores, CPB_F64, y->view.rows, 1);
  return done(cpb_cap_scores(&given, y->view, out, web_exec(), &web_error));
}
