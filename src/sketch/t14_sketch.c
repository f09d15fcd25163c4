/* T14: the sketch object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/sized.h"
#include "geometry/t1_embed.h"
#include "sketch/sketch_object.h"

enum { BITS_MAX = 65536 };

const char *cpb_sketch_kind_name(cpb_sketch_kind kind) {
  static const char *const names[CPB_SKETCH_KINDS] = {"embedded", "centred", "random-embedded",
                                                      "random-centred"};
  return (unsigned)kind < CPB_SKETCH_KINDS ? names[kind] : "?";
}

static const cpb_sketch_options defaults = {.size = sizeof(cpb_sketch_options), .s = 1};

void cpb_sketch_options_init(cpb_sketch_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_sketch_describe(const cpb_sketch *sketch, cpb_sketch_options *options) {
  cpb_sized_give(options, &sketch->options, sizeof sketch->options);
}

void cpb_sketch_free(cpb_sketch *sketch) {
  if (sketch == NULL) return;
  free(sketch->center);
  free(sketch->normals);
  free(sketch->curve);
  free(sketch->panels);
  free(sketch);
}

cpb_status cpb_sketch_check_shape(size_t d, size_t bits, double s, const double *center, cpb_error *error) {
  if (bits < 8 || bits > BITS_MAX || bits % 8 != 0)
    return cpb_fail_count(error, "bits", bits, "bits must be a multiple of 8 in 8 .. %d", BITS_MAX);
  if (d == 0 || d > SIZE_MAX / 64 / bits) return cpb_fail_dimension(error, "sketch", d);
  cpb_status status = cpb_check_scale(s, error);
  for (size_t k = 0; status == CPB_OK && center != NULL && k < d; k++)
    if (!isfinite(center[k]))
      return cpb_fail_domain(error, "center", center[k], "coordinate %zu of the centre must be finite", k);
  return status;
}

static cpb_status check_normals(const cpb_sketch_options *o, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  if (o->normals == NULL) return cpb_fail_missing(error, "normals");
  for (size_t i = 0; i < o->bits; i++) {
    const double *normal = o->normals + i * (o->d + 1);
    double length = sqrt(loops->dot(normal, normal, o->d + 1));
    if (!(fabs(length - 1) <= 1e-9))
      return cpb_fail_domain(error, "normals", length, "normal %zu must have length 1", i);
    bool flat = o->kind == CPB_SKETCH_CENTRED || o->kind == CPB_SKETCH_RANDOM_CENTRED;
    if (flat && normal[o->d] != 0)
      return cpb_fail_domain(error, "normals", normal[o->d],
                             "the last coordinate of normal %zu must be 0 for %s", i,
                             cpb_sketch_kind_name(o->kind));
  }
  return CPB_OK;
}

static cpb_status check_curve(const cpb_sketch_options *o, cpb_error *error) {
  for (size_t i = 0; i < o->curve_count; i++)
    if (o->curve == NULL || !(o->curve[i].mean >= 0 && o->curve[i].mean <= 0.5) ||
        !(o->curve[i].worst >= 0 && o->curve[i].worst <= 0.5))
      return cpb_fail(error, CPB_WHY_DOMAIN, "curve", "point %zu of the curve is not within 0 .. 1/2", i);
  return CPB_OK;
}

cpb_sketch *cpb_sketch_room(const cpb_sketch_options *shape) {
  size_t d = shape->d, bits = shape->bits;
  cpb_sketch *sketch = calloc(1, sizeof *sketch);
  if (sketch == NULL) return NULL;
  sketch->options = *shape;
  size_t panel_bytes = cpb_sketch_panels(sketch) * (d + 1) * CPB_PANEL_COLS * sizeof(float);
  sketch->center = calloc(d, sizeof *sketch->center);
  sketch->normals = calloc(bits * (d + 1), sizeof *sketch->normals);
  sketch->curve = calloc(shape->curve_count + 1, sizeof *sketch->curve);
  sketch->panels = aligned_alloc(64, panel_bytes);
  if (sketch->center == NULL || sketch->normals == NULL || sketch->curve == NULL || sketch->panels == NULL) {
    cpb_sketch_free(sketch);
    return NULL;
  }
  memset(sketch->panels, 0, panel_bytes);
  if (shape->center != NULL) memcpy(sketch->center, shape->center, d * sizeof *sketch->center);
  if (shape->curve_count > 0) memcpy(sketch->curve, shape->curve, shape->curve_count * sizeof *sketch->curve);
  sketch->options.center = shape->center == NULL ? NULL : sketch->center;
  sketch->options.normals = sketch->normals;
  sketch->options.curve = shape->curve_count == 0 ? NULL : sketch->curve;
  sketch->unit = cpb_unit_power(shape->s);
  sketch->sigma = shape->s * sketch->unit;
  return sketch;
}

void cpb_sketch_pack(cpb_sketch *sketch, size_t first, size_t count) {
  size_t d = sketch->options.d;
  for (size_t i = first; i < first + count; i++) {
    const double *normal = sketch->normals + i * (d + 1);
    float *column = sketch->panels + i / CPB_PANEL_COLS * (d + 1) * CPB_PANEL_COLS + i % CPB_PANEL_COLS;
    for (size_t k = 0; k < d; k++) column[k * CPB_PANEL_COLS] = (float)(2 * sketch->sigma * normal[k]);
    column[d * CPB_PANEL_COLS] = (float)normal[d];
  }
}

cpb_status cpb_sketch_new(const cpb_sketch_options *given, cpb_sketch **sketch, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  *sketch = NULL;
  cpb_sketch_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_sketch_options", error);
  if (status != CPB_OK) return status;
  if ((unsigned)options->kind >= CPB_SKETCH_KINDS) return cpb_fail_choice(error, "kind", (int)options->kind);
  status = cpb_sketch_check_shape(options->d, options->bits, options->s, options->center, error);
  if (status == CPB_OK) status = check_normals(options, error);
  if (status == CPB_OK) status = check_curve(options, error);
  if (status != CPB_OK) return status;
  cpb_sketch *made = cpb_sketch_room(options);
  if (made == NULL)
    return cpb_fail_memory(error, "a sketch of %zu bits, dimension %zu", options->bits, options->d);
  memcpy(made->normals, options->normals, options->bits * (options->d + 1) * sizeof *made->normals);
  cpb_sketch_pack(made, 0, options->bits);
  *sketch = made;
  return CPB_OK;
}
