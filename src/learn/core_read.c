/* One read of the rows: those farthest from the present centre are staged. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "learn/core_parts.h"
#include "learn/distances.h"

enum {
  BLOCK_ROWS = 4096,
  SAMPLE = 1024,
  SOLVED_SAMPLE = 4096, /* rows per dimension from which the ball of a sample is worth finding */
  ROWS_PER_FAR_ROW = 256,
  FAR_PER_BLOCK = 32
};

typedef struct far_row {
  double dist2;
  size_t row;
  uint64_t id;
} far_row;

void cpb_core_begin_pass(cpb_core *core) {
  core->rows_seen = 0;
  core->largest2 = 0;
  core->staged.count = 0;
}

typedef struct read_job {
  const cpb_core *core;
  cpb_view x;
  cpb_row_ids ids;
  double cut; /* rows nearer than this are of no interest */
  size_t most, per_block;
  far_row *far;      /* per block: a heap, the nearest first */
  size_t *far_count; /* per block */
  double *largest2;  /* per block */
  _Atomic bool out_of_range;
  cpb_first_fault fault;
} read_job;

/* Rows that may join in one round: enough for a support of d+1 and its neighbours; of many rows more, lest
 * those on one side of a centre that is not the last take all places. */
static size_t far_rows(size_t d, uint64_t rows) {
  size_t least = d < 4 ? 64 : d < 32 ? 16 * d : CPB_FAR_ROWS;
  uint64_t share = rows / ROWS_PER_FAR_ROW;
  return share < least ? least : share < CPB_FAR_ROWS ? (size_t)share : CPB_FAR_ROWS;
}

static uint64_t id_of(cpb_row_ids ids, size_t i) { return ids.ids != NULL ? ids.ids[i] : ids.first + i; }

static bool nearer(far_row a, far_row b) { return a.dist2 < b.dist2 || (a.dist2 == b.dist2 && a.id > b.id); }

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
      offer(heap, held, job->per_block, (far_row){dist2[i], first + i, id_of(job->ids, first + i)});
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
  return total < job->most ? total : job->most;
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
    status = cpb_working_set_add(&core->staged, row, job->far[i].id, job->far[i].dist2);
  }
  free(row);
  if (status == CPB_OK) cpb_working_set_keep(&core->staged, job->most);
  return status;
}

/* The exponent of the largest |x_ij - origin_j|, or INT_MIN when all are 0. */
static int spread_exponent(const cpb_core *core, cpb_view x) {
  double *origin = malloc(core->d * sizeof *origin);
  if (origin == NULL) return core->exponent; /* nothing changes */
  for (size_t j = 0; j < core->d; j++) origin[j] = ldexp(core->origin[j], core->exponent);
  int exponent = cpb_spread_exponent(x, NULL, origin);
  free(origin);
  return exponent;
}

static void rescale(double *x, size_t n, int by) {
  for (size_t i = 0; i < n; i++) x[i] = ldexp(x[i], by);
}

/* Changes the unit of everything inside. The active set is entered again by the next solution. */
static void change_exponent(cpb_core *core, int exponent) {
  int by = core->exponent - exponent;
  rescale(core->origin, 3 * core->d, by); /* point and center, too */
  rescale(core->set.rows, core->set.count * core->d, by);
  rescale(core->staged.rows, core->staged.count * core->d, by);
  rescale(core->staged.dist2, core->staged.count, 2 * by);
  core->largest2 = ldexp(core->largest2, 2 * by);
  core->lower2 = ldexp(core->lower2, 2 * by);
  core->proven2 = ldexp(core->proven2, 2 * by);
  core->exponent = exponent;
  core->hull.count = 0;
  memset(core->hull.point, 0, core->d * sizeof *core->hull.point);
}

static cpb_status run_read(cpb_core *core, read_job *job, cpb_core_reading how, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, read_block, job};
  size_t count = cpb_blocks_count(&blocks), share = 2 * far_rows(core->d, job->x.rows) / count + 1;
  bool exactly = how == CPB_READ_EXACTLY;
  job->most = exactly ? CPB_FAR_ROWS : far_rows(core->d, core->rows_seen + job->x.rows);
  job->per_block = exactly ? CPB_FAR_ROWS : share > FAR_PER_BLOCK ? share : FAR_PER_BLOCK;
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
static bool unit_was_wrong(cpb_core *core, cpb_view x, bool overflow) {
  double safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT);
  if (!overflow && core->largest2 < safe2 && core->largest2 > 1 / safe2) return false;
  int exponent = spread_exponent(core, x);
  if (exponent == INT_MIN || exponent == core->exponent) return false;
  if (!overflow && abs(exponent - core->exponent) < CPB_SAFE_EXPONENT) return false;
  change_exponent(core, exponent);
  return true;
}

cpb_status cpb_core_read_once(cpb_core *core, cpb_view x, cpb_row_ids ids, cpb_core_reading how,
                              bool *out_of_range, const cpb_exec *exec, cpb_error *error) {
  read_job job = {.core = core, .x = x, .ids = ids};
  cpb_status status = run_read(core, &job, how, exec, error);
  *out_of_range = status == CPB_OK && atomic_load(&job.out_of_range);
  free(job.far);
  free(job.far_count);
  free(job.largest2);
  return status == CPB_ENOMEM ? cpb_fail_memory(error, "a pass over %zu rows", x.rows) : status;
}

static cpb_status read_started(cpb_core *core, cpb_view x, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (bool again = true; again && status == CPB_OK;) {
    bool overflow;
    cpb_row_ids ids = {NULL, core->rows_seen};
    status = cpb_core_read_once(core, x, ids, CPB_READ_ENOUGH, &overflow, exec, error);
    again = status == CPB_OK && unit_was_wrong(core, x, overflow);
  }
  core->rows_seen += x.rows;
  return status;
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
  double *row = malloc(core->d * sizeof *row), largest2 = 0, safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT);
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
  status = cpb_core_move(core, error);
  core->largest2 = 0;
  return status;
}

cpb_status cpb_core_read(cpb_core *core, cpb_view x, const cpb_exec *exec, cpb_error *error) {
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
