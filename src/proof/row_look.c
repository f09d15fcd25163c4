#include "proof/row_look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "loop/table.h"
#include "parallel/tell.h"

/* ---- digits ---- */

static bool fits_half(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  double steps = v * 0x1p24; /* in units of the smallest half */
  return fabs(v) <= 65504 && (bits & (((uint64_t)1 << 42) - 1)) == 0 && steps == nearbyint(steps);
}

/* The decimal m/10^k, both exact, is read as the nearest double. */
static bool has_digits(double v, double least, cpb_dtype stored) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  double size = fabs(v);
  size_t k = 0, most = sizeof powers / sizeof *powers;
  while (k < most && size * powers[k] < least) k++;
  if (k == most) return true; /* too small to tell: counts as short */
  double read = nearbyint(size * powers[k]) / powers[k];
  return stored == CPB_F32 ? (float)read == (float)size : read == size;
}

/* Whether v may have been rounded to the type, or printed from it: 5 digits are enough for f16, 9 for f32. */
static bool is_single(double v) { return (double)(float)v == v || has_digits(v, 1e8, CPB_F64); }

static bool is_half(double v, cpb_dtype stored) { return fits_half(v) || has_digits(v, 1e4, stored); }

/* Values of f16 may also have passed through files of f32. */
static bool is_short(double v, cpb_dtype type, cpb_dtype stored) {
  if (type == CPB_F32) return is_single(v);
  return is_half(v, stored) || (stored == CPB_F64 && is_single(v) && is_half((double)(float)v, CPB_F32));
}

static bool is_short_row(const double *y, size_t cols, cpb_dtype type, cpb_dtype stored) {
  for (size_t i = 0; i < cols; i++)
    if (!is_short(y[i], type, stored)) return false;
  return true;
}

static cpb_dtype precision_of(const double *y, size_t cols, cpb_dtype stored) {
  if (stored == CPB_F16 || is_short_row(y, cols, CPB_F16, stored)) return CPB_F16;
  return stored == CPB_F32 || is_short_row(y, cols, CPB_F32, stored) ? CPB_F32 : CPB_F64;
}

/* A row with a single non-zero coordinate, 1 or -1, on the sphere; the image of the centre under a lift. Its zeros were
 * rounded by less than the smallest half, and the surface bounds the rest: error_of_axis. */
static bool is_axis(const cpb_reading *reading, const double *y) {
  size_t others = 0, looked = reading->map != NULL ? reading->cols : reading->d;
  double size = 0;
  for (size_t i = 0; i < looked; i++) {
    others += y[i] != 0;
    size = fmax(size, fabs(y[i]));
  }
  return reading->map != NULL ? others == 1 && size == 1 : others == 0;
}

static double error_of_axis(const cpb_reading *reading) { return sqrt((double)reading->cols) * 0x1p-24; }

/* ---- lengths ---- */

static double unit_roundoff(cpb_dtype type) {
  return type == CPB_F64 ? 0x1p-53 : type == CPB_F32 ? 0x1p-24 : 0x1p-11;
}

/* The largest distance from the surface that rounding to the type and printing can cause. */
static double explained(const cpb_reading *reading, cpb_dtype type) {
  double sums = ((double)reading->d + 65) * 0x1p-53, times = reading->map != NULL ? 4 : 16;
  return type == CPB_F64 ? sums : times * unit_roundoff(type) + sums;
}

cpb_status cpb_row_look_at(cpb_row_look *look, const cpb_reading *reading, const double *y, cpb_dtype stored,
                           uint64_t number, cpb_error *error) {
  double off = cpb_reading_off(reading, y);
  if (!(off <= explained(reading, CPB_F16)))
    return cpb_fail_row(
        error, CPB_WHY_ROW_OFF_SPHERE, "embedded", number, "has length %.9g: not a point of the %s",
        sqrt(cpb_loops_here()->dot(y, y, reading->cols)), reading->map != NULL ? "sphere" : "lift");
  cpb_row_look one = {.precision = CPB_F64, .off = off, .row = number, .axis = is_axis(reading, y)};
  one.any = !one.axis;
  if (one.any) one.precision = precision_of(y, reading->cols, stored);
  one.unexplained = one.any && off > explained(reading, one.precision);
  cpb_row_look_join(look, &one);
  return CPB_OK;
}

void cpb_row_look_join(cpb_row_look *look, const cpb_row_look *other) {
  bool farther =
      !look->unexplained || other->off > look->off || (other->off == look->off && other->row < look->row);
  if (other->unexplained && farther) {
    look->off = other->off;
    look->row = other->row;
  }
  if (other->any && (!look->any || unit_roundoff(other->precision) > unit_roundoff(look->precision)))
    look->precision = other->precision;
  look->unexplained |= other->unexplained;
  look->axis |= other->axis;
  look->any |= other->any;
}

double cpb_row_look_error(const cpb_row_look *look, const cpb_reading *reading, cpb_dtype stored) {
  if (look->unexplained) return INFINITY;
  double error = cpb_reading_row_error(reading, look->any ? look->precision : stored);
  return look->axis ? fmax(error, error_of_axis(reading)) : error;
}

/* ---- all rows ---- */

enum { TASK_ROWS = 512 };

typedef struct looking {
  const cpb_reading *reading;
  cpb_view block;
  uint64_t first;      /* the number of its first row */
  cpb_row_look *looks; /* one per task */
  cpb_status *status;
} looking;

static cpb_status look_at_rows(const looking *l, size_t task, double *y, cpb_error *error) {
  size_t first = task * TASK_ROWS, left = l->block.rows - first;
  for (size_t i = 0; i < (left < TASK_ROWS ? left : TASK_ROWS); i++) {
    cpb_view row = cpb_view_slice(l->block, first + i, 1);
    cpb_loops_here()->widen[row.dtype](row.data, row.cols, y);
    cpb_status status =
        cpb_row_look_at(&l->looks[task], l->reading, y, row.dtype, l->first + first + i, error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

static void look_task(void *arg, size_t task) {
  const looking *l = arg;
  double *y = malloc(l->reading->cols * sizeof *y);
  l->status[task] = y == NULL ? CPB_ENOMEM : look_at_rows(l, task, y, NULL);
  free(y);
}

/* The first failure, with its message. */
static cpb_status find_failure(looking *l, size_t tasks, cpb_error *error) {
  for (size_t task = 0; task < tasks; task++) {
    if (l->status[task] == CPB_OK) continue;
    double *y = malloc(l->reading->cols * sizeof *y);
    cpb_status status = y == NULL ? cpb_fail_memory(error, "a row") : look_at_rows(l, task, y, error);
    free(y);
    if (status != CPB_OK) return status; /* else memory is now available */
  }
  return CPB_OK;
}

static cpb_status look_at_block(looking *l, cpb_row_look *look, const cpb_exec *exec, cpb_error *error) {
  size_t tasks = (l->block.rows + TASK_ROWS - 1) / TASK_ROWS;
  l->looks = calloc(tasks, sizeof *l->looks);
  l->status = calloc(tasks, sizeof *l->status);
  bool memory = l->looks != NULL && l->status != NULL;
  cpb_status status = memory ? CPB_OK : cpb_fail_memory(error, "%zu rows", l->block.rows);
  if (memory) {
    cpb_exec_run(exec, tasks, look_task, l);
    status = find_failure(l, tasks, error);
    for (size_t task = 0; task < tasks; task++) cpb_row_look_join(look, &l->looks[task]);
  }
  free(l->looks);
  free(l->status);
  return status;
}

cpb_status cpb_row_look_all(cpb_row_look *look, const cpb_reading *reading, cpb_source *rows,
                            const cpb_exec *exec, cpb_error *error) {
  looking l = {.reading = reading};
  cpb_status status = rows->rewind(rows, error);
  for (; status == CPB_OK; l.first += l.block.rows) {
    status = rows->next(rows, &l.block, error);
    if (status != CPB_OK || l.block.rows == 0) break;
    status = cpb_check_view(l.block, "embedded", reading->cols, error);
    if (status == CPB_OK) status = look_at_block(&l, look, exec, error);
    if (status == CPB_OK) status = cpb_exec_tell(exec, 0, error);
  }
  return status;
}
