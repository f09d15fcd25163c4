/* T14: training of joined sketches. Every form of the code is trained on the sample, and the one is kept with which a held-out part of
 * it, as queries, finds most of its 10 nearest among the other rows. Lengths are in units of s. */
#include "sketch/sketch_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/tell.h"
#include "capball/advanced/estimator.h"
#include "capball/search.h"
#include "loops/row_state.h"
#include "sketch/levels.h"
#include "sketch/sketch_books.h"
#include "sketch/sketch_directions.h"

enum {
  QUERIES = 256,   /* rows of the sample that are used as queries; fewer for small samples */
  NEAR = 10,       /* true neighbours of each .. */
  LATE = 100,      /* .. that should be among as many estimates, or among these */
  CALIBRATED = 48, /* queries on which errors of estimates are measured */
  NUMBERS = 2,
  FEW_BYTES = 24,    /* up to which a code without numbers is tried */
  TURNED_MOST = 256, /* directions that are turned: the time is cubic .. */
  TURNED_ROWS = 4032,
  TURNED_ROUNDS = 8,
  FEW_ROUNDS = 4, /* .. so fewer rows are used, and rounds of k-means */
  ROUNDS = 16,
  ELEMENTS_MOST = 1 << 24, /* of the sample; of longer rows fewer are used */
};
static const double QUANTILE = 0.999, MARGIN = 1.15, FACTORS_LEFT = 0.005;
/* What the rounding of projections adds to bounds, at most, as a part of |z|. */
static const double ROUNDING = 0.05;

CPB_DEFAULTS(cpb_sketch_training, .size = sizeof(cpb_sketch_training), .bits = 256, .s = 1)

typedef struct training {
  const cpb_sketch_training *o;
  const cpb_exec *exec, *quiet; /* quiet: of calls whose progress is not that of the training */
  cpb_error *error;
  cpb_view sample;
  cpb_random random;
  size_t rows, d, queries; /* the first rows are the queries; 0: too few rows to compare */
  size_t bytes;            /* asked for, all counted */
  cpb_matrix z;            /* rows x d, (x-m)/s */
  double *size2;           /* |z|^2 */
  cpb_matrix principal;    /* principal directions, k x d */
  double *variance;        /* of the directions in use */
  uint32_t *pairs;
  cpb_hit *nearest, *found; /* of each query NEAR rows, LATE estimates */
  uint8_t *codes;
  cpb_memory memory;
} training;

static cpb_status no_memory(const training *t) {
  return cpb_fail_memory(t->error, "the training of a sketch");
}

/* ---- the sample ---- */

static void center_rows(void *arg, size_t block, size_t first, size_t count) {
  training *t = arg;
  (void)block;
  for (size_t i = first; i < first + count; i++) {
    double *z = cpb_matrix_row(&t->z, i);
    cpb_view_widen(cpb_view_slice(t->sample, i, 1), z);
    if (t->o->center != NULL) cpb_loops_here()->axpby(1, z, -1, t->o->center, z, t->d);
    for (size_t k = 0; k < t->d; k++) z[k] /= t->o->s;
    t->size2[i] = cpb_loops_here()->dot(z, z, t->d);
    if (t->size2[i] <= 1e20) continue;
    memset(z, 0, t->d * sizeof *z); /* so far outside that it has no influence */
    t->size2[i] = 0;
  }
}

static cpb_status prepare(training *t) {
  size_t most = 8 * t->bytes, k = most < t->d ? most : t->d;
  t->z = cpb_matrix_new(&t->memory, t->rows, t->d);
  t->size2 = cpb_memory_take(&t->memory, t->rows, sizeof *t->size2);
  t->principal = cpb_matrix_new(&t->memory, k, t->d);
  t->variance = cpb_memory_take(&t->memory, t->d, sizeof *t->variance);
  t->pairs = cpb_memory_take(&t->memory, t->bytes, 2 * sizeof *t->pairs);
  t->nearest = cpb_memory_take(&t->memory, t->queries + 1, NEAR * sizeof *t->nearest);
  t->found = cpb_memory_take(&t->memory, t->queries + 1, LATE * sizeof *t->found);
  t->codes = cpb_memory_take(&t->memory, t->rows, t->bytes + NUMBERS);
  if (t->memory.failed) return no_memory(t);
  cpb_blocks_run(&(cpb_blocks){t->rows, 256, center_rows, t}, t->exec);
  if (!cpb_principal_directions(&t->z, t->size2, &t->principal, &t->random, t->exec)) return no_memory(t);
  if (t->queries == 0) return CPB_OK;
  return cpb_knn(cpb_view_slice(t->sample, t->queries, t->rows - t->queries),
                 cpb_view_slice(t->sample, 0, t->queries), NEAR, CPB_L2, t->nearest, t->quiet, t->error);
}

/* ---- a form ---- */

/* y = z G^T */
static bool project(const training *t, const cpb_matrix *directions, cpb_matrix *y) {
  cpb_memory memory = {0};
  cpb_matrix upright = cpb_matrix_new(&memory, t->d, directions->rows);
  bool ready = !memory.failed;
  if (ready) {
    cpb_matrix_transpose(directions, &upright);
    cpb_matrix_product(&t->z, false, &upright, y, t->exec);
  }
  cpb_memory_free(&memory);
  return ready;
}

/* The variances of the columns of y about 0, which is the centre of the sketch. */
static void measure_variances(const training *t, const cpb_matrix *y) {
  memset(t->variance, 0, y->cols * sizeof *t->variance);
  for (size_t i = 0; i < y->rows; i++)
    for (size_t k = 0; k < y->cols; k++) t->variance[k] += cpb_matrix_row(y, i)[k] * cpb_matrix_row(y, i)[k];
  for (size_t k = 0; k < y->cols; k++) t->variance[k] /= (double)y->rows;
}

/* What a form has before its centres: directions, and their bytes. */
typedef struct plan {
  cpb_sketch_form form;
  cpb_matrix directions, y;
  size_t bytes, numbers;
  cpb_memory memory;
} plan;

static bool plan_columns(training *t, plan *p, size_t bytes) {
  p->directions = cpb_matrix_new(&p->memory, t->d, t->d);
  if (p->memory.failed) return false;
  for (size_t k = 0; k < t->d; k++) cpb_matrix_row(&p->directions, k)[k] = 1;
  p->bytes = bytes < t->d ? bytes : t->d;
  cpb_books_cut(t->d, p->bytes, t->pairs);
  return true;
}

/* Turned rows of the first directions: rotation^T G. */
static bool rotate(training *t, plan *p, const cpb_matrix *rotation) {
  cpb_matrix first = cpb_matrix_new(&p->memory, rotation->rows, t->d);
  p->directions = cpb_matrix_new(&p->memory, rotation->cols, t->d);
  if (p->memory.failed) return false;
  memcpy(first.at, t->principal.at, rotation->rows * first.stride * sizeof *first.at);
  cpb_matrix_product(rotation, true, &first, &p->directions, t->exec);
  cpb_matrix_orthonormalise(&p->directions, &t->random);
  return true;
}

/* The first directions of the principal ones. */
static bool keep_first(training *t, plan *p, size_t used) {
  p->directions = cpb_matrix_new(&p->memory, used, t->d);
  if (p->memory.failed) return false;
  memcpy(p->directions.at, t->principal.at, used * t->principal.stride * sizeof *t->principal.at);
  return true;
}

static bool plan_signs(training *t, plan *p, size_t bytes) {
  p->bytes = bytes < t->principal.rows / 8 ? bytes : t->principal.rows / 8;
  cpb_books_cut(8 * p->bytes, p->bytes, t->pairs);
  return keep_first(t, p, 8 * p->bytes);
}

static bool plan_principal(training *t, plan *p, size_t bytes) {
  cpb_matrix y = cpb_matrix_new(&p->memory, t->rows, t->principal.rows);
  if (p->memory.failed || !project(t, &t->principal, &y)) return false;
  measure_variances(t, &y);
  p->bytes = cpb_books_join(t->variance, t->principal.rows, bytes, t->pairs);
  if (p->bytes == 0) { /* rows that are all equal */
    p->bytes = 1;
    t->pairs[0] = 0;
    t->pairs[1] = 1;
  }
  return keep_first(t, p, t->pairs[2 * p->bytes - 2] + t->pairs[2 * p->bytes - 1]);
}

/* The shape of the plan's sketch. */
static cpb_sketch *room_of(const training *t, const plan *p) {
  cpb_sketch_options shape;
  cpb_sketch_options_init(&shape, sizeof shape);
  shape.kind = CPB_SKETCH_JOINED;
  shape.d = t->d;
  shape.bits = 8 * p->bytes;
  shape.s = t->o->s;
  shape.center = t->o->center;
  shape.seed = t->o->seed;
  shape.form = p->form;
  shape.directions = p->directions.rows;
  shape.books = t->pairs;
  shape.numbers = p->numbers;
  shape.gamma = p->numbers > 0 ? 0.5 : 0;
  return cpb_sketch_room(&shape);
}

/* The centres v that rows of y have, as rows. */
static void take_centres(const training *t, const plan *p, const cpb_sketch *sketch, cpb_matrix *v) {
  for (size_t i = 0; i < v->rows; i++) cpb_code_values(sketch, t->codes + i * p->bytes, cpb_matrix_row(v, i));
}

/* Turns the directions of a plan: alternates the centres v of y R and the nearest rotation to y^T v. Signs, of iterative quantisation,
 * begin with a random R. */
static bool turn(training *t, plan *p) {
  size_t n = p->directions.rows, rows = t->rows < TURNED_ROWS ? t->rows : TURNED_ROWS;
  cpb_matrix all = cpb_matrix_new(&p->memory, t->rows, n), y = cpb_matrix_new(&p->memory, rows, n);
  cpb_matrix turned = cpb_matrix_new(&p->memory, rows, n), v = cpb_matrix_new(&p->memory, rows, n);
  cpb_matrix rotation = cpb_matrix_new(&p->memory, n, n);
  cpb_sketch *sketch = p->memory.failed ? NULL : room_of(t, p);
  bool ready = sketch != NULL && project(t, &p->directions, &all);
  if (ready) memcpy(y.at, all.at, rows * y.stride * sizeof *y.at);
  for (size_t k = 0; k < n && ready; k++) cpb_matrix_row(&rotation, k)[k] = 1;
  if (ready && p->form == CPB_FORM_SIGNS) cpb_random_rotation(&rotation, &t->random);
  for (int round = 0; round < TURNED_ROUNDS && ready; round++) {
    cpb_matrix_product(&y, false, &rotation, &turned, t->exec);
    ready = cpb_books_train(sketch, &turned, FEW_ROUNDS, t->codes, t->exec);
    if (!ready) break;
    take_centres(t, p, sketch, &v);
    cpb_matrix_product(&y, true, &v, &rotation, t->exec);
    ready = cpb_matrix_polar(&rotation, t->exec);
  }
  cpb_sketch_free(sketch);
  if (ready) cpb_matrix_orthonormalise(&rotation, &t->random);
  return ready && rotate(t, p, &rotation);
}

/* False if out of memory. */
static bool make_plan(training *t, plan *p) {
  size_t bytes = t->bytes - p->numbers;
  bool turns = p->form == CPB_FORM_SIGNS || p->form == CPB_FORM_TURNED;
  bool done = p->form == CPB_FORM_COLUMNS ? plan_columns(t, p, bytes)
              : p->form == CPB_FORM_SIGNS ? plan_signs(t, p, bytes)
                                          : plan_principal(t, p, bytes);
  if (done && turns) done = turn(t, p);
  if (!done) return false;
  p->y = cpb_matrix_new(&p->memory, t->rows, p->directions.rows);
  return !p->memory.failed && project(t, &p->directions, &p->y);
}

/* ---- the numbers of a code ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double share) {
  return sorted[(size_t)(share * (double)(count - 1))];
}

/* Tables that reach a little beyond the factors and the errors of the sample. */
static void span_tables(cpb_sketch_options *o, double *f, double *e, size_t rows, double longest) {
  qsort(f, rows, sizeof *f, ascending);
  qsort(e, rows, sizeof *e, ascending);
  double low = quantile(f, rows, FACTORS_LEFT), high = quantile(f, rows, 1 - FACTORS_LEFT),
         beyond = (high - low) / 8;
  o->f_low = fmax(low - beyond, 0);
  o->f_step = (high + beyond - o->f_low) / 255;
  double most = fmax(fmax(1.5 * e[rows - 1], ROUNDING * longest), 1e-12),
         least = quantile(e, rows, 0.01) / 1.5;
  o->e_low = fmax(least, most * 1e-6);
  o->e_ratio = cpb_pow(2 * most / o->e_low, 1 / 254.0);
}

/* f and e of the rows of y with these codes. */
static void fit_numbers(training *t, const plan *p, cpb_sketch *sketch, double *f, double *e, double *v) {
  double longest = 0;
  for (size_t i = 0; i < t->rows; i++) {
    longest = fmax(longest, sqrt(t->size2[i]));
    const double *y = cpb_matrix_row(&p->y, i);
    double v2 = cpb_code_values(sketch, t->codes + i * p->bytes, v), along = 0;
    for (size_t k = 0; k < p->directions.rows; k++) along += y[k] * v[k];
    f[i] = v2 > 0 && along > 0 ? along / v2 : 0;
    e[i] = sqrt(fmax(t->size2[i] - f[i] * along, 0));
  }
  span_tables(&sketch->options, f, e, t->rows, longest);
}

/* ---- the sketch of a plan ---- */

static cpb_status fill(training *t, const plan *p, cpb_sketch *sketch) {
  cpb_memory memory = {0};
  double *f = cpb_memory_take(&memory, t->rows, sizeof *f), *e = cpb_memory_take(&memory, t->rows, sizeof *e);
  double *v = cpb_memory_take(&memory, p->directions.rows, sizeof *v);
  for (size_t i = 0; i < p->directions.rows; i++)
    memcpy(sketch->normals + i * (t->d + 1), cpb_matrix_row(&p->directions, i), t->d * sizeof(double));
  cpb_sketch_pack(sketch, 0, p->directions.rows);
  bool ready = !memory.failed && cpb_books_train(sketch, &p->y, ROUNDS, t->codes, t->exec);
  if (ready) fit_numbers(t, p, sketch, f, e, v);
  cpb_memory_free(&memory);
  return ready ? CPB_OK : no_memory(t);
}

static cpb_status build(training *t, const plan *p, cpb_sketch **sketch) {
  *sketch = room_of(t, p);
  return *sketch == NULL ? no_memory(t) : fill(t, p, *sketch);
}

/* ---- how well it finds neighbours ---- */

static void count_found(const training *t, size_t late, double *recall) {
  size_t early_count = 0, late_count = 0;
  for (size_t q = 0; q < t->queries; q++)
    for (size_t i = 0; i < NEAR; i++)
      for (size_t at = 0; at < late; at++)
        if (t->found[q * late + at].id == t->nearest[q * NEAR + i].id) {
          early_count += at < NEAR;
          late_count++;
        }
  double all = (double)(t->queries * NEAR);
  recall[0] = (double)early_count / all;
  recall[1] = (double)late_count / all;
}

/* Searches the rows behind the queries, whose codes are in t->codes. */
static cpb_status measure(training *t, cpb_sketch *sketch) {
  cpb_estimator *estimator = NULL;
  cpb_estimator_options how;
  size_t base = t->rows - t->queries;
  cpb_estimator_options_init(&how, sizeof how);
  how.k = base < LATE ? base : LATE;
  cpb_status status = cpb_estimator_new(sketch, cpb_rows(t->codes, CPB_U8, base, sketch->options.code_bytes),
                                        &estimator, t->error);
  if (status == CPB_OK)
    status = cpb_estimator_search(estimator, cpb_view_slice(t->sample, 0, t->queries), &how, t->found, NULL,
                                  t->quiet, t->error);
  cpb_estimator_free(estimator);
  if (status == CPB_OK) count_found(t, how.k, sketch->options.recall);
  return status;
}

static cpb_status encode_and_measure(training *t, cpb_sketch *sketch) {
  cpb_view base = cpb_view_slice(t->sample, t->queries, t->rows - t->queries);
  cpb_status status = cpb_sketch_encode(sketch, base, t->codes, t->quiet, t->error);
  return status == CPB_OK ? measure(t, sketch) : status;
}

/* Whether a is the better one: what 10 estimates find, and then what 100 do. */
static bool is_better(const double *a, const double *b) { return a[0] + a[1] / 4 > b[0] + b[1] / 4; }

static cpb_status try_form(training *t, cpb_sketch_form form, size_t numbers, cpb_sketch **best) {
  plan p = {.form = form, .numbers = numbers};
  cpb_sketch *made = NULL;
  cpb_status status = make_plan(t, &p) ? build(t, &p, &made) : no_memory(t);
  cpb_memory_free(&p.memory);
  if (status == CPB_OK && t->queries > 0) status = encode_and_measure(t, made);
  bool better =
      status == CPB_OK && (*best == NULL || is_better(made->options.recall, (*best)->options.recall));
  cpb_sketch_free(better ? *best : made);
  if (better) *best = made;
  return status;
}

/* The forms that these rows and bytes can have. */
static bool is_possible(const training *t, cpb_sketch_form form) {
  if (t->o->form != CPB_FORM_CHOSEN) return form == t->o->form;
  if (t->queries == 0) return form == CPB_FORM_PRINCIPAL;
  if (form == CPB_FORM_COLUMNS) return t->d >= t->bytes - NUMBERS;
  if (form == CPB_FORM_TURNED) return t->principal.rows <= TURNED_MOST;
  return form != CPB_FORM_SIGNS || t->d >= 8 * (t->bytes - NUMBERS) / 2;
}

static cpb_status try_forms(training *t, cpb_sketch **best) {
  static const cpb_sketch_form forms[] = {CPB_FORM_PRINCIPAL, CPB_FORM_COLUMNS, CPB_FORM_SIGNS,
                                          CPB_FORM_TURNED};
  enum { FORMS = sizeof forms / sizeof *forms };
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < FORMS && status == CPB_OK; i++) {
    if (is_possible(t, forms[i])) status = try_form(t, forms[i], NUMBERS, best);
    if (status == CPB_OK) status = cpb_exec_tell(t->exec, 0.2 + 0.6 * (double)(i + 1) / FORMS, t->error);
  }
  bool few = t->queries > 0 && t->bytes <= FEW_BYTES && !t->o->certain && t->o->bytes != 0;
  cpb_sketch_form so_far = status == CPB_OK ? (*best)->options.form : CPB_FORM_CHOSEN;
  if (few && status == CPB_OK && so_far != CPB_FORM_COLUMNS && is_possible(t, CPB_FORM_COLUMNS))
    status = try_form(t, CPB_FORM_COLUMNS, 0, best);
  return few && status == CPB_OK ? try_form(t, so_far, 0, best) : status;
}

/* ---- what estimates count of the bound, and how far they err ---- */

static cpb_status choose_gamma(training *t, cpb_sketch *sketch) {
  static const double gammas[] = {0.25, 0.75, 0, 1};
  cpb_sketch_options *o = &sketch->options;
  double best = o->gamma, recall[2] = {o->recall[0], o->recall[1]};
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < 4 && status == CPB_OK; i++) {
    o->gamma = gammas[i];
    status = measure(t, sketch);
    if (status != CPB_OK || !is_better(o->recall, recall)) continue;
    best = gammas[i];
    memcpy(recall, o->recall, sizeof recall);
  }
  o->gamma = best;
  memcpy(o->recall, recall, sizeof recall);
  return status;
}

/* How far estimates of near rows are above their distance, as a part of e: its quantile is the spread. */
static cpb_status calibrate(training *t, cpb_sketch *sketch) {
  const cpb_sketch_options *o = &sketch->options;
  cpb_factor_form form = cpb_factor_form_of(o);
  size_t base = t->rows - t->queries, queries = t->queries < CALIBRATED ? t->queries : CALIBRATED, count = 0;
  cpb_estimator *estimator = NULL;
  cpb_memory memory = {0};
  double *estimates = cpb_memory_take(&memory, base, sizeof *estimates);
  double *parts = cpb_memory_take(&memory, CALIBRATED, NEAR * sizeof *parts);
  cpb_status status = memory.failed ? no_memory(t) : CPB_OK;
  if (status == CPB_OK)
    status = cpb_estimator_new(sketch, cpb_rows(t->codes, CPB_U8, base, o->code_bytes), &estimator, t->error);
  for (size_t q = 0; q < queries && status == CPB_OK; q++) {
    status = cpb_estimator_bounds(estimator, cpb_view_slice(t->sample, q, 1), CPB_BOUND_CERTAIN, 0.999,
                                  estimates, NULL, NULL, t->error);
    for (size_t i = 0; i < NEAR && status == CPB_OK; i++) {
      cpb_hit near = t->nearest[q * NEAR + i];
      double e = cpb_factors_get(&form, t->codes + near.id * o->code_bytes + o->bits / 8).e;
      parts[count++] = (estimates[near.id] - near.value) / (o->s * e);
    }
  }
  if (status == CPB_OK && count > 0) {
    qsort(parts, count, sizeof *parts, ascending);
    sketch->options.spread = fmin(1, fmax(quantile(parts, count, QUANTILE) * MARGIN, 0x1p-20));
  }
  cpb_estimator_free(estimator);
  cpb_memory_free(&memory);
  return status;
}

static cpb_status train(training *t, cpb_sketch **sketch) {
  cpb_status status = prepare(t);
  if (status == CPB_OK) status = cpb_exec_tell(t->exec, 0.2, t->error);
  if (status == CPB_OK) status = try_forms(t, sketch);
  if (status != CPB_OK || t->queries == 0) return status;
  status = encode_and_measure(t, *sketch);
  if (status != CPB_OK || (*sketch)->options.numbers == 0) return status;
  status = choose_gamma(t, *sketch);
  return status == CPB_OK ? calibrate(t, *sketch) : status;
}

/* ---- the call ---- */

static cpb_status check(cpb_view x, const cpb_sketch_training *o, cpb_error *error) {
  if ((unsigned)o->form >= CPB_SKETCH_FORMS) return cpb_fail_choice(error, "form", (int)o->form);
  if (o->bytes != 0 && (o->bytes < NUMBERS + 1 || o->bytes > 8192))
    return cpb_fail_count(error, "bytes", o->bytes, "bytes must be in %d .. 8192", NUMBERS + 1);
  if (o->form == CPB_FORM_SIGNS && x.cols < 8)
    return cpb_fail_count(error, "form", x.cols, "signs need at least 8 columns");
  cpb_status status = cpb_sketch_check_shape(x.cols, o->bytes != 0 ? 8 : o->bits, o->s, o->center, error);
  if (status == CPB_OK) status = cpb_check_view(x, "sample", x.cols, error);
  if (status == CPB_OK && x.rows < 2)
    return cpb_fail_count(error, "sketch", x.rows, "a sketch is trained on at least 2 rows");
  return status;
}

cpb_status cpb_sketch_train(cpb_view sample, const cpb_sketch_training *given, cpb_sketch **sketch,
                            cpb_sketch_report *report, const cpb_exec *exec, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  *sketch = NULL;
  cpb_sketch_training taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_sketch_training", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_sketch_report", error);
  if (status == CPB_OK) status = check(sample, options, error);
  if (status == CPB_OK) status = cpb_check_finite(sample, "sample", sample.cols, exec, error);
  if (status != CPB_OK) return status;
  double began = cpb_seconds_now();
  size_t most = ELEMENTS_MOST / sample.cols > 4 * QUERIES ? ELEMENTS_MOST / sample.cols : 4 * QUERIES;
  training t = {.o = options,
                .exec = exec,
                .error = error,
                .sample = sample,
                .random = {options->seed},
                .d = sample.cols};
  t.rows = sample.rows < most ? sample.rows : most;
  t.queries = t.rows / 4 < QUERIES ? t.rows / 4 : QUERIES;
  if (t.rows - t.queries < 2 * NEAR) t.queries = 0;
  cpb_exec quiet = exec != NULL ? *exec : (cpb_exec){.size = sizeof quiet};
  quiet.progress = NULL;
  t.quiet = exec != NULL ? &quiet : NULL;
  t.bytes = options->bytes != 0 ? options->bytes : options->bits / 8 + NUMBERS;
  status = train(&t, sketch);
  cpb_memory_free(&t.memory);
  if (status != CPB_OK) {
    cpb_sketch_free(*sketch);
    *sketch = NULL;
    return status;
  }
  cpb_sketch_report own = {.size = sizeof own, .seconds = cpb_seconds_now() - began};
  memcpy(own.recall, (*sketch)->options.recall, sizeof own.recall);
  cpb_sized_give(report, &own, sizeof own);
  return CPB_OK;
}
