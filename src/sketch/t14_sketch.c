/* T14: the sketch object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/estimator.h"
#include "base/fail.h"
#include "base/sized.h"
#include "sphere/t1_embed.h"
#include "sketch/t14_sketch.h"

enum { BITS_MAX = 65536 };

const char *cpb_sketch_kind_name(cpb_sketch_kind kind) {
  static const char *const names[CPB_SKETCH_KINDS] = {"embedded",       "centred",   "random-embedded",
                                                      "random-centred", "principal", "joined"};
  return (unsigned)kind < CPB_SKETCH_KINDS ? names[kind] : "?";
}

const char *cpb_estimator_form_name(cpb_sketch_form form) {
  static const char *const names[CPB_SKETCH_FORMS] = {"chosen", "principal", "columns", "signs", "turned"};
  return (unsigned)form < CPB_SKETCH_FORMS ? names[form] : "?";
}

CPB_DEFAULTS(cpb_sketch_options, .size = sizeof(cpb_sketch_options), .s = 1, .bits_per = 1,
             .factors = CPB_F16, .spread = 1, .recall = {NAN, NAN})

void cpb_sketch_describe(const cpb_sketch *sketch, cpb_sketch_options *options) {
  cpb_sized_give(options, sketch == NULL ? NULL : &sketch->options, sizeof sketch->options);
}

void cpb_sketch_free(cpb_sketch *sketch) {
  if (sketch == NULL) return;
  cpb_memory_free(&sketch->memory);
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

/* The first difference between a product of two vectors and 1 or 0, whichever it should be, that is too large; 0: none. */
static double far_from_orthonormal(const double *vectors, size_t count, size_t stride, size_t length) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j <= i; j++) {
      double product = loops->dot(vectors + i * stride, vectors + j * stride, length);
      if (!(fabs(product - (i == j)) <= CPB_ISOMETRY_ERROR)) return product - (i == j);
    }
  return 0;
}

/* Rows that are orthonormal, or columns if there are more rows: bounds of errors need lengths to be preserved. */
static cpb_status check_orthonormal(const cpb_sketch_options *o, cpb_error *error) {
  size_t n = cpb_sketch_directions(o), d = o->d;
  double worst, *columns = n <= d ? NULL : malloc(n * d * sizeof *columns);
  if (n > d && columns == NULL) return cpb_fail_memory(error, "%zu directions", n);
  for (size_t i = 0; columns != NULL && i < n; i++)
    for (size_t k = 0; k < d; k++) columns[k * n + i] = o->normals[i * (d + 1) + k];
  worst = columns == NULL ? far_from_orthonormal(o->normals, n, d + 1, d)
                          : far_from_orthonormal(columns, d, n, n);
  free(columns);
  return worst == 0
             ? CPB_OK
             : cpb_fail_domain(error, "normals", worst, "the directions must be orthonormal up to 1e-12");
}

static cpb_status check_normals(const cpb_sketch_options *o, cpb_error *error) {
  bool principal = o->kind >= CPB_SKETCH_PRINCIPAL;
  bool flat = o->kind != CPB_SKETCH_EMBEDDED && o->kind != CPB_SKETCH_RANDOM_EMBEDDED;
  if (o->normals == NULL) return cpb_fail_missing(error, "normals");
  for (size_t i = 0; i < cpb_sketch_directions(o); i++) {
    const double *normal = o->normals + i * (o->d + 1);
    double length = sqrt(cpb_loops_here()->dot(normal, normal, o->d + 1));
    if (!principal && !(fabs(length - 1) <= 1e-9))
      return cpb_fail_domain(error, "normals", length, "normal %zu must have length 1", i);
    if (flat && normal[o->d] != 0)
      return cpb_fail_domain(error, "normals", normal[o->d],
                             "the last coordinate of normal %zu must be 0 for %s", i,
                             cpb_sketch_kind_name(o->kind));
  }
  return principal ? check_orthonormal(o, error) : CPB_OK;
}

static cpb_status check_factors(const cpb_sketch_options *o, cpb_error *error) {
  bool principal = o->kind == CPB_SKETCH_PRINCIPAL;
  if (o->bits_per != 1 && !(principal && (o->bits_per == 2 || o->bits_per == 4)))
    return cpb_fail_count(error, "bits_per", o->bits_per, "bits per direction must be 1%s",
                          principal ? ", 2 or 4" : "");
  if ((unsigned)o->rotation > CPB_ROTATION_TURNED)
    return cpb_fail_choice(error, "rotation", (int)o->rotation);
  if (o->factors != CPB_F16 && o->factors != CPB_F32)
    return cpb_fail(error, CPB_WHY_DTYPE_IN, "factors", "factors must be f16 or f32, got %s",
                    cpb_dtype_name(o->factors));
  return o->spread > 0 && o->spread <= 1
             ? CPB_OK
             : cpb_fail_domain(error, "spread", o->spread, "spread must be in (0,1]");
}

/* ---- joined sketches ---- */

static cpb_status check_books(const cpb_sketch_options *o, cpb_error *error) {
  if (o->books == NULL || o->centres == NULL)
    return cpb_fail_missing(error, o->books == NULL ? "books" : "centres");
  if (o->directions == 0 || o->directions > o->d)
    return cpb_fail_count(error, "directions", o->directions, "there must be 1 .. %zu directions", o->d);
  size_t numbers = 0;
  for (size_t i = 0; i < o->bits / 8; i++) {
    size_t first = o->books[2 * i], count = o->books[2 * i + 1], next = 0;
    bool again = i > 0 && first == o->books[2 * i - 2] && count == 1 && o->books[2 * i - 1] == 1;
    if (i > 0) next = (size_t)o->books[2 * i - 2] + o->books[2 * i - 1];
    if (count == 0 || count > o->directions || first > o->directions - count || (first != next && !again))
      return cpb_fail_count(error, "books", i, "the directions of byte %zu are not the next ones", i);
    numbers += 256 * count;
  }
  for (size_t i = 0; i < numbers; i++)
    if (!(fabsf(o->centres[i]) <= 0x1p60f))
      return cpb_fail_domain(error, "centres", (double)o->centres[i],
                             "number %zu of the centres is too large", i);
  return CPB_OK;
}

static cpb_status check_numbers(const cpb_sketch_options *o, cpb_error *error) {
  if (o->numbers != 0 && o->numbers != 2)
    return cpb_fail_count(error, "numbers", o->numbers, "a code has 0 or 2 numbers");
  if (!(o->f_low >= 0 && o->f_step >= 0 && o->f_low + 255 * o->f_step <= 0x1p40))
    return cpb_fail_domain(error, "f_low", o->f_low, "factors must be >= 0 and finite");
  if (!(o->e_low >= 0x1p-100 && o->e_ratio > 1 && o->e_ratio <= 2 && o->e_low <= 0x1p60))
    return cpb_fail_domain(error, "e_low", o->e_low, "bounds of errors must be > 0 and rise");
  if (!(o->gamma >= 0 && o->gamma <= 1))
    return cpb_fail_domain(error, "gamma", o->gamma, "gamma must be in [0,1]");
  return CPB_OK;
}

static cpb_status check_joined(const cpb_sketch_options *o, cpb_error *error) {
  if (o->kind != CPB_SKETCH_JOINED) return CPB_OK;
  if ((unsigned)o->form >= CPB_SKETCH_FORMS) return cpb_fail_choice(error, "form", (int)o->form);
  cpb_status status = check_books(o, error);
  return status == CPB_OK ? check_numbers(o, error) : status;
}

/* Bytes of levels: every value of a byte is a centre. */
static void fill_levels(cpb_sketch *sketch) {
  const cpb_sketch_options *o = &sketch->options;
  size_t each = 8 / o->bits_per;
  int top = (1 << o->bits_per) - 1;
  for (size_t k = 0; k < each; k++)
    for (unsigned value = 0; value < 256; value++)
      sketch->centres[256 * k + value] = (float)(2 * (int)(value >> k * o->bits_per & (unsigned)top) - top);
}

static size_t count_of_centres(const cpb_sketch_options *o) {
  size_t count = 0;
  if (o->kind == CPB_SKETCH_PRINCIPAL) return 256 * 8 / o->bits_per;
  for (size_t i = 0; o->kind == CPB_SKETCH_JOINED && i < o->bits / 8; i++) count += 256 * o->books[2 * i + 1];
  return count;
}

void cpb_sketch_pack_books(cpb_sketch *sketch) {
  const cpb_sketch_options *o = &sketch->options;
  bool levels = o->kind == CPB_SKETCH_PRINCIPAL;
  size_t at = 0, each = 8 / o->bits_per;
  if (levels) fill_levels(sketch);
  for (size_t i = 0; i < sketch->book_count; i++) {
    size_t first = levels ? i * each : sketch->pairs[2 * i], count = levels ? each : sketch->pairs[2 * i + 1];
    sketch->books[i] = (cpb_book){.first = first, .count = count, .centres = sketch->centres + at};
    if (!levels) at += 256 * count;
  }
}

static void take_books(cpb_sketch *sketch, const cpb_sketch_options *shape) {
  cpb_memory *m = &sketch->memory;
  if (!cpb_estimates(sketch)) return;
  sketch->book_count = shape->bits / 8;
  sketch->centres = cpb_memory_lines(m, count_of_centres(shape), sizeof *sketch->centres);
  sketch->books = cpb_memory_take(m, sketch->book_count, sizeof *sketch->books);
  sketch->pairs = cpb_memory_copy(m, shape->books, 2 * sketch->book_count, sizeof *sketch->pairs);
  if (m->failed) return;
  if (shape->centres != NULL)
    memcpy(sketch->centres, shape->centres, count_of_centres(shape) * sizeof *sketch->centres);
  if (shape->kind == CPB_SKETCH_JOINED) sketch->options.centres = sketch->centres;
  sketch->options.books = sketch->pairs;
  cpb_sketch_pack_books(sketch);
}

/* Bytes behind the bits of a code. */
static size_t numbers_of(const cpb_sketch_options *o) {
  if (o->kind == CPB_SKETCH_PRINCIPAL) return CPB_FACTORS * cpb_dtype_size(o->factors);
  return o->kind == CPB_SKETCH_JOINED ? o->numbers : 0;
}

cpb_sketch *cpb_sketch_room(const cpb_sketch_options *shape) {
  size_t d = shape->d, directions = cpb_sketch_directions(shape);
  cpb_sketch *sketch = calloc(1, sizeof *sketch);
  if (sketch == NULL) return NULL;
  sketch->options = *shape;
  size_t columns = cpb_sketch_panels(sketch) * CPB_PANEL_COLS;
  sketch->center = cpb_memory_zeros(&sketch->memory, d, sizeof *sketch->center);
  sketch->normals = cpb_memory_zeros(&sketch->memory, directions, (d + 1) * sizeof *sketch->normals);
  sketch->panels = cpb_memory_lines(&sketch->memory, columns, (d + 1) * sizeof *sketch->panels);
  take_books(sketch, shape);
  if (sketch->memory.failed) {
    cpb_sketch_free(sketch);
    return NULL;
  }
  if (shape->center != NULL) memcpy(sketch->center, shape->center, d * sizeof *sketch->center);
  sketch->options.center = shape->center == NULL ? NULL : sketch->center;
  sketch->options.normals = sketch->normals;
  sketch->unit = cpb_unit_power(shape->s);
  sketch->sigma = shape->s * sketch->unit;
  sketch->options.code_bytes = shape->bits / 8 + numbers_of(shape);
  return sketch;
}

void cpb_sketch_pack(cpb_sketch *sketch, size_t first, size_t count) {
  size_t d = sketch->options.d;
  for (size_t i = first; i < first + count; i++) {
    const double *normal = sketch->normals + i * (d + 1);
    float *column = sketch->panels + i / CPB_PANEL_COLS * (d + 1) * CPB_PANEL_COLS + i % CPB_PANEL_COLS;
    for (size_t k = 0; k < d; k++) column[k * CPB_PANEL_COLS] = (float)normal[k];
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
  if (status == CPB_OK) status = check_factors(options, error);
  if (status == CPB_OK) status = check_joined(options, error);
  if (status == CPB_OK) status = check_normals(options, error);
  if (status != CPB_OK) return status;
  cpb_sketch *made = cpb_sketch_room(options);
  if (made == NULL)
    return cpb_fail_memory(error, "a sketch of %zu bits, dimension %zu", options->bits, options->d);
  size_t directions = cpb_sketch_directions(options);
  memcpy(made->normals, options->normals, directions * (options->d + 1) * sizeof *made->normals);
  cpb_sketch_pack(made, 0, directions);
  *sketch = made;
  return CPB_OK;
}
