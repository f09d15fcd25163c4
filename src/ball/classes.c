/* Planes on the sphere and the classes that they belong to: object and scores. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/classes.h"
#include "capball/map.h"
#include "base/blocks.h"
#include "base/column_names.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/row_state.h"
#include "loops/vector.h"

struct cpb_classes {
  cpb_classes_options options; /* its pointers are ours */
  cpb_map *map;                /* of g(x-m), or of x where there are no factors */
  cpb_memory memory;
};

CPB_DEFAULTS(cpb_classes_options, .size = sizeof(cpb_classes_options))

const char *cpb_class_rule_name(cpb_class_rule rule) {
  static const char *const names[CPB_CLASS_RULES] = {"softmax", "one-vs-rest", "largest"};
  return (unsigned)rule < CPB_CLASS_RULES ? names[rule] : "unknown";
}

/* ---- the object ---- */

static cpb_status check_finite(const char *name, const double *numbers, size_t count, bool needed,
                               cpb_error *error) {
  if (numbers == NULL) return needed ? cpb_fail_missing(error, name) : CPB_OK;
  return cpb_all_finite(numbers, count) ? CPB_OK : cpb_fail_not_finite(error, name, name);
}

static cpb_status check_owners(const cpb_classes_options *o, cpb_error *error) {
  if (o->owners == NULL) return cpb_fail_missing(error, "owners");
  if (o->labels == NULL) return cpb_fail_missing(error, "labels");
  for (size_t i = 0; i < o->classes; i++)
    if (o->labels[i] == NULL) return cpb_fail_missing(error, "labels");
  uint64_t before = 0;
  bool each = o->owners[0] == 0 && o->owners[o->planes - 1] == o->classes - 1;
  for (size_t k = 0; k < o->planes; k++) {
    each = each && o->owners[k] >= before && o->owners[k] <= before + 1;
    before = o->owners[k];
  }
  if (!each)
    return cpb_fail(error, CPB_WHY_LIST_ORDER, "owners", "owners must ascend from 0 to %zu without a gap",
                    o->classes - 1);
  return CPB_OK;
}

static cpb_status check(const cpb_classes_options *o, cpb_error *error) {
  if (o->d == 0 || o->d > SIZE_MAX / 32 / o->d) return cpb_fail_dimension(error, "d", o->d);
  if (o->classes < 2)
    return cpb_fail_count(error, "classes", o->classes, "a classifier needs at least 2 classes");
  if (o->planes < o->classes || o->planes > SIZE_MAX / 32 / (o->d + 1))
    return cpb_fail_count(error, "planes", o->planes, "there must be at least as many planes as classes");
  if ((unsigned)o->rule >= CPB_CLASS_RULES) return cpb_fail_choice(error, "rule", (int)o->rule);
  if (o->rule == CPB_CLASS_ONE_VS_REST && o->planes != o->classes)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "rule", "one against the rest has one plane per class");
  if (o->whiten != NULL && o->factors != NULL)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "whiten", "give a matrix or factors, not both");
  cpb_status status = check_finite("w", o->w, o->planes * (o->d + 1), true, error);
  if (status == CPB_OK) status = check_finite("w0", o->w0, o->planes, true, error);
  if (status == CPB_OK) status = check_finite("center", o->center, o->d, false, error);
  if (status == CPB_OK) status = check_finite("factors", o->factors, o->d, false, error);
  return status == CPB_OK ? check_owners(o, error) : status;
}

static cpb_status map_new(const cpb_classes_options *o, cpb_map **map, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = o->d;
  options.s = o->s;
  if (o->factors == NULL) {
    options.center = o->center;
    options.whiten = o->whiten;
  }
  return cpb_map_new(&options, map, error);
}

static bool copy(cpb_classes *made, const cpb_classes_options *from) {
  cpb_classes_options *o = &made->options;
  cpb_memory *m = &made->memory;
  size_t d = from->d;
  o->center = cpb_memory_copy(m, from->center, d, sizeof(double));
  o->factors = cpb_memory_copy(m, from->factors, d, sizeof(double));
  o->whiten = cpb_memory_copy(m, from->whiten, d * d, sizeof(double));
  o->w = cpb_memory_copy(m, from->w, from->planes * (d + 1), sizeof(double));
  o->w0 = cpb_memory_copy(m, from->w0, from->planes, sizeof(double));
  o->owners = cpb_memory_copy(m, from->owners, from->planes, sizeof(uint64_t));
  return cpb_column_names_copy(from->columns, d, &o->columns) &&
         cpb_column_names_copy(from->labels, from->classes, &o->labels) && !m->failed;
}

cpb_status cpb_classes_new(const cpb_classes_options *given, cpb_classes **classes, cpb_error *error) {
  if (classes == NULL) return cpb_fail_missing(error, "classes");
  *classes = NULL;
  cpb_classes_options options = defaults;
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_classes_options", error);
  if (status == CPB_OK) status = check(&options, error);
  if (status != CPB_OK) return status;
  cpb_classes *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a classifier");
  made->options = options;
  made->options.columns = made->options.labels = NULL;
  status = copy(made, &options)
               ? map_new(&options, &made->map, error)
               : cpb_fail_memory(error, "%zu planes of dimension %zu", options.planes, options.d);
  if (status == CPB_OK)
    *classes = made;
  else
    cpb_classes_free(made);
  return status;
}

void cpb_classes_free(cpb_classes *classes) {
  if (classes == NULL) return;
  cpb_map_free(classes->map);
  cpb_memory_free(&classes->memory);
  cpb_column_names_free(classes->options.columns);
  cpb_column_names_free(classes->options.labels);
  free(classes);
}

void cpb_classes_describe(const cpb_classes *classes, cpb_classes_options *options) {
  cpb_sized_give(options, classes == NULL ? NULL : &classes->options, sizeof classes->options);
}

/* ---- scores ---- */

typedef struct class_job {
  const cpb_classes *classes;
  const cpb_loops *loops;
  cpb_view x;
  cpb_out scores;
  cpb_first_fault fault;
  atomic_bool no_memory;
} class_job;

/* The values of the planes of one class, starting with this one, become its score: the largest f, and with softmax
 * log sum exp f = f_max + log sum exp(f - f_max). Returns the plane behind the last. */
static size_t class_score(const cpb_classes_options *o, const double *f, size_t first, double *score) {
  size_t end = first;
  double most = -INFINITY, sum = 0;
  for (; end < o->planes && o->owners[end] == o->owners[first]; end++) most = f[end] > most ? f[end] : most;
  *score = most;
  if (o->rule != CPB_CLASS_SOFTMAX || end == first + 1) return end;
  for (size_t k = first; k < end; k++) sum += cpb_exp(f[k] - most);
  *score = most + cpb_log(sum);
  return end;
}

static void store_scores(const class_job *job, size_t row, const double *y, double *f) {
  const cpb_classes_options *o = &job->classes->options;
  for (size_t k = 0; k < o->planes; k++)
    f[k] = job->loops->dot(o->w + k * (o->d + 1), y, o->d + 1) + o->w0[k];
  for (size_t k = 0, class = 0; k < o->planes; class ++) {
    double score;
    k = class_score(o, f, k, &score);
    cpb_out_set(job->scores, row, class, score);
  }
}

/* g(x-m) in place. */
static void scale_rows(const cpb_classes_options *o, double *rows, size_t count) {
  for (size_t i = 0; o->factors != NULL && i < count; i++, rows += o->d)
    for (size_t j = 0; j < o->d; j++)
      rows[j] = (rows[j] - (o->center == NULL ? 0 : o->center[j])) * o->factors[j];
}

static void score_rows(class_job *job, size_t first, size_t count, double *room) {
  const cpb_classes_options *o = &job->classes->options;
  size_t d = o->d;
  double *y = room + count * d, *f = y + count * (d + 1);
  cpb_view_widen(cpb_view_slice(job->x, first, count), room);
  scale_rows(o, room, count);
  /* rows without an image are found below */
  cpb_status status = cpb_map_embed(job->classes->map, cpb_rows(room, CPB_F64, count, d),
                                    cpb_rows_out(y, CPB_F64, count, d + 1), NULL, NULL);
  if (status == CPB_ENOMEM) atomic_store(&job->no_memory, true);
  for (size_t i = 0; i < count; i++) {
    int fault = cpb_row_fault(job->loops, job->x, first + i);
    cpb_record_fault(&job->fault, first + i, fault);
    if (fault != 0)
      cpb_row_fill_nan(job->scores, first + i);
    else
      store_scores(job, first + i, y + i * (d + 1), f);
  }
}

static void score_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  class_job *job = argument;
  const cpb_classes_options *o = &job->classes->options;
  double *room = malloc((count * (2 * o->d + 1) + o->planes) * sizeof *room);
  if (room == NULL)
    atomic_store(&job->no_memory, true);
  else
    score_rows(job, first, count, room);
  free(room);
}

cpb_status cpb_classes_scores(const cpb_classes *classes, cpb_view x, cpb_out scores, const cpb_exec *exec,
                              cpb_error *error) {
  if (classes == NULL) return cpb_fail_missing(error, "classes");
  const cpb_classes_options *o = &classes->options;
  cpb_status status = cpb_check_view(x, "x", o->d, error);
  if (status == CPB_OK) status = cpb_check_out(scores, "scores", x.rows, o->classes, error);
  if (status == CPB_OK) status = cpb_check_apart(x, "x", scores, "scores", error);
  if (status != CPB_OK) return status;
  class_job job = {.classes = classes, .loops = cpb_loops_here(), .x = x, .scores = scores};
  cpb_blocks blocks = {x.rows, cpb_blocks_rows(o->d + o->planes), score_block, &job};
  status = cpb_blocks_run_told(&blocks, exec, error);
  if (status != CPB_OK) return status;
  if (atomic_load(&job.no_memory)) return cpb_fail_memory(error, "blocks of rows of %zu numbers", o->d);
  return cpb_first_fault_report(&job.fault, "x", error);
}

size_t cpb_classes_verdict(const cpb_classes *classes, const double *scores) {
  if (classes == NULL || scores == NULL) return 0;
  size_t count = classes->options.classes, best = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(scores[i])) return count;
    if (scores[i] > scores[best]) best = i;
  }
  return best;
}

/* ---- probabilities ---- */

static void softmax(double *scores, size_t count) {
  double most = scores[0], sum = 0;
  for (size_t i = 1; i < count; i++) most = scores[i] > most ? scores[i] : most;
  for (size_t i = 0; i < count; i++) sum += scores[i] = cpb_exp(scores[i] - most);
  for (size_t i = 0; i < count; i++) scores[i] /= sum;
}

/* 1/(1+exp(-f)), divided by the sum; equal parts where all are 0. */
static void logistic(double *scores, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    double part = cpb_exp(-fabs(scores[i])), p = scores[i] >= 0 ? 1 / (1 + part) : part / (1 + part);
    sum += scores[i] = isnan(scores[i]) ? NAN : p;
  }
  for (size_t i = 0; i < count; i++) scores[i] = sum == 0 ? 1 / (double)count : scores[i] / sum;
}

cpb_status cpb_classes_probabilities(const cpb_classes *classes, double *scores, size_t n, cpb_error *error) {
  if (classes == NULL || scores == NULL)
    return cpb_fail_missing(error, classes == NULL ? "classes" : "scores");
  const cpb_classes_options *o = &classes->options;
  if (o->rule == CPB_CLASS_LARGEST)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "classes",
                    "a classifier with the rule largest has no probabilities");
  for (size_t i = 0; i < n; i++) {
    double *row = scores + i * o->classes;
    if (o->rule == CPB_CLASS_SOFTMAX)
      softmax(row, o->classes);
    else
      logistic(row, o->classes);
  }
  return CPB_OK;
}
