/* T10: rounds whose results do not depend on how the rows are divided. Round 0 gathers column extremes and a sample of
 * the rows; each later round reads the rows once, gathers the largest distance and the farthest rows by (distance, id),
 * and solves a working set exactly, which the farthest rows join in that order. Data in memory, streams and pieces use
 * the same method. Everything is in units of 2^exponent of the data and relative to `origin`; the exponent is 0 unless
 * squares of the data would leave the range of double. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/distances.h"
#include "ball/paper_schemes.h"
#include "ball/piece_rounds.h"
#include "base/tell.h"
#include "statistics/norm_sketch.h"

CPB_DEFAULTS(cpb_ball_options, .size = sizeof(cpb_ball_options), .gap = 1e-9, .max_passes = 200)

static cpb_status check_options(const cpb_ball_options *options, cpb_error *error) {
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail_domain(error, "gap", options->gap, "gap must be >= 0 and finite");
  if (options->max_passes == 0) return cpb_fail_count(error, "max_passes", 0, "max_passes must be >= 1");
  if (options->method != CPB_BALL_ACTIVE_SET && options->method != CPB_BALL_CAPS)
    return cpb_fail_domain(error, "method", (double)options->method,
                           "method must be CPB_BALL_ACTIVE_SET or CPB_BALL_CAPS");
  return CPB_OK;
}

static bool allocate(cpb_ball_rounds *rounds, size_t d, const cpb_loops *loops) {
  cpb_memory *m = &rounds->memory;
  *rounds = (cpb_ball_rounds){.loops = loops, .d = d, .set.d = d, .staged.d = d, .best.radius = INFINITY};
  if (d > SIZE_MAX / 6 || cpb_hull_init(&rounds->hull, loops, d, 1) != CPB_OK) return false;
  rounds->multiplier = cpb_memory_take(m, d + 1, sizeof *rounds->multiplier);
  rounds->support_row = cpb_memory_take(m, d + 1, sizeof *rounds->support_row);
  double *numbers = rounds->origin = cpb_memory_zeros(m, 6 * d, sizeof *numbers);
  if (m->failed) return false;
  rounds->point = numbers + d;
  rounds->center = numbers + 2 * d;
  rounds->low = numbers + 3 * d;
  rounds->high = numbers + 4 * d;
  rounds->best_center = numbers + 5 * d;
  return true;
}

cpb_status cpb_ball_rounds_new(size_t d, const cpb_ball_options *given, cpb_ball_rounds **rounds,
                               cpb_error *error) {
  cpb_ball_options taken = defaults, *options = &taken;
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  *rounds = NULL;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_ball_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status == CPB_OK && d == 0) status = cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if (status != CPB_OK) return status;
  cpb_ball_rounds *made = calloc(1, sizeof *made);
  if (made == NULL || !allocate(made, d, cpb_loops_here())) {
    cpb_ball_rounds_free(made);
    return cpb_fail_memory(error, "ball rounds of dimension %zu", d);
  }
  made->options = *options;
  *rounds = made;
  return CPB_OK;
}

void cpb_ball_rounds_free(cpb_ball_rounds *rounds) {
  if (rounds == NULL) return;
  cpb_working_set_free(&rounds->set);
  cpb_working_set_free(&rounds->staged);
  cpb_hull_free(&rounds->hull);
  cpb_memory_free(&rounds->memory);
  free(rounds);
}

/* ---- one read of the rows: stages those farthest from the present centre ---- */

enum { BLOCK_ROWS = 4096, SAMPLE = 1024, FAR_ROWS = 512, ROWS_PER_FAR_ROW = 256 };

static void begin_pass(cpb_ball_rounds *rounds) {
  rounds->rows_seen = 0;
  rounds->largest2 = 0;
  cpb_working_set_clear(&rounds->staged);
}

/* A row by its distance; `at` is its position. */
typedef struct far_row {
  double dist2;
  uint64_t id;
  size_t at;
} far_row;

typedef struct read_job {
  cpb_memory memory;
  const cpb_ball_rounds *rounds;
  cpb_view x;
  cpb_row_ids ids;
  _Atomic double cut; /* nearer rows are ignored */
  size_t most;
  far_row *far;      /* per block: a heap of at most `most`, the nearest first */
  size_t *far_count; /* per block */
  double *largest2;  /* per block */
  _Atomic bool out_of_range;
  cpb_first_fault fault;
} read_job;

/* Rows that are staged in a round: those of the sample in round 0; then enough for a support of d+1 and its
 * neighbours, and more of a large set, so that the rows on one side of a centre that is not final do not take all
 * places. */
static size_t most_staged(const cpb_ball_rounds *rounds) {
  size_t d = rounds->d, least = d < 4 ? 64 : d < 32 ? 16 * d : FAR_ROWS;
  uint64_t share = rounds->rows / ROWS_PER_FAR_ROW;
  if (rounds->round == 0) return SAMPLE;
  return share < least ? least : share < FAR_ROWS ? (size_t)share : FAR_ROWS;
}

/* Of equally far rows those with larger ids count as nearer. */
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

static void record_bad_row(read_job *job, size_t row) {
  int fault = cpb_row_fault(job->rounds->loops, job->x, row);
  cpb_record_fault(&job->fault, row, fault);
  if (fault == 0) atomic_store(&job->out_of_range, true);
}

/* Nearer rows than `cut` are not needed. When a block notices does not affect the result. */
static void raise_cut(read_job *job, double cut) {
  double known = atomic_load_explicit(&job->cut, memory_order_relaxed);
  while (known < cut && !atomic_compare_exchange_weak(&job->cut, &known, cut)) {
  }
}

/* Among rows as far as the nearest of a full heap, smaller ids still count. */
static double below(double dist2) { return dist2 > 0 ? nextafter(dist2, 0) : -1; }

static void read_block(void *argument, size_t block, size_t first, size_t count) {
  read_job *job = argument;
  const cpb_loops *loops = job->rounds->loops;
  far_row *heap = job->far + block * job->most;
  size_t *held = &job->far_count[block];
  double dist2[BLOCK_ROWS], largest = 0, cut = atomic_load_explicit(&job->cut, memory_order_relaxed);
  cpb_dist2_of_rows(loops, job->x, job->rounds->exponent, first, count, job->rounds->center, dist2);
  for (size_t i = 0; (i += loops->first_above(dist2 + i, count - i, fmin(largest, cut))) < count; i++) {
    if (!(dist2[i] < INFINITY)) record_bad_row(job, first + i);
    if (dist2[i] > largest) largest = dist2[i];
    if (dist2[i] > cut && dist2[i] < INFINITY)
      offer(heap, held, job->most, (far_row){dist2[i], cpb_row_id(job->ids, first + i), first + i});
    if (*held == job->most) cut = fmax(cut, below(heap[0].dist2));
  }
  if (*held == job->most) raise_cut(job, cut);
  job->largest2[block] = largest;
}

/* Collects the farthest rows of all blocks in far[0..], the heap of the first block; returns how many. */
static size_t join_blocks(read_job *job, size_t blocks) {
  size_t held = 0;
  for (size_t block = 0; block < blocks; block++)
    for (size_t i = 0; i < job->far_count[block]; i++)
      offer(job->far, &held, job->most, job->far[block * job->most + i]);
  return held;
}

/* Adds the far rows of this read to those staged before in the same pass; keeps the farthest. */
static cpb_status stage(cpb_ball_rounds *rounds, const read_job *job, size_t count) {
  double *row = malloc(rounds->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && i < count; i++) {
    cpb_row_about(rounds->loops, job->x, rounds->exponent, job->far[i].at, rounds->origin, row);
    status = cpb_working_set_add(&rounds->staged, row, job->far[i].id, job->far[i].dist2, 1);
  }
  free(row);
  cpb_working_set_keep(&rounds->staged, most_staged(rounds));
  return status;
}

static cpb_status run_read(cpb_ball_rounds *rounds, read_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, read_block, job};
  size_t count = cpb_blocks_count(&blocks);
  job->most = most_staged(rounds);
  job->far = cpb_memory_take(&job->memory, count, job->most * sizeof *job->far);
  job->far_count = cpb_memory_zeros(&job->memory, count, sizeof *job->far_count);
  job->largest2 = cpb_memory_zeros(&job->memory, count, sizeof *job->largest2);
  atomic_init(&job->out_of_range, false);
  double beyond = 1 + fmax(rounds->options.gap / 8, 0x1p-51);
  atomic_init(&job->cut, rounds->lower2 > 0 ? rounds->lower2 * beyond : -1);
  if (job->memory.failed) return CPB_ENOMEM;
  cpb_blocks_run(&blocks, exec);
  cpb_status status = cpb_first_fault_report(&job->fault, "x", error);
  if (status != CPB_OK || atomic_load(&job->out_of_range)) return status;
  for (size_t i = 0; i < count; i++) rounds->largest2 = fmax(rounds->largest2, job->largest2[i]);
  return stage(rounds, job, join_blocks(job, count));
}

static cpb_status read_rows(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, bool *out_of_range,
                            const cpb_exec *exec, cpb_error *error) {
  read_job job = {.rounds = rounds, .x = x, .ids = ids};
  cpb_status status = run_read(rounds, &job, exec, error);
  *out_of_range = status == CPB_OK && atomic_load(&job.out_of_range);
  cpb_memory_free(&job.memory);
  return status == CPB_ENOMEM ? cpb_fail_memory(error, "a pass over %zu rows", x.rows) : status;
}

/* The ball of the working set, by active sets or by caps, and the bound it proves. */

/* The farthest first, whatever their order of arrival. */
static cpb_status take_staged(cpb_ball_rounds *rounds) {
  if (rounds->set.count > CPB_WORKING_ROWS) cpb_working_set_keep(&rounds->set, CPB_WORKING_ROWS / 2);
  size_t before = rounds->set.count;
  cpb_status status = cpb_working_set_join(&rounds->set, &rounds->staged, false);
  rounds->newcomers = rounds->set.count - before;
  cpb_working_set_clear(&rounds->staged);
  return status;
}

/* Keeps the support, the largest multipliers first. */
static void keep_support(cpb_ball_rounds *rounds, cpb_ranked *rows, size_t count) {
  cpb_ranked_sort(rows, count);
  rounds->support_count = count > rounds->d + 1 ? rounds->d + 1 : count;
  for (size_t k = 0; k < rounds->support_count; k++) {
    rounds->multiplier[k] = -rows[k].key;
    rounds->support_row[k] = rows[k].id;
  }
}

static cpb_status solve_active_set(cpb_ball_rounds *rounds) {
  double tolerance = fmax(rounds->options.gap / 16, 0x1p-52);
  if (rounds->hull.count == 0 && rounds->largest2 > 0) rounds->hull.unit = sqrt(rounds->largest2);
  cpb_status status = cpb_working_set_solve(&rounds->set, &rounds->hull, tolerance, &rounds->iterations);
  if (status != CPB_OK) return status;
  cpb_ranked *rows = malloc(rounds->hull.count * sizeof *rows);
  if (rows == NULL) return CPB_ENOMEM;
  for (size_t k = 0; k < rounds->hull.count; k++)
    rows[k] = (cpb_ranked){-rounds->hull.column[k].weight, rounds->hull.column[k].tag};
  keep_support(rounds, rows, rounds->hull.count);
  free(rows);
  memcpy(rounds->point, rounds->hull.point, rounds->d * sizeof *rounds->point);
  rounds->lower2 = fmax(rounds->lower2, rounds->hull.value);
  rounds->proven2 = fmax(rounds->proven2, cpb_hull_lower(&rounds->hull));
  return CPB_OK;
}

static cpb_status solve_by_caps(cpb_ball_rounds *rounds) {
  size_t n = rounds->set.count, count = 0, steps = 0;
  cpb_memory memory = {0};
  double *multiplier = cpb_memory_take(&memory, n, sizeof *multiplier), lower2 = 0;
  cpb_ranked *rows = cpb_memory_take(&memory, n, sizeof *rows);
  cpb_status status = memory.failed ? CPB_ENOMEM : CPB_OK;
  if (status == CPB_OK)
    status = cpb_paper_cap_iteration(&rounds->set, rounds->loops, rounds->point, multiplier, &lower2, &steps);
  if (status == CPB_OK) {
    for (size_t i = 0; i < n; i++)
      if (multiplier[i] > 0) rows[count++] = (cpb_ranked){-multiplier[i], rounds->set.tag[i]};
    keep_support(rounds, rows, count);
    rounds->iterations += steps;
    rounds->lower2 = fmax(rounds->lower2, lower2);
    /* the rounding error of a mean of squared distances from a mean */
    double error = (8 * (double)count + 8 * (40 + (double)(rounds->d / CPB_CHUNK))) * DBL_EPSILON / 2;
    rounds->proven2 = fmax(rounds->proven2, lower2 * (1 - error));
  }
  cpb_memory_free(&memory);
  return status;
}

/* Ends a pass: staged rows join, the ball moves. */
static cpb_status move_ball(cpb_ball_rounds *rounds, cpb_error *error) {
  cpb_status status = take_staged(rounds);
  if (status == CPB_OK && rounds->set.count > 0)
    status = rounds->options.method == CPB_BALL_CAPS ? solve_by_caps(rounds) : solve_active_set(rounds);
  if (status != CPB_OK) return cpb_fail_memory(error, "a working set of %zu rows", rounds->set.count);
  cpb_set_center(rounds->origin, rounds->point, rounds->exponent, rounds->d, rounds->center);
  return CPB_OK;
}

/* After a pass over all rows: keeps the smallest ball seen, and its gap. */
static void keep_best(cpb_ball_rounds *rounds) {
  cpb_ball_report *best = &rounds->best;
  double radius = ldexp(sqrt(rounds->largest2), rounds->exponent);
  if (radius < best->radius) {
    best->radius = radius;
    for (size_t j = 0; j < rounds->d; j++)
      rounds->best_center[j] = ldexp(rounds->center[j], rounds->exponent);
  }
  double proven = sqrt(fmax(rounds->proven2, 0)) * (1 - DBL_EPSILON);
  best->lower_bound = fmin(cpb_lower_in_unit(proven, rounds->exponent), best->radius);
  double ratio = best->radius > 0 ? best->lower_bound / best->radius : 1;
  best->gap = (1 - ratio) * (1 + ratio);
}

static void give_ball(const cpb_ball_rounds *rounds, size_t passes, double seconds, const cpb_ball_out *out,
                      cpb_ball_report *report) {
  cpb_ball_report ours = rounds->best;
  memcpy(out->center, rounds->best_center, rounds->d * sizeof *rounds->best_center);
  for (size_t k = 0; k < rounds->support_count; k++) {
    if (out->rows != NULL) out->rows[k] = rounds->support_row[k];
    if (out->multipliers != NULL) out->multipliers[k] = rounds->multiplier[k];
  }
  ours.passes = passes;
  ours.seconds = seconds;
  ours.converged = ours.gap <= rounds->options.gap;
  ours.support = rounds->support_count;
  ours.iterations = rounds->iterations;
  cpb_sized_give(report, &ours, sizeof ours);
}

/* ---- the start: a sample of the rows that does not depend on how they are divided, its first row as origin, and its
 * mean or the centre of its ball as the first centre ---- */

enum {
  OF_MEAN = 128,       /* rows of the sample that are averaged */
  SOLVED_SAMPLE = 4096 /* rows per dimension from which solving the ball of the sample pays off */
};

/* Number of trailing zeros of an id: multiples of a high power of two are spread evenly. */
static double rank_of(uint64_t id) { return id == 0 ? 64 : __builtin_ctzll(id); }

/* The first row from i on whose id may have enough trailing zeros. */
static size_t next_spread(const cpb_ball_rounds *rounds, cpb_row_ids ids, size_t i) {
  double rank = rounds->staged.bounded ? -rounds->staged.bound.key : 0;
  if (ids.ids != NULL || rank <= 0 || rank > 62) return i;
  uint64_t step = (uint64_t)1 << (unsigned)rank;
  return i + (size_t)(-(ids.first + i) & (step - 1));
}

/* Adds the finite rows of a block that belong to the sample; after a failure the sample may only be too large. */
static cpb_status take_sample(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, cpb_error *error) {
  double *row = malloc(rounds->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && (i = next_spread(rounds, ids, i)) < x.rows; i++) {
    uint64_t id = cpb_row_id(ids, i);
    if (!cpb_working_set_wants(&rounds->staged, rank_of(id), id)) continue;
    cpb_scaled_row(rounds->loops, x, 0, i, row);
    if (!cpb_all_finite(row, rounds->d)) continue;
    status = cpb_working_set_add(&rounds->staged, row, id, rank_of(id), 1);
    if (rounds->staged.count == 2 * SAMPLE) cpb_working_set_keep(&rounds->staged, SAMPLE);
  }
  free(row);
  cpb_working_set_keep(&rounds->staged, SAMPLE);
  return status == CPB_OK ? CPB_OK : cpb_fail_memory(error, "a sample of rows");
}

static bool is_solved(const cpb_ball_rounds *rounds, uint64_t rows) {
  return rows / SOLVED_SAMPLE >= rounds->d;
}

/* Multiples of the smallest power of two that has no more of them than the start needs, and then the first odd multiples
 * of the next lower one as long as there is space. */
static void expect_rows(cpb_ball_rounds *rounds, uint64_t rows) {
  uint64_t step = 1, most = is_solved(rounds, rows) ? SAMPLE : OF_MEAN;
  while ((rows - 1) / step >= most) step *= 2;
  if (step == 1) return;
  uint64_t odd = most - ((rows - 1) / step + 1);
  rounds->staged.bounded = true;
  rounds->staged.bound = (cpb_ranked){-rank_of(step / 2), step / 2 + odd * step};
}

/* Makes the sample relative to its first row, in the unit; rows that the unit cannot hold are dropped. */
static void make_relative(cpb_ball_rounds *rounds) {
  cpb_working_set *sample = &rounds->set;
  size_t kept = 0, d = rounds->d;
  for (size_t j = 0; j < d; j++) rounds->origin[j] = cpb_scaled(sample->rows[j], rounds->exponent);
  for (size_t i = 0; i < sample->count; i++) {
    double *row = sample->rows + kept * d;
    cpb_working_set_move(sample, i, kept);
    for (size_t j = 0; j < d; j++) row[j] = cpb_scaled(row[j], rounds->exponent) - rounds->origin[j];
    kept += cpb_all_finite(row, d);
  }
  sample->count = kept;
}

static void take_mean(cpb_ball_rounds *rounds) {
  for (size_t j = 0; j < rounds->d; j++) rounds->point[j] = 0;
  for (size_t i = 0; i < rounds->set.count && i < OF_MEAN; i++) {
    double part = 1 / (double)(i + 1);
    const double *row = rounds->set.rows + i * rounds->d;
    rounds->loops->axpby(1 - part, rounds->point, part, row, rounds->point, rounds->d);
  }
  cpb_set_center(rounds->origin, rounds->point, rounds->exponent, rounds->d, rounds->center);
}

/* Whether squares of the sample are far from the ends of the range of double; sets largest2. */
static bool has_safe_squares(cpb_ball_rounds *rounds) {
  double safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT), *largest2 = &rounds->largest2;
  for (size_t i = 0; i < rounds->set.count; i++) {
    const double *row = rounds->set.rows + i * rounds->d;
    *largest2 = fmax(*largest2, rounds->loops->dot(row, row, rounds->d));
  }
  return *largest2 > 1 / safe2 && *largest2 < safe2;
}

/* Where the ball of the sample is cheap compared to a read, its centre is a better start. */
static cpb_status start_rounds(cpb_ball_rounds *rounds, int exponent, uint64_t rows, cpb_error *error) {
  cpb_status status = cpb_working_set_join(&rounds->set, &rounds->staged, false);
  if (status != CPB_OK) return cpb_fail_memory(error, "a sample of rows");
  bool solved = is_solved(rounds, rows);
  rounds->exponent = exponent;
  rounds->rows = rows;
  rounds->round = 1;
  begin_pass(rounds);
  if (!solved && rounds->set.count > OF_MEAN) rounds->set.count = OF_MEAN;
  if (rounds->set.count > 0) make_relative(rounds);
  take_mean(rounds);
  if (solved && has_safe_squares(rounds))
    status = move_ball(rounds, error);
  else
    rounds->set.count = 0;
  rounds->largest2 = 0;
  return status;
}

static cpb_status look_at_columns(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, cpb_error *error) {
  size_t d = rounds->d;
  double *low = malloc(2 * d * sizeof *low), *high = low + d;
  if (low == NULL) return cpb_fail_memory(error, "%zu columns", d);
  bool finite = cpb_column_extremes(rounds->loops, x, low, high);
  cpb_status status = finite ? take_sample(rounds, x, ids, error) : cpb_check_finite(x, "x", d, NULL, error);
  if (status == CPB_OK) {
    cpb_columns_widen(rounds->low, rounds->high, rounds->rows_seen == 0, low, high, d);
    rounds->rows_seen += x.rows;
  }
  free(low);
  return status;
}

cpb_status cpb_ball_rounds_update(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, const cpb_exec *exec,
                                  cpb_error *error) {
  if (rounds == NULL) return cpb_fail_missing(error, "rounds");
  cpb_status status = cpb_check_view(x, "x", rounds->d, error);
  if (status != CPB_OK || x.rows == 0) return status;
  if (rounds->round == 0) return look_at_columns(rounds, x, ids, error);
  bool out_of_range;
  status = read_rows(rounds, x, ids, &out_of_range, exec, error);
  if (status == CPB_OK && out_of_range) return cpb_fail_round_unseen(error);
  if (status == CPB_OK) rounds->rows_seen += x.rows;
  return status;
}

cpb_status cpb_ball_rounds_update_ids(cpb_ball_rounds *rounds, cpb_view rows, const uint64_t *ids,
                                      const cpb_exec *exec, cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return cpb_ball_rounds_update(rounds, rows, (cpb_row_ids){ids, 0}, exec, error);
}

static cpb_round round_of(const cpb_ball_rounds *rounds) {
  return (cpb_round){.object = rounds,
                     .d = rounds->d,
                     .round = rounds->round,
                     .option = {rounds->options.method, rounds->options.gap},
                     .question = {rounds->exponent},
                     .center = rounds->center};
}

cpb_status cpb_ball_rounds_merge(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece, cpb_error *error) {
  if (rounds == NULL || piece == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "piece");
  cpb_status status = cpb_round_check(round_of(rounds), round_of(piece), error);
  if (status != CPB_OK || piece->rows_seen == 0) return status;
  if (cpb_working_set_join(&rounds->staged, &piece->staged, false) != CPB_OK)
    return cpb_fail_memory(error, "%zu rows", piece->staged.count);
  cpb_working_set_keep(&rounds->staged, most_staged(rounds));
  if (rounds->round == 0)
    cpb_columns_widen(rounds->low, rounds->high, rounds->rows_seen == 0, piece->low, piece->high, rounds->d);
  rounds->largest2 = fmax(rounds->largest2, piece->largest2);
  rounds->rows_seen += piece->rows_seen;
  return CPB_OK;
}

cpb_status cpb_ball_rounds_restart(cpb_ball_rounds *piece, const cpb_ball_rounds *rounds, cpb_error *error) {
  if (piece == NULL || rounds == NULL) return cpb_fail_missing(error, piece == NULL ? "piece" : "rounds");
  cpb_status status = cpb_round_check_restart(round_of(piece), round_of(rounds), error);
  if (status != CPB_OK) return status;
  piece->options = rounds->options;
  piece->round = rounds->round;
  piece->exponent = rounds->exponent;
  piece->rows = rounds->rows;
  piece->done = rounds->done;
  piece->lower2 = rounds->lower2;
  piece->proven2 = rounds->proven2;
  memcpy(piece->origin, rounds->origin, 3 * rounds->d * sizeof *piece->origin); /* and point and center */
  piece->set.count = piece->hull.count = 0;
  piece->support_count = 0;
  piece->best.radius = INFINITY;
  begin_pass(piece);
  return CPB_OK;
}

cpb_status cpb_ball_rounds_solve(cpb_ball_rounds *rounds, bool *done, cpb_error *error) {
  if (rounds == NULL || done == NULL) return cpb_fail_missing(error, rounds == NULL ? "rounds" : "done");
  if (rounds->rows_seen == 0) return cpb_fail_round_empty(error, rounds->round);
  cpb_status status = CPB_OK;
  *done = false;
  if (rounds->round == 0)
    return start_rounds(rounds, cpb_columns_exponent(rounds->low, rounds->high, rounds->d), rounds->rows_seen,
                        error);
  bool solved = rounds->support_count > 0;
  if (solved) keep_best(rounds);
  rounds->done =
      solved && (rounds->best.gap <= rounds->options.gap || rounds->round >= rounds->options.max_passes);
  if (!rounds->done) status = move_ball(rounds, error);
  if (status != CPB_OK) return status;
  if (solved && rounds->newcomers == 0) rounds->done = true;
  if (!rounds->done) {
    rounds->round++;
    begin_pass(rounds);
  }
  *done = rounds->done;
  return CPB_OK;
}

cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                cpb_ball_report *report, cpb_error *error) {
  if (rounds == NULL || out == NULL || out->center == NULL)
    return cpb_fail_missing(error, rounds == NULL ? "rounds" : out == NULL ? "out" : "out->center");
  if (!(rounds->best.radius < INFINITY)) return cpb_fail_round_no_ball(error);
  cpb_status status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status == CPB_OK) give_ball(rounds, (size_t)rounds->round, 0, out, report);
  return status;
}

/* ---- data in memory, and a source read once per pass ---- */

typedef struct reading {
  cpb_ball_rounds *rounds;
  cpb_source *source;
  const cpb_exec *exec;
  size_t passes;
  uint64_t rows; /* of the last pass */
  bool out_of_range;
} reading;

/* Processes one block of a pass, whose first row is r->rows. */
typedef cpb_status take_block(reading *r, cpb_view block, cpb_error *error);

static cpb_status read_pass(reading *r, take_block *take, cpb_error *error) {
  cpb_source *source = r->source;
  r->rows = 0;
  if (source->view.rows > 0) {
    cpb_status status = take(r, source->view, error);
    r->rows = source->view.rows;
    return status;
  }
  cpb_status status = source->rewind(source, error);
  for (cpb_view block = {0}; status == CPB_OK; r->rows += block.rows) {
    status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) return status;
    status = cpb_check_view(block, "x", r->rounds->d, error);
    if (status == CPB_OK) status = take(r, block, error);
    if (status == CPB_EROW) return cpb_fail_later(error, r->rows);
  }
  return status;
}

static cpb_status update(reading *r, cpb_view block, cpb_error *error) {
  return cpb_ball_rounds_update(r->rounds, block, (cpb_row_ids){NULL, r->rows}, r->exec, error);
}

static cpb_status sample(reading *r, cpb_view block, cpb_error *error) {
  return take_sample(r->rounds, block, (cpb_row_ids){NULL, r->rows}, error);
}

static cpb_status read_about(reading *r, cpb_view block, cpb_error *error) {
  cpb_row_ids ids = {NULL, r->rows};
  r->rounds->rows_seen += block.rows;
  if (r->out_of_range) return CPB_OK;
  return read_rows(r->rounds, block, ids, &r->out_of_range, r->exec, error);
}

/* Starts round 1 from a sample alone if squares of the data are safe: the columns need not be read. */
static cpb_status begin(reading *r, bool *begun, cpb_error *error) {
  uint64_t told = r->source->view.rows > 0 ? r->source->view.rows : r->source->rows;
  if (told != CPB_ROWS_UNKNOWN) expect_rows(r->rounds, told);
  r->passes += r->source->view.rows == 0;
  cpb_status status = read_pass(r, sample, error);
  uint64_t rows = r->rows;
  if (status == CPB_OK && rows == 0) return cpb_fail_no_ball(error, 0, r->rounds->d);
  if (status == CPB_OK) status = start_rounds(r->rounds, 0, rows, error);
  if (status == CPB_OK) status = read_pass(r, read_about, error);
  if (status != CPB_OK) return status;
  bool sampled = r->rows == rows && (told == CPB_ROWS_UNKNOWN || told == rows);
  /* if the largest squared distance is within these bounds no other unit is needed, whatever the columns are */
  double largest2 = r->rounds->largest2;
  *begun = sampled && !r->out_of_range && largest2 > 0x1p-400 && largest2 < 0x1p480;
  if (*begun) return CPB_OK;
  cpb_ball_rounds *again;
  status = cpb_ball_rounds_new(r->rounds->d, &r->rounds->options, &again, error);
  if (status != CPB_OK) return status;
  cpb_ball_rounds_free(r->rounds);
  r->rounds = again;
  r->passes++;
  return CPB_OK;
}

static cpb_status iterate(reading *r, cpb_error *error) {
  double told = 0;
  bool done = false, read = false;
  cpb_status status = cpb_exec_tell(r->exec, 0, error);
  if (status == CPB_OK) status = begin(r, &read, error);
  cpb_ball_rounds *rounds = r->rounds;
  for (; status == CPB_OK && !done; r->passes++) {
    if (!read) status = read_pass(r, update, error);
    if (status == CPB_OK && rounds->rows_seen == 0) return cpb_fail_no_ball(error, 0, rounds->d);
    if (status == CPB_OK) status = cpb_ball_rounds_solve(rounds, &done, error);
    if (rounds->best.radius < INFINITY)
      told = fmax(told, cpb_gap_progress(rounds->best.gap, rounds->options.gap));
    if (status == CPB_OK) status = cpb_exec_tell(r->exec, told, error);
    read = false;
  }
  return status;
}

cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error) {
  double began = cpb_seconds_now();
  reading r = {.source = source, .exec = exec};
  if (out == NULL || out->center == NULL) return cpb_fail_missing(error, out == NULL ? "out" : "out->center");
  cpb_status status = cpb_check_source(source, error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_ball_report", error);
  if (status == CPB_OK) status = cpb_ball_rounds_new(source->cols, options, &r.rounds, error);
  if (status == CPB_OK) status = iterate(&r, error);
  if (status == CPB_OK) give_ball(r.rounds, r.passes, cpb_seconds_now() - began, out, report);
  cpb_ball_rounds_free(r.rounds);
  return status;
}

cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                              cpb_ball_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  cpb_source source = cpb_source_from_view(x);
  return cpb_enclosing_ball_stream(&source, options, out, report, exec, error);
}
