/* T14: the directions of principal sketches. */
#ifndef CPB_SKETCH_PRINCIPAL_H
#define CPB_SKETCH_PRINCIPAL_H

#include "sketch/matrix.h"

/* The first directions->rows principal directions of the first d coordinates of S(z), 2z/(1+|z|^2): rows far from the
 * centre have a bounded influence. z: rows of d; size2: their |z|^2. Computed by orthogonal iteration, so that the first j
 * directions span the widest space of j dimensions for every j. False if out of memory. */
bool cpb_principal_directions(cpb_matrix *z, const double *size2, cpb_matrix *directions, cpb_random *random,
                              const cpb_exec *exec);

/* A random matrix with orthonormal rows. */
void cpb_rotation_random(cpb_matrix *rotation, cpb_random *random);

/* Iterative quantisation: alternates B = sign(y R) and R = polar(y^T B), starting from R. y: projections of rows, of which the
 * first rotation->rows columns are used. False if out of memory. */
bool cpb_rotation_learn(const cpb_matrix *y, cpb_matrix *rotation, cpb_random *random, const cpb_exec *exec);

#endif
