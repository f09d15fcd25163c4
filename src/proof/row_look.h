/* What stored rows say of the type they were rounded to, where nobody else does.                          T13
 *
 * A row that was rounded to f16 may stand in a file of f32 or f64, and its length need not show it: of one row the
 * distance from the sphere bounds nothing along the sphere. So every row that is read is looked at:
 *   its digits   a row whose numbers all fit f16, or have no more decimal digits than f16 is printed with, counts as
 *                rounded to f16; the same for f32
 *   its length   a row farther from the sphere than that type explains was changed by something unknown: nothing follows
 * The coarsest row speaks for all of them, so no order matters. This finds whatever was rounded by a conversion of
 * files; that the rows are images of the data at all, a seal knows (capball/advanced/seal.h), or cpb_transform_verify. */
#ifndef CPB_PROOF_ROW_LOOK_H
#define CPB_PROOF_ROW_LOOK_H

#include "capball/exec.h"
#include "capball/query.h"
#include "proof/reading.h"

typedef struct cpb_row_look {
  bool any;            /* a row was looked at, apart from axes */
  cpb_dtype precision; /* the coarsest; f64, f32 or f16 */
  bool axis;           /* one was the image of the centre or the like: exact in every type */
  bool unexplained;    /* one was farther off than its type explains .. */
  double off;          /* .. the farthest of these .. */
  uint64_t row;        /* .. and its number */
} cpb_row_look;

/* Row `number`, y in doubles as it is stored in the type. EROW for one that is no point of the sphere or the lift. */
cpb_status cpb_row_look_at(cpb_row_look *look, const cpb_reading *reading, const double *y, cpb_dtype stored,
                           uint64_t number, cpb_error *error);

/* All rows of a source. */
cpb_status cpb_row_look_all(cpb_row_look *look, const cpb_reading *reading, cpb_source *rows,
                            const cpb_exec *exec, cpb_error *error);

void cpb_row_look_join(cpb_row_look *look, const cpb_row_look *other);

/* How far such rows may lie from the images of the data; inf where one is unexplained. */
double cpb_row_look_error(const cpb_row_look *look, const cpb_reading *reading, cpb_dtype stored);

#endif
