/* T14: principal directions of a sample, and rotations of them. */
#ifndef CPB_SKETCH_SKETCH_DIRECTIONS_H
#define CPB_SKETCH_SKETCH_DIRECTIONS_H

#include "loops/matrix.h"

/* The principal directions of the first d coordinates of S(z), 2z/(1+|z|^2), as orthonormal rows: rows of z far from the centre have
 * a bounded influence. The first j directions span nearly the widest space of j dimensions for every j; the one of larger variance
 * comes first. size2: |z|^2 of each row. False if out of memory. */
bool cpb_principal_directions(cpb_matrix *z, const double *size2, cpb_matrix *directions, cpb_random *random,
                              const cpb_exec *exec);

/* Random orthonormal rows. */
void cpb_random_rotation(cpb_matrix *rotation, cpb_random *random);

#endif
