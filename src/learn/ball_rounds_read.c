/* One read of the rows: stages those farthest from the present centre. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "learn/ball_rounds_parts.h"
#include "learn/distances.h"

enum { BLOCK_ROWS = 4096, FAR_ROWS = 512, ROWS_PER_FAR_ROW = 256 };

void cpb_ball_rounds_begin_pass(cpb_ball_rounds *rounds) {
  rounds->rows_seen = 0;
  rounds->largest2 = 0;
  rounds->staged.count = 0;
}

typedef struct read_job {
  const cpb_ball_rounds *rounds;
  cpb_view x;
  cpb_row_ids ids;
  _Atomic int64_t cut; /* bits of a double, which is -1 or >= 0: nearer rows are ignored */
  size_t most;
  cpb_far_row *far;  /* per block: a heap of at most `most`, the nearest first */
  size_t *far_count; /* per block */
  double *largest2;  /* per block */
  _Atomic bool out_of_range;
  cpb_first_fault fault;
} read_job;

/* Rows that may join in one round: enough for a support of d+1 and its neighbours; more of a large set, so that
 * the rows on one side of a centre that is not final do not take all places. */
static size_t far_rows(size_t d, uint64_t rows) {
  size_t least = d < 4 ? 64 : d < 32 ? 16 * d : FAR_ROWS;
  uint64_t share = rows / ROWS_PER_FAR_ROW;
  return share < least ? least : share < FAR_ROWS ? (size_t)share : FAR_ROWS;
}

static bool nearer(cpb_far_row a, cpb_far_row b) { return cpb_is_farther(b, a); }

static void sift_down(cpb_far_row *heap, size_t count, size_t i) {
  cpb_far_row moved = heap[i];
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && nearer(heap[child + 1], heap[child])) child++;
    if (!nearer(heap[child], moved)) break;
    heap[i] = heap[child];
  }
  heap[i] = moved;
}

static void offer(cpb_far_row *heap, size_t *count, size_t room, cpb_far_row row) {
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
  int fault = cpb_row_fault(job->rounds->loops, job->x, row);
  if (fault != 0)
    cpb_first_fault_meet(&job->fault, row, (cpb_fault)fault);
  else
    atomic_store(&job->out_of_range, true);
}

/* -1 and doubles >= 0 are ordered like their bits. */
static int64_t bits_of(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double cut_now(read_job *job) {
  int64_t bits = atomic_load_explicit(&job->cut, memory_order_relaxed);
  double cut;
  memcpy(&cut, &bits, sizeof cut);
  return cut;
}

/* This many rows are at least as far as `cut`: nearer ones are not needed. When a block notices does not affect
 * the result. */
static void raise_cut(read_job *job, double cut) {
  int64_t known = atomic_load_explicit(&job->cut, memory_order_relaxed), wanted = bits_of(cut);
  while (known < wanted && !atomic_compare_exchange_weak(&job->cut, &known, wanted)) {
  }
}

/* Among rows as far as the nearest of a full heap, smaller ids still count. */
static double below(double dist2) { return dist2 > 0 ? nextafter(dist2, 0) : -1; }

static void read_block(void *argument, size_t block, size_t first, size_t count) {
  read_job *job = argument;
  const cpb_loops *loops = job->rounds->loops;
  cpb_far_row *heap = job->far + block * job->most;
  size_t *held = &job->far_count[block];
  double dist2[BLOCK_ROWS], largest = 0, cut = cut_now(job);
  cpb_dist2_of_rows(loops, job->x, job->rounds->exponent, first, count, job->rounds->center, dist2);
  for (size_t i = 0; (i += loops->first_above(dist2 + i, count - i, fmin(largest, cut))) < count; i++) {
    if (!(dist2[i] < INFINITY)) meet_unusable(job, first + i);
    if (dist2[i] > largest) largest = dist2[i];
    if (dist2[i] > cut && dist2[i] < INFINITY)
      offer(heap, held, job->most, (cpb_far_row){dist2[i], cpb_row_id(job->ids, first + i), first + i});
    if (*held == job->most) cut = fmax(cut, below(heap[0].dist2));
  }
  if (*held == job->most) raise_cut(job, cut);
  job->largest2[block] = largest;
}

/* Collects the farthest rows of all blocks, in order, in far[0..]; returns how many. Overwrites the heap of the
 * first block, whose rows are handled first. */
static size_t join_blocks(read_job *job, size_t blocks) {
  size_t held = 0;
  for (size_t block = 0; block < blocks; block++)
    for (size_t i = 0; i < job->far_count[block]; i++)
      offer(job->far, &held, job->most, job->far[block * job->most + i]);
  qsort(job->far, held, sizeof *job->far, cpb_farthest_first);
  return held;
}

static void relative_row(const cpb_ball_rounds *rounds, cpb_view x, size_t i, double *row) {
  cpb_scaled_row(rounds->loops, x, rounds->exponent, i, row);
  rounds->loops->axpby(1, row, -1, rounds->origin, row, rounds->d);
}

cpb_status cpb_ball_rounds_keep_far(cpb_ball_rounds *rounds) {
  return cpb_working_set_keep(&rounds->staged, far_rows(rounds->d, rounds->rows));
}

/* Adds the far rows of this read to those staged before in the same pass; keeps the farthest. */
static cpb_status stage(cpb_ball_rounds *rounds, const read_job *job, size_t count) {
  double *row = malloc(rounds->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    relative_row(rounds, job->x, job->far[i].at, row);
    status = cpb_working_set_add(&rounds->staged, row, job->far[i].id, job->far[i].dist2);
  }
  free(row);
  return status == CPB_OK ? cpb_ball_rounds_keep_far(rounds) : status;
}

static cpb_status run_read(cpb_ball_rounds *rounds, read_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, read_block, job};
  size_t count = cpb_blocks_count(&blocks);
  job->most = far_rows(rounds->d, rounds->rows);
  if (count > SIZE_MAX / sizeof *job->far / job->most) return CPB_ENOMEM;
  job->far = malloc(count * job->most * sizeof *job->far);
  job->far_count = calloc(count, sizeof *job->far_count);
  job->largest2 = calloc(count, sizeof *job->largest2);
  cpb_first_fault_init(&job->fault);
  atomic_init(&job->out_of_range, false);
  double beyond = 1 + fmax(rounds->options.gap / 8, 0x1p-51);
  atomic_init(&job->cut, bits_of(rounds->lower2 > 0 ? rounds->lower2 * beyond : -1));
  if (job->far == NULL || job->far_count == NULL || job->largest2 == NULL) return CPB_ENOMEM;
  cpb_blocks_run(&blocks, exec);
  cpb_status status = cpb_first_fault_report(&job->fault, "x", error);
  if (status != CPB_OK || atomic_load(&job->out_of_range)) return status;
  for (size_t i = 0; i < count; i++) rounds->largest2 = fmax(rounds->largest2, job->largest2[i]);
  return stage(rounds, job, join_blocks(job, count));
}

cpb_status cpb_ball_rounds_read(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, bool *out_of_range,
                                const cpb_exec *exec, cpb_error *error) {
  read_job job = {.rounds = rounds, .x = x, .ids = ids};
  cpb_status status = run_read(rounds, &job, exec, error);
  *out_of_range = status == CPB_OK && atomic_load(&job.out_of_range);
  free(job.far);
  free(job.far_count);
  free(job.largest2);
  return status == CPB_ENOMEM ? cpb_fail_memory(error, "a pass over %zu rows", x.rows) : status;
}
