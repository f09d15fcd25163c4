/* T14: principal directions of a sample, and rotations of them. */
#include "sketch/sketch_directions.h"

#include <string.h>

enum {
  DENSE = 1024, /* columns up to which the covariance is computed */
  DENSE_ROUNDS = 4,
  DENSE_POWERS = 3, /* products between two orthonormalisations */
  SPARSE_ROUNDS = 3,
  SPARSE_POWERS = 2,
};

/* Multiplies each row by the factor of S, 2/(1+|z|^2), or divides by it. */
static void weigh(cpb_matrix *z, const double *size2, bool back) {
  for (size_t i = 0; i < z->rows; i++) {
    double factor = 2 / (1 + size2[i]), *row = cpb_matrix_row(z, i);
    for (size_t k = 0; k < z->cols; k++) row[k] = back ? row[k] / factor : row[k] * factor;
  }
}

/* Orthogonal iteration: by the covariance, or for long rows by two products with the rows themselves. */
static bool iterate(const cpb_matrix *y, cpb_matrix *v, cpb_random *random, const cpb_exec *exec) {
  bool dense = y->cols <= DENSE;
  int rounds = dense ? DENSE_ROUNDS : SPARSE_ROUNDS, powers = dense ? DENSE_POWERS : SPARSE_POWERS;
  cpb_memory memory = {0};
  cpb_matrix covariance = cpb_matrix_new(&memory, dense ? y->cols : 0, y->cols);
  cpb_matrix upright = cpb_matrix_new(&memory, v->cols, v->rows),
             next = cpb_matrix_new(&memory, v->rows, v->cols);
  cpb_matrix along = cpb_matrix_new(&memory, dense ? 0 : y->rows, v->rows);
  bool ready = !memory.failed;
  if (ready && dense) cpb_matrix_product_symmetric(y, true, y, &covariance, exec);
  for (int i = 0; ready && i < rounds * powers; i++) {
    if (dense)
      cpb_matrix_product(v, false, &covariance, &next, exec);
    else {
      cpb_matrix_transpose(v, &upright);
      cpb_matrix_product(y, false, &upright, &along, exec);
      cpb_matrix_product(&along, true, y, &next, exec);
    }
    memcpy(v->at, next.at, v->height * v->stride * sizeof *v->at);
    if (i % powers == powers - 1) cpb_matrix_orthonormalise(v, random);
  }
  cpb_memory_free(&memory);
  return ready;
}

void cpb_random_rotation(cpb_matrix *rotation, cpb_random *random) {
  for (size_t i = 0; i < rotation->rows; i++)
    for (size_t k = 0; k < rotation->cols; k++) cpb_matrix_row(rotation, i)[k] = cpb_random_gauss(random);
  cpb_matrix_orthonormalise(rotation, random);
}

bool cpb_principal_directions(cpb_matrix *z, const double *size2, cpb_matrix *directions, cpb_random *random,
                              const cpb_exec *exec) {
  cpb_random_rotation(directions, random);
  weigh(z, size2, false);
  bool done = iterate(z, directions, random, exec);
  weigh(z, size2, true);
  return done;
}
