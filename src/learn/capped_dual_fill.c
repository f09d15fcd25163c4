/* Scores at a point, and the filling that is best there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/distances.h"
#include "learn/capped_dual_parts.h"
#include "loop/chunk.h"
#include "parallel/blocks.h"

typedef cpb_capped_solver solver;
typedef cpb_scored scored;

enum { GROUP = 64 }; /* rows per partial sum, which keeps the error of long sums small */

/* ---- scores ---- */

static void score_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  solver *s = argument;
  const cpb_capped_dual *dual = s->dual;
  if (dual->squares) {
    cpb_dist2_of_rows(dual->loops, s->x, 0, first, count, s->center, s->score + first);
  } else {
    const double *rows = dual->x.data, *point = s->center;
    double norm2 = dual->loops->dot(point, point, s->d);
    for (size_t i = first; i < first + count; i++)
      s->score[i] = norm2 - 2 * dual->loops->dot(rows + i * dual->x.stride, point, s->d);
  }
  if (dual->caps == NULL) return;
  for (size_t i = first; i < first + count; i++) /* rows of weight 0 are ignored */
    if (!(cpb_capped_cap(s, i) > 0)) s->score[i] = -INFINITY;
}

void cpb_capped_score(solver *s, double *point) {
  const cpb_capped_dual *dual = s->dual;
  for (size_t j = 0; j < s->d; j++) {
    double origin = dual->origin == NULL ? 0 : dual->origin[j];
    s->center[j] = cpb_in_data_unit(origin + point[j], dual->exponent);
    if (dual->squares) point[j] = s->center[j] - origin;
  }
  cpb_blocks blocks = {s->n, CPB_CAPPED_BLOCK, score_block, s};
  cpb_blocks_run(&blocks, dual->exec);
}

/* ---- the edge ---- */

static void swap(scored *a, scored *b) {
  scored kept = *a;
  *a = *b;
  *b = kept;
}

static void middle_of_three_to_the_end(scored *rows, size_t n) {
  scored *a = &rows[0], *b = &rows[n / 2], *c = &rows[n - 1];
  if (cpb_scored_before(*b, *a)) swap(a, b);
  if (cpb_scored_before(*c, *b)) swap(b, c);
  if (cpb_scored_before(*b, *a)) swap(a, b);
  swap(b, c);
}

/* Partitions around the last row; returns its final position. */
static size_t partition(scored *rows, size_t n) {
  size_t front = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (cpb_scored_before(rows[i], rows[n - 1])) swap(&rows[front++], &rows[i]);
  swap(&rows[front], &rows[n - 1]);
  return front;
}

void cpb_scored_select(scored *rows, size_t n, size_t count) {
  while (count > 0 && count < n) {
    middle_of_three_to_the_end(rows, n);
    size_t front = partition(rows, n);
    if (front >= count) {
      n = front;
    } else {
      rows += front + 1;
      n -= front + 1;
      count -= front + 1;
    }
  }
}

int cpb_scored_compare(const void *a, const void *b) {
  const scored *x = a, *y = b;
  return cpb_scored_before(*x, *y) ? -1 : cpb_scored_before(*y, *x);
}

/* The row, in order of scores, at which the caps add up to *need, which becomes its part. */
static scored fill_up(const solver *s, scored *rows, size_t n, double *need) {
  for (;;) {
    middle_of_three_to_the_end(rows, n);
    size_t front = partition(rows, n);
    cpb_cap_sum sum = {0};
    for (size_t i = 0; i < front; i++) cpb_cap_sum_add(s, &sum, rows[i].row);
    double weight = cpb_cap_sum_value(s, sum), own = cpb_capped_cap(s, rows[front].row);
    if (weight >= *need && front > 0) {
      n = front;
    } else if (weight + own >= *need || front + 1 == n) { /* or a remainder from rounding */
      *need = fmin(fmax(*need - weight, 0), own);
      return rows[front];
    } else {
      *need -= weight + own;
      rows += front + 1;
      n -= front + 1;
    }
  }
}

/* Collects the rows with scores in [low, high] as candidates for the edge; false when it is not among them. */
static bool bracket(solver *s, double low, double high, size_t *count, double *need) {
  cpb_cap_sum above = s->full.cap, within = {0};
  size_t found = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (s->score[i] > high)
      cpb_cap_sum_add(s, &above, i);
    else if (s->score[i] >= low) {
      s->candidates[found++] = (scored){s->score[i], i};
      cpb_cap_sum_add(s, &within, i);
    }
  }
  *count = found;
  *need = 1 - cpb_cap_sum_value(s, above);
  return *need > 0 && cpb_cap_sum_value(s, within) > *need;
}

/* Bounds what the last step of the point can have changed: as a distance, the edge moves no more than the point. */
static bool bracket_by_step(solver *s, size_t *count, double *need) {
  double edge = sqrt(fmax(s->last_edge, 0)), slack = s->moved + 1e-12 * edge;
  double low = edge > slack ? (edge - slack) * (edge - slack) : -1;
  return bracket(s, low, (edge + slack) * (edge + slack), count, need);
}

static int by_score_down(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* An estimate from equally spaced rows, wide enough to be right almost always. */
static bool bracket_by_sample(solver *s, size_t *count, double *need) {
  enum { SAMPLE = 2048, MARGIN = 128 };
  double sample[SAMPLE];
  size_t step = s->n / SAMPLE;
  if (step < 4 || s->dual->caps != NULL || s->name != NULL) return false;
  for (size_t k = 0; k < SAMPLE; k++) sample[k] = s->score[k * step];
  qsort(sample, SAMPLE, sizeof *sample, by_score_down);
  size_t edge = (size_t)(SAMPLE / (s->dual->cap * (double)s->n));
  double high = edge > MARGIN ? sample[edge - MARGIN] : INFINITY;
  double low = edge + MARGIN < SAMPLE ? sample[edge + MARGIN] : -INFINITY;
  return bracket(s, low, high, count, need);
}

static void choose_edge(solver *s) {
  double need;
  size_t count;
  bool narrow = !s->dual->squares || isnan(s->last_edge) ? bracket_by_sample(s, &count, &need)
                                                         : bracket_by_step(s, &count, &need);
  if (!narrow) {
    count = 0;
    for (size_t i = 0; i < s->n; i++)
      if (s->score[i] > -INFINITY) s->candidates[count++] = (scored){s->score[i], i};
    need = 1 - cpb_cap_sum_value(s, s->full.cap);
  }
  scored edge = fill_up(s, s->candidates, count, &need);
  s->now.edge = edge.row;
  s->now.edge_weight = need;
  s->now.edge_score = s->last_edge = edge.score;
}

/* ---- the sums of a filling ---- */

void cpb_capped_add_row(const solver *s, size_t row, double weight, double *sum) {
  const cpb_capped_dual *dual = s->dual;
  double buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < s->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(s->d, offset);
    const double *chunk = cpb_row_chunk(dual->loops, s->x, row, offset, count, buffer);
    if (dual->origin == NULL)
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * chunk[j];
    else
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * (chunk[j] - dual->origin[offset + j]);
  }
}

void cpb_capped_move_sum(double *from, double *to, size_t d) {
  for (size_t j = 0; j < d; j++) {
    to[j] += from[j];
    from[j] = 0;
  }
}

static void sum_block(void *argument, size_t block, size_t first, size_t count) {
  solver *s = argument;
  const cpb_best_filling *now = &s->now;
  double *sum = s->partial + block * 2 * s->d, *group = sum + s->d;
  double weights[CPB_CAPPED_BLOCK], scores[CPB_CAPPED_BLOCK];
  size_t taken = 0;
  memset(sum, 0, 2 * s->d * sizeof *sum);
  for (size_t i = first; i < first + count; i++) {
    bool full = cpb_capped_is_full(s, i);
    if (s->name == NULL) { /* blocks are whole words; copies are marked afterwards */
      if (i % 64 == 0) now->bits[i / 64] = 0;
      now->bits[i / 64] |= (uint64_t)full << i % 64;
    }
    double weight = full ? cpb_capped_cap(s, i) : i == now->edge ? now->edge_weight : 0;
    if (weight <= 0) continue;
    weights[taken] = weight;
    scores[taken++] = s->score[i];
    cpb_capped_add_row(s, i, weight, group);
    if (taken % GROUP == 0) cpb_capped_move_sum(group, sum, s->d);
  }
  cpb_capped_move_sum(group, sum, s->d);
  s->sums[block] = s->dual->loops->dot(weights, scores, taken);
}

/* Adds the rows that are permanently full to the filling; marks all its rows. */
static void add_full_rows(solver *s, const double *point) {
  const cpb_loops *loops = s->dual->loops;
  const cpb_full_rows *full = &s->full;
  cpb_best_filling *now = &s->now;
  memcpy(now->bits, full->bits, (s->dual->x.rows + 63) / 64 * sizeof *full->bits);
  for (size_t i = 0; i < s->n; i++)
    if (cpb_capped_is_full(s, i)) now->bits[s->name[i] / 64] |= (uint64_t)1 << s->name[i] % 64;
  for (size_t j = 0; j < s->d; j++) now->column[j] += full->column[j];
  double along = 2 * loops->dot(point, full->column, s->d);
  double rest = cpb_cap_sum_value(s, full->cap) * loops->dot(point, point, s->d);
  now->value += full->squares - along + rest;
  now->size += full->squares + fabs(along) + rest;
}

void cpb_capped_fill(solver *s, const double *point) {
  const cpb_loops *loops = s->dual->loops;
  cpb_best_filling *now = &s->now;
  cpb_twofold value = {0, 0};
  choose_edge(s);
  cpb_blocks blocks = {s->n, CPB_CAPPED_BLOCK, sum_block, s};
  cpb_blocks_run(&blocks, s->dual->exec);
  memset(now->column, 0, s->d * sizeof *now->column);
  for (size_t block = 0; block < s->blocks; block++) {
    cpb_twofold_add(&value, s->sums[block]);
    for (size_t j = 0; j < s->d; j++) now->column[j] += s->partial[block * 2 * s->d + j];
  }
  now->value = now->size = cpb_twofold_value(value);
  if (s->name != NULL) add_full_rows(s, point);
  now->height = 0;
  if (!s->dual->squares) return;
  double along = 2 * loops->dot(point, now->column, s->d), norm2 = loops->dot(point, point, s->d);
  now->height = now->value + along - norm2;
  now->size += 2 * sqrt(norm2 * loops->dot(now->column, now->column, s->d)) + norm2;
}

/* ---- the multipliers of the hull ---- */

static void add_full(const cpb_capped_dual *dual, const uint64_t *bits, double weight, double *a) {
  for (size_t word = 0; word < (dual->x.rows + 63) / 64; word++)
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      size_t i = 64 * word + (size_t)__builtin_ctzll(left);
      a[i] += weight * (dual->caps == NULL ? dual->cap : dual->caps[i]);
    }
}

void cpb_capped_multipliers(const solver *s, double *a) {
  const cpb_capped_dual *dual = s->dual;
  memset(a, 0, dual->x.rows * sizeof *a);
  for (size_t k = 0; k < s->hull.count; k++)
    for (size_t f = 0; f < s->filling_count; f++) {
      const cpb_filling *one = &s->fillings[f];
      if (one->tag != s->hull.tag[k]) continue;
      add_full(dual, one->bits, s->hull.weight[k], a);
      for (size_t i = 0; i < one->part_count; i++)
        a[one->parts[i].row] += s->hull.weight[k] * one->parts[i].score;
    }
}
