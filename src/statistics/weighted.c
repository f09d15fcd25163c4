#include "statistics/weighted.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loops/ruler.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/memory.h"
#include "loops/vector.h"
#include "loops/block_product.h"
#include "loops/chunk.h"
#include "base/tell.h"

enum { BLOCK = CPB_DIRECTIONS_BLOCK, PANEL = CPB_TILE_COLS, DEPTH = CPB_PRODUCT_DEPTH };

typedef struct direction_job {
  cpb_directions *to;
  cpb_ruler metric;
} direction_job;

/* unit = (x-c)/length. Lengths whose reciprocal is not a normal number are scaled near 1 first. */
static void set_unit(const direction_job *job, size_t row, double length, double *unit) {
  const cpb_ruler *m = &job->metric;
  bool plain = length >= 0x1p-1000 && length <= 0x1p1000;
  int shift = plain ? 0 : -ilogb(length);
  double size = plain ? length : ldexp(length, shift), buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < m->x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(m->x.cols, offset);
    const double *x = cpb_row_chunk(m->loops, m->x, row, offset, count, buffer);
    for (size_t i = 0; i < count; i++) {
      double z = m->c == NULL ? x[i] : x[i] - m->c[offset + i];
      unit[offset + i] = (plain ? z : ldexp(z, shift)) / size;
    }
  }
}

static int set_direction(void *argument, size_t row) {
  const direction_job *job = argument;
  double length;
  int fault = cpb_ruler_length(&job->metric, row, &length);
  if (fault != 0) return fault;
  job->to->norm[row] = length;
  if (length > 0) set_unit(job, row, length, job->to->unit + row * job->to->stride);
  return 0;
}

cpb_status cpb_directions_new(cpb_directions *directions, cpb_memory *memory, cpb_view x,
                              const double *center, const cpb_exec *exec, cpb_error *error) {
  *directions = (cpb_directions){.n = x.rows, .d = x.cols};
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail_no_columns(error, "x");
  if (center != NULL && !cpb_all_finite(center, x.cols))
    return cpb_fail_not_finite(error, "center", "center");
  directions->rows = cpb_round_up(x.rows, CPB_DIRECTIONS_BLOCK);
  directions->stride = cpb_round_up(x.cols, CPB_TILE_COLS);
  directions->unit = cpb_memory_lines(memory, directions->rows, directions->stride * sizeof(double));
  directions->norm = cpb_memory_lines(memory, directions->rows, sizeof(double));
  if (memory->failed) return cpb_fail_memory(error, "%zu rows of %zu numbers", x.rows, x.cols);
  direction_job job = {directions, {.loops = cpb_loops_here(), .x = x, .c = center, .sign = 1}};
  return cpb_rows_run(x.rows, x.cols, set_direction, &job, "x", exec, error);
}

cpb_status cpb_weights_new(cpb_weights *weights, cpb_memory *memory, const cpb_directions *directions,
                           size_t columns, cpb_error *error) {
  *weights = (cpb_weights){.columns = columns};
  weights->stride = cpb_round_up(cpb_round_up(columns + (columns == 0), CPB_TILE_ROWS), CPB_TILE_COLS);
  weights->value = cpb_memory_lines(memory, directions->rows, weights->stride * sizeof(double));
  if (weights->value != NULL) return CPB_OK;
  return cpb_fail_memory(error, "%zu weights of %zu rows", columns, directions->n);
}

/* A sum over tasks: each writes its own matrix, and these are added in order. */
typedef struct pair_job {
  const cpb_loops *loops;
  const cpb_directions *u;
  const cpb_weights *w;
  size_t tall;      /* columns of weights, rounded up to rows of tiles */
  double *partials; /* tasks x columns x columns */
  double *shares;   /* by moments: the sums of each share of the rows */
  atomic_bool out_of_memory;
} pair_job;

typedef void pair_task(void *job, size_t task);

static pair_job job_of(const cpb_directions *u, const cpb_weights *w) {
  return (pair_job){
      .loops = cpb_loops_here(), .u = u, .w = w, .tall = cpb_round_up(w->columns, CPB_TILE_ROWS)};
}

static cpb_status run_tasks(pair_job *job, pair_task *task, size_t tasks, double *sums, const cpb_exec *exec,
                            cpb_error *error) {
  size_t size = job->w->columns * job->w->columns;
  cpb_status status = CPB_OK;
  job->partials = cpb_zero_lines(tasks * size, sizeof(double));
  if (job->partials == NULL) {
    atomic_store(&job->out_of_memory, true);
  } else {
    status = cpb_exec_run_told(exec, tasks, task, job, error);
    memset(sums, 0, size * sizeof *sums);
    for (size_t t = 0; t < tasks; t++)
      for (size_t i = 0; i < size; i++) sums[i] += job->partials[t * size + i];
  }
  free(job->partials);
  if (atomic_load(&job->out_of_memory)) return cpb_fail_memory(error, "sums over pairs");
  return status;
}

/* Zeroed doubles of one task; the job remembers if there is no memory. */
static double *task_zeros(pair_job *job, size_t size) {
  double *zeros = cpb_zero_lines(size, sizeof(double));
  if (zeros == NULL) atomic_store(&job->out_of_memory, true);
  return zeros;
}

/* ---- by the Gram matrix: one task is a block of rows J against all blocks I <= J ---- */

typedef struct gram_scratch {
  double *panels; /* the block J, columns of PANEL rows: [BLOCK/PANEL][d][PANEL] */
  double *gram;   /* BLOCK x BLOCK: <u_i,u_j>, then squared */
  double *lifted; /* BLOCK x stride: gram times the weights of J */
  double *off, *on;
} gram_scratch;

static void pack_panels(const cpb_directions *u, size_t first, double *panels) {
  for (size_t panel = 0; panel < BLOCK / PANEL; panel++)
    for (size_t j = 0; j < PANEL; j++) {
      const double *row = u->unit + (first + panel * PANEL + j) * u->stride;
      double *to = panels + panel * PANEL * u->d + j;
      for (size_t k = 0; k < u->d; k++) to[k * PANEL] = row[k];
    }
}

static void square_gram(const pair_job *job, size_t i, const gram_scratch *s) {
  const cpb_directions *u = job->u;
  memset(s->gram, 0, BLOCK * BLOCK * sizeof *s->gram);
  for (size_t panel = 0; panel < BLOCK / PANEL; panel++) {
    const double *rows = u->unit + i * BLOCK * u->stride, *columns = s->panels + panel * PANEL * u->d;
    cpb_product p = {BLOCK, PANEL, u->d, rows, u->stride, 1, columns, PANEL, s->gram + panel * PANEL, BLOCK};
    cpb_product_add(job->loops, &p);
  }
  for (size_t e = 0; e < BLOCK * BLOCK; e++) s->gram[e] *= s->gram[e];
}

static void gram_pair(const pair_job *job, size_t i, size_t j, const gram_scratch *s) {
  const cpb_weights *w = job->w;
  square_gram(job, i, s);
  memset(s->lifted, 0, BLOCK * w->stride * sizeof *s->lifted);
  cpb_product lift = {BLOCK,     w->stride, BLOCK,    s->gram, BLOCK, 1, w->value + j * BLOCK * w->stride,
                      w->stride, s->lifted, w->stride};
  cpb_product_add(job->loops, &lift);
  cpb_product sum = {job->tall, w->stride, BLOCK,     w->value + i * BLOCK * w->stride, 1,
                     w->stride, s->lifted, w->stride, i == j ? s->on : s->off,          w->stride};
  cpb_product_add(job->loops, &sum);
}

static void gram_task(void *argument, size_t task) {
  pair_job *job = argument;
  const cpb_weights *w = job->w;
  /* the longest first, so that all threads finish at about the same time */
  size_t blocks = job->u->rows / BLOCK, j = blocks - 1 - task, corner = job->tall * w->stride;
  size_t sizes[] = {BLOCK * job->u->d, BLOCK * BLOCK, BLOCK * w->stride, corner, corner}, total = 0;
  for (size_t k = 0; k < 5; k++) total += cpb_round_up(sizes[k], 8);
  double *memory = task_zeros(job, total), *part[6] = {memory};
  if (memory == NULL) return;
  for (size_t k = 0; k < 5; k++) part[k + 1] = part[k] + cpb_round_up(sizes[k], 8);
  gram_scratch s = {part[0], part[1], part[2], part[3], part[4]};
  pack_panels(job->u, j * BLOCK, s.panels);
  for (size_t i = 0; i <= j; i++) gram_pair(job, i, j, &s);
  double *sums = job->partials + task * w->columns * w->columns;
  for (size_t k = 0; k < w->columns; k++)
    for (size_t l = 0; l < w->columns; l++)
      sums[k * w->columns + l] =
          s.on[k * w->stride + l] + (s.off[k * w->stride + l] + s.off[l * w->stride + k]);
  free(memory);
}

cpb_status cpb_weighted_squares_by_gram(const cpb_directions *directions, const cpb_weights *weights,
                                        double *squares, const cpb_exec *exec, cpb_error *error) {
  pair_job job = job_of(directions, weights);
  return run_tasks(&job, gram_task, directions->rows / BLOCK, squares, exec, error);
}

/* ---- by second moments: one task is the products u_a u_b of PANEL columns a with PANEL columns b ---- */

/* The a-th and b-th panel of columns of a task; a <= b. */
static void task_panels(size_t task, size_t *a, size_t *b) {
  for (*b = 0; task > *b; ++*b) task -= *b + 1;
  *a = task;
}

/* Number of columns b per a: short rows share a panel of products between several a. */
static size_t moment_width(size_t d) {
  return d <= PANEL / 4 ? PANEL / 4 : d <= PANEL / 2 ? PANEL / 2 : PANEL;
}

/* Columns a of a panel, and their groups. */
static size_t panel_count(size_t d, size_t panel) {
  return d - panel * PANEL < PANEL ? d - panel * PANEL : PANEL;
}
static size_t group_count(size_t d, size_t panel) {
  size_t per_group = PANEL / moment_width(d);
  return (panel_count(d, panel) + per_group - 1) / per_group;
}

/* Beyond d the rows are 0, and so are the products with columns beyond d. */
static void set_products(const double *x, size_t stride, size_t count, size_t first_a, size_t first_b,
                         size_t width, double *products) {
  for (size_t i = 0; i < count; i++, x += stride, products += PANEL)
    for (size_t a = 0; a < PANEL / width; a++) {
      double factor = x[first_a + a];
      for (size_t b = 0; b < width; b++) products[a * width + b] = factor * x[first_b + b];
    }
}

static void add_moments(const pair_job *job, size_t row, size_t count, size_t a, size_t b, double *products,
                        double *moments) {
  const cpb_directions *u = job->u;
  const cpb_weights *w = job->w;
  size_t width = moment_width(u->d), groups = group_count(u->d, a);
  for (size_t group = 0; group < groups; group++) {
    set_products(u->unit + row * u->stride, u->stride, count, a * PANEL + group * (PANEL / width), b * PANEL,
                 width, products);
    const double *weights = w->value + row * w->stride;
    double *sums = moments + group * job->tall * PANEL;
    cpb_product p = {job->tall, PANEL, count, weights, 1, w->stride, products, PANEL, sums, PANEL};
    cpb_product_add(job->loops, &p);
  }
}

/* The inner product of symmetric matrices: an off-diagonal element counts twice. */
static double moment_product(const pair_job *job, const double *moments, size_t k, size_t l, size_t columns,
                             bool diagonal) {
  size_t width = moment_width(job->u->d), per_group = PANEL / width;
  double sum = 0;
  for (size_t a = 0; a < columns; a++) {
    const double *group = moments + a / per_group * job->tall * PANEL + a % per_group * width;
    const double *left = group + k * PANEL, *right = group + l * PANEL;
    size_t first = diagonal ? a + 1 : 0;
    sum += 2 * job->loops->dot(left + first, right + first, width - first);
    if (diagonal) sum += left[a] * right[a];
  }
  return sum;
}

static size_t moment_tasks(const cpb_directions *directions) {
  size_t panels = directions->stride / PANEL;
  return panels * (panels + 1) / 2;
}

/* Few columns give few tasks: then the rows are divided, too, into shares that depend on n and d alone. */
static size_t moment_shares(const cpb_directions *directions) {
  enum { ENOUGH = 10, SHARES = 8, LEAST_ROWS = 256 };
  size_t shares = directions->n / LEAST_ROWS;
  if (moment_tasks(directions) > ENOUGH || shares < 2) return 1;
  return shares < SHARES ? shares : SHARES;
}

static size_t moments_size(const pair_job *job, size_t a) {
  return group_count(job->u->d, a) * job->tall * PANEL;
}

static void write_products(const pair_job *job, size_t task, size_t a, size_t b, const double *moments) {
  size_t columns = job->w->columns;
  double *sums = job->partials + task * columns * columns;
  for (size_t k = 0; k < columns; k++)
    for (size_t l = 0; l <= k; l++)
      sums[k * columns + l] = sums[l * columns + k] =
          moment_product(job, moments, k, l, panel_count(job->u->d, a), a == b);
}

/* The moments of one share of the rows for one task: [group of a][weights][a within its group, b]; join_task adds the
 * shares in order if there are several. */
static void share_task(void *argument, size_t i) {
  pair_job *job = argument;
  size_t a, b, n = job->u->n, shares = moment_shares(job->u), share = i % shares;
  task_panels(i / shares, &a, &b);
  double *memory = task_zeros(job, DEPTH * PANEL + (shares == 1 ? moments_size(job, a) : 0));
  if (memory == NULL) return;
  double *moments = shares == 1 ? memory + DEPTH * PANEL : job->shares + i * moments_size(job, 0);
  for (size_t row = n * share / shares, end = n * (share + 1) / shares; row < end; row += DEPTH)
    add_moments(job, row, end - row < DEPTH ? end - row : DEPTH, a, b, memory, moments);
  if (shares == 1) write_products(job, i, a, b, moments);
  free(memory);
}

static void join_task(void *argument, size_t task) {
  pair_job *job = argument;
  size_t a, b, shares = moment_shares(job->u), size = moments_size(job, 0);
  task_panels(task, &a, &b);
  double *first = job->shares + task * shares * size;
  for (size_t share = 1; share < shares; share++)
    for (size_t i = 0; i < size; i++) first[i] += first[share * size + i];
  write_products(job, task, a, b, first);
}

cpb_status cpb_weighted_squares_by_moments(const cpb_directions *directions, const cpb_weights *weights,
                                           double *squares, const cpb_exec *exec, cpb_error *error) {
  pair_job job = job_of(directions, weights);
  size_t tasks = moment_tasks(directions), shares = moment_shares(directions);
  if (shares == 1) return run_tasks(&job, share_task, tasks, squares, exec, error);
  job.shares = cpb_zero_lines(tasks * shares * moments_size(&job, 0), sizeof(double));
  if (job.shares == NULL) return cpb_fail_memory(error, "sums over pairs");
  cpb_status status = cpb_exec_run_told(CPB_EXEC_PART(exec, 0, 0.9), tasks * shares, share_task, &job, error);
  if (status == CPB_OK)
    status = run_tasks(&job, join_task, tasks, squares, CPB_EXEC_PART(exec, 0.9, 1), error);
  free(job.shares);
  return status;
}

/* Multiply-adds including the padding to tiles; a panel of products costs about as much as 4 rows of weights. */
cpb_status cpb_weighted_squares(const cpb_directions *directions, const cpb_weights *weights, double *squares,
                                const cpb_exec *exec, cpb_error *error) {
  double blocks = (double)(directions->rows / BLOCK), d = (double)directions->d;
  double tall = (double)cpb_round_up(weights->columns, CPB_TILE_ROWS), wide = (double)weights->stride;
  double gram = blocks * (blocks + 1) / 2 * BLOCK * (BLOCK * (d + wide) + tall * wide);
  double groups = (double)group_count(directions->d, 0);
  double moments = (double)moment_tasks(directions) * groups * PANEL * (tall + 4) * (double)directions->n;
  return (gram < moments ? cpb_weighted_squares_by_gram
                         : cpb_weighted_squares_by_moments)(directions, weights, squares, exec, error);
}

/* ---- products of the weighted sums; one task is PANEL columns of the data ---- */

static void sum_task(void *argument, size_t task) {
  pair_job *job = argument;
  const cpb_directions *u = job->u;
  const cpb_weights *w = job->w;
  double *sums = task_zeros(job, job->tall * PANEL);
  if (sums == NULL) return;
  cpb_product p = {job->tall, PANEL, u->n, w->value, 1, w->stride, u->unit + task * PANEL,
                   u->stride, sums,  PANEL};
  cpb_product_add(job->loops, &p);
  double *to = job->partials + task * w->columns * w->columns;
  for (size_t k = 0; k < w->columns; k++)
    for (size_t l = 0; l <= k; l++)
      to[k * w->columns + l] = to[l * w->columns + k] =
          job->loops->dot(sums + k * PANEL, sums + l * PANEL, PANEL);
  free(sums);
}

/* Reports no progress: the squares before it dominate the time. */
cpb_status cpb_weighted_products(const cpb_directions *directions, const cpb_weights *weights,
                                 double *products, const cpb_exec *exec, cpb_error *error) {
  pair_job job = job_of(directions, weights);
  return run_tasks(&job, sum_task, directions->stride / PANEL, products, CPB_EXEC_PART(exec, 1, 1), error);
}
