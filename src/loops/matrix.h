/* Matrices of double, padded with zeros to whole tiles on both sides, so that each can be either factor of a product. */
#ifndef CPB_LOOPS_MATRIX_H
#define CPB_LOOPS_MATRIX_H

#include <stdbool.h>

#include "capball/exec.h"
#include "base/memory.h"
#include "base/random.h"
#include "loops/table.h"

typedef struct cpb_matrix {
  size_t rows, cols;
  size_t height, stride; /* rows and cols, padded */
  double *at;            /* row i at at + i*stride */
} cpb_matrix;

/* All zeros, in this memory. */
cpb_matrix cpb_matrix_new(cpb_memory *memory, size_t rows, size_t cols);

static inline double *cpb_matrix_row(const cpb_matrix *m, size_t i) { return m->at + i * m->stride; }

/* c = a b, or a^T b; the same bits for any number of threads. */
void cpb_matrix_product(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                        const cpb_exec *exec);

/* The same for a product that is symmetric, in little more than half of the time. */
void cpb_matrix_product_symmetric(const cpb_matrix *a, bool transposed, const cpb_matrix *b, cpb_matrix *c,
                                  const cpb_exec *exec);

/* to = m^T */
void cpb_matrix_transpose(const cpb_matrix *m, cpb_matrix *to);

/* Makes the rows orthonormal, in order: the first j rows span what they did before. A row that depends on earlier ones is
 * replaced by a random one. rows <= cols. */
void cpb_matrix_orthonormalise(cpb_matrix *m, cpb_random *random);

/* Replaces m by the nearest matrix with orthonormal rows, (m m^T)^(-1/2) m, up to about 1e-3; rows <= cols. False if out of
 * memory. */
bool cpb_matrix_polar(cpb_matrix *m, const cpb_exec *exec);

#endif
