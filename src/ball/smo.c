#include "ball/smo.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/best.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "ball/capped_dual.h"
#include "base/tell.h"

/* The concave form of capped_dual.h where only products of rows are known:
 *
 *   maximise  sum a_i q_i - sum a_i a_j g_ij      over  0 <= a_i <= cap_i, sum a = 1
 *
 * D_i = q_i - 2 (ga)_i is its slope. Optimal multipliers fill the largest D first; as long as a row that can
 * give has a smaller D than one that can take, weight moves between such a pair, the one that gains most. The
 * largest such difference bounds the gap, because the multipliers add up to 1. */

cpb_status cpb_check_kernel(const cpb_kernel *kernel, cpb_error *error) {
  if (kernel == NULL) return cpb_fail_missing(error, "kernel");
  if (kernel->kind > CPB_KERNEL_POLYNOMIAL) return cpb_fail_choice(error, "kernel", (int)kernel->kind);
  if (kernel->kind != CPB_KERNEL_LINEAR && !(kernel->gamma > 0 && kernel->gamma < INFINITY))
    return cpb_fail_domain(error, "gamma", kernel->gamma, "gamma of the kernel must be > 0 and finite");
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && !(kernel->offset >= 0 && kernel->offset < INFINITY))
    return cpb_fail_domain(error, "offset", kernel->offset, "offset of the kernel must be >= 0 and finite");
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && kernel->degree == 0)
    return cpb_fail_count(error, "degree", 0, "degree of the kernel must be >= 1");
  return CPB_OK;
}

/* loops->dot or loops->dist2 of two rows. */
static double of_rows(const cpb_loops *loops, double (*fold)(const double *, const double *, size_t),
                      cpb_view x, size_t i, cpb_view y, size_t j) {
  double a[CPB_CHUNK], b[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    sum += fold(cpb_row_chunk(loops, x, i, offset, count, a), cpb_row_chunk(loops, y, j, offset, count, b),
                count);
  }
  return sum;
}

/* gamma |x-y|^2 where |x-y|^2 alone is not a normal double: by halves and twice the root of gamma. */
static double scaled_dist2(double gamma, cpb_view x, size_t i, cpb_view y, size_t j) {
  double root = 2 * sqrt(gamma), sum = 0;
  for (size_t k = 0; k < x.cols; k++) {
    double part = root * (cpb_view_at(x, i, k) / 2 - cpb_view_at(y, j, k) / 2);
    sum += part * part;
  }
  return sum;
}

/* By the difference, not by products, which would lose all digits for rows far from 0. */
static double rbf(const cpb_loops *loops, double gamma, cpb_view x, size_t i, cpb_view y, size_t j) {
  double dist2 = of_rows(loops, loops->dist2, x, i, y, j);
  bool normal = dist2 == 0 || (dist2 > 1e-290 && dist2 < INFINITY);
  return cpb_exp(-(normal ? gamma * dist2 : scaled_dist2(gamma, x, i, y, j)));
}

static double kernel_of(const cpb_kernel *kernel, const cpb_loops *loops, cpb_view x, size_t i, cpb_view y,
                        size_t j) {
  if (kernel->kind == CPB_KERNEL_RBF) return rbf(loops, kernel->gamma, x, i, y, j);
  double xy = of_rows(loops, loops->dot, x, i, y, j);
  if (kernel->kind == CPB_KERNEL_LINEAR) return xy;
  return cpb_pow(kernel->gamma * xy + kernel->offset, kernel->degree);
}

void cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t j = 0; j < y.rows; j++) z[j] = kernel_of(kernel, loops, x, i, y, j);
}

typedef struct row_job {
  const cpb_kernel_rows *rows;
  size_t row;
  double *to;
} row_job;

static void kernel_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  const row_job *job = argument;
  const cpb_kernel_rows *m = job->rows;
  for (size_t j = first; j < first + count; j++)
    job->to[j] = m->cap[j] > 0 ? kernel_of(m->kernel, m->loops, m->x, job->row, m->x, j) : 0;
}

void cpb_kernel_rows_row(void *rows, size_t i, double *to) {
  const cpb_kernel_rows *m = rows;
  row_job job = {m, i, to};
  cpb_blocks_run(&(cpb_blocks){m->x.rows, cpb_blocks_rows(m->x.cols), kernel_block, &job}, m->exec);
}

void cpb_kernel_rows_combine(cpb_kernel_rows *rows, const double *a, double *to, double *scratch) {
  size_t n = rows->x.rows;
  memset(to, 0, n * sizeof *to);
  for (size_t i = 0; i < n; i++) {
    if (a[i] == 0) continue;
    cpb_kernel_rows_row(rows, i, scratch);
    rows->loops->axpby(a[i], scratch, 1, to, to, n);
  }
}

static bool any_number(const cpb_kernel_rows *m) {
  for (size_t i = 0; i < m->x.rows; i++)
    for (size_t j = 0; j < m->x.cols && m->cap[i] > 0; j++)
      if (cpb_view_at(m->x, i, j) != 0) return true;
  return false;
}

cpb_status cpb_kernel_rows_look(cpb_kernel_rows *m, cpb_error *error) {
  double largest = 0;
  for (size_t i = 0; i < m->x.rows; i++) {
    m->diagonal[i] = 0;
    if (!(m->cap[i] > 0)) continue;
    int fault = cpb_row_fault(m->loops, m->x, i);
    if (fault != 0) return cpb_fault_report(i, fault, "x", error);
    largest = fmax(largest, of_rows(m->loops, m->loops->dot, m->x, i, m->x, i));
    m->diagonal[i] = kernel_of(m->kernel, m->loops, m->x, i, m->x, i);
    if (!isfinite(m->diagonal[i])) /* if the diagonal is finite, the whole matrix is */
      return cpb_fail_row(error, CPB_WHY_ROW_RANGE, "x", i, "has a k(x,x) too large for a double");
  }
  if (m->kernel->kind != CPB_KERNEL_RBF && largest < 1e-290 && any_number(m))
    return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "x",
                    "the largest <x,x> is %g, no normal double: give the rows another unit", largest);
  return CPB_OK;
}

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

static cpb_status make_room(cpb_smo *m, cpb_memory *memory) {
  size_t n = m->n, room = CACHE_BYTES / sizeof(double) / n;
  m->room = room < 2 ? 2 : room > n + 1 ? n + 1 : room;
  m->slope = cpb_memory_take(memory, n, sizeof *m->slope);
  m->cache = cpb_memory_take(memory, m->room * n, sizeof *m->cache);
  m->owner = cpb_memory_take(memory, m->room, sizeof *m->owner);
  m->slot = cpb_memory_take(memory, n, sizeof *m->slot);
  m->used = cpb_memory_zeros(memory, m->room, sizeof *m->used);
  if (memory->failed) return CPB_ENOMEM;
  for (size_t s = 0; s < m->room; s++) m->owner[s] = n;
  for (size_t i = 0; i < n; i++) m->slot[i] = m->room;
  return CPB_OK;
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

/* Subtracts what rounding of sums and products can have added to `lower`. */
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
  cpb_memory memory = {0};
  smo->iterations = 0;
  cpb_status status = make_room(smo, &memory);
  if (status == CPB_OK) status = iterate(smo);
  cpb_memory_free(&memory);
  return status;
}
