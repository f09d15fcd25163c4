#include "learn/share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/distances.h"
#include "loop/chunk.h"
#include "parallel/blocks.h"

enum { BLOCK_ROWS = 4096, STALLS = 3 };

typedef struct scored {
  double score;
  size_t row;
} scored;

/* A corner: rows with a bit are full, `edge` holds what is left. */
typedef struct filling {
  uint64_t tag;
  uint64_t *bits;
  size_t edge;
  double edge_weight;
  double edge_score;
} filling;

/* Rows whose multipliers are known to be full: their caps, and the sums of caps times p and |p|^2. */
typedef struct full_rows {
  double cap, squares;
  double *column;
  uint64_t *bits; /* over all rows */
} full_rows;

typedef struct solver {
  cpb_share *share;
  size_t n, d, blocks; /* n rows are still in question */
  cpb_view x;          /* those rows: the caller's, or copies */
  double *copies;
  size_t *name; /* their numbers in the data; NULL: they are all rows */
  double *caps; /* theirs, once copies were made */
  full_rows full;
  double *score;
  scored *candidates;
  double *center;  /* origin + point, of the scores */
  double *partial; /* per block: d sums */
  double *sums;    /* per block: sum of cap times score */
  double *column;
  cpb_hull hull;
  filling *fillings;
  size_t filling_count, filling_room;
  filling current;
  double moved; /* |point - the point before|, for the bracket of the edge */
  double last_edge;
} solver;

static double cap_of(const solver *s, size_t i) {
  const double *caps = s->caps != NULL ? s->caps : s->share->caps;
  return caps == NULL ? s->share->cap : caps[i];
}

/* ---- scores ---- */

static void score_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  solver *s = argument;
  const cpb_share *share = s->share;
  if (share->squares) {
    cpb_dist2_of_rows(share->loops, s->x, 0, first, count, s->center, s->score + first);
    return;
  }
  const double *rows = share->x.data, *point = s->center;
  double norm2 = share->loops->dot(point, point, s->d);
  for (size_t i = first; i < first + count; i++)
    s->score[i] = norm2 - 2 * share->loops->dot(rows + i * share->x.stride, point, s->d);
}

static void score_rows(solver *s, const double *point) {
  const cpb_share *share = s->share;
  for (size_t j = 0; j < s->d; j++) s->center[j] = (share->origin == NULL ? 0 : share->origin[j]) + point[j];
  cpb_blocks blocks = {s->n, BLOCK_ROWS, score_block, s};
  cpb_blocks_run(&blocks, share->exec);
}

/* ---- the best filling ---- */

static bool before(scored a, scored b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

static void swap(scored *a, scored *b) {
  scored kept = *a;
  *a = *b;
  *b = kept;
}

static void middle_of_three_to_the_end(scored *rows, size_t n) {
  scored *a = &rows[0], *b = &rows[n / 2], *c = &rows[n - 1];
  if (before(*b, *a)) swap(a, b);
  if (before(*c, *b)) swap(b, c);
  if (before(*b, *a)) swap(a, b);
  swap(b, c);
}

/* Rows before the last one go to the front, and it behind them; returns where it is. */
static size_t partition(scored *rows, size_t n) {
  size_t front = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (before(rows[i], rows[n - 1])) swap(&rows[front++], &rows[i]);
  swap(&rows[front], &rows[n - 1]);
  return front;
}

/* The row, in the order of scores, at which the caps add up to *need, which becomes its part. */
static scored fill_up(const solver *s, scored *rows, size_t n, double *need) {
  for (;;) {
    middle_of_three_to_the_end(rows, n);
    size_t front = partition(rows, n);
    double weight = 0, own = cap_of(s, rows[front].row);
    for (size_t i = 0; i < front; i++) weight += cap_of(s, rows[i].row);
    if (weight >= *need && front > 0) {
      n = front;
    } else if (weight + own >= *need || front + 1 == n) { /* or rounding left a crumb */
      *need = fmin(fmax(*need - weight, 0), own);
      return rows[front];
    } else {
      *need -= weight + own;
      rows += front + 1;
      n -= front + 1;
    }
  }
}

/* Rows with scores in [low, high] as candidates for the edge; false when it is not among them. */
static bool bracket(solver *s, double low, double high, size_t *count, double *need) {
  double above = 0, within = 0;
  size_t found = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (s->score[i] > high)
      above += cap_of(s, i);
    else if (s->score[i] >= low) {
      s->candidates[found++] = (scored){s->score[i], i};
      within += cap_of(s, i);
    }
  }
  *count = found;
  *need = 1 - s->full.cap - above;
  return *need > 0 && within > *need;
}

/* What the last step of the point can have changed: the edge of a squared distance moves, as a distance,
 * no more than the point. */
static bool bracket_by_step(solver *s, size_t *count, double *need) {
  double edge = sqrt(fmax(s->last_edge, 0)), slack = s->moved + 1e-12 * edge;
  double low = edge > slack ? (edge - slack) * (edge - slack) : -1;
  return bracket(s, low, (edge + slack) * (edge + slack), count, need);
}

static int by_score_down(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* A guess from every so many rows, wide enough to be right almost always. */
static bool bracket_by_sample(solver *s, size_t *count, double *need) {
  enum { SAMPLE = 2048, MARGIN = 128 };
  double sample[SAMPLE];
  size_t step = s->n / SAMPLE;
  if (step < 4 || s->share->caps != NULL || s->name != NULL) return false;
  for (size_t k = 0; k < SAMPLE; k++) sample[k] = s->score[k * step];
  qsort(sample, SAMPLE, sizeof *sample, by_score_down);
  size_t edge = (size_t)(SAMPLE / (s->share->cap * (double)s->n));
  double high = edge > MARGIN ? sample[edge - MARGIN] : INFINITY;
  double low = edge + MARGIN < SAMPLE ? sample[edge + MARGIN] : -INFINITY;
  return bracket(s, low, high, count, need);
}

static void choose_edge(solver *s) {
  double need;
  size_t count;
  bool narrow = !s->share->squares || isnan(s->last_edge) ? bracket_by_sample(s, &count, &need)
                                                          : bracket_by_step(s, &count, &need);
  if (!narrow) {
    for (size_t i = 0; i < s->n; i++) s->candidates[i] = (scored){s->score[i], i};
    count = s->n;
    need = 1 - s->full.cap;
  }
  scored edge = fill_up(s, s->candidates, count, &need);
  s->current.edge = edge.row;
  s->current.edge_weight = need;
  s->current.edge_score = s->last_edge = edge.score;
}

static void add_row(const solver *s, size_t row, double weight, double *sum) {
  const cpb_share *share = s->share;
  double buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < s->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(s->d, offset);
    const double *chunk = cpb_row_chunk(share->loops, s->x, row, offset, count, buffer);
    if (share->origin == NULL)
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * chunk[j];
    else
      for (size_t j = 0; j < count; j++) sum[offset + j] += weight * (chunk[j] - share->origin[offset + j]);
  }
}

static bool is_full(const solver *s, size_t i) {
  return before((scored){s->score[i], i}, (scored){s->current.edge_score, s->current.edge});
}

static void sum_block(void *argument, size_t block, size_t first, size_t count) {
  solver *s = argument;
  const filling *now = &s->current;
  double *sum = s->partial + block * s->d, total = 0;
  memset(sum, 0, s->d * sizeof *sum);
  for (size_t i = first; i < first + count; i++) {
    bool full = is_full(s, i);
    if (s->name == NULL) { /* blocks are whole words; copies are marked afterwards */
      if (i % 64 == 0) now->bits[i / 64] = 0;
      now->bits[i / 64] |= (uint64_t)full << i % 64;
    }
    double weight = full ? cap_of(s, i) : i == now->edge ? now->edge_weight : 0;
    if (weight <= 0) continue;
    total += weight * s->score[i];
    add_row(s, i, weight, sum);
  }
  s->sums[block] = total;
}

/* What the rows that are full for good add to the filling; marks all its rows. */
static double add_full_rows(solver *s, const double *point) {
  const cpb_loops *loops = s->share->loops;
  const full_rows *full = &s->full;
  memcpy(s->current.bits, full->bits, (s->share->x.rows + 63) / 64 * sizeof *full->bits);
  for (size_t i = 0; i < s->n; i++)
    if (is_full(s, i)) s->current.bits[s->name[i] / 64] |= (uint64_t)1 << s->name[i] % 64;
  for (size_t j = 0; j < s->d; j++) s->column[j] += full->column[j];
  return full->squares - 2 * loops->dot(point, full->column, s->d) +
         full->cap * loops->dot(point, point, s->d);
}

/* The filling that is best at the scores' point: its value, and its column and height. */
static double best_filling(solver *s, const double *point, double *height) {
  double value = 0;
  choose_edge(s);
  cpb_blocks blocks = {s->n, BLOCK_ROWS, sum_block, s};
  cpb_blocks_run(&blocks, s->share->exec);
  memset(s->column, 0, s->d * sizeof *s->column);
  for (size_t block = 0; block < s->blocks; block++) {
    value += s->sums[block];
    for (size_t j = 0; j < s->d; j++) s->column[j] += s->partial[block * s->d + j];
  }
  const cpb_loops *loops = s->share->loops;
  if (s->name != NULL) value += add_full_rows(s, point);
  *height =
      s->share->squares ? value + 2 * loops->dot(point, s->column, s->d) - loops->dot(point, point, s->d) : 0;
  return value;
}

/* ---- the fillings that make up the answer ---- */

static bool in_hull(const cpb_hull *hull, uint64_t tag) {
  for (size_t k = 0; k < hull->count; k++)
    if (hull->tag[k] == tag) return true;
  return false;
}

static cpb_status new_bits(solver *s) {
  if (s->filling_count == s->filling_room) {
    size_t room = 2 * s->filling_room + 8;
    filling *more = realloc(s->fillings, room * sizeof *more);
    if (more == NULL) return CPB_ENOMEM;
    s->fillings = more;
    s->filling_room = room;
  }
  s->current.bits = malloc((s->share->x.rows + 63) / 64 * sizeof *s->current.bits);
  return s->current.bits == NULL ? CPB_ENOMEM : CPB_OK;
}

static void forget_unused(solver *s) {
  size_t kept = 0;
  for (size_t k = 0; k < s->filling_count; k++)
    if (in_hull(&s->hull, s->fillings[k].tag))
      s->fillings[kept++] = s->fillings[k];
    else
      free(s->fillings[k].bits);
  s->filling_count = kept;
}

static void write_multipliers(const solver *s) {
  const cpb_share *share = s->share;
  double *a = share->multipliers;
  memset(a, 0, share->x.rows * sizeof *a);
  for (size_t k = 0; k < s->hull.count; k++)
    for (size_t f = 0; f < s->filling_count; f++) {
      const filling *one = &s->fillings[f];
      if (one->tag != s->hull.tag[k]) continue;
      for (size_t i = 0; i < share->x.rows; i++)
        if (one->bits[i / 64] >> i % 64 & 1)
          a[i] += s->hull.weight[k] * (share->caps == NULL ? share->cap : share->caps[i]);
      a[one->edge] += s->hull.weight[k] * one->edge_weight;
    }
}

/* ---- rows that are out of the question ---- */

/* Scores below `inside` and above `outside` are decided. The best centre is within sqrt(gap) of the present
 * one, because the upper bound grows at least like the square of the distance from it; so every distance,
 * and with them the edge, is within that of what it is here. */
typedef struct decided {
  double inside, outside;
} decided;

static decided decide(const solver *s) {
  const cpb_share *share = s->share;
  double edge = sqrt(fmax(s->current.edge_score, 0));
  double slack = 2.001 * sqrt(fmax(share->upper - share->lower, 0)) + 1e-7 * edge;
  double low = edge > slack ? edge - slack : 0;
  return (decided){low * low, (edge + slack) * (edge + slack)};
}

static bool in_question(const solver *s, decided known, size_t i) {
  return s->score[i] >= known.inside && s->score[i] <= known.outside;
}

static void keep_full_row(solver *s, size_t i) {
  size_t name = s->name == NULL ? i : s->name[i];
  double cap = cap_of(s, i), *row = s->center; /* free until the next scores */
  memset(row, 0, s->d * sizeof *row);
  add_row(s, i, 1, row);
  s->full.bits[name / 64] |= (uint64_t)1 << name % 64;
  s->full.cap += cap;
  s->full.squares += cap * s->share->loops->dot(row, row, s->d);
  s->share->loops->axpby(cap, row, 1, s->full.column, s->full.column, s->d);
}

/* Copies of the rows in question take the place of all rows once they are less than half of them. Without
 * memory for them nothing changes. */
static void leave_decided_rows(solver *s) {
  size_t count = 0, at = 0, all = s->share->x.rows;
  decided known = decide(s);
  for (size_t i = 0; i < s->n; i++) count += in_question(s, known, i);
  if (count == 0 || count > s->n / 2) return;
  double *copies = malloc(count * s->d * sizeof *copies), *caps = malloc(count * sizeof *caps);
  size_t *name = malloc(count * sizeof *name);
  if (s->full.bits == NULL) s->full.bits = calloc((all + 63) / 64, sizeof *s->full.bits);
  if (s->full.column == NULL) s->full.column = calloc(s->d, sizeof *s->full.column);
  if (copies == NULL || caps == NULL || name == NULL || s->full.bits == NULL || s->full.column == NULL) {
    free(copies);
    free(caps);
    free(name);
    return;
  }
  for (size_t i = 0; i < s->n; i++) {
    if (!in_question(s, known, i)) {
      if (s->score[i] > known.outside) keep_full_row(s, i);
      continue;
    }
    cpb_scaled_row(s->share->loops, s->x, 0, i, copies + at * s->d);
    caps[at] = cap_of(s, i);
    name[at++] = s->name == NULL ? i : s->name[i];
  }
  free(s->copies);
  free(s->caps);
  free(s->name);
  s->copies = copies;
  s->caps = caps;
  s->name = name;
  s->x = cpb_rows(copies, CPB_F64, count, s->d);
  s->n = count;
  s->blocks = count / BLOCK_ROWS + (count % BLOCK_ROWS != 0);
}

/* ---- the iteration ---- */

static cpb_status solver_init(solver *s, cpb_share *share) {
  size_t n = share->x.rows, d = share->x.cols, blocks = n / BLOCK_ROWS + 1;
  *s = (solver){.share = share, .n = n, .d = d, .x = share->x, .last_edge = NAN};
  s->score = malloc(n * sizeof *s->score);
  s->candidates = malloc(n * sizeof *s->candidates);
  s->center = malloc(3 * d * sizeof *s->center);
  s->partial = malloc(blocks * d * sizeof *s->partial);
  s->sums = malloc(blocks * sizeof *s->sums);
  cpb_blocks cut = {n, BLOCK_ROWS, NULL, NULL};
  s->blocks = cpb_blocks_count(&cut);
  bool whole =
      s->score != NULL && s->candidates != NULL && s->center != NULL && s->partial != NULL && s->sums != NULL;
  if (whole) s->column = s->center + d;
  cpb_status status = cpb_hull_init(&s->hull, share->loops, d, 1);
  return whole ? status : CPB_ENOMEM;
}

static void solver_free(solver *s) {
  for (size_t k = 0; k < s->filling_count; k++) free(s->fillings[k].bits);
  free(s->fillings);
  free(s->copies);
  free(s->caps);
  free(s->name);
  free(s->full.column);
  free(s->full.bits);
  free(s->score);
  free(s->candidates);
  free(s->center);
  free(s->partial);
  free(s->sums);
  cpb_hull_free(&s->hull);
}

/* Scores at `point`, the bounds that follow, and the new column into the hull. */
static cpb_status iterate(solver *s, double *point, bool *done, bool *better) {
  cpb_share *share = s->share;
  double height;
  cpb_status status = new_bits(s);
  if (status != CPB_OK) return status;
  score_rows(s, point);
  double value = best_filling(s, point, &height);
  share->iterations++;
  if (value < share->upper) {
    share->upper = value;
    share->edge = s->current.edge_score;
    memcpy(share->point, point, s->d * sizeof *point);
  }
  double size = share->squares ? share->upper : fabs(share->lower);
  *done = s->hull.count > 0 && share->upper - share->lower <= share->gap * size;
  if (s->hull.count == 0 && share->squares && value > 0) s->hull.unit = sqrt(value);
  s->current.tag = share->iterations;
  s->fillings[s->filling_count] = s->current;
  if (s->name != NULL) s->fillings[s->filling_count].edge = s->name[s->current.edge];
  s->filling_count++;
  if (*done) return CPB_OK;
  if (share->squares && s->hull.count > 0 && value <= share->upper) leave_decided_rows(s);
  status = cpb_hull_enter(&s->hull, s->column, height, s->current.tag, better);
  share->lower = fmax(share->lower, s->hull.value);
  s->moved = sqrt(share->loops->dist2(point, s->hull.point, s->d)) * (1 + 1e-9);
  memcpy(point, s->hull.point, s->d * sizeof *point);
  forget_unused(s);
  return status;
}

cpb_status cpb_share_solve(cpb_share *share) {
  solver s;
  bool done = false, better;
  int stalls = 0;
  cpb_status status = solver_init(&s, share);
  share->upper = INFINITY;
  share->lower = -INFINITY;
  share->iterations = 0;
  if (status == CPB_OK) {
    double *point = s.center + 2 * s.d;
    memcpy(point, share->point, s.d * sizeof *point);
    while (status == CPB_OK && !done && share->iterations < share->max_iterations && stalls < STALLS) {
      better = true;
      status = iterate(&s, point, &done, &better);
      stalls = better ? 0 : stalls + 1;
    }
    if (status == CPB_OK && share->multipliers != NULL) write_multipliers(&s);
  }
  solver_free(&s);
  return status;
}
