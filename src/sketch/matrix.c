#include "sketch/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/zero_lines.h"
#include "loop/block_product.h"
#include "parallel/blocks.h"

enum {
  SIDE = 96, /* a multiple of both sides of a tile */
  ROWS_AT_ONCE = 48,
  STEEP_STEPS = 6,  /* of the polar iteration: small singular values grow 3.4 times in each .. */
  GENTLE_STEPS = 4, /* .. and converge to 1 quadratically in these */
};

cpb_matrix cpb_matrix_new(size_t rows, size_t cols) {
  cpb_matrix m = {
      .rows = rows, .cols = cols, .height = cpb_round_up(rows, SIDE), .stride = cpb_round_up(cols, SIDE)};
  if (m.height < SIZE_MAX / sizeof(double) / (m.stride + 1))
    m.at = cpb_zero_lines(m.height * m.stride, sizeof(double));
  return m;
}

void cpb_matrix_free(cpb_matrix *m) {
  free(m->at);
  m->at = NULL;
}

typedef struct multiplying {
  const cpb_loops *loops;
  const cpb_matrix *a, *b;
  cpb_matrix *c;
  bool transposed;
  bool symmetric; /* only columns up to the diagonal are computed */
} multiplying;

static void multiply_rows(void *arg, size_t block, size_t first, size_t count) {
  const multiplying *m = arg;
  (void)block;
  size_t row = m->transposed ? 1 : m->a->stride, k = m->transposed ? m->a->stride : 1;
  size_t cols = m->symmetric ? cpb_round_up(first + count, SIDE) : m->c->stride;
  cpb_product product = {.rows = count,
                         .cols = cols,
                         .k = m->b->rows,
                         .a = m->a->at + first * row,
                         .a_row = row,
                         .a_k = k,
                         .b = m->b->at,
                         .b_k = m->b->stride,
                         .c = cpb_matrix_row(m->c, first),
                         .c_row = m->c->stride};
  memset(product.c, 0, count * m->c->stride * sizeof *product.c);
  cpb_product_add(m->loops, &product);
}

static void multiply(multiplying *m, const cpb_exec *exec) {
  m->loops = cpb_loops_here();
  cpb_blocks blocks = {m->c->height, ROWS_AT_ONCE, multiply_rows, m};
  cpb_blocks_run(&blocks, exec);
}

void cpb_matrix_product(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                        const cpb_exec *exec) {
  multiplying m = {.a = a, .b = b, .c = c, .transposed = transposed};
  multiply(&m, exec);
}

void cpb_matrix_product_symmetric(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                                  const cpb_exec *exec) {
  multiplying m = {.a = a, .b = b, .c = c, .transposed = transposed, .symmetric = true};
  multiply(&m, exec);
  for (size_t i = 0; i < c->rows; i++)
    for (size_t j = i + 1; j < c->rows; j++) c->at[i * c->stride + j] = c->at[j * c->stride + i];
}

void cpb_matrix_transpose(const cpb_matrix *m, cpb_matrix *to) {
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++) to->at[j * to->stride + i] = m->at[i * m->stride + j];
}

/* Subtracts the projections on the rows before i, and gives the length that is left. */
static double clear_of_earlier(const cpb_loops *loops, cpb_matrix *m, size_t i) {
  double *row = cpb_matrix_row(m, i);
  for (size_t j = 0; j < i; j++) {
    const double *other = cpb_matrix_row(m, j);
    loops->axpby(1, row, -loops->dot(row, other, m->cols), other, row, m->cols);
  }
  return sqrt(loops->dot(row, row, m->cols));
}

static void scale_row(cpb_matrix *m, size_t i, double factor) {
  for (size_t k = 0; k < m->cols; k++) m->at[i * m->stride + k] *= factor;
}

/* Twice, since cancellation in the first pass leaves a part along earlier rows. */
static bool orthonormalise_row(const cpb_loops *loops, cpb_matrix *m, size_t i) {
  double *row = cpb_matrix_row(m, i), before = sqrt(loops->dot(row, row, m->cols));
  if (!(before > 0) || isinf(before)) return false;
  scale_row(m, i, 1 / before);
  double left = clear_of_earlier(loops, m, i);
  if (!(left > 1e-8)) return false;
  scale_row(m, i, 1 / left);
  scale_row(m, i, 1 / clear_of_earlier(loops, m, i));
  return true;
}

void cpb_matrix_orthonormalise(cpb_matrix *m, cpb_random *random) {
  const cpb_loops *loops = cpb_loops_here();
  for (size_t i = 0; i < m->rows; i++)
    while (!orthonormalise_row(loops, m, i))
      for (size_t k = 0; k < m->cols; k++) m->at[i * m->stride + k] = cpb_random_gauss(random);
}

bool cpb_polar_scratch_new(cpb_polar_scratch *s, size_t rows, size_t cols) {
  s->next = cpb_matrix_new(rows, cols);
  s->upright = cpb_matrix_new(cols, rows);
  s->square = cpb_matrix_new(rows, rows);
  s->fourth = cpb_matrix_new(rows, rows);
  return s->next.at != NULL && s->upright.at != NULL && s->square.at != NULL && s->fourth.at != NULL;
}

void cpb_polar_scratch_free(cpb_polar_scratch *s) {
  cpb_matrix_free(&s->next);
  cpb_matrix_free(&s->upright);
  cpb_matrix_free(&s->square);
  cpb_matrix_free(&s->fourth);
}

/* m <- (a + b m m^T + c (m m^T)^2) m: maps every singular value t to a t + b t^3 + c t^5. */
static void polynomial_step(cpb_matrix *m, cpb_polar_scratch *s, const double *factors,
                            const cpb_exec *exec) {
  cpb_matrix_transpose(m, &s->upright);
  cpb_matrix_product_symmetric(m, false, &s->upright, &s->square, exec);
  if (factors[2] != 0) cpb_matrix_product_symmetric(&s->square, false, &s->square, &s->fourth, exec);
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->rows; j++) {
      double *of = cpb_matrix_row(&s->square, i) + j, fourth = cpb_matrix_row(&s->fourth, i)[j];
      *of = factors[1] * *of + (factors[2] != 0 ? factors[2] * fourth : 0) + (i == j ? factors[0] : 0);
    }
  cpb_matrix_product(&s->square, false, m, &s->next, exec);
  memcpy(m->at, s->next.at, m->height * m->stride * sizeof *m->at);
}

/* The squares of the entries of m m^T bound its largest eigenvalue: |m m^T|_F >= sigma^2. */
static double largest_singular_value(cpb_matrix *m, cpb_polar_scratch *s, const cpb_exec *exec) {
  const cpb_loops *loops = cpb_loops_here();
  cpb_matrix_transpose(m, &s->upright);
  cpb_matrix_product_symmetric(m, false, &s->upright, &s->square, exec);
  double sum = 0;
  for (size_t i = 0; i < m->rows; i++) {
    const double *row = cpb_matrix_row(&s->square, i);
    sum += loops->dot(row, row, m->rows);
  }
  return sqrt(sqrt(sum));
}

void cpb_matrix_polar(cpb_matrix *m, cpb_polar_scratch *s, const cpb_exec *exec) {
  static const double steep[3] = {3.4445, -4.7750, 2.0315}, gentle[3] = {1.5, -0.5, 0};
  double largest = largest_singular_value(m, s, exec);
  if (!(largest > 0)) return;
  for (size_t i = 0; i < m->rows; i++) scale_row(m, i, 1 / largest);
  for (int i = 0; i < STEEP_STEPS; i++) polynomial_step(m, s, steep, exec);
  for (int i = 0; i < GENTLE_STEPS; i++) polynomial_step(m, s, gentle, exec);
}
