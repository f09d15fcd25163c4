/* T3 T5 T6: a region or a cap as a line of JSON, and its dual. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/laws.h"
#include "capball/map.h"
#include "core/fail.h"
#include "core/sized.h"
#include "geometry/ellipsoids.h"
#include "json/dual_line.h"
#include "json/json_read.h"

static const cpb_dual_options defaults = {.size = sizeof(cpb_dual_options)};

void cpb_dual_options_init(cpb_dual_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

/* The pole of a line: its own, or that of the options; NULL is e, as always under W. */
static const double *pole_of(const cpb_dual_options *dual, const dual_line *line) {
  if (line->W != NULL) return NULL;
  return line->pole != NULL ? line->pole : dual->pole;
}

/* Entry i,j of W^T W. */
static double metric_at(const double *W, size_t d, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += W[k * d + i] * W[k * d + j];
  return sum;
}

/* An ellipsoid has the map's metric if its W^T W is a multiple k^2 of the map's: then |W(x-c)| = k |M(x-c)|, and M with
 * r/k is equivalent. False: it has another. */
static bool adopt_metric(const double *M, cpb_region *region) {
  size_t d = region->d;
  const double *W = region->W;
  if (W == NULL || memcmp(W, M, d * d * sizeof *W) == 0) return true;
  double k2 = metric_at(W, d, 0, 0) / metric_at(M, d, 0, 0);
  for (size_t i = 0; i < d; i++)
    for (size_t j = i; j < d; j++) {
      double size = sqrt(metric_at(M, d, i, i)) * sqrt(metric_at(M, d, j, j));
      if (!(fabs(metric_at(W, d, i, j) / k2 - metric_at(M, d, i, j)) <= 1e-9 * size)) return false;
    }
  region->W = M;
  region->r /= sqrt(k2);
  return true;
}

/* A prolate spheroid is not a cap under any pole; W = I + (r2/r1 - 1) a a^T maps it to the ball of radius r2, T6. */
static bool whiten_prolate(dual_line *line) {
  size_t d = line->d;
  const double *a = line->axis;
  line->W = dual_numbers(line, d * d);
  if (line->W == NULL) return false;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      line->W[i * d + j] = (i == j) + (line->region.r / line->region.along - 1) * a[i] * a[j];
  line->region.axis = NULL;
  return true;
}

static cpb_status no_memory(cpb_error *error) { return cpb_fail_memory(error, "a line of JSON"); }

static cpb_status to_cap(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->p = dual_numbers(line, d + 1);
  if (line->p == NULL) return no_memory(error);
  line->cap = (cpb_cap){.d = d, .p = line->p};
  if (dual->map != NULL) return cpb_map_cap(dual->map, &line->region, &line->cap, error);
  bool prolate = line->region.axis != NULL && line->region.along > line->region.r;
  if (prolate && pole_of(dual, line) == NULL && !whiten_prolate(line)) return no_memory(error);
  if (line->W != NULL) {
    double *scratch = dual_numbers(line, d * d + d);
    if (scratch == NULL) return no_memory(error);
    line->region.W = line->W;
    cpb_status status = cpb_cap_from_ellipsoid(&line->region, line->m, dual->s, scratch, &line->cap, error);
    free(scratch);
    return status;
  }
  /* An ellipsoid of revolution determines its pole if none was given. */
  if (line->region.axis != NULL && pole_of(dual, line) == NULL) {
    line->pole = dual_numbers(line, d + 1);
    if (line->pole == NULL) return no_memory(error);
    cpb_status status = cpb_pole_from_spheroid(&line->region, line->pole, error);
    if (status != CPB_OK) return status;
  }
  const double *v = pole_of(dual, line);
  if (v == NULL) return cpb_cap_from_region(&line->region, dual->s, &line->cap, error);
  return cpb_cap_from_spheroid(&line->region, dual->s, v, &line->cap, error);
}

static cpb_status to_region(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->c = dual_numbers(line, d);
  line->axis = dual_numbers(line, d);
  if (line->c == NULL || line->axis == NULL) return no_memory(error);
  line->region = (cpb_region){.d = d, .c = line->c, .axis = line->axis};
  if (dual->map != NULL) return cpb_map_region(dual->map, &line->cap, &line->region, error);
  const double *v = pole_of(dual, line);
  cpb_status status = CPB_OK;
  if (isnan(line->cap.sigma)) status = cpb_cap_complete(&line->cap, v, error);
  if (status != CPB_OK) return status;
  if (line->W != NULL) {
    double *scratch = dual_numbers(line, d * d + d);
    if (scratch == NULL) return no_memory(error);
    status = cpb_ellipsoid_from_cap(&line->cap, line->W, line->m, dual->s, scratch, &line->region, error);
    line->region.axis = NULL;
    free(scratch);
    return status;
  }
  if (v == NULL) return cpb_region_from_cap(&line->cap, dual->s, &line->region, error);
  return cpb_spheroid_from_cap(&line->cap, dual->s, v, &line->region, error);
}

/* The map's metric is found from its image of a bounded cap, {<v,y> >= 0}. NULL: it has none. */
static cpb_status find_metric(const cpb_map *map, dual_line *line, const double **metric, cpb_error *error) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map_describe(map, &options);
  *metric = NULL;
  if (options.whiten == NULL) return CPB_OK;
  size_t d = options.d;
  double *p = dual_numbers(line, 3 * d + 1), *c = p + d + 1;
  if (p == NULL) return no_memory(error);
  p[d] = 1;
  if (options.pole != NULL) memcpy(p, options.pole, (d + 1) * sizeof *p);
  cpb_cap cap = {.d = d, .p = p, .b = 0, .sigma = NAN, .a = NAN};
  cpb_region region = {.d = d, .c = c, .axis = c + d};
  cpb_status status = cpb_map_region(map, &cap, &region, error);
  *metric = region.W;
  free(p);
  return status;
}

static cpb_status refuse(const char *why, cpb_error *error) {
  return cpb_fail(error, CPB_WHY_DUAL_LINE, "line", "%s", why);
}

/* Under a map a line must not contain one of its own, and ellipsoids must have the map's metric. */
static cpb_status check_under_map(const cpb_map *map, dual_line *line, cpb_error *error) {
  const double *metric;
  if (line->pole != NULL || line->m != NULL || (line->W != NULL && line->region.W == NULL))
    return refuse("the map is given; the line may not contain another", error);
  if (line->is_cap || line->region.W == NULL) return CPB_OK;
  cpb_status status = find_metric(map, line, &metric, error);
  if (status != CPB_OK || metric == NULL || adopt_metric(metric, &line->region)) return status;
  return refuse("under this map only ellipsoids of its metric are caps, and W^T W is not a multiple of it",
                error);
}

static cpb_status turn(const cpb_dual_options *dual, dual_line *line, cpb_error *error) {
  cpb_status status = dual->map != NULL ? check_under_map(dual->map, line, error) : CPB_OK;
  if (status == CPB_OK) status = (line->is_cap ? to_region : to_cap)(dual, line, error);
  line->is_cap = !line->is_cap;
  line->carries = dual->map == NULL;
  return status;
}

static cpb_status answer(const cpb_dual_options *dual, const cpb_json *json, const char *id, char **text,
                         cpb_error *error) {
  dual_line line;
  size_t d = dual->d;
  cpb_map_options of = {.size = sizeof of};
  if (dual->map != NULL) {
    cpb_map_describe(dual->map, &of);
    d = of.d;
  }
  cpb_status status = CPB_OK;
  if (!dual_line_read(&line, json, d)) status = line.no_memory ? no_memory(error) : refuse(line.fault, error);
  if (status == CPB_OK) status = turn(dual, &line, error);
  if (status == CPB_OK) status = dual_line_text(&line, id, text, error);
  dual_line_clear(&line);
  return status;
}

static cpb_status read_line(const char *line, size_t length, cpb_json **json, cpb_error *error) {
  cpb_json_fault fault;
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
  *json = cpb_json_value(line, length, CPB_JSON_AS_REALS, &fault);
  if (fault.why == NULL) return CPB_OK;
  if (fault.no_memory) return no_memory(error);
  char why[128];
  snprintf(why, sizeof why, "column %llu: not JSON: %s", fault.column, fault.why);
  return refuse(why, error);
}

static cpb_status answer_copy(const cpb_dual_options *dual, char *line, size_t length, char **text,
                              cpb_error *error) {
  dual_id id;
  cpb_json *json = NULL;
  cpb_status status = dual_id_take(&id, line, length);
  if (status == CPB_ENOMEM) return no_memory(error);
  if (status != CPB_OK) return refuse("\"id\" is not a JSON value", error);
  status = read_line(line, length, &json, error);
  if (status == CPB_OK) status = answer(dual, json, id.text, text, error);
  free(json);
  free(id.text);
  return status;
}

cpb_status cpb_dual_line(const char *line, size_t length, const cpb_dual_options *options, char **answer_text,
                         cpb_error *error) {
  cpb_dual_options o = defaults;
  if (line == NULL || answer_text == NULL) return cpb_fail_missing(error, line == NULL ? "line" : "answer");
  *answer_text = NULL;
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "dual options", error);
  if (status == CPB_OK && o.map == NULL) status = cpb_check_scale(o.s, error);
  if (status != CPB_OK) return status;
  char *copy = malloc(length + 1);
  if (copy == NULL) return no_memory(error);
  memcpy(copy, line, length);
  copy[length] = 0;
  status = answer_copy(&o, copy, length, answer_text, error);
  free(copy);
  return status;
}
