/* The paper's scheme on the rows of a share problem: embed about the present point, separate from -e by
 * a linear SVM, go to the centre of the ball its plane is, repeat. T11 */
#ifndef CPB_LEARN_CAP_SVM_H
#define CPB_LEARN_CAP_SVM_H

#include "learn/share.h"

/* share->point: a start, then the centre (relative to origin); *radius of the last ball; *settled: the
 * centre came to rest within 50 rounds. paper: one C for all. Multipliers, where
 * wanted, are those of the last SVM. */
cpb_status cpb_cap_svm(cpb_share *share, bool paper, size_t *rounds, bool *settled, double *radius);

#endif
