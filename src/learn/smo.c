#include "learn/smo.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/best.h"
#include "learn/capped_dual.h"
#include "parallel/tell.h"

enum { CACHE_BYTES = 1 << 28, STEPS_PER_ROW = 1000, LOOKS = 64 };

/* Row i of g, cached in place of the least recently used one; never replaces the row used just before. */
static const double *row_of(cpb_smo *m, size_t i) {
  size_t slot = m->slot[i];
  if (slot == m->room) {
    slot = 0;
    for (size_t s = 1; s < m->room; s++)
      if (m->used[s] < m->used[slot]) slot = s;
    if (m->owner[slot] < m->n) m->slot[m->owner[slot]] = m->room;
    m->owner[slot] = i;
    m->slot[i] = slot;
    m->row(m->context, i, m->cache + slot * m->n);
  }
  m->used[slot] = ++m->now;
  return m->cache + slot * m->n;
}

static cpb_status make_room(cpb_smo *m) {
  size_t n = m->n, room = CACHE_BYTES / sizeof(double) / n;
  m->room = room < 2 ? 2 : room > n + 1 ? n + 1 : room;
  m->slope = malloc(n * sizeof *m->slope);
  m->cache = malloc(m->room * n * sizeof *m->cache);
  m->owner = malloc(m->room * sizeof *m->owner);
  m->slot = malloc(n * sizeof *m->slot);
  m->used = calloc(m->room, sizeof *m->used);
  if (m->slope == NULL || m->cache == NULL || m->owner == NULL || m->slot == NULL || m->used == NULL)
    return CPB_ENOMEM;
  for (size_t s = 0; s < m->room; s++) m->owner[s] = n;
  for (size_t i = 0; i < n; i++) m->slot[i] = m->room;
  return CPB_OK;
}

static void give_back(cpb_smo *m) {
  free(m->slope);
  free(m->cache);
  free(m->owner);
  free(m->slot);
  free(m->used);
}

void cpb_smo_start(const double *cap, size_t n, double *a) {
  double left = 1;
  for (size_t i = 0; i < n; i++) {
    a[i] = fmin(cap[i], left);
    left -= a[i];
  }
}

static double height_of(const cpb_smo *m, size_t i) { return m->height == NULL ? 0 : m->height[i]; }

static void find_slopes(cpb_smo *m) {
  for (size_t i = 0; i < m->n; i++) m->slope[i] = height_of(m, i);
  for (size_t i = 0; i < m->n; i++) {
    if (m->a[i] <= 0) continue;
    const double *row = row_of(m, i);
    for (size_t j = 0; j < m->n; j++) m->slope[j] -= 2 * m->a[i] * row[j];
  }
}

/* The row that gains most from more weight; n when none can take any. */
static size_t most_eager(const cpb_smo *m) {
  size_t best = m->n;
  for (size_t i = 0; i < m->n; i++)
    if (m->a[i] < m->cap[i] && (best == m->n || m->slope[i] > m->slope[best])) best = i;
  return best;
}

/* The row whose weight gains most when moved to `to`, and the largest difference of slopes. */
static size_t best_giver(const cpb_smo *m, size_t to, const double *row, double *violation) {
  size_t best = m->n;
  double most = 0;
  *violation = 0;
  for (size_t j = 0; j < m->n; j++) {
    double difference = m->slope[to] - m->slope[j];
    if (m->a[j] <= 0 || difference <= 0) continue;
    double curve = fmax(m->diagonal[to] + m->diagonal[j] - 2 * row[j], 1e-15 * m->diagonal[to]);
    double gain = difference * difference / curve;
    *violation = fmax(*violation, difference);
    if (gain > most) {
      most = gain;
      best = j;
    }
  }
  return best;
}

static void move_weight(cpb_smo *m, size_t to, size_t from, const double *to_row) {
  double curve = fmax(m->diagonal[to] + m->diagonal[from] - 2 * to_row[from], 1e-15 * m->diagonal[to]);
  double t = (m->slope[to] - m->slope[from]) / (2 * curve);
  t = fmin(t, fmin(m->cap[to] - m->a[to], m->a[from]));
  const double *from_row = row_of(m, from);
  /* exact at the ends, so that a full row is full and an empty one empty */
  m->a[to] = t == m->cap[to] - m->a[to] ? m->cap[to] : m->a[to] + t;
  m->a[from] = t == m->a[from] ? 0 : m->a[from] - t;
  for (size_t j = 0; j < m->n; j++) m->slope[j] -= 2 * t * (to_row[j] - from_row[j]);
}

cpb_status cpb_smo_fill(const double *slope, const double *cap, size_t n, double *part, double *value,
                        double *edge) {
  cpb_ranked *order = malloc(n * sizeof *order);
  if (order == NULL) return CPB_ENOMEM;
  for (size_t i = 0; i < n; i++) order[i] = (cpb_ranked){-slope[i], i};
  cpb_ranked_sort(order, n);
  double left = 1;
  *value = 0;
  for (size_t k = 0; k < n; k++) {
    double taken = fmin(cap[order[k].id], left);
    left -= taken;
    *value += taken * -order[k].key;
    if (taken > 0) *edge = -order[k].key;
    if (part != NULL) part[order[k].id] = taken;
  }
  free(order);
  return CPB_OK;
}

/* Both bounds at the present multipliers. norm2 = sum a (q - D)/2. */
static cpb_status judge(cpb_smo *m) {
  double heights = 0;
  cpb_status status = cpb_smo_fill(m->slope, m->cap, m->n, NULL, &m->upper, &m->edge);
  m->norm2 = 0;
  for (size_t i = 0; i < m->n; i++) {
    heights += m->a[i] * height_of(m, i);
    m->norm2 += m->a[i] * (height_of(m, i) - m->slope[i]) / 2;
  }
  m->upper += m->norm2;
  m->lower = heights - m->norm2;
  return status;
}

/* Rows in part, 0 < a < cap, all have the slope of the edge, and their mean has less rounding noise. */
static void edge_of_free_rows(cpb_smo *m) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < m->n; i++) {
    double share = m->a[i] * (m->cap[i] - m->a[i]);
    sum += share * m->slope[i];
    weight += share;
  }
  if (weight > 0) m->edge = sum / weight;
}

/* Subtracts what the sums over the support, and the products over the columns before them, can have added to
 * `lower`. */
static void take_rounding_off(cpb_smo *m) {
  double size = 0, support = 0;
  for (size_t i = 0; i < m->n; i++) {
    size += m->a[i] * m->diagonal[i];
    support += m->a[i] > 0;
  }
  m->lower -= 4 * (support + (double)m->n / 64 + 128) * DBL_EPSILON * size;
}

static cpb_status iterate(cpb_smo *m) {
  double told = 0;
  size_t limit = STEPS_PER_ROW * m->n + 100000;
  find_slopes(m);
  cpb_status status = judge(m);
  while (status == CPB_OK && m->iterations < limit) {
    size_t to = most_eager(m);
    if (to == m->n) break;
    double violation;
    const double *row = row_of(m, to);
    size_t from = best_giver(m, to, row, &violation);
    if (from == m->n || violation <= 0.5 * m->gap * fabs(m->upper) || violation <= 0x1p-51 * m->diagonal[to])
      break;
    move_weight(m, to, from, row);
    if (++m->iterations % (4 * m->n) == 0) status = judge(m);
    if (status == CPB_OK && m->iterations % LOOKS == 0) {
      told = fmax(told, cpb_gap_progress(violation / fabs(m->upper), m->gap));
      status = cpb_exec_tell(m->exec, told, m->error);
    }
  }
  if (status == CPB_OK) find_slopes(m); /* again: the steps accumulate rounding errors in them */
  if (status == CPB_OK) status = judge(m);
  if (status == CPB_OK) take_rounding_off(m);
  if (status == CPB_OK) edge_of_free_rows(m);
  return status;
}

cpb_status cpb_smo_solve(cpb_smo *smo) {
  smo->iterations = 0;
  cpb_status status = make_room(smo);
  if (status == CPB_OK) status = iterate(smo);
  give_back(smo);
  return status;
}
