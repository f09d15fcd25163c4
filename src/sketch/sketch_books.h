/* T14, joined sketches: which directions share a byte, and its centres. */
#ifndef CPB_SKETCH_SKETCH_BOOKS_H
#define CPB_SKETCH_SKETCH_BOOKS_H

#include "loops/matrix.h"
#include "sketch/t14_sketch.h"

/* Joins directions of these variances, largest first: by reverse water-filling direction j deserves
 * r_j = max(0, log2(variance_j / theta)/2) bits, theta such that their sum is 8 bytes; consecutive ones share a byte until it carries
 * about its share, and one that deserves much more than a byte has several. pairs: of each byte, as in the options. Returns the
 * number of bytes used. */
size_t cpb_books_join(const double *variance, size_t n, size_t bytes, uint32_t *pairs);

/* Neighbours: n directions cut into `bytes` <= n parts that are as equal as can be. */
void cpb_books_cut(size_t n, size_t bytes, uint32_t *pairs);

/* The 256 centres of every byte of a joined sketch, by k-means of the rows of y, in so many rounds; those
 * of signs are corners. Fills the centres, and the codes of the rows. The same bits for any number of threads. False if out of
 * memory. */
bool cpb_books_train(cpb_sketch *sketch, const cpb_matrix *y, int rounds, uint8_t *codes,
                     const cpb_exec *exec);

#endif
