/* Decided rows. The best centre is within sqrt(gap) of the present one, because the upper bound grows at least
 * like the square of the distance from it; so every distance, and with it the edge, changes by at most that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/distances.h"
#include "learn/capped_dual_parts.h"

typedef cpb_capped_solver solver;

enum { GROUP = 64, MOST_DECISIONS = 64 };

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

static bool in_question(const solver *s, decided known, size_t i) {
  return (s->score[i] >= known.inside) &
         (s->score[i] <= known.outside); /* no branch: it would be unpredictable */
}

static bool note_decision(solver *s, const double *point, double slack) {
  if (s->decisions == NULL) s->decisions = calloc(MOST_DECISIONS, sizeof *s->decisions);
  if (s->decisions == NULL || s->decision_count == MOST_DECISIONS) return false;
  double *kept = malloc(s->d * sizeof *kept);
  if (kept == NULL) return false;
  memcpy(kept, point, s->d * sizeof *kept);
  s->decisions[s->decision_count++] = (cpb_decision){kept, slack};
  return true;
}

bool cpb_capped_decisions_hold(const solver *s, const double *point) {
  for (size_t k = 0; k < s->decision_count; k++)
    if (!(2 * sqrt(s->dual->loops->dist2(point, s->decisions[k].point, s->d)) * (1 + 1e-9) <
          s->decisions[k].slack))
      return false;
  return true;
}

/* Sums of the rows that become permanently full: rows in groups, groups in blocks. */
typedef struct full_sum {
  double *row, *group, *block, *total;
  cpb_twofold squares;
  size_t count;
} full_sum;

static void keep_full_row(solver *s, full_sum *sum, size_t i) {
  size_t name = cpb_capped_name(s, i);
  double cap = cpb_capped_cap(s, i);
  memset(sum->row, 0, s->d * sizeof *sum->row);
  cpb_capped_add_row(s, i, 1, sum->row);
  s->full.bits[name / 64] |= (uint64_t)1 << name % 64;
  cpb_cap_sum_add(s, &s->full.cap, i);
  cpb_twofold_add(&sum->squares, cap * s->dual->loops->dot(sum->row, sum->row, s->d));
  s->dual->loops->axpby(cap, sum->row, 1, sum->group, sum->group, s->d);
  if (++sum->count % GROUP == 0) cpb_capped_move_sum(sum->group, sum->block, s->d);
  if (sum->count % (GROUP * GROUP) == 0) cpb_capped_move_sum(sum->block, sum->total, s->d);
}

/* Allocates memory for a decision, all or nothing. */
static bool decision_alloc(solver *s, size_t count, double **copies, double **caps, size_t **name,
                           double **sums) {
  size_t all = s->dual->x.rows;
  bool weighted = s->dual->caps != NULL;
  *copies = malloc(count * s->d * sizeof **copies);
  *caps = weighted ? malloc(count * sizeof **caps) : NULL;
  *name = malloc(count * sizeof **name);
  *sums = calloc(3 * s->d, sizeof **sums);
  if (s->full.bits == NULL) s->full.bits = calloc((all + 63) / 64, sizeof *s->full.bits);
  if (s->full.column == NULL) s->full.column = calloc(s->d, sizeof *s->full.column);
  if (*copies != NULL && (*caps != NULL || !weighted) && *name != NULL && *sums != NULL &&
      s->full.bits != NULL && s->full.column != NULL)
    return true;
  free(*copies);
  free(*caps);
  free(*name);
  free(*sums);
  return false;
}

static void use_copies(solver *s, size_t count, double *copies, double *caps, size_t *name) {
  free(s->copies);
  free(s->caps);
  free(s->name);
  s->copies = copies;
  s->caps = caps;
  s->name = name;
  s->x = cpb_rows(copies, CPB_F64, count, s->d);
  s->n = count;
  s->blocks = count / CPB_CAPPED_BLOCK + (count % CPB_CAPPED_BLOCK != 0);
}

void cpb_capped_leave_decided(solver *s, const double *point) {
  size_t count = 0, at = 0, *name;
  double *copies, *caps, *sums;
  decided known = decide(s);
  for (size_t i = 0; i < s->n; i++) count += in_question(s, known, i);
  if (count == 0 || count > s->n / 2 || !decision_alloc(s, count, &copies, &caps, &name, &sums)) return;
  if (!note_decision(s, point, known.slack)) {
    free(copies);
    free(caps);
    free(name);
    free(sums);
    return;
  }
  full_sum sum = {sums, sums + s->d, sums + 2 * s->d, s->full.column, {s->full.squares, 0}, 0};
  for (size_t i = 0; i < s->n; i++) {
    if (!in_question(s, known, i)) {
      if (s->score[i] > known.outside) keep_full_row(s, &sum, i);
      continue;
    }
    cpb_scaled_row(s->dual->loops, s->x, 0, i, copies + at * s->d);
    if (caps != NULL) caps[at] = cpb_capped_cap(s, i);
    name[at++] = cpb_capped_name(s, i);
  }
  cpb_capped_move_sum(sum.group, sum.block, s->d);
  cpb_capped_move_sum(sum.block, sum.total, s->d);
  s->full.squares = cpb_twofold_value(sum.squares);
  free(sums);
  use_copies(s, count, copies, caps, name);
}

void cpb_capped_take_all_back(solver *s) {
  free(s->copies);
  free(s->caps);
  free(s->name);
  s->copies = s->caps = NULL;
  s->name = NULL;
  for (size_t k = 0; k < s->decision_count; k++) free(s->decisions[k].point);
  s->decision_count = 0;
  s->full.cap = (cpb_cap_sum){0};
  s->full.squares = 0;
  if (s->full.column != NULL) memset(s->full.column, 0, s->d * sizeof *s->full.column);
  if (s->full.bits != NULL) memset(s->full.bits, 0, (s->dual->x.rows + 63) / 64 * sizeof *s->full.bits);
  s->x = s->dual->x;
  s->n = s->x.rows;
  s->blocks = s->n / CPB_CAPPED_BLOCK + (s->n % CPB_CAPPED_BLOCK != 0);
  s->last_edge = NAN;
}
