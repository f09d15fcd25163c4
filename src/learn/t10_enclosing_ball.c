/* T10: rounds of one read of the data and one exact solution on a working set.
 *
 * Inside, everything is in units of 2^exponent of the data and relative to `origin`, the first row met;
 * the exponent is 0 unless squares of the data would leave the range of double. */
#include "capball/ball.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/distances.h"
#include "learn/svdd_fail.h"
#include "learn/working_set.h"

enum {
  BLOCK_ROWS = 4096,
  SAMPLE = 1024,
  SOLVED_SAMPLE = 4096, /* rows per dimension from which the ball of a sample is worth finding */
  FAR_ROWS = 512,
  ROWS_PER_FAR_ROW = 256,
  FAR_PER_BLOCK = 32,
  SAFE_EXPONENT = 250
};

typedef struct far_row {
  double dist2;
  size_t row;
} far_row;

struct cpb_core {
  const cpb_loops *loops;
  size_t d;
  cpb_ball_options options;
  int exponent;
  uint64_t rows_seen; /* of this pass */
  bool started;
  double *origin;  /* 2^-exponent of the first row; exact in the data's unit for cpb_core_rows */
  double *point;   /* the ball's centre relative to origin */
  double *center;  /* origin + point */
  double lower2;   /* dual value */
  double largest2; /* of the rows seen in this pass, about center */
  cpb_working_set set, staged;
  cpb_hull hull; /* of the active-set method */
  size_t support_count;
  double *support; /* support_count rows of d, in the data's unit */
  double *multiplier;
  uint64_t *support_row;
  size_t iterations, newcomers;
};

static const cpb_ball_options defaults = {.size = sizeof(cpb_ball_options), .gap = 1e-9, .max_passes = 200};

void cpb_ball_options_init(cpb_ball_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_ball_report_init(cpb_ball_report *report, size_t size) {
  cpb_sized_init(report, size, &(cpb_ball_report){0}, sizeof(cpb_ball_report));
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cpb_status check_options(const cpb_ball_options *options, cpb_error *error) {
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail_domain(error, "gap", options->gap, "gap must be >= 0 and finite");
  if (options->max_passes == 0) return cpb_fail_count(error, "max_passes", 0, "max_passes must be >= 1");
  if (options->method != CPB_BALL_ACTIVE_SET && options->method != CPB_BALL_CAPS)
    return cpb_fail_domain(error, "method", (double)options->method,
                           "method must be CPB_BALL_ACTIVE_SET or CPB_BALL_CAPS");
  return CPB_OK;
}

cpb_status cpb_core_new(size_t d, const cpb_ball_options *given, cpb_core **core, cpb_error *error) {
  cpb_ball_options taken = defaults, *options = &taken;
  if (core == NULL) return cpb_fail_missing(error, "core");
  *core = NULL;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_ball_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  cpb_core *made = calloc(1, sizeof *made);
  if (made != NULL) {
    *made = (cpb_core){.loops = cpb_loops_here(), .d = d, .options = *options, .set.d = d, .staged.d = d};
    made->origin = d > SIZE_MAX / sizeof(double) / 3 ? NULL : calloc(3 * d, sizeof *made->origin);
    if (made->origin != NULL && cpb_hull_init(&made->hull, made->loops, d, 1) == CPB_OK) {
      made->point = made->origin + d;
      made->center = made->origin + 2 * d;
      *core = made;
      return CPB_OK;
    }
  }
  cpb_core_free(made);
  return cpb_fail_memory(error, "a core-set of dimension %zu", d);
}

void cpb_core_free(cpb_core *core) {
  if (core == NULL) return;
  cpb_working_set_free(&core->set);
  cpb_working_set_free(&core->staged);
  cpb_hull_free(&core->hull);
  free(core->origin);
  free(core->support);
  free(core->multiplier);
  free(core->support_row);
  free(core);
}

/* ---- one read of rows ---- */

typedef struct read_job {
  const cpb_core *core;
  cpb_view x;
  double cut; /* rows nearer than this are of no interest */
  size_t per_block;
  far_row *far;      /* per block: a heap, the nearest first */
  size_t *far_count; /* per block */
  double *largest2;  /* per block */
  _Atomic bool out_of_range;
  cpb_first_fault fault;
} read_job;

/* Rows that may join in one round: enough for a support of d+1 and its neighbours; of many rows more, lest
 * those on one side of a centre that is not the last take all places. */
static size_t far_rows(size_t d, uint64_t rows) {
  size_t least = d < 4 ? 64 : d < 32 ? 16 * d : FAR_ROWS;
  uint64_t share = rows / ROWS_PER_FAR_ROW;
  return share < least ? least : share < FAR_ROWS ? (size_t)share : FAR_ROWS;
}

static bool nearer(far_row a, far_row b) {
  return a.dist2 < b.dist2 || (a.dist2 == b.dist2 && a.row > b.row);
}

static void sift_down(far_row *heap, size_t count, size_t i) {
  far_row moved = heap[i];
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && nearer(heap[child + 1], heap[child])) child++;
    if (!nearer(heap[child], moved)) break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
}

static void offer(far_row *heap, size_t *count, size_t room, far_row row) {
  if (*count < room) {
    heap[(*count)++] = row;
    if (*count == room)
      for (size_t i = room / 2 + 1; i-- > 0;) sift_down(heap, room, i);
  } else if (nearer(heap[0], row)) {
    heap[0] = row;
    sift_down(heap, room, 0);
  }
}

static void meet_unusable(read_job *job, size_t row) {
  int fault = cpb_row_fault(job->core->loops, job->x, row);
  if (fault != 0)
    cpb_first_fault_meet(&job->fault, row, (cpb_fault)fault);
  else
    atomic_store(&job->out_of_range, true);
}

static void read_block(void *argument, size_t block, size_t first, size_t count) {
  read_job *job = argument;
  const cpb_loops *loops = job->core->loops;
  far_row *heap = job->far + block * job->per_block;
  size_t *held = &job->far_count[block];
  double dist2[BLOCK_ROWS], largest = 0, cut = job->cut;
  cpb_dist2_of_rows(loops, job->x, job->core->exponent, first, count, job->core->center, dist2);
  for (size_t i = 0; (i += loops->first_above(dist2 + i, count - i, fmin(largest, cut))) < count; i++) {
    if (!(dist2[i] < INFINITY)) meet_unusable(job, first + i);
    if (dist2[i] > largest) largest = dist2[i];
    if (dist2[i] > cut && dist2[i] < INFINITY)
      offer(heap, held, job->per_block, (far_row){dist2[i], first + i});
    if (*held == job->per_block) cut = heap[0].dist2;
  }
  job->largest2[block] = largest;
}

static int by_distance_down(const void *a, const void *b) {
  const far_row *x = a, *y = b;
  return nearer(*x, *y) ? 1 : nearer(*y, *x) ? -1 : 0;
}

/* The farthest rows of all blocks, in order, into far[0..]; returns how many. */
static size_t join_blocks(read_job *job, size_t blocks) {
  size_t total = 0;
  for (size_t block = 0; block < blocks; block++)
    for (size_t i = 0; i < job->far_count[block]; i++)
      job->far[total++] = job->far[block * job->per_block + i];
  qsort(job->far, total, sizeof *job->far, by_distance_down);
  size_t most = far_rows(job->x.cols, job->x.rows);
  return total < most ? total : most;
}

static void relative_row(const cpb_core *core, cpb_view x, size_t i, double *row) {
  cpb_scaled_row(core->loops, x, core->exponent, i, row);
  core->loops->axpby(1, row, -1, core->origin, row, core->d);
}

/* Far rows of this read join those staged before in the same pass; the farthest stay. */
static cpb_status stage(cpb_core *core, const read_job *job, size_t count) {
  double *row = malloc(core->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    relative_row(core, job->x, job->far[i].row, row);
    status = cpb_working_set_add(&core->staged, row, core->rows_seen + job->far[i].row, job->far[i].dist2);
  }
  free(row);
  if (status == CPB_OK) cpb_working_set_keep(&core->staged, far_rows(core->d, core->rows_seen + job->x.rows));
  return status;
}

/* The exponent of the largest |x_ij - origin_j|, or INT_MIN when all are 0. */
static int spread_exponent(const cpb_core *core, cpb_view x) {
  int largest = INT_MIN;
  for (size_t i = 0; i < x.rows; i++)
    for (size_t j = 0; j < x.cols; j++) {
      double half = cpb_view_at(x, i, j) / 2 - ldexp(core->origin[j], core->exponent - 1);
      if (half != 0 && isfinite(half) && ilogb(half) + 1 > largest) largest = ilogb(half) + 1;
    }
  return largest;
}

static void rescale(double *x, size_t n, int by) {
  for (size_t i = 0; i < n; i++) x[i] = ldexp(x[i], by);
}

/* Changes the unit of everything inside. The active set is entered again by the next solution. */
static void change_exponent(cpb_core *core, int exponent) {
  int by = core->exponent - exponent;
  rescale(core->origin, 3 * core->d, by);
  rescale(core->set.rows, core->set.count * core->d, by);
  rescale(core->staged.rows, core->staged.count * core->d, by);
  rescale(core->staged.dist2, core->staged.count, 2 * by);
  core->largest2 = ldexp(core->largest2, 2 * by);
  core->lower2 = ldexp(core->lower2, 2 * by);
  core->exponent = exponent;
  core->hull.count = 0;
  memset(core->hull.point, 0, core->d * sizeof *core->hull.point);
}

static cpb_status run_read(cpb_core *core, read_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, read_block, job};
  size_t count = cpb_blocks_count(&blocks), share = 2 * far_rows(core->d, job->x.rows) / count + 1;
  job->per_block = share > FAR_PER_BLOCK ? share : FAR_PER_BLOCK;
  job->cut = core->lower2 > 0 ? core->lower2 * (1 + fmax(core->options.gap / 8, 0x1p-51)) : -1;
  job->far = malloc(count * job->per_block * sizeof *job->far);
  job->far_count = calloc(count, sizeof *job->far_count);
  job->largest2 = calloc(count, sizeof *job->largest2);
  cpb_first_fault_init(&job->fault);
  atomic_init(&job->out_of_range, false);
  if (job->far == NULL || job->far_count == NULL || job->largest2 == NULL) return CPB_ENOMEM;
  cpb_blocks_run(&blocks, exec);
  cpb_status status = cpb_first_fault_report(&job->fault, "x", error);
  if (status != CPB_OK || atomic_load(&job->out_of_range)) return status;
  for (size_t i = 0; i < count; i++) core->largest2 = fmax(core->largest2, job->largest2[i]);
  return stage(core, job, join_blocks(job, count));
}

/* Whether the unit had to change for these rows: then they are to be read again. */
static bool unit_was_wrong(cpb_core *core, const read_job *job) {
  double safe2 = ldexp(1, 2 * SAFE_EXPONENT);
  bool overflow = atomic_load(&job->out_of_range);
  if (!overflow && core->largest2 < safe2 && core->largest2 > 1 / safe2) return false;
  int exponent = spread_exponent(core, job->x);
  if (exponent == INT_MIN || exponent == core->exponent) return false;
  if (!overflow && abs(exponent - core->exponent) < SAFE_EXPONENT) return false;
  change_exponent(core, exponent);
  return true;
}

static cpb_status read_started(cpb_core *core, cpb_view x, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (bool again = true; again && status == CPB_OK;) {
    read_job job = {.core = core, .x = x};
    status = run_read(core, &job, exec, error);
    again = status == CPB_OK && unit_was_wrong(core, &job);
    free(job.far);
    free(job.far_count);
    free(job.largest2);
  }
  if (status == CPB_ENOMEM) return cpb_fail_memory(error, "a pass over %zu rows", x.rows);
  core->rows_seen += x.rows;
  return status;
}

/* ---- the solution on the working set ---- */

static cpb_status take_staged(cpb_core *core) {
  if (core->set.count > CPB_WORKING_ROWS) cpb_working_set_keep(&core->set, CPB_WORKING_ROWS / 2);
  cpb_status status = cpb_working_set_join(&core->set, &core->staged, &core->newcomers);
  core->staged.count = 0;
  return status;
}

typedef struct support_row {
  double multiplier;
  const double *row;
  uint64_t tag;
} support_row;

static int by_multiplier_down(const void *a, const void *b) {
  const support_row *x = a, *y = b;
  return x->multiplier != y->multiplier ? (x->multiplier < y->multiplier ? 1 : -1)
                                        : (x->tag > y->tag) - (x->tag < y->tag);
}

/* Keeps the support, the largest multipliers first, in the unit of the data. */
static cpb_status keep_support(cpb_core *core, support_row *rows, size_t count) {
  qsort(rows, count, sizeof *rows, by_multiplier_down);
  if (count > core->d + 1) count = core->d + 1;
  double *support = malloc(count * core->d * sizeof *support);
  double *multiplier = malloc(count * sizeof *multiplier);
  uint64_t *row = malloc(count * sizeof *row);
  if (support == NULL || multiplier == NULL || row == NULL) {
    free(support);
    free(multiplier);
    free(row);
    return CPB_ENOMEM;
  }
  for (size_t k = 0; k < count; k++) {
    multiplier[k] = rows[k].multiplier;
    row[k] = rows[k].tag;
    for (size_t j = 0; j < core->d; j++)
      support[k * core->d + j] = ldexp(rows[k].row[j] + core->origin[j], core->exponent);
  }
  free(core->support);
  free(core->multiplier);
  free(core->support_row);
  core->support = support;
  core->multiplier = multiplier;
  core->support_row = row;
  core->support_count = count;
  return CPB_OK;
}

static cpb_status solve_active_set(cpb_core *core) {
  double tolerance = fmax(core->options.gap / 16, 0x1p-52);
  if (core->hull.count == 0 && core->largest2 > 0) core->hull.unit = sqrt(core->largest2);
  cpb_status status = cpb_working_set_solve(&core->set, &core->hull, tolerance, &core->iterations);
  if (status != CPB_OK) return status;
  support_row *rows = malloc(core->hull.count * sizeof *rows);
  if (rows == NULL) return CPB_ENOMEM;
  for (size_t k = 0; k < core->hull.count; k++)
    rows[k] = (support_row){core->hull.weight[k], core->hull.p + k * core->d, core->hull.tag[k]};
  status = keep_support(core, rows, core->hull.count);
  free(rows);
  memcpy(core->point, core->hull.point, core->d * sizeof *core->point);
  core->lower2 = fmax(core->lower2, core->hull.value);
  return status;
}

static cpb_status solve_by_caps(cpb_core *core) {
  size_t n = core->set.count, count = 0, steps = 0;
  double *multiplier = malloc(n * sizeof *multiplier), lower2 = 0;
  support_row *rows = malloc(n * sizeof *rows);
  cpb_status status = multiplier == NULL || rows == NULL ? CPB_ENOMEM : CPB_OK;
  if (status == CPB_OK)
    status = cpb_working_set_solve_by_caps(&core->set, core->loops, core->point, multiplier, &lower2, &steps);
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++)
      if (multiplier[i] > 0)
        rows[count++] = (support_row){multiplier[i], core->set.rows + i * core->d, core->set.tag[i]};
    status = keep_support(core, rows, count);
    core->iterations += steps;
    core->lower2 = fmax(core->lower2, lower2);
  }
  free(multiplier);
  free(rows);
  return status;
}

/* Ends a pass: what was staged joins, the ball moves. */
static cpb_status solve(cpb_core *core, cpb_error *error) {
  cpb_status status = take_staged(core);
  if (status == CPB_OK && core->set.count > 0)
    status = core->options.method == CPB_BALL_CAPS ? solve_by_caps(core) : solve_active_set(core);
  if (status != CPB_OK) return cpb_fail_memory(error, "a working set of %zu rows", core->set.count);
  core->loops->axpby(1, core->origin, 1, core->point, core->center, core->d);
  return CPB_OK;
}

/* ---- the start ---- */

/* A row of the sample relative to origin; false when that is not finite. */
static bool sample_row(const cpb_core *core, cpb_view x, size_t i, double *row) {
  relative_row(core, x, i, row);
  for (size_t j = 0; j < core->d; j++)
    if (!isfinite(row[j])) return false;
  return true;
}

/* The first row is the origin, the mean of a sample the first centre. Where the ball of the sample costs
 * little beside a read, its centre is a better one: on points near a sphere it saves reads. */
static cpb_status start(cpb_core *core, cpb_view x, cpb_error *error) {
  size_t step = x.rows / SAMPLE + 1, count = 0;
  double *row = malloc(core->d * sizeof *row), largest2 = 0, safe2 = ldexp(1, 2 * SAFE_EXPONENT);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  bool solvable = x.rows / SOLVED_SAMPLE >= core->d;
  for (size_t j = 0; j < core->d; j++) core->origin[j] = cpb_view_at(x, 0, j);
  for (size_t i = 0; status == CPB_OK && i < x.rows; i += step) {
    if (!sample_row(core, x, i, row)) continue;
    double part = 1 / (double)++count;
    core->loops->axpby(1 - part, core->point, part, row, core->point, core->d);
    if (!solvable) continue;
    largest2 = fmax(largest2, core->loops->dot(row, row, core->d));
    status = cpb_working_set_add(&core->set, row, i, 0);
  }
  free(row);
  if (status != CPB_OK) return cpb_fail_memory(error, "a sample of %zu rows", x.rows);
  core->loops->axpby(1, core->origin, 1, core->point, core->center, core->d);
  core->started = true;
  if (!(largest2 > 1 / safe2 && largest2 < safe2)) {
    core->set.count = 0;
    return CPB_OK;
  }
  core->largest2 = largest2;
  status = solve(core, error);
  core->largest2 = 0;
  return status;
}

static cpb_status read_rows(cpb_core *core, cpb_view x, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", core->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  int fault = core->started ? 0 : cpb_row_fault(core->loops, x, 0);
  if (fault != 0) {
    cpb_first_fault first;
    cpb_first_fault_init(&first);
    cpb_first_fault_meet(&first, 0, (cpb_fault)fault);
    return cpb_first_fault_report(&first, "x", error);
  }
  if (!core->started) status = start(core, x, error);
  return status == CPB_OK ? read_started(core, x, exec, error) : status;
}

/* ---- core-sets ---- */

static void begin_pass(cpb_core *core) {
  core->rows_seen = 0;
  core->largest2 = 0;
  core->staged.count = 0;
}

/* Row numbers of an earlier call mean other rows: the working set starts from the support alone, under
 * names that no row has. */
static cpb_status return_to_support(cpb_core *core) {
  double *row = malloc(core->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  core->set.count = 0;
  for (size_t k = 0; status == CPB_OK && k < core->support_count; k++) {
    relative_row(core, cpb_core_rows(core), k, row);
    status = cpb_working_set_add(&core->set, row, UINT64_MAX - k, 0);
  }
  free(row);
  return status;
}

cpb_status cpb_core_add(cpb_core *core, cpb_view x, double *outside, const cpb_exec *exec, cpb_error *error) {
  if (core == NULL) return cpb_fail_missing(error, "core");
  bool first = core->support_count == 0;
  begin_pass(core);
  cpb_status status = return_to_support(core);
  if (status != CPB_OK) return cpb_fail_memory(error, "a working set");
  status = read_rows(core, x, exec, error);
  if (status != CPB_OK) return status;
  if (outside != NULL)
    *outside = first ? INFINITY : core->largest2 == 0 ? 0 : sqrt(core->largest2 / core->lower2);
  return solve(core, error);
}

cpb_status cpb_core_merge(cpb_core *into, const cpb_core *from, const cpb_exec *exec, cpb_error *error) {
  if (into == NULL || from == NULL) return cpb_fail_missing(error, into == NULL ? "into" : "from");
  if (into->d != from->d)
    return cpb_fail(error, CPB_WHY_CORE_DIMENSIONS, "core", "core-sets of dimension %zu and %zu do not merge",
                    into->d, from->d);
  return cpb_core_add(into, cpb_core_rows(from), NULL, exec, error);
}

cpb_view cpb_core_rows(const cpb_core *core) {
  return cpb_rows(core->support, CPB_F64, core->support_count, core->d);
}

cpb_status cpb_core_ball(const cpb_core *core, double *center, double *radius, cpb_error *error) {
  if (core == NULL || center == NULL) return cpb_fail_missing(error, core == NULL ? "core" : "center");
  if (core->support_count == 0)
    return cpb_fail(error, CPB_WHY_CORE_EMPTY, "core", "the core-set has seen no rows");
  for (size_t j = 0; j < core->d; j++) center[j] = ldexp(core->center[j], core->exponent);
  if (radius != NULL) *radius = ldexp(sqrt(core->lower2), core->exponent);
  return CPB_OK;
}

/* ---- whole data ---- */

typedef struct best_ball {
  double *center; /* in units of the data */
  double radius, lower, gap;
} best_ball;

/* Keeps the smallest ball seen. */
static void keep_best(const cpb_core *core, best_ball *best) {
  double radius = ldexp(sqrt(core->largest2), core->exponent);
  if (radius < best->radius) {
    best->radius = radius;
    for (size_t j = 0; j < core->d; j++) best->center[j] = ldexp(core->center[j], core->exponent);
  }
  best->lower = fmin(ldexp(sqrt(core->lower2), core->exponent), best->radius);
  double ratio = best->radius > 0 ? best->lower / best->radius : 1;
  best->gap = (1 - ratio) * (1 + ratio);
}

static cpb_status read_pass(cpb_core *core, cpb_source *source, const cpb_exec *exec, cpb_error *error) {
  begin_pass(core);
  if (source->view.rows > 0) return read_rows(core, source->view, exec, error);
  cpb_status status = source->rewind(source, error);
  while (status == CPB_OK) {
    cpb_view block = {0};
    uint64_t before = core->rows_seen;
    status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) return status;
    status = read_rows(core, block, exec, error);
    if (status == CPB_EROW) return cpb_fail_later(error, before);
  }
  return status;
}

static cpb_status iterate(cpb_core *core, cpb_source *source, best_ball *best, cpb_ball_report *report,
                          const cpb_exec *exec, cpb_error *error) {
  for (;;) {
    cpb_status status = read_pass(core, source, exec, error);
    if (status != CPB_OK) return status;
    if (core->rows_seen == 0) return cpb_fail_no_ball(error, 0, core->d);
    report->passes++;
    bool solved = core->support_count > 0;
    if (solved) keep_best(core, best);
    if (solved && (best->gap <= core->options.gap || report->passes >= core->options.max_passes))
      return CPB_OK;
    status = solve(core, error);
    if (status != CPB_OK || (solved && core->newcomers == 0)) return status;
  }
}

static void write_out(const cpb_core *core, const best_ball *best, const cpb_ball_out *out,
                      cpb_ball_report *report) {
  memcpy(out->center, best->center, core->d * sizeof *best->center);
  for (size_t k = 0; k < core->support_count; k++) {
    if (out->rows != NULL) out->rows[k] = core->support_row[k];
    if (out->multipliers != NULL) out->multipliers[k] = core->multiplier[k];
  }
  report->radius = best->radius;
  report->lower_bound = best->lower;
  report->gap = best->gap;
  report->converged = best->gap <= core->options.gap;
  report->support = core->support_count;
  report->iterations = core->iterations;
}

cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error) {
  double began = seconds_now();
  cpb_ball_report ours = {0};
  cpb_core *core = NULL;
  if (out == NULL || out->center == NULL) return cpb_fail_missing(error, out == NULL ? "out" : "out->center");
  cpb_status status = cpb_check_source(source, error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status == CPB_OK) status = cpb_core_new(source->cols, options, &core, error);
  if (status != CPB_OK) return status;
  size_t d = source->cols;
  best_ball best = {.center = malloc(d * sizeof(double)), .radius = INFINITY};
  status = best.center == NULL ? cpb_fail_memory(error, "%zu coordinates", d)
                               : iterate(core, source, &best, &ours, exec, error);
  if (status == CPB_OK) {
    write_out(core, &best, out, &ours);
    ours.seconds = seconds_now() - began;
    cpb_sized_give(report, &ours, sizeof ours);
  }
  free(best.center);
  cpb_core_free(core);
  return status;
}

cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                              cpb_ball_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  cpb_source source = cpb_source_from_view(x);
  return cpb_enclosing_ball_stream(&source, options, out, report, exec, error);
}
