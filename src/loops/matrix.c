#include "loops/matrix.h"

#include <math.h>
#include <string.h>

#include "loops/block_product.h"
#include "base/blocks.h"

enum {
  SIDE = 96, /* a multiple of both sides of a tile */
  ROWS_AT_ONCE = 48,
  STEEP_STEPS = 6,  /* of the polar iteration: small singular values grow 3.4 times in each .. */
  GENTLE_STEPS = 4, /* .. and converge to 1 quadratically in these */
};

cpb_matrix cpb_matrix_new(cpb_memory *memory, size_t rows, size_t cols) {
  size_t height = cpb_round_up(rows, SIDE), stride = cpb_round_up(cols, SIDE);
  return (cpb_matrix){rows, cols, height, stride, cpb_memory_lines(memory, height, stride * sizeof(double))};
}

typedef struct multiplying {
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
  cpb_product_add(cpb_loops_here(), &product);
}

void cpb_matrix_product(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                        const cpb_exec *exec) {
  multiplying m = {a, b, c, transposed, false};
  cpb_blocks_run(&(cpb_blocks){c->height, ROWS_AT_ONCE, multiply_rows, &m}, exec);
}

void cpb_matrix_product_symmetric(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                                  const cpb_exec *exec) {
  multiplying m = {a, b, c, transposed, true};
  cpb_blocks_run(&(cpb_blocks){c->height, ROWS_AT_ONCE, multiply_rows, &m}, exec);
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

/* What the polar iteration needs: a matrix of the shape of m, its transpose, and two squares of its rows. */
typedef struct polar {
  cpb_matrix *m, next, upright, square, fourth;
  const cpb_exec *exec;
} polar;

/* square = m m^T */
static void square_rows(polar *p) {
  cpb_matrix_transpose(p->m, &p->upright);
  cpb_matrix_product_symmetric(p->m, false, &p->upright, &p->square, p->exec);
}

/* m <- (a + b m m^T + c (m m^T)^2) m: maps every singular value t to a t + b t^3 + c t^5. */
static void polynomial_step(polar *p, const double *factors) {
  cpb_matrix *m = p->m;
  square_rows(p);
  if (factors[2] != 0) cpb_matrix_product_symmetric(&p->square, false, &p->square, &p->fourth, p->exec);
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->rows; j++) {
      double *of = cpb_matrix_row(&p->square, i) + j, fourth = cpb_matrix_row(&p->fourth, i)[j];
      *of = factors[1] * *of + (factors[2] != 0 ? factors[2] * fourth : 0) + (i == j ? factors[0] : 0);
    }
  cpb_matrix_product(&p->square, false, m, &p->next, p->exec);
  memcpy(m->at, p->next.at, m->height * m->stride * sizeof *m->at);
}

/* The squares of the entries of m m^T bound its largest eigenvalue: |m m^T|_F >= sigma^2. */
static double largest_singular_value(polar *p) {
  double sum = 0;
  square_rows(p);
  for (size_t i = 0; i < p->m->rows; i++) {
    const double *row = cpb_matrix_row(&p->square, i);
    sum += cpb_loops_here()->dot(row, row, p->m->rows);
  }
  return sqrt(sqrt(sum));
}

bool cpb_matrix_polar(cpb_matrix *m, const cpb_exec *exec) {
  static const double steep[3] = {3.4445, -4.7750, 2.0315}, gentle[3] = {1.5, -0.5, 0};
  cpb_memory memory = {0};
  polar p = {m,
             cpb_matrix_new(&memory, m->rows, m->cols),
             cpb_matrix_new(&memory, m->cols, m->rows),
             cpb_matrix_new(&memory, m->rows, m->rows),
             cpb_matrix_new(&memory, m->rows, m->rows),
             exec};
  bool ready = !memory.failed;
  double largest = ready ? largest_singular_value(&p) : 0;
  if (largest > 0) {
    for (size_t i = 0; i < m->rows; i++) scale_row(m, i, 1 / largest);
    for (int i = 0; i < STEEP_STEPS; i++) polynomial_step(&p, steep);
    for (int i = 0; i < GENTLE_STEPS; i++) polynomial_step(&p, gentle);
  }
  cpb_memory_free(&memory);
  return ready;
}
