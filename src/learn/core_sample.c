/* What a ball starts from: a sample of the rows, the same however they are cut, its first row as origin and its mean
 * or its ball's centre as first centre. */
#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "learn/core_parts.h"
#include "learn/distances.h"

enum {
  SAMPLE = 1024,
  OF_MEAN = 128,       /* rows of it that a mean is taken of */
  SOLVED_SAMPLE = 4096 /* rows per dimension from which the ball of a sample is worth finding */
};

/* ---- taking it ---- */

/* How many zeros an id ends with: rows whose numbers are multiples of a high power of two are spread evenly. */
static double rank_of(uint64_t id) {
  unsigned zeros = 0;
  while (zeros < 64 && (id >> zeros & 1) == 0) zeros++;
  return zeros;
}

static bool wanted(const cpb_core *core, double rank, uint64_t id) {
  return rank > core->sample_rank || (rank == core->sample_rank && id < core->sample_id);
}

/* Drops what is too much, and notes what the rows to come must beat. */
static cpb_status shrink(cpb_core *core) {
  cpb_working_set *sample = &core->staged;
  if (sample->count <= SAMPLE) return CPB_OK;
  cpb_status status = cpb_working_set_keep(sample, SAMPLE);
  if (status != CPB_OK) return status;
  core->sample_rank = INFINITY;
  for (size_t i = 0; i < SAMPLE; i++)
    if (sample->dist2[i] < core->sample_rank ||
        (sample->dist2[i] == core->sample_rank && sample->tag[i] > core->sample_id)) {
      core->sample_rank = sample->dist2[i];
      core->sample_id = sample->tag[i];
    }
  return CPB_OK;
}

/* Row i of a block, where it is finite. */
static cpb_status add_row(cpb_core *core, cpb_view x, size_t i, uint64_t id, double *row) {
  cpb_scaled_row(core->loops, x, 0, i, row);
  bool finite = true;
  for (size_t j = 0; j < core->d; j++) finite &= isfinite(row[j]) != 0;
  return finite ? cpb_working_set_add(&core->staged, row, id, rank_of(id)) : CPB_OK;
}

/* From row i on the first whose id may end with zeros enough. */
static size_t next_spread(const cpb_core *core, cpb_row_ids ids, size_t i) {
  if (ids.ids != NULL || core->sample_rank <= 0 || core->sample_rank > 62) return i;
  uint64_t step = (uint64_t)1 << (unsigned)core->sample_rank;
  return i + (size_t)(-(ids.first + i) & (step - 1));
}

cpb_status cpb_core_sample(cpb_core *core, cpb_view x, cpb_row_ids ids) {
  double *row = malloc(core->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && (i = next_spread(core, ids, i)) < x.rows; i++) {
    uint64_t id = cpb_row_id(ids, i);
    if (!wanted(core, rank_of(id), id)) continue;
    status = add_row(core, x, i, id, row);
    if (status == CPB_OK && core->staged.count == 2 * SAMPLE) status = shrink(core);
  }
  free(row);
  return status == CPB_OK ? shrink(core) : status;
}

static bool is_solved(const cpb_core *core, uint64_t rows) { return rows / SOLVED_SAMPLE >= core->d; }

/* Of a block that begins with row `first` the rows from, from + step, .. before `end`; step is a power of two. */
static cpb_status add_every(cpb_core *core, cpb_view x, uint64_t first, uint64_t from, uint64_t step,
                            uint64_t end, double *row) {
  cpb_status status = CPB_OK;
  uint64_t id = from >= first ? from : first + ((from - first) & (step - 1));
  for (; status == CPB_OK && id < end && id - first < x.rows; id += step)
    status = add_row(core, x, (size_t)(id - first), id, row);
  return status;
}

/* Multiples of the least power of two that leaves no more than wanted of them, and odd ones of the one before as far
 * as there is room: the first rows of what cpb_core_sample finds one by one, as many as the start needs. */
cpb_status cpb_core_sample_of(cpb_core *core, cpb_view x, uint64_t first, uint64_t rows) {
  uint64_t step = 1, most = is_solved(core, rows) ? SAMPLE : OF_MEAN;
  while ((rows - 1) / step >= most) step *= 2;
  uint64_t odd = step == 1 ? 0 : most - ((rows - 1) / step + 1);
  double *row = malloc(core->d * sizeof *row);
  if (row == NULL) return CPB_ENOMEM;
  cpb_status status = add_every(core, x, first, 0, step, rows, row);
  if (status == CPB_OK) status = add_every(core, x, first, step / 2, step, step / 2 + odd * step, row);
  free(row);
  return status;
}

cpb_status cpb_core_sample_join(cpb_core *core, const cpb_core *piece) {
  size_t added;
  cpb_status status = cpb_working_set_join(&core->staged, &piece->staged, &added);
  return status == CPB_OK ? shrink(core) : status;
}

/* ---- starting from it ---- */

/* The sample about its first row in the unit; of what the unit cannot hold nothing is left. */
static void make_relative(cpb_core *core) {
  cpb_working_set *sample = &core->staged;
  size_t kept = 0, d = core->d;
  for (size_t j = 0; j < d; j++) core->origin[j] = cpb_scaled(sample->rows[j], core->exponent);
  for (size_t i = 0; i < sample->count; i++) {
    bool finite = true;
    for (size_t j = 0; j < d; j++) {
      double z = cpb_scaled(sample->rows[i * d + j], core->exponent) - core->origin[j];
      sample->rows[kept * d + j] = z;
      finite &= isfinite(z) != 0;
    }
    sample->tag[kept] = sample->tag[i];
    kept += finite;
  }
  sample->count = kept;
}

static void take_mean(cpb_core *core) {
  for (size_t j = 0; j < core->d; j++) core->point[j] = 0;
  for (size_t i = 0; i < core->staged.count && i < OF_MEAN; i++) {
    double part = 1 / (double)(i + 1);
    const double *row = core->staged.rows + i * core->d;
    core->loops->axpby(1 - part, core->point, part, row, core->point, core->d);
  }
  for (size_t j = 0; j < core->d; j++)
    core->center[j] = cpb_in_data_unit(core->origin[j] + core->point[j], core->exponent);
}

static double largest_square(const cpb_core *core) {
  double largest2 = 0;
  for (size_t i = 0; i < core->staged.count; i++) {
    const double *row = core->staged.rows + i * core->d;
    largest2 = fmax(largest2, core->loops->dot(row, row, core->d));
  }
  return largest2;
}

/* Where the ball of the sample costs little beside a read, its centre is a better one: on points near a sphere it
 * saves reads. */
static cpb_status solve_sample(cpb_core *core, cpb_error *error) {
  double safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT);
  core->largest2 = largest_square(core);
  return core->largest2 > 1 / safe2 && core->largest2 < safe2 ? cpb_core_move(core, error) : CPB_OK;
}

cpb_status cpb_core_start(cpb_core *core, int exponent, uint64_t rows, cpb_error *error) {
  core->exponent = exponent;
  core->rows = rows;
  core->round = 1;
  if (cpb_working_set_sort(&core->staged) != CPB_OK) return cpb_fail_memory(error, "a sample of rows");
  if (!is_solved(core, rows) && core->staged.count > OF_MEAN) core->staged.count = OF_MEAN;
  if (core->staged.count > 0) make_relative(core);
  take_mean(core);
  cpb_status status = is_solved(core, rows) ? solve_sample(core, error) : CPB_OK;
  cpb_core_begin_pass(core);
  return status;
}
