/* T13: other transforms and exact lifts. Every image is ((x-m)/divisor, up to two more coordinates); image_of contains
 * the formula of each kind. */
#include "engine/t13_transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/map_object.h"
#include "loops/row_state.h"
#include "loops/ruler.h"
#include "capball/advanced/candidates.h"
#include "base/column_names.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/vector.h"
#include "loops/chunk.h"
#include "loops/table.h"
#include "base/blocks.h"

void cpb_transform_kind_describe(cpb_transform_kind kind, cpb_transform_facts *to) {
  static const cpb_transform_facts facts[CPB_TRANSFORMS + 1] = {
      [CPB_TRANSFORM_NONE] = {0, "none", 0, CPB_L2, CPB_L2, false, false},
      [CPB_TRANSFORM_CENTER] = {0, "center", 0, CPB_L2, CPB_L2, true, false},
      [CPB_TRANSFORM_NORMALIZE] = {0, "normalize", 0, CPB_COSINE, CPB_COSINE, true, false},
      [CPB_TRANSFORM_LIFT_IP] = {0, "lift-ip", 1, CPB_IP, CPB_L2, true, true},
      [CPB_TRANSFORM_LIFT_COSINE] = {0, "lift-cosine", 2, CPB_COSINE, CPB_L2, true, true},
      [CPB_TRANSFORM_IP_COSINE] = {0, "ip-cosine", 1, CPB_COSINE, CPB_IP, false, true},
      [CPB_TRANSFORM_IP_L2] = {0, "ip-l2", 1, CPB_L2, CPB_IP, false, true},
      [CPB_TRANSFORM_SPHERE] = {0, "sphere", 1, CPB_COSINE, CPB_COSINE, true, false},
  };
  cpb_sized_give(to, (unsigned)kind <= CPB_TRANSFORM_SPHERE ? &facts[kind] : &(cpb_transform_facts){0},
                 sizeof *facts);
}

CPB_DEFAULTS(cpb_transform_options, .size = sizeof(cpb_transform_options))

static cpb_status check_options(const cpb_transform_options *o, cpb_error *error) {
  cpb_transform_facts facts = cpb_transform_about(o->kind);
  if ((unsigned)o->kind >= CPB_TRANSFORMS) return cpb_fail_choice(error, "transform", (int)o->kind);
  if (o->d == 0 || o->d > SIZE_MAX / sizeof(double) / 16) return cpb_fail_dimension(error, "transform", o->d);
  if (o->center != NULL && !facts.centred)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "center", "transform %s takes no centre", facts.name);
  if (o->center != NULL && !cpb_all_finite(o->center, o->d))
    return cpb_fail_not_finite(error, "center", "center");
  if (facts.bounded && !(o->max_norm > 0 && o->max_norm < INFINITY))
    return cpb_fail_domain(error, "transform", o->max_norm,
                           "transform %s needs the largest norm of the base, > 0", facts.name);
  return CPB_OK;
}

cpb_status cpb_transform_new(const cpb_transform_options *given, cpb_transform **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "transform");
  *out = NULL;
  cpb_transform_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_transform_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status != CPB_OK) return status;
  cpb_transform *transform = malloc(sizeof *transform + options->d * sizeof(double));
  if (transform == NULL) return cpb_fail_memory(error, "a transform of dimension %zu", options->d);
  transform->options = *options;
  transform->facts = cpb_transform_about(options->kind);
  transform->map = NULL;
  if (!cpb_column_names_copy(options->columns, options->d, &transform->options.columns)) {
    free(transform);
    return cpb_fail_memory(error, "%zu names", options->d);
  }
  if (options->center != NULL)
    transform->options.center =
        memcpy(transform->center, options->center, options->d * sizeof *options->center);
  *out = transform;
  return CPB_OK;
}

cpb_status cpb_transform_of_map(const cpb_map *map, cpb_transform **out, cpb_error *error) {
  if (map == NULL || out == NULL) return cpb_fail_missing(error, map == NULL ? "map" : "transform");
  *out = NULL;
  cpb_transform *transform = malloc(sizeof *transform);
  if (transform == NULL) return cpb_fail_memory(error, "a transform of dimension %zu", map->options.d);
  *transform = (cpb_transform){.options = defaults, .facts = cpb_transform_about(CPB_TRANSFORM_SPHERE)};
  transform->options.kind = CPB_TRANSFORM_SPHERE;
  transform->options.d = map->options.d;
  cpb_status status = cpb_map_new(&map->options, &transform->map, error);
  if (status != CPB_OK) {
    free(transform);
    return status;
  }
  transform->options.columns = transform->map->options.columns;
  *out = transform;
  return CPB_OK;
}

const cpb_map *cpb_transform_map(const cpb_transform *transform) {
  return transform == NULL ? NULL : transform->map;
}

cpb_status cpb_transform_grow(const cpb_transform *transform, double factor, cpb_transform **grown,
                              cpb_error *error) {
  if (transform == NULL || grown == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : "grown");
  *grown = NULL;
  if (!(factor >= 1 && factor < INFINITY))
    return cpb_fail_domain(error, "factor", factor, "the headroom for longer rows must be a factor >= 1");
  if (transform->map != NULL) return cpb_transform_of_map(transform->map, grown, error);
  cpb_transform_options options = transform->options;
  if (options.kind != CPB_TRANSFORM_LIFT_IP) options.max_norm *= factor;
  return cpb_transform_new(&options, grown, error);
}

void cpb_transform_free(cpb_transform *transform) {
  if (transform == NULL) return;
  if (transform->map == NULL) cpb_column_names_free(transform->options.columns);
  cpb_map_free(transform->map);
  free(transform);
}

void cpb_transform_describe(const cpb_transform *transform, cpb_transform_options *options) {
  cpb_sized_give(options, transform == NULL ? NULL : &transform->options, sizeof transform->options);
}

size_t cpb_transform_cols(const cpb_transform *transform) {
  return transform == NULL ? 0 : transform->options.d + transform->facts.extra;
}

/* y = ((x-m)/divisor, more[0], more[1]). */
typedef struct image {
  double divisor, more[2];
} image;

/* sqrt(M^2-t-c t^2); M^2 exceeds the maximum at t <= 1 by at least 1/16. */
static double rest(double m, double t, double c) { return sqrt(m * m - t - c * t * t); }

/* The image of a row of this length about the centre; a fault, or 0. */
static int image_of(const cpb_transform *transform, cpb_role role, double length, image *y) {
  const double h = cpb_lift_h, roof = cpb_lift_roof, ip_roof = cpb_lift_ip_roof;
  const double L = transform->options.max_norm, rho = length / L, t = rho * rho;
  bool base = role == CPB_ROLE_BASE;
  *y = (image){1, {0, 0}};
  switch (transform->options.kind) {
  case CPB_TRANSFORM_NONE:
  case CPB_TRANSFORM_CENTER: return 0;
  case CPB_TRANSFORM_NORMALIZE: y->divisor = length; return length > 0 ? 0 : CPB_FAULT_ZERO;
  case CPB_TRANSFORM_LIFT_IP: *y = (image){L, {base ? -t / 2 : 1, 0}}; return 0;
  case CPB_TRANSFORM_LIFT_COSINE: {
    double across = cpb_hypot(length, L / h);
    *y = base ? (image){L * roof, {-h / 2 * t / roof, rest(roof, t, 0.5) / roof}}
              : (image){across, {L / h / across, 0}};
    break;
  }
  case CPB_TRANSFORM_IP_COSINE:
    *y = base ? (image){L * ip_roof, {rest(ip_roof, t, 0) / ip_roof, 0}} : (image){length, {0, 0}};
    if (!base && length == 0) return CPB_FAULT_ZERO;
    break;
  case CPB_TRANSFORM_IP_L2: y->more[0] = base ? L * rest(ip_roof, t, 0) : 0; break;
  case CPB_TRANSFORM_SPHERE: break; /* computed by the map */
  }
  return base && rho > 1 + 0x1p-40 ? CPB_FAULT_LONG : 0;
}

typedef struct application {
  const cpb_transform *transform;
  cpb_role role;
  cpb_ruler metric; /* of the rows to read */
  cpb_out y;        /* those to write */
} application;

static application application_of(const cpb_transform *transform, cpb_role role, cpb_view from, cpb_out to) {
  cpb_ruler metric = {.loops = cpb_loops_here(), .x = from, .c = transform->options.center, .sign = 1};
  return (application){transform, role, metric, to};
}

/* False if a coordinate is out of range for y's type. */
static bool store_row(const application *a, size_t row, const image *of) {
  const cpb_loops *loops = a->metric.loops;
  size_t d = a->metric.x.cols;
  double buffer[CPB_CHUNK], limit = cpb_out_limit(a->y.dtype);
  bool fits = cpb_chunk_fits(of->more, 2, limit);
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *z = cpb_row_chunk(loops, a->metric.x, row, offset, count, buffer);
    if (a->metric.c != NULL) {
      loops->axpby(1, z, -1, a->metric.c + offset, buffer, count);
      z = buffer;
    }
    if (of->divisor != 1) {
      for (size_t i = 0; i < count; i++) buffer[i] = z[i] / of->divisor;
      z = buffer;
    }
    fits &= cpb_chunk_fits(z, count, limit);
    cpb_row_store(loops, a->y, row, offset, count, z);
  }
  cpb_row_store(loops, a->y, row, d, a->transform->facts.extra, of->more);
  return fits;
}

static int apply_row(void *arg, size_t row) {
  const application *a = arg;
  cpb_transform_kind kind = a->transform->options.kind;
  double length = 0;
  image y;
  /* kinds that need no length accept rows whose length is beyond double */
  int fault = kind == CPB_TRANSFORM_NONE || kind == CPB_TRANSFORM_CENTER
                  ? cpb_row_fault(a->metric.loops, a->metric.x, row)
                  : cpb_ruler_length(&a->metric, row, &length);
  if (fault == 0) fault = image_of(a->transform, a->role, length, &y);
  if (fault == 0 && !store_row(a, row, &y)) fault = CPB_FAULT_RANGE;
  if (fault != 0) cpb_row_fill_nan(a->y, row);
  return fault;
}

static cpb_status refuse_row(const application *a, const cpb_error *why, cpb_error *error) {
  size_t row = (size_t)why->row;
  bool centred = a->metric.c != NULL;
  double length = NAN;
  if (why->reason == CPB_WHY_ROW_ZERO && centred)
    return cpb_fail_row(error, CPB_WHY_ROW_ZERO, "x", row, "is the centre: it has no direction");
  if (why->reason != CPB_WHY_ROW_LONG) return cpb_fail_again(error, why);
  cpb_ruler_length(&a->metric, row, &length);
  return cpb_fail_row(error, CPB_WHY_ROW_LONG, "x", row,
                      "has length %.9g%s, longer than %.9g, the longest row that transform %s was "
                      "made for",
                      length, centred ? " about the centre" : "", a->transform->options.max_norm,
                      a->transform->facts.name);
}

cpb_status cpb_transform_apply(const cpb_transform *transform, cpb_role role, cpb_view x, cpb_out y,
                               const cpb_exec *exec, cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  if (role != CPB_ROLE_BASE && role != CPB_ROLE_QUERY) return cpb_fail_choice(error, "role", (int)role);
  if (transform->map != NULL) return cpb_map_embed(transform->map, x, y, exec, error);
  cpb_status status = cpb_check_view(x, "x", transform->options.d, error);
  if (status == CPB_OK) status = cpb_check_out(y, "y", x.rows, cpb_transform_cols(transform), error);
  if (status == CPB_OK) status = cpb_check_apart(x, "x", y, "y", error);
  if (status != CPB_OK) return status;
  application a = application_of(transform, role, x, y);
  cpb_error why;
  status = cpb_rows_run(x.rows, x.cols, apply_row, &a, "x", exec, &why);
  return status == CPB_OK ? CPB_OK : refuse_row(&a, &why, error);
}

/* T13: converts base rows of a transform back to the data: x = m + unit y', y' the first d coordinates. */

double cpb_transform_unit(const cpb_transform *transform) {
  double L = transform->options.max_norm;
  switch (transform->options.kind) {
  case CPB_TRANSFORM_LIFT_IP: return L;
  case CPB_TRANSFORM_LIFT_COSINE: return L * cpb_lift_roof;
  case CPB_TRANSFORM_IP_COSINE: return L * cpb_lift_ip_roof;
  default: return 1;
  }
}

static int bring_back(void *arg, size_t row) {
  const application *a = arg;
  const cpb_loops *loops = a->metric.loops;
  double buffer[CPB_CHUNK], limit = cpb_out_limit(a->y.dtype), unit = cpb_transform_unit(a->transform);
  int fault = cpb_row_fault(loops, a->metric.x, row);
  for (size_t offset = 0; offset < a->y.cols && fault == 0; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(a->y.cols, offset);
    const double *y = cpb_row_chunk(loops, a->metric.x, row, offset, count, buffer);
    for (size_t i = 0; i < count; i++)
      buffer[i] = y[i] * unit + (a->metric.c != NULL ? a->metric.c[offset + i] : 0);
    if (!cpb_chunk_fits(buffer, count, limit)) fault = CPB_FAULT_RANGE;
    cpb_row_store(loops, a->y, row, offset, count, buffer);
  }
  if (fault != 0) cpb_row_fill_nan(a->y, row);
  return fault;
}

cpb_status cpb_transform_unapply(const cpb_transform *transform, cpb_view y, cpb_out x, const cpb_exec *exec,
                                 cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  if (transform->map != NULL) return cpb_map_unembed(transform->map, y, x, exec, error);
  if (transform->options.kind == CPB_TRANSFORM_NORMALIZE)
    return cpb_fail_count(
        error, "transform", transform->options.kind,
        "transform normalize keeps only directions and has no inverse: the kind must be different");
  cpb_status status = cpb_check_view(y, "y", cpb_transform_cols(transform), error);
  if (status == CPB_OK) status = cpb_check_out(x, "x", y.rows, transform->options.d, error);
  if (status == CPB_OK) status = cpb_check_apart(y, "y", x, "x", error);
  if (status != CPB_OK) return status;
  application a = application_of(transform, CPB_ROLE_BASE, y, x);
  return cpb_rows_run(y.rows, y.cols, bring_back, &a, "y", exec, error);
}
