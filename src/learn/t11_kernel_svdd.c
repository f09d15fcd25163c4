/* T11 with a Mercer kernel. D_i = k_ii - 2 (Ka)_i is the squared distance to the centre but for a
 * constant. Optimal multipliers fill the largest D first; as long as a row that can give has a smaller
 * D than one that can take, weight moves between such a pair, the one that gains most. The largest such
 * difference bounds the gap, because the multipliers add up to 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/row_state.h"
#include "capball/svdd.h"
#include "core/fail.h"

enum { CACHE_BYTES = 1 << 28, STEPS_PER_ROW = 1000 };

static cpb_status check_kernel(const cpb_kernel *kernel, cpb_error *error) {
  if (kernel == NULL || kernel->kind > CPB_KERNEL_POLYNOMIAL)
    return cpb_fail(error, CPB_EINVAL, "kernel must be linear, rbf or polynomial");
  if (kernel->kind != CPB_KERNEL_LINEAR && !(kernel->gamma > 0 && kernel->gamma < INFINITY))
    return cpb_fail(error, CPB_EINVAL, "gamma of the kernel must be > 0 and finite, got %.17g",
                    kernel->gamma);
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && !(kernel->offset >= 0 && kernel->offset < INFINITY))
    return cpb_fail(error, CPB_EINVAL, "offset of the kernel must be >= 0 and finite, got %.17g",
                    kernel->offset);
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && kernel->degree == 0)
    return cpb_fail(error, CPB_EINVAL, "degree of the kernel must be >= 1, got 0");
  return CPB_OK;
}

static double row_product(const cpb_loops *loops, cpb_view x, size_t i, cpb_view y, size_t j) {
  double a[CPB_CHUNK], b[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    sum += loops->dot(cpb_row_chunk(loops, x, i, offset, count, a),
                      cpb_row_chunk(loops, y, j, offset, count, b), count);
  }
  return sum;
}

static double of_products(const cpb_kernel *kernel, double xx, double xy, double yy) {
  switch (kernel->kind) {
  case CPB_KERNEL_RBF: return exp(-kernel->gamma * fmax(0, (xx - xy) + (yy - xy)));
  case CPB_KERNEL_POLYNOMIAL: return pow(kernel->gamma * xy + kernel->offset, kernel->degree);
  default: return xy;
  }
}

cpb_status cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z,
                          cpb_error *error) {
  cpb_status status = check_kernel(kernel, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status == CPB_OK) status = cpb_check_view(y, "y", x.cols, error);
  if (status == CPB_OK && i >= x.rows)
    status = cpb_fail(error, CPB_EINVAL, "row %zu of x does not exist: it has %zu", i, x.rows);
  if (status != CPB_OK) return status;
  const cpb_loops *loops = cpb_loops_here();
  bool squares = kernel->kind == CPB_KERNEL_RBF;
  double xx = squares ? row_product(loops, x, i, x, i) : 0;
  for (size_t j = 0; j < y.rows; j++)
    z[j] =
        of_products(kernel, xx, row_product(loops, x, i, y, j), squares ? row_product(loops, y, j, y, j) : 0);
  return CPB_OK;
}

typedef struct machine {
  const cpb_loops *loops;
  const cpb_exec *exec;
  const cpb_kernel *kernel;
  cpb_view x;
  size_t n, room;
  double *norm2, *diagonal, *slope; /* <x,x>, k_ii, D_i */
  double *a, *cap;
  double *cache;  /* room rows of n */
  size_t *owner;  /* row kept in a slot, n: none */
  size_t *slot;   /* slot of a row, room: none */
  uint64_t *used; /* when a slot was used last */
  uint64_t now;
} machine;

typedef struct row_job {
  const machine *m;
  size_t row;
  double *to;
} row_job;

static void kernel_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  const row_job *job = argument;
  const machine *m = job->m;
  for (size_t j = first; j < first + count; j++)
    job->to[j] = of_products(m->kernel, m->norm2[job->row], row_product(m->loops, m->x, job->row, m->x, j),
                             m->norm2[j]);
}

/* Row i of the kernel matrix, kept in place of the one that was not used for longest; never the one
 * used just before. */
static const double *kernel_row(machine *m, size_t i) {
  size_t slot = m->slot[i];
  if (slot == m->room) {
    slot = 0;
    for (size_t s = 1; s < m->room; s++)
      if (m->used[s] < m->used[slot]) slot = s;
    if (m->owner[slot] < m->n) m->slot[m->owner[slot]] = m->room;
    m->owner[slot] = i;
    m->slot[i] = slot;
    row_job job = {m, i, m->cache + slot * m->n};
    cpb_blocks blocks = {m->n, cpb_blocks_rows(m->x.cols), kernel_block, &job};
    cpb_blocks_run(&blocks, m->exec);
  }
  m->used[slot] = ++m->now;
  return m->cache + slot * m->n;
}

static cpb_status machine_init(machine *m, cpb_view x, const cpb_kernel *kernel, const cpb_exec *exec) {
  size_t n = x.rows, room = CACHE_BYTES / sizeof(double) / n;
  *m = (machine){.loops = cpb_loops_here(), .exec = exec, .kernel = kernel, .x = x, .n = n};
  m->room = room < 2 ? 2 : room > n + 1 ? n + 1 : room;
  m->norm2 = malloc(4 * n * sizeof *m->norm2);
  m->cache = malloc(m->room * n * sizeof *m->cache);
  m->owner = malloc(m->room * sizeof *m->owner);
  m->slot = malloc(n * sizeof *m->slot);
  m->used = calloc(m->room, sizeof *m->used);
  if (m->norm2 == NULL || m->cache == NULL || m->owner == NULL || m->slot == NULL || m->used == NULL)
    return CPB_ENOMEM;
  m->diagonal = m->norm2 + n;
  m->slope = m->norm2 + 2 * n;
  m->cap = m->norm2 + 3 * n;
  for (size_t s = 0; s < m->room; s++) m->owner[s] = n;
  for (size_t i = 0; i < n; i++) m->slot[i] = m->room;
  return CPB_OK;
}

static void machine_free(machine *m) {
  free(m->norm2);
  free(m->cache);
  free(m->owner);
  free(m->slot);
  free(m->used);
}

/* Norms and the diagonal; EROW for a row that is not finite. */
static cpb_status look_at_rows(machine *m, cpb_error *error) {
  for (size_t i = 0; i < m->n; i++) {
    int fault = cpb_row_fault(m->loops, m->x, i);
    if (fault != 0) {
      cpb_first_fault first;
      cpb_first_fault_init(&first);
      cpb_first_fault_meet(&first, i, (cpb_fault)fault);
      return cpb_first_fault_report(&first, "x", error);
    }
    m->norm2[i] = row_product(m->loops, m->x, i, m->x, i);
    m->diagonal[i] = of_products(m->kernel, m->norm2[i], m->norm2[i], m->norm2[i]);
  }
  return CPB_OK;
}

/* A feasible start: the caps of the first rows, as many as add up to 1. */
static void fill_start(machine *m) {
  double left = 1;
  for (size_t i = 0; i < m->n; i++) {
    m->a[i] = fmin(m->cap[i], left);
    left -= m->a[i];
    m->slope[i] = m->diagonal[i];
  }
  for (size_t i = 0; i < m->n; i++) {
    if (m->a[i] <= 0) continue;
    const double *row = kernel_row(m, i);
    for (size_t j = 0; j < m->n; j++) m->slope[j] -= 2 * m->a[i] * row[j];
  }
}

/* The row that most wants weight; n when none can take any. */
static size_t most_eager(const machine *m) {
  size_t best = m->n;
  for (size_t i = 0; i < m->n; i++)
    if (m->a[i] < m->cap[i] && (best == m->n || m->slope[i] > m->slope[best])) best = i;
  return best;
}

/* The row whose weight gains most when it goes to `to`, and the largest difference of slopes. */
static size_t best_giver(const machine *m, size_t to, const double *row, double *violation) {
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

static void move_weight(machine *m, size_t to, size_t from, const double *to_row) {
  double curve = fmax(m->diagonal[to] + m->diagonal[from] - 2 * to_row[from], 1e-15 * m->diagonal[to]);
  double t = (m->slope[to] - m->slope[from]) / (2 * curve);
  t = fmin(t, fmin(m->cap[to] - m->a[to], m->a[from]));
  const double *from_row = kernel_row(m, from);
  /* exact at the ends, so that a full row is full and an empty one empty */
  m->a[to] = t == m->cap[to] - m->a[to] ? m->cap[to] : m->a[to] + t;
  m->a[from] = t == m->a[from] ? 0 : m->a[from] - t;
  for (size_t j = 0; j < m->n; j++) m->slope[j] -= 2 * t * (to_row[j] - from_row[j]);
}

typedef struct edge {
  double slope;
  size_t row;
} edge;

static int by_slope_down(const void *a, const void *b) {
  const edge *x = a, *y = b;
  return x->slope != y->slope ? (x->slope < y->slope ? 1 : -1) : (x->row > y->row) - (x->row < y->row);
}

/* Both bounds at the present multipliers, and the radius. norm2 = sum a (k_ii - D_i)/2. */
static cpb_status judge(const machine *m, double *norm2, cpb_svdd_report *report) {
  edge *order = malloc(m->n * sizeof *order);
  if (order == NULL) return CPB_ENOMEM;
  double left = 1, upper = 0, lower = 0, edge_slope = 0;
  *norm2 = 0;
  for (size_t i = 0; i < m->n; i++) {
    order[i] = (edge){m->slope[i], i};
    *norm2 += m->a[i] * (m->diagonal[i] - m->slope[i]) / 2;
    lower += m->a[i] * m->diagonal[i];
  }
  qsort(order, m->n, sizeof *order, by_slope_down);
  for (size_t k = 0; k < m->n && left > 0; k++) {
    double part = fmin(m->cap[order[k].row], left);
    upper += part * order[k].slope;
    left -= part;
    if (part > 0) edge_slope = order[k].slope;
  }
  free(order);
  report->objective = upper + *norm2;
  report->lower_bound = fmin(fmax(lower - *norm2, 0), report->objective);
  report->radius = sqrt(fmax(edge_slope + *norm2, 0));
  report->gap = report->objective > 0 ? (report->objective - report->lower_bound) / report->objective : 0;
  return CPB_OK;
}

/* The radius at free rows, 0 < a < cap: they lie on the sphere, and their mean carries less noise. */
static void radius_of_free_rows(const machine *m, double norm2, cpb_svdd_report *report) {
  double sum = 0, weight = 0;
  for (size_t i = 0; i < m->n; i++) {
    double share = m->a[i] * (m->cap[i] - m->a[i]);
    sum += share * m->slope[i];
    weight += share;
  }
  if (weight > 0) report->radius = sqrt(fmax(sum / weight + norm2, 0));
}

static cpb_status iterate(machine *m, const cpb_svdd_options *options, double *norm2,
                          cpb_svdd_report *report) {
  size_t limit = STEPS_PER_ROW * m->n + 100000;
  fill_start(m);
  cpb_status status = judge(m, norm2, report);
  while (status == CPB_OK && report->iterations < limit) {
    size_t to = most_eager(m);
    if (to == m->n) break;
    double violation;
    const double *row = kernel_row(m, to);
    size_t from = best_giver(m, to, row, &violation);
    if (from == m->n || violation <= 0.5 * options->gap * report->objective ||
        violation <= 0x1p-51 * m->diagonal[to])
      break;
    move_weight(m, to, from, row);
    if (++report->iterations % (4 * m->n) == 0) status = judge(m, norm2, report);
  }
  if (status == CPB_OK) status = judge(m, norm2, report);
  if (status == CPB_OK) radius_of_free_rows(m, *norm2, report);
  return status;
}

static cpb_status set_caps(machine *m, const cpb_svdd_options *options, cpb_error *error) {
  double sum = 0;
  for (size_t i = 0; i < m->n; i++) {
    m->cap[i] = options->weights == NULL ? 1 : options->weights[i];
    if (!(m->cap[i] >= 0 && m->cap[i] < INFINITY))
      return cpb_fail_row(error, CPB_EINVAL, i, "weight of row %zu must be >= 0 and finite, got %.17g", i,
                          m->cap[i]);
    sum += m->cap[i];
  }
  if (!(sum > 0)) return cpb_fail(error, CPB_EINVAL, "all %zu weights are 0", m->n);
  for (size_t i = 0; i < m->n; i++) m->cap[i] = fmin(1, m->cap[i] / (options->nu * sum));
  return CPB_OK;
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cpb_status check_call(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                             cpb_error *error) {
  cpb_status status = check_kernel(kernel, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.rows == 0 || x.cols == 0)
    return cpb_fail(error, CPB_EINVAL, "x has %zu rows of %zu columns: there is no ball", x.rows, x.cols);
  if (!(options->nu > 0 && options->nu <= 1))
    return cpb_fail(error, CPB_EINVAL, "nu must lie in (0,1], got %.17g", options->nu);
  if (options->nu * (double)x.rows < 1 - 1e-12)
    return cpb_fail(error, CPB_EINVAL, "nu n must be >= 1, got %.17g times %zu rows", options->nu, x.rows);
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail(error, CPB_EINVAL, "gap must be >= 0 and finite, got %.17g", options->gap);
  if (options->method != CPB_SVDD_EXACT)
    return cpb_fail(error, CPB_EINVAL, "a kernel goes with method exact only");
  return CPB_OK;
}

cpb_status cpb_kernel_svdd(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                           double *multipliers, double *norm2, cpb_svdd_report *report, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_svdd_options defaults = cpb_svdd_options_default();
  cpb_svdd_report ours = {0};
  double began = seconds_now(), ours_norm2;
  if (options == NULL) options = &defaults;
  if (multipliers == NULL) return cpb_fail(error, CPB_EINVAL, "multipliers must not be NULL");
  cpb_status status = check_call(x, kernel, options, error);
  if (status != CPB_OK) return status;
  machine m;
  status = machine_init(&m, x, kernel, exec);
  if (status != CPB_OK) status = cpb_fail(error, status, "no memory for kernel rows of %zu numbers", x.rows);
  if (status == CPB_OK) status = set_caps(&m, options, error);
  if (status == CPB_OK) status = look_at_rows(&m, error);
  if (status == CPB_OK) {
    m.a = multipliers;
    status = iterate(&m, options, &ours_norm2, &ours);
    if (status != CPB_OK) status = cpb_fail(error, status, "no memory for %zu rows", x.rows);
  }
  if (status == CPB_OK) {
    for (size_t i = 0; i < x.rows; i++) ours.support += multipliers[i] > 0;
    ours.converged = ours.gap <= options->gap;
    ours.seconds = seconds_now() - began;
    if (norm2 != NULL) *norm2 = ours_norm2;
    if (report != NULL) *report = ours;
  }
  machine_free(&m);
  return status;
}
