/* The start of a ball: a sample of the rows that does not depend on how they are divided, its first row as origin,
 * and its mean or the centre of its ball as the first centre. */
#include <math.h>
#include <stdlib.h>

#include "core/fail.h"
#include "learn/ball_rounds_parts.h"
#include "learn/distances.h"

enum {
  SAMPLE = 1024,
  OF_MEAN = 128,       /* rows of the sample that are averaged */
  SOLVED_SAMPLE = 4096 /* rows per dimension from which solving the ball of the sample pays off */
};

/* ---- taking it ---- */

/* Number of trailing zeros of an id: multiples of a high power of two are spread evenly. */
static double rank_of(uint64_t id) {
  unsigned zeros = 0;
  while (zeros < 64 && (id >> zeros & 1) == 0) zeros++;
  return zeros;
}

static bool wanted(const cpb_ball_rounds *rounds, double rank, uint64_t id) {
  return rank > rounds->sample_rank || (rank == rounds->sample_rank && id < rounds->sample_id);
}

/* Drops excess rows, and updates the rank that further rows must exceed. */
static cpb_status shrink(cpb_ball_rounds *rounds) {
  cpb_working_set *sample = &rounds->staged;
  if (sample->count <= SAMPLE) return CPB_OK;
  cpb_status status = cpb_working_set_keep(sample, SAMPLE);
  if (status != CPB_OK) return status;
  rounds->sample_rank = INFINITY;
  for (size_t i = 0; i < SAMPLE; i++)
    if (sample->dist2[i] < rounds->sample_rank ||
        (sample->dist2[i] == rounds->sample_rank && sample->tag[i] > rounds->sample_id)) {
      rounds->sample_rank = sample->dist2[i];
      rounds->sample_id = sample->tag[i];
    }
  return CPB_OK;
}

/* Adds row i of a block if it is finite. */
static cpb_status add_row(cpb_ball_rounds *rounds, cpb_view x, size_t i, uint64_t id, double *row) {
  cpb_scaled_row(rounds->loops, x, 0, i, row);
  bool finite = true;
  for (size_t j = 0; j < rounds->d; j++) finite &= isfinite(row[j]) != 0;
  return finite ? cpb_working_set_add(&rounds->staged, row, id, rank_of(id)) : CPB_OK;
}

/* The first row from i on whose id may have enough trailing zeros. */
static size_t next_spread(const cpb_ball_rounds *rounds, cpb_row_ids ids, size_t i) {
  if (ids.ids != NULL || rounds->sample_rank <= 0 || rounds->sample_rank > 62) return i;
  uint64_t step = (uint64_t)1 << (unsigned)rounds->sample_rank;
  return i + (size_t)(-(ids.first + i) & (step - 1));
}

cpb_status cpb_ball_rounds_sample(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids) {
  double *row = malloc(rounds->d * sizeof *row);
  cpb_status status = row == NULL ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; status == CPB_OK && (i = next_spread(rounds, ids, i)) < x.rows; i++) {
    uint64_t id = cpb_row_id(ids, i);
    if (!wanted(rounds, rank_of(id), id)) continue;
    status = add_row(rounds, x, i, id, row);
    if (status == CPB_OK && rounds->staged.count == 2 * SAMPLE) status = shrink(rounds);
  }
  free(row);
  return status == CPB_OK ? shrink(rounds) : status;
}

static bool is_solved(const cpb_ball_rounds *rounds, uint64_t rows) {
  return rows / SOLVED_SAMPLE >= rounds->d;
}

/* Adds rows from, from + step, .. before `end` of a block that begins with row `first`; step is a power of two. */
static cpb_status add_every(cpb_ball_rounds *rounds, cpb_view x, uint64_t first, uint64_t from, uint64_t step,
                            uint64_t end, double *row) {
  cpb_status status = CPB_OK;
  uint64_t id = from >= first ? from : first + ((from - first) & (step - 1));
  for (; status == CPB_OK && id < end && id - first < x.rows; id += step)
    status = add_row(rounds, x, (size_t)(id - first), id, row);
  return status;
}

/* Multiples of the smallest power of two that has no more of them than requested, then odd multiples of the next
 * lower one as long as there is space: the first rows of what cpb_ball_rounds_sample finds one at a time, as many
 * as the start needs. */
cpb_status cpb_ball_rounds_sample_of(cpb_ball_rounds *rounds, cpb_view x, uint64_t first, uint64_t rows) {
  uint64_t step = 1, most = is_solved(rounds, rows) ? SAMPLE : OF_MEAN;
  while ((rows - 1) / step >= most) step *= 2;
  uint64_t odd = step == 1 ? 0 : most - ((rows - 1) / step + 1);
  double *row = malloc(rounds->d * sizeof *row);
  if (row == NULL) return CPB_ENOMEM;
  cpb_status status = add_every(rounds, x, first, 0, step, rows, row);
  if (status == CPB_OK) status = add_every(rounds, x, first, step / 2, step, step / 2 + odd * step, row);
  free(row);
  return status;
}

cpb_status cpb_ball_rounds_sample_join(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece) {
  size_t added;
  cpb_status status = cpb_working_set_join(&rounds->staged, &piece->staged, &added);
  return status == CPB_OK ? shrink(rounds) : status;
}

/* ---- starting from it ---- */

/* Makes the sample relative to its first row, in the unit; rows that the unit cannot hold are dropped. */
static void make_relative(cpb_ball_rounds *rounds) {
  cpb_working_set *sample = &rounds->staged;
  size_t kept = 0, d = rounds->d;
  for (size_t j = 0; j < d; j++) rounds->origin[j] = cpb_scaled(sample->rows[j], rounds->exponent);
  for (size_t i = 0; i < sample->count; i++) {
    bool finite = true;
    for (size_t j = 0; j < d; j++) {
      double z = cpb_scaled(sample->rows[i * d + j], rounds->exponent) - rounds->origin[j];
      sample->rows[kept * d + j] = z;
      finite &= isfinite(z) != 0;
    }
    sample->tag[kept] = sample->tag[i];
    kept += finite;
  }
  sample->count = kept;
}

static void take_mean(cpb_ball_rounds *rounds) {
  for (size_t j = 0; j < rounds->d; j++) rounds->point[j] = 0;
  for (size_t i = 0; i < rounds->staged.count && i < OF_MEAN; i++) {
    double part = 1 / (double)(i + 1);
    const double *row = rounds->staged.rows + i * rounds->d;
    rounds->loops->axpby(1 - part, rounds->point, part, row, rounds->point, rounds->d);
  }
  for (size_t j = 0; j < rounds->d; j++)
    rounds->center[j] = cpb_in_data_unit(rounds->origin[j] + rounds->point[j], rounds->exponent);
}

static double largest_square(const cpb_ball_rounds *rounds) {
  double largest2 = 0;
  for (size_t i = 0; i < rounds->staged.count; i++) {
    const double *row = rounds->staged.rows + i * rounds->d;
    largest2 = fmax(largest2, rounds->loops->dot(row, row, rounds->d));
  }
  return largest2;
}

/* Where the ball of the sample is cheap compared to a read, its centre is a better start: for points near a sphere
 * it saves reads. */
static cpb_status solve_sample(cpb_ball_rounds *rounds, cpb_error *error) {
  double safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT);
  rounds->largest2 = largest_square(rounds);
  return rounds->largest2 > 1 / safe2 && rounds->largest2 < safe2 ? cpb_ball_rounds_move(rounds, error)
                                                                  : CPB_OK;
}

cpb_status cpb_ball_rounds_start(cpb_ball_rounds *rounds, int exponent, uint64_t rows, cpb_error *error) {
  rounds->exponent = exponent;
  rounds->rows = rows;
  rounds->round = 1;
  if (cpb_working_set_sort(&rounds->staged) != CPB_OK) return cpb_fail_memory(error, "a sample of rows");
  if (!is_solved(rounds, rows) && rounds->staged.count > OF_MEAN) rounds->staged.count = OF_MEAN;
  if (rounds->staged.count > 0) make_relative(rounds);
  take_mean(rounds);
  cpb_status status = is_solved(rounds, rows) ? solve_sample(rounds, error) : CPB_OK;
  cpb_ball_rounds_begin_pass(rounds);
  return status;
}
