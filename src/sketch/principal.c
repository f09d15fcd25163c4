#include "sketch/principal.h"

#include <math.h>

enum {
  DENSE = 1024, /* columns up to which the covariance is computed */
  DENSE_ROUNDS = 4,
  DENSE_POWERS = 3, /* products between two orthonormalisations */
  SPARSE_ROUNDS = 3,
  SPARSE_POWERS = 2,
  ROWS_LEARNED = 2016, /* a multiple of the padding of matrices */
  ROUNDS_LEARNED = 12,
};

/* Multiplies each row by the factor of S, 2/(1+|z|^2), or divides by it. */
static void weigh(cpb_matrix *z, const double *size2, bool back) {
  for (size_t i = 0; i < z->rows; i++) {
    double factor = 2 / (1 + size2[i]), *row = cpb_matrix_row(z, i);
    for (size_t k = 0; k < z->cols; k++) row[k] = back ? row[k] / factor : row[k] * factor;
  }
}

static void swap(cpb_matrix *a, cpb_matrix *b) {
  cpb_matrix kept = *a;
  *a = *b;
  *b = kept;
}

static bool iterate_dense(const cpb_matrix *y, cpb_matrix *v, cpb_random *random, const cpb_exec *exec) {
  cpb_matrix covariance = cpb_matrix_new(y->cols, y->cols), next = cpb_matrix_new(v->rows, v->cols);
  bool ready = covariance.at != NULL && next.at != NULL;
  if (ready) cpb_matrix_product_symmetric(y, true, y, &covariance, exec);
  for (int round = 0; ready && round < DENSE_ROUNDS; round++) {
    for (int power = 0; power < DENSE_POWERS; power++) {
      cpb_matrix_product(v, false, &covariance, &next, exec);
      swap(v, &next);
    }
    cpb_matrix_orthonormalise(v, random);
  }
  cpb_matrix_free(&covariance);
  cpb_matrix_free(&next);
  return ready;
}

/* Long rows: by two products with the rows themselves. */
static bool iterate_sparse(const cpb_matrix *y, cpb_matrix *v, cpb_random *random, const cpb_exec *exec) {
  cpb_matrix upright = cpb_matrix_new(v->cols, v->rows), along = cpb_matrix_new(y->rows, v->rows);
  bool ready = upright.at != NULL && along.at != NULL;
  for (int round = 0; ready && round < SPARSE_ROUNDS; round++) {
    for (int power = 0; power < SPARSE_POWERS; power++) {
      cpb_matrix_transpose(v, &upright);
      cpb_matrix_product(y, false, &upright, &along, exec);
      cpb_matrix_product(&along, true, y, v, exec);
    }
    cpb_matrix_orthonormalise(v, random);
  }
  cpb_matrix_free(&upright);
  cpb_matrix_free(&along);
  return ready;
}

bool cpb_principal_directions(cpb_matrix *z, const double *size2, cpb_matrix *directions, cpb_random *random,
                              const cpb_exec *exec) {
  cpb_rotation_random(directions, random);
  weigh(z, size2, false);
  bool done = z->cols <= DENSE ? iterate_dense(z, directions, random, exec)
                               : iterate_sparse(z, directions, random, exec);
  weigh(z, size2, true);
  return done;
}

void cpb_rotation_random(cpb_matrix *rotation, cpb_random *random) {
  for (size_t i = 0; i < rotation->rows; i++)
    for (size_t k = 0; k < rotation->cols; k++) cpb_matrix_row(rotation, i)[k] = cpb_random_gauss(random);
  cpb_matrix_orthonormalise(rotation, random);
}

static void take_signs(cpb_matrix *m) {
  for (size_t i = 0; i < m->rows; i++)
    for (size_t k = 0; k < m->cols; k++) {
      double *at = cpb_matrix_row(m, i) + k;
      *at = *at >= 0 ? 1 : -1;
    }
}

bool cpb_rotation_learn(const cpb_matrix *y, cpb_matrix *rotation, cpb_random *random, const cpb_exec *exec) {
  cpb_matrix rows = *y;
  if (rows.rows > ROWS_LEARNED) rows.rows = rows.height = ROWS_LEARNED;
  cpb_matrix corners = cpb_matrix_new(rows.rows, rotation->cols);
  cpb_polar_scratch scratch = {0};
  bool ready = corners.at != NULL && cpb_polar_scratch_new(&scratch, rotation->rows, rotation->cols);
  for (int round = 0; ready && round < ROUNDS_LEARNED; round++) {
    cpb_matrix_product(&rows, false, rotation, &corners, exec);
    take_signs(&corners);
    cpb_matrix_product(&rows, true, &corners, rotation, exec);
    cpb_matrix_polar(rotation, &scratch, exec);
  }
  if (ready) cpb_matrix_orthonormalise(rotation, random);
  cpb_matrix_free(&corners);
  cpb_polar_scratch_free(&scratch);
  return ready;
}
