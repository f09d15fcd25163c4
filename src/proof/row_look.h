/* Detects the type that stored rows were rounded to, if it is not given.                                    T13
 *
 * A row rounded to f16 may be stored in a file of f32 or f64, and its length need not show it: the distance of a row
 * from the sphere does not bound its error along the sphere. So every row that is read is examined:
 *   its digits   a row whose numbers all fit f16, or have no more decimal digits than f16 is printed with, counts as
 *                rounded to f16; the same for f32
 *   its length   a row farther from the sphere than its type explains was changed in some unknown way: no conclusion
 * The coarsest row decides, so the result does not depend on their order. This detects rounding by file conversions;
 * whether the rows are images of the data at all is checked by a seal (capball/advanced/seal.h) or by
 * cpb_transform_verify. */
#ifndef CPB_PROOF_ROW_LOOK_H
#define CPB_PROOF_ROW_LOOK_H

#include "capball/exec.h"
#include "capball/query.h"
#include "proof/reading.h"

typedef struct cpb_row_look {
  bool any;            /* a row other than an axis has been examined */
  cpb_dtype precision; /* the coarsest: f64, f32 or f16 */
  bool axis;           /* one was an axis, such as the image of the centre: exact in every type */
  bool unexplained;    /* one was farther from the surface than its type explains, .. */
  double off;          /* .. the farthest of these, .. */
  uint64_t row;        /* .. and its number */
} cpb_row_look;

/* Row `number`, y: its stored values as doubles. EROW if it is not a point of the sphere or the lift. */
cpb_status cpb_row_look_at(cpb_row_look *look, const cpb_reading *reading, const double *y, cpb_dtype stored,
                           uint64_t number, cpb_error *error);

/* All rows of a source. */
cpb_status cpb_row_look_all(cpb_row_look *look, const cpb_reading *reading, cpb_source *rows,
                            const cpb_exec *exec, cpb_error *error);
void cpb_row_look_join(cpb_row_look *look, const cpb_row_look *other);

/* The largest distance of such rows from the images of the data; inf if one is unexplained. */
double cpb_row_look_error(const cpb_row_look *look, const cpb_reading *reading, cpb_dtype stored);

#endif
