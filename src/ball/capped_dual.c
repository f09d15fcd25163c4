/* The iteration, and the error of its bounds.
 *
 * Every sum over the rows is accurate to unit_error times its size, which follows from the lengths of its chains of
 * additions. A column's height and point are two such sums, so that the hull's value is that of feasible multipliers
 * up to `rounding_bound`; subtracting it makes `lower` a bound of the exact maximum. Sizes stay small because origin is the
 * mean of the rows: it and every mean of a filling are within sqrt(maximum) of the best point. */
#include "ball/capped_dual.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/median.h"
#include "base/memory.h"
#include "loops/distances.h"
#include "ball/working_set.h"
#include "base/blocks.h"
#include "base/tell.h"

enum { CAPPED_BLOCK = 4096, MOST_DECISIONS = 64, STALLS = 3 };
enum { MARGIN_FROM = 12, MARGIN_ROWS = 512, MARGIN_MOST = 4096 }; /* from this iteration on, this many rows */
enum { GROUP = 64 }; /* rows per partial sum, which keeps the error of long sums small */

/* A sum of caps: a count where all are equal. */
typedef struct cap_sum {
  size_t rows;
  cpb_twofold sum;
} cap_sum;

/* Feasible multipliers: rows with a bit are full, `parts` lists the others. */
typedef struct filling {
  uint64_t tag;
  uint64_t *bits;
  size_t part_count;
  cpb_ranked *parts; /* a row and, as its key, its multiplier */
} filling;

typedef struct hull_column {
  double *p;   /* sum of multiplier times p */
  double q;    /* sum of multiplier times |p|^2 */
  double size; /* magnitude of the numbers that were added, to which rounding errors are relative */
} hull_column;

typedef struct best_filling {
  size_t edge; /* the row taken in part */
  double edge_weight, edge_score;
  double value; /* sum of multiplier times score */
  hull_column column;
  uint64_t *bits;
} best_filling;

/* Rows known to be full: their caps, and the sums of caps times p and |p|^2. */
typedef struct full_rows {
  cap_sum cap;
  double squares;
  double *column;
  uint64_t *bits; /* over all rows */
} full_rows;

/* A decision holds for points within half its slack. */
typedef struct decision {
  double *point, slack;
} decision;

typedef struct solver {
  cpb_capped_dual *dual;
  size_t n, d, blocks;     /* n rows are undecided */
  cpb_view x;              /* the undecided rows: the caller's, or copies */
  cpb_memory memory, kept; /* of the solver; of the copies */
  size_t *name;            /* their numbers in the data; NULL: all rows */
  double *caps;            /* their caps, once rows with individual caps were copied */
  full_rows full;
  decision decisions[MOST_DECISIONS];
  size_t decision_count;
  double *score;
  cpb_ranked *candidates; /* keys are scores with their signs changed: the highest score first */
  double *center;         /* origin + point, where the scores were computed */
  double *partial;        /* per block: twice d sums */
  double *sums;           /* per block: sum of cap times score */
  cpb_hull hull;
  filling *fillings;
  size_t filling_count, filling_room;
  uint64_t filling_tag; /* of the next */
  best_filling now;
  double moved; /* |point - the previous point|, to bracket the edge */
  double last_edge;
  double unit_error;     /* of one sum over the rows, relative to its size */
  double rounding_bound; /* bound of what rounding can have added to the value of a column */
} solver;

static inline double capped_cap(const solver *s, size_t i) {
  const double *caps = s->caps != NULL ? s->caps : s->dual->caps;
  return caps == NULL ? s->dual->cap : caps[i];
}

static inline size_t capped_name(const solver *s, size_t i) { return s->name == NULL ? i : s->name[i]; }

static inline void cap_sum_add(const solver *s, cap_sum *to, size_t i) {
  if (s->dual->caps == NULL)
    to->rows++;
  else
    cpb_twofold_add(&to->sum, capped_cap(s, i));
}

static inline double cap_sum_value(const solver *s, cap_sum of) {
  return (double)of.rows * s->dual->cap + cpb_twofold_value(of.sum);
}

/* a before b: the order in which a filling takes them. */
static inline bool is_before(cpb_ranked a, cpb_ranked b) {
  return a.key < b.key || (a.key == b.key && a.id < b.id);
}

static inline bool capped_is_full(const solver *s, size_t i) {
  double score = s->score[i], edge = s->now.edge_score;
  return score > edge || (score == edge && i < s->now.edge);
}

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
    if (!(capped_cap(s, i) > 0)) s->score[i] = -INFINITY;
}

/* Scores of all rows at point, which is replaced by the nearest point whose centre is a double. */
static void capped_score(solver *s, double *point) {
  const cpb_capped_dual *dual = s->dual;
  for (size_t j = 0; j < s->d; j++) {
    double origin = dual->origin == NULL ? 0 : dual->origin[j];
    s->center[j] = cpb_in_data_unit(origin + point[j], dual->exponent);
    if (dual->squares) point[j] = s->center[j] - origin;
  }
  cpb_blocks_run(&(cpb_blocks){s->n, CAPPED_BLOCK, score_block, s}, dual->exec);
}

/* ---- the edge ---- */

static void swap(cpb_ranked *a, cpb_ranked *b) {
  cpb_ranked kept = *a;
  *a = *b;
  *b = kept;
}

/* Partitions around the middle of three rows; returns its final position. */
static size_t partition(cpb_ranked *rows, size_t n) {
  cpb_ranked *a = &rows[0], *b = &rows[n / 2], *c = &rows[n - 1];
  if (is_before(*b, *a)) swap(a, b);
  if (is_before(*c, *b)) swap(b, c);
  if (is_before(*b, *a)) swap(a, b);
  swap(b, c);
  size_t front = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (is_before(rows[i], *c)) swap(&rows[front++], &rows[i]);
  swap(&rows[front], c);
  return front;
}

/* The row, in order of scores, at which the caps add up to *need, which becomes its part. */
static cpb_ranked fill_up(const solver *s, cpb_ranked *rows, size_t n, double *need) {
  for (;;) {
    size_t front = partition(rows, n);
    cap_sum sum = {0};
    for (size_t i = 0; i < front; i++) cap_sum_add(s, &sum, (size_t)rows[i].id);
    double weight = cap_sum_value(s, sum), own = capped_cap(s, (size_t)rows[front].id);
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
  cap_sum above = s->full.cap, within = {0};
  size_t found = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (s->score[i] > high)
      cap_sum_add(s, &above, i);
    else if (s->score[i] >= low) {
      s->candidates[found++] = (cpb_ranked){-s->score[i], i};
      cap_sum_add(s, &within, i);
    }
  }
  *count = found;
  *need = 1 - cap_sum_value(s, above);
  return *need > 0 && cap_sum_value(s, within) > *need;
}

/* Bounds what the last step of the point can have changed: as a distance, the edge moves no more than the point. */
static bool bracket_by_step(solver *s, size_t *count, double *need) {
  double edge = sqrt(fmax(s->last_edge, 0)), slack = s->moved + 1e-12 * edge;
  double low = edge > slack ? (edge - slack) * (edge - slack) : -1;
  return bracket(s, low, (edge + slack) * (edge + slack), count, need);
}

/* An estimate from equally spaced rows, wide enough to be right almost always. */
static bool bracket_by_sample(solver *s, size_t *count, double *need) {
  enum { SAMPLE = 2048, MARGIN = 128 };
  double sample[SAMPLE];
  size_t step = s->n / SAMPLE;
  if (step < 4 || s->dual->caps != NULL || s->name != NULL) return false;
  for (size_t k = 0; k < SAMPLE; k++) sample[k] = s->score[k * step];
  cpb_sort_numbers(sample, SAMPLE);
  size_t edge = (size_t)(SAMPLE / (s->dual->cap * (double)s->n));
  double high = edge > MARGIN ? sample[SAMPLE - 1 - edge + MARGIN] : INFINITY;
  double low = edge + MARGIN < SAMPLE ? sample[SAMPLE - 1 - edge - MARGIN] : -INFINITY;
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
      if (s->score[i] > -INFINITY) s->candidates[count++] = (cpb_ranked){-s->score[i], i};
    need = 1 - cap_sum_value(s, s->full.cap);
  }
  cpb_ranked edge = fill_up(s, s->candidates, count, &need);
  s->now.edge = (size_t)edge.id;
  s->now.edge_weight = need;
  s->now.edge_score = s->last_edge = -edge.key;
}

/* to += from, then from = 0. */
static void capped_move_sum(double *from, double *to, size_t d) {
  for (size_t j = 0; j < d; j++) {
    to[j] += from[j];
    from[j] = 0;
  }
}

static void sum_block(void *argument, size_t block, size_t first, size_t count) {
  solver *s = argument;
  const best_filling *now = &s->now;
  double *sum = s->partial + block * 2 * s->d, *group = sum + s->d;
  double weights[CAPPED_BLOCK], scores[CAPPED_BLOCK];
  size_t taken = 0;
  memset(sum, 0, 2 * s->d * sizeof *sum);
  for (size_t i = first; i < first + count; i++) {
    bool full = capped_is_full(s, i);
    if (s->name == NULL) { /* blocks are whole words; copies are marked afterwards */
      if (i % 64 == 0) now->bits[i / 64] = 0;
      now->bits[i / 64] |= (uint64_t)full << i % 64;
    }
    double weight = full ? capped_cap(s, i) : i == now->edge ? now->edge_weight : 0;
    if (weight <= 0) continue;
    weights[taken] = weight;
    scores[taken++] = s->score[i];
    cpb_add_row(s->dual->loops, s->x, i, weight, s->dual->origin, group);
    if (taken % GROUP == 0) capped_move_sum(group, sum, s->d);
  }
  capped_move_sum(group, sum, s->d);
  s->sums[block] = s->dual->loops->dot(weights, scores, taken);
}

/* Adds the rows that are permanently full to the filling; marks all its rows. */
static void add_full_rows(solver *s, const double *point) {
  const cpb_loops *loops = s->dual->loops;
  const full_rows *full = &s->full;
  best_filling *now = &s->now;
  memcpy(now->bits, full->bits, (s->dual->x.rows + 63) / 64 * sizeof *full->bits);
  for (size_t i = 0; i < s->n; i++)
    if (capped_is_full(s, i)) now->bits[s->name[i] / 64] |= (uint64_t)1 << s->name[i] % 64;
  for (size_t j = 0; j < s->d; j++) now->column.p[j] += full->column[j];
  double along = 2 * loops->dot(point, full->column, s->d);
  double rest = cap_sum_value(s, full->cap) * loops->dot(point, point, s->d);
  now->value += full->squares - along + rest;
  now->column.size += full->squares + fabs(along) + rest;
}

/* Computes the best filling at the scores' point into s->now; marks its rows in s->now.bits. */
static void capped_fill(solver *s, const double *point) {
  const cpb_loops *loops = s->dual->loops;
  best_filling *now = &s->now;
  double *p = now->column.p;
  cpb_twofold value = {0, 0};
  choose_edge(s);
  cpb_blocks_run(&(cpb_blocks){s->n, CAPPED_BLOCK, sum_block, s}, s->dual->exec);
  memset(p, 0, s->d * sizeof *p);
  for (size_t block = 0; block < s->blocks; block++) {
    cpb_twofold_add(&value, s->sums[block]);
    for (size_t j = 0; j < s->d; j++) p[j] += s->partial[block * 2 * s->d + j];
  }
  now->value = now->column.size = cpb_twofold_value(value);
  if (s->name != NULL) add_full_rows(s, point);
  if (!s->dual->squares) return;
  double along = 2 * loops->dot(point, p, s->d), norm2 = loops->dot(point, point, s->d);
  now->column.q = now->value + along - norm2;
  now->column.size += 2 * sqrt(norm2 * loops->dot(p, p, s->d)) + norm2;
}

static void add_full(const cpb_capped_dual *dual, const uint64_t *bits, double weight, double *a) {
  for (size_t word = 0; word < (dual->x.rows + 63) / 64; word++)
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      size_t i = 64 * word + (size_t)__builtin_ctzll(left);
      a[i] += weight * (dual->caps == NULL ? dual->cap : dual->caps[i]);
    }
}

/* The multipliers of the hull: a mixture of its fillings, one number per row of the data. */
static void capped_multipliers(const solver *s, double *a) {
  const cpb_capped_dual *dual = s->dual;
  memset(a, 0, dual->x.rows * sizeof *a);
  for (size_t k = 0; k < s->hull.count; k++) {
    const filling *one = &s->fillings[k];
    double weight = s->hull.column[k].weight;
    add_full(dual, one->bits, weight, a);
    for (size_t i = 0; i < one->part_count; i++) a[one->parts[i].id] += weight * one->parts[i].key;
  }
}

/* Decided rows. The best centre is within sqrt(gap) of the present one, because the upper bound grows at least
 * like the square of the distance from it; so every distance, and with it the edge, changes by at most that. */

/* Scores below `inside` and above `outside` are decided. */
typedef struct decided {
  double inside, outside, slack;
} decided;

static decided decide(const solver *s) {
  const cpb_capped_dual *dual = s->dual;
  double edge = sqrt(fmax(s->now.edge_score, 0));
  double slack = 2.25 * sqrt(fmax(dual->upper - dual->lower, 0)) + 1e-7 * edge;
  double low = edge > slack ? edge - slack : 0;
  return (decided){low * low, (edge + slack) * (edge + slack), slack};
}

static bool is_undecided(const solver *s, decided known, size_t i) {
  return (s->score[i] >= known.inside) &
         (s->score[i] <= known.outside); /* no branch: it would be unpredictable */
}

static bool note_decision(solver *s, const double *point, double slack) {
  bool room = s->decision_count < MOST_DECISIONS;
  double *kept = room ? cpb_memory_copy(&s->memory, point, s->d, sizeof *kept) : NULL;
  if (kept != NULL) s->decisions[s->decision_count++] = (decision){kept, slack};
  return kept != NULL;
}

/* Sums of the rows that become permanently full: rows in groups, groups in blocks. */
typedef struct full_sum {
  double *row, *group, *block, *total;
  cpb_twofold squares;
  size_t count;
} full_sum;

static void keep_full_row(solver *s, full_sum *sum, size_t i) {
  size_t name = capped_name(s, i);
  double cap = capped_cap(s, i);
  memset(sum->row, 0, s->d * sizeof *sum->row);
  cpb_add_row(s->dual->loops, s->x, i, 1, s->dual->origin, sum->row);
  s->full.bits[name / 64] |= (uint64_t)1 << name % 64;
  cap_sum_add(s, &s->full.cap, i);
  cpb_twofold_add(&sum->squares, cap * s->dual->loops->dot(sum->row, sum->row, s->d));
  s->dual->loops->axpby(cap, sum->row, 1, sum->group, sum->group, s->d);
  if (++sum->count % GROUP == 0) capped_move_sum(sum->group, sum->block, s->d);
  if (sum->count % (GROUP * GROUP) == 0) capped_move_sum(sum->block, sum->total, s->d);
}

static void set_rows(solver *s, cpb_view x) {
  s->x = x;
  s->n = x.rows;
  s->blocks = x.rows / CAPPED_BLOCK + (x.rows % CAPPED_BLOCK != 0);
}

/* Copies the undecided rows to replace all rows once they are fewer than half. Without memory nothing changes. */
static void capped_leave_decided(solver *s, const double *point) {
  size_t count = 0, at = 0;
  cpb_memory memory = {0};
  decided known = decide(s);
  for (size_t i = 0; i < s->n; i++) count += is_undecided(s, known, i);
  if (count == 0 || count > s->n / 2) return;
  double *copies = cpb_memory_take(&memory, count * s->d, sizeof *copies);
  double *caps = s->dual->caps != NULL ? cpb_memory_take(&memory, count, sizeof *caps) : NULL;
  double *sums = cpb_memory_zeros(&memory, 3 * s->d, sizeof *sums);
  size_t *name = cpb_memory_take(&memory, count, sizeof *name);
  if (memory.failed || !note_decision(s, point, known.slack)) {
    cpb_memory_free(&memory);
    return;
  }
  full_sum sum = {sums, sums + s->d, sums + 2 * s->d, s->full.column, {s->full.squares, 0}, 0};
  for (size_t i = 0; i < s->n; i++) {
    if (!is_undecided(s, known, i)) {
      if (s->score[i] > known.outside) keep_full_row(s, &sum, i);
      continue;
    }
    cpb_scaled_row(s->dual->loops, s->x, 0, i, copies + at * s->d);
    if (caps != NULL) caps[at] = capped_cap(s, i);
    name[at++] = capped_name(s, i);
  }
  capped_move_sum(sum.group, sum.block, s->d);
  capped_move_sum(sum.block, sum.total, s->d);
  s->full.squares = cpb_twofold_value(sum.squares);
  cpb_memory_free(&s->kept);
  s->kept = memory;
  s->caps = caps;
  s->name = name;
  set_rows(s, cpb_rows(copies, CPB_F64, count, s->d));
}

static void capped_take_all_back(solver *s) {
  cpb_memory_free(&s->kept);
  s->caps = NULL;
  s->name = NULL;
  s->decision_count = 0;
  s->full.cap = (cap_sum){0};
  s->full.squares = 0;
  memset(s->full.column, 0, s->d * sizeof *s->full.column);
  memset(s->full.bits, 0, (s->dual->x.rows + 63) / 64 * sizeof *s->full.bits);
  set_rows(s, s->dual->x);
  s->last_edge = NAN;
}

/* Feasible multipliers that are optimal over the rows near the edge, and at least as good as the hull's. Where
 * many rows are almost equally far from every plausible centre, as on a sphere, the iteration would otherwise have
 * to visit fillings one at a time. */

typedef struct margin_rows {
  double *a;               /* of all rows: the multipliers of the hull */
  uint64_t *bits;          /* of all rows: those that are full in every filling of the hull */
  cpb_working_set set;     /* tag: the row's number here; dist2: |p|^2; weight: its cap */
  double *before, *weight; /* before: the multipliers of the hull */
  double *fixed;           /* d */
  cpb_memory memory;
} margin_rows;

static bool has_bit(const uint64_t *bits, size_t i) { return bits[i / 64] >> i % 64 & 1; }

/* Rows in part first, then those on the wrong side of the edge, the worst first, then the nearest to it. */
static double urgency(const solver *s, const margin_rows *margin, size_t i) {
  size_t name = capped_name(s, i);
  double above = s->score[i] - s->now.edge_score;
  if (has_bit(margin->bits, name)) return -above;
  return margin->a[name] > 0 ? INFINITY : above;
}

/* The rows of the margin become the first candidates, in order; returns how many. */
static size_t choose_rows(solver *s, const margin_rows *margin) {
  size_t in_part = 0, most = MARGIN_ROWS + 4 * s->d;
  for (size_t i = 0; i < s->n; i++) in_part += urgency(s, margin, i) == INFINITY;
  most += in_part < MARGIN_MOST ? in_part : MARGIN_MOST;
  cpb_best chosen = {.k = most < s->n ? most : s->n, .entry = s->candidates};
  for (size_t i = 0; i < s->n; i++)
    if (s->score[i] > -INFINITY) cpb_best_offer(&chosen, -urgency(s, margin, i), i);
  for (size_t k = 0; k < chosen.count; k++) chosen.entry[k].key = 0;
  cpb_ranked_sort(chosen.entry, chosen.count);
  return chosen.count;
}

static cpb_status margin_init(margin_rows *margin, solver *s) {
  size_t n = s->dual->x.rows, words = (n + 63) / 64;
  cpb_memory *memory = &margin->memory;
  margin->set.d = s->d;
  margin->a = cpb_memory_take(memory, n, sizeof *margin->a);
  margin->bits = malloc(words * sizeof *margin->bits); /* the filling's in the end */
  if (margin->a == NULL || margin->bits == NULL) return CPB_ENOMEM;
  capped_multipliers(s, margin->a);
  memset(margin->bits, 0xff, words * sizeof *margin->bits);
  for (size_t f = 0; f < s->filling_count; f++)
    for (size_t w = 0; w < words; w++) margin->bits[w] &= s->fillings[f].bits[w];
  size_t count = choose_rows(s, margin);
  double *p = margin->fixed = cpb_memory_take(memory, s->d, sizeof *p);
  margin->before = cpb_memory_take(memory, count, sizeof *margin->before);
  margin->weight = cpb_memory_take(memory, count, sizeof *margin->weight);
  if (memory->failed || cpb_working_set_reserve(&margin->set, count) != CPB_OK) return CPB_ENOMEM;
  for (size_t k = 0; k < count; k++) {
    size_t i = (size_t)s->candidates[k].id;
    double cap = capped_cap(s, i);
    cpb_row_about(s->dual->loops, s->x, 0, i, s->dual->origin, p);
    cpb_working_set_add(&margin->set, p, i, s->dual->loops->dot(p, p, s->d), cap);
    margin->before[k] = fmin(margin->a[capped_name(s, i)], cap);
  }
  return CPB_OK;
}

/* The start: the margin's weight on its rows with the highest scores. Returns the row taken in part. */
static size_t fill_margin(const solver *s, margin_rows *margin, double weight) {
  cpb_ranked *order = s->candidates;
  size_t n = margin->set.count, last = 0;
  for (size_t k = 0; k < n; k++) order[k] = (cpb_ranked){-s->score[margin->set.tag[k]], k};
  cpb_ranked_sort(order, n);
  for (size_t k = 0; k < n; k++) {
    double part = fmin(fmax(weight, 0), margin->set.weight[order[k].id]);
    if (part > 0) last = (size_t)order[k].id;
    margin->weight[order[k].id] = part;
    weight -= part;
  }
  return last;
}

/* The part of the hull outside the margin. */
static cpb_hull_full rest_of_hull(const solver *s, const margin_rows *margin, double height) {
  cpb_hull_full fixed = {.point = margin->fixed, .height = height, .weight = 1};
  memcpy(margin->fixed, s->hull.point, s->d * sizeof *margin->fixed);
  for (size_t k = 0; k < margin->set.count; k++) {
    double before = margin->before[k];
    if (before == 0) continue;
    fixed.weight -= before;
    fixed.height -= before * margin->set.dist2[k];
    s->dual->loops->axpby(-before, margin->set.rows + k * s->d, 1, fixed.point, fixed.point, s->d);
  }
  return fixed;
}

/* The hull's point and height with the changes of the margin; `size` is such that rounding errors, including a sum
 * of multipliers that is no longer exactly 1, are within unit_error times it. */
static void change_column(solver *s, const margin_rows *margin, double hull_height, hull_column *to) {
  cpb_twofold height = {hull_height, 0}, sum = {0, 0};
  double size = 0, changed = 8;
  memcpy(to->p, s->hull.point, s->d * sizeof *to->p);
  for (size_t k = 0; k < margin->set.count; k++) {
    double change = margin->weight[k] - margin->before[k];
    if (change == 0) continue;
    cpb_twofold_add(&sum, change);
    cpb_twofold_add(&height, change * margin->set.dist2[k]);
    s->dual->loops->axpby(change, margin->set.rows + k * s->d, 1, to->p, to->p, s->d);
    size += fabs(change) * margin->set.dist2[k];
    changed++;
  }
  to->q = cpb_twofold_value(height);
  double error = fabs(cpb_twofold_value(sum)) * to->q +
                 DBL_EPSILON * (changed + 4 * (double)s->hull.count) * (size + to->q);
  to->size = s->rounding_bound / (2 * s->unit_error) + size + error / s->unit_error;
}

static cpb_status write_rows(const solver *s, margin_rows *margin, filling *made) {
  size_t n = s->dual->x.rows, count = 0;
  const double *a = margin->a;
  for (size_t k = 0; k < margin->set.count; k++) {
    size_t name = capped_name(s, (size_t)margin->set.tag[k]);
    margin->bits[name / 64] &= ~((uint64_t)1 << name % 64);
    margin->a[name] = margin->weight[k];
  }
  for (size_t i = 0; i < n; i++) count += a[i] > 0 && !has_bit(margin->bits, i);
  made->parts = malloc((count + 1) * sizeof *made->parts);
  if (made->parts == NULL) return CPB_ENOMEM;
  for (size_t i = 0; i < n; i++)
    if (a[i] > 0 && !has_bit(margin->bits, i)) made->parts[made->part_count++] = (cpb_ranked){a[i], i};
  made->bits = margin->bits;
  margin->bits = NULL;
  return CPB_OK;
}

static cpb_status solve_margin(solver *s, margin_rows *margin, double height) {
  cpb_margin problem = {.loops = s->dual->loops,
                        .set = &margin->set,
                        .fixed = rest_of_hull(s, margin, height),
                        .tolerance = fmax(s->dual->gap / 16, 0x1p-50),
                        .weight = margin->weight};
  problem.first = fill_margin(s, margin, 1 - problem.fixed.weight);
  return cpb_margin_solve(&problem);
}

static void filling_free(filling *one) {
  free(one->bits);
  free(one->parts);
}

/* Afterwards filling k is that of column k of the hull: both are in the order of their tags. */
static void forget_unused(solver *s) {
  size_t kept = 0;
  for (size_t k = 0; k < s->filling_count; k++)
    if (kept < s->hull.count && s->hull.column[kept].tag == s->fillings[k].tag)
      s->fillings[kept++] = s->fillings[k];
    else
      filling_free(&s->fillings[k]);
  s->filling_count = kept;
}

/* Enters a column into the hull; its multipliers are stored as long as it is there. Sets *better if it helped. */
static cpb_status enter(solver *s, filling made, hull_column column, bool *better) {
  cpb_capped_dual *dual = s->dual;
  if (s->filling_count == s->filling_room) {
    size_t room = 2 * s->filling_room + 8;
    if (!cpb_resize(&s->fillings, room, sizeof *s->fillings)) {
      filling_free(&made);
      return CPB_ENOMEM;
    }
    s->filling_room = room;
  }
  made.tag = s->filling_tag++;
  s->fillings[s->filling_count++] = made;
  s->rounding_bound = fmax(s->rounding_bound, 2 * s->unit_error * column.size);
  bool improved;
  cpb_status status = cpb_hull_enter(&s->hull, column.p, column.q, made.tag, &improved);
  *better |= improved;
  dual->lower = fmax(dual->lower, !dual->squares ? s->hull.value
                                                 : cpb_hull_proven(&s->hull, s->rounding_bound, s->unit_error,
                                                                   dual->x.rows));
  forget_unused(s);
  return status;
}

static cpb_status enter_filling(solver *s, bool *better) {
  size_t words = (s->dual->x.rows + 63) / 64;
  filling made = {.bits = malloc(words * sizeof *made.bits), .parts = malloc(sizeof *made.parts)};
  if (made.bits == NULL || made.parts == NULL) {
    filling_free(&made);
    return CPB_ENOMEM;
  }
  memcpy(made.bits, s->now.bits, words * sizeof *made.bits);
  made.part_count = 1;
  made.parts[0] = (cpb_ranked){s->now.edge_weight, capped_name(s, s->now.edge)};
  return enter(s, made, s->now.column, better);
}

/* Enters multipliers better than the hull's, using the rows near the edge of s->now. */
static cpb_status improve(solver *s, bool *better) {
  margin_rows margin = {0};
  filling made = {0};
  hull_column column = {.p = s->center + 2 * s->d};
  double height = 0;
  cpb_status status = margin_init(&margin, s);
  for (size_t k = 0; k < s->hull.count; k++) height += s->hull.column[k].weight * s->hull.column[k].q;
  if (status == CPB_OK) status = solve_margin(s, &margin, height);
  if (status == CPB_OK) {
    change_column(s, &margin, height, &column);
    status = write_rows(s, &margin, &made);
  }
  cpb_memory_free(&margin.memory);
  cpb_working_set_free(&margin.set);
  free(margin.bits);
  return status == CPB_OK ? enter(s, made, column, better) : status;
}

/* ---- the iteration ---- */

static cpb_status solver_init(solver *s, cpb_capped_dual *dual) {
  size_t n = dual->x.rows, d = dual->x.cols, blocks = n / CAPPED_BLOCK + 1, words = (n + 63) / 64;
  cpb_memory *m = &s->memory;
  *s = (solver){.dual = dual, .d = d, .last_edge = NAN};
  set_rows(s, dual->x);
  s->unit_error = cpb_sum_error(d, n / CAPPED_BLOCK);
  s->score = cpb_memory_take(m, n, sizeof *s->score);
  s->candidates = cpb_memory_take(m, n, sizeof *s->candidates);
  s->center = cpb_memory_take(m, 3 * d, sizeof *s->center);
  s->partial = cpb_memory_take(m, blocks * 2 * d, sizeof *s->partial);
  s->sums = cpb_memory_take(m, blocks, sizeof *s->sums);
  s->now.bits = cpb_memory_take(m, words, sizeof *s->now.bits);
  s->now.column.p = cpb_memory_take(m, d, sizeof *s->now.column.p);
  s->full.bits = cpb_memory_zeros(m, words, sizeof *s->full.bits);
  s->full.column = cpb_memory_zeros(m, d, sizeof *s->full.column);
  cpb_status status = cpb_hull_init(&s->hull, dual->loops, d, 1);
  return m->failed ? CPB_ENOMEM : status;
}

static void keep_best(solver *s, const double *point) {
  cpb_capped_dual *dual = s->dual;
  dual->upper = s->now.value;
  dual->edge = s->now.edge_score;
  memcpy(dual->point, point, s->d * sizeof *point);
  if (dual->center != NULL) memcpy(dual->center, s->center, s->d * sizeof *s->center);
}

/* A start that is farther from the mean than the rows are does not help, and its numbers are large. */
static bool begin_at_mean(const solver *s, double *point) {
  double norm2 = s->dual->loops->dot(point, point, s->d);
  if (!s->dual->squares || s->hull.count > 0 || norm2 <= s->now.value / 2) return false;
  memset(point, 0, s->d * sizeof *point);
  return true;
}

/* Scores at `point`, updates the bounds, and enters the new column into the hull. */
static cpb_status iterate(solver *s, double *point, bool *done, bool *better) {
  cpb_capped_dual *dual = s->dual;
  capped_score(s, point);
  capped_fill(s, point);
  dual->iterations++;
  bool best = s->now.value < dual->upper;
  if (best) keep_best(s, point);
  double size = dual->squares ? dual->upper : fabs(dual->lower);
  *done = s->hull.count > 0 && dual->upper - dual->lower <= dual->gap * size;
  if (*done || begin_at_mean(s, point)) return CPB_OK;
  if (s->hull.count == 0 && dual->squares && s->now.value > 0) s->hull.unit = sqrt(s->now.value);
  *better = false;
  bool margin = dual->squares && s->hull.count > 0 && dual->iterations >= MARGIN_FROM;
  cpb_status status = margin ? improve(s, better) : CPB_OK;
  if (status == CPB_OK) status = enter_filling(s, better);
  if (status != CPB_OK) return status;
  if (dual->squares && s->hull.count > 0 && best) capped_leave_decided(s, point);
  s->moved = sqrt(dual->loops->dist2(point, s->hull.point, s->d)) * (1 + 1e-9);
  memcpy(point, s->hull.point, s->d * sizeof *point);
  return CPB_OK;
}

/* The best point must be checked against all rows if those left out may matter there. */
static bool must_look_again(solver *s, double *point) {
  bool hold = true;
  for (size_t k = 0; k < s->decision_count; k++) {
    double moved = sqrt(s->dual->loops->dist2(s->dual->point, s->decisions[k].point, s->d));
    hold &= 2 * moved * (1 + 1e-9) < s->decisions[k].slack;
  }
  if (hold) return false;
  capped_take_all_back(s);
  s->dual->upper = INFINITY;
  memcpy(point, s->dual->point, s->d * sizeof *point);
  return true;
}

double cpb_gap_progress(double gap, double wanted) {
  if (!(gap < 1)) return 0;
  wanted = fmax(wanted, 1e-15);
  return gap <= wanted ? 1 : cpb_log(gap) / cpb_log(wanted);
}

static cpb_status run(solver *s) {
  cpb_capped_dual *dual = s->dual;
  double *point = s->center + s->d;
  bool done = false, better;
  int stalls = 0;
  double told = 0;
  cpb_status status = CPB_OK;
  memcpy(point, dual->point, s->d * sizeof *point);
  while (status == CPB_OK) {
    bool over = done || dual->iterations >= dual->max_iterations || stalls >= STALLS;
    if (over && !must_look_again(s, point)) break;
    better = true;
    told = fmax(told, cpb_gap_progress((dual->upper - dual->lower) / dual->upper, dual->gap));
    status = cpb_exec_tell(dual->exec, told, dual->error);
    if (status == CPB_OK) status = iterate(s, point, &done, &better);
    stalls = better ? 0 : stalls + 1;
  }
  if (status == CPB_OK && dual->multipliers != NULL) capped_multipliers(s, dual->multipliers);
  return status;
}

cpb_status cpb_capped_dual_solve(cpb_capped_dual *dual) {
  solver s;
  cpb_status status = solver_init(&s, dual);
  dual->upper = INFINITY;
  dual->lower = -INFINITY;
  dual->iterations = 0;
  if (status == CPB_OK) status = run(&s);
  for (size_t k = 0; k < s.filling_count; k++) filling_free(&s.fillings[k]);
  free(s.fillings);
  cpb_memory_free(&s.memory);
  cpb_memory_free(&s.kept);
  cpb_hull_free(&s.hull);
  return status;
}
