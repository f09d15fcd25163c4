/* What others do to rows before an index that knows only one likeness, and the exact lifts.              T13
 *
 *   name         base row                                      query row            by      columns
 *   none         x                                             q                    L2      d
 *   center       x-m                                           q-m                  L2      d
 *   normalize    (x-m)/|x-m|                                   (q-m)/|q-m|          cosine  d
 *   lift-ip      (z, -|z|^2/2)                                 (z_q, 1)             IP      d+1
 *   lift-cosine  (z, -h|z|^2/2, sqrt(M^2-|z|^2-h^2|z|^4/4))/M  (z_q, 1/h, 0)/|..|   cosine  d+2
 *   ip-cosine    (z, sqrt(M^2-|z|^2))/M                        (q, 0)/|q|           cosine  d+1
 *   ip-l2        (x, L sqrt(M^2-|z|^2))                        (q, 0)               L2      d+1
 * z = (x-m)/L and z_q = (q-m)/L, L the largest norm of the base about its centre m (0 for ip-*), h = sqrt 2,
 * M = 5/4 for lift-cosine and 33/32 for ip-*: 1/16 more under the root than the longest row takes, so that
 * the root keeps its digits.
 *
 * The lifts keep an order exactly: nearest by L2 first (lift-ip, lift-cosine), largest inner product first
 * (ip-cosine, ip-l2). All but lift-ip know only rows up to the length L they were made for: that is their
 * weakness, and a longer row is an error with a sentence. The rival of all of them is a cpb_map. */
#ifndef CAPBALL_TRANSFORM_H
#define CAPBALL_TRANSFORM_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/search.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pinned, append only. */
typedef enum cpb_transform_kind {
  CPB_TRANSFORM_NONE = 0,
  CPB_TRANSFORM_CENTER = 1,
  CPB_TRANSFORM_NORMALIZE = 2,
  CPB_TRANSFORM_LIFT_IP = 3,
  CPB_TRANSFORM_LIFT_COSINE = 4,
  CPB_TRANSFORM_IP_COSINE = 5,
  CPB_TRANSFORM_IP_L2 = 6,
} cpb_transform_kind;
enum { CPB_TRANSFORMS = 7 };

/** Which side of the search a row stands on. Pinned. */
typedef enum cpb_role {
  CPB_ROLE_BASE = 0,
  CPB_ROLE_QUERY = 1,
} cpb_role;

/** What a kind is called and needs, and how its rows are compared. */
typedef struct cpb_transform_facts {
  const char *name;      /* "none", "center", "normalize", "lift-ip", .. */
  size_t extra;          /* columns more than the data have */
  cpb_likeness likeness; /* of transformed rows */
  cpb_likeness keeps; /* the order of the data that it keeps; `likeness` where it is a likeness of its own */
  bool centred;       /* takes a centre */
  bool bounded;       /* needs the largest norm */
} cpb_transform_facts;

/** The facts of a kind; name is NULL for a kind there is not. */
CPB_API cpb_transform_facts cpb_transform_about(cpb_transform_kind kind);

/** What a transform is made from. Start from cpb_transform_options_default(). */
typedef struct cpb_transform_options {
  size_t size; /* sizeof(cpb_transform_options) */
  cpb_transform_kind kind;
  size_t d;             /* columns of the data, >= 1 */
  const double *center; /* m: d coordinates, finite; NULL = 0. Borrowed for the call of cpb_transform_new */
  double max_norm;      /* L: the largest |x-m| of the base, > 0; where the kind is bounded */
} cpb_transform_options;

CPB_API cpb_transform_options cpb_transform_options_default(void);

typedef struct cpb_transform cpb_transform;

/** Gives *transform to the caller. Checks everything first: EINVAL names the value. */
CPB_API cpb_status cpb_transform_new(const cpb_transform_options *options, cpb_transform **transform,
                                     cpb_error *error);
CPB_API void cpb_transform_free(cpb_transform *transform);

/** What it was made from; center is a view into the transform. */
CPB_API cpb_transform_options cpb_transform_describe(const cpb_transform *transform);

/** Columns of transformed rows. */
CPB_API size_t cpb_transform_cols(const cpb_transform *transform);

/** Every row as its kind and role say.                                                                  T13
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of cpb_transform_cols, f32 or f64; may not overlap x
 *  Error <= 16u of y's type, normwise; a centre stretches the rounding of double by |x|/|x-m|.
 *  Rows without an image become NaN, EROW, all other rows done: NaN, inf, 0 where a direction is asked, an
 *  answer beyond y's type, and base rows longer than max_norm (1+2^-40) where the root would need it.
 *  Thread-safe; allocates nothing; rows are independent. */
CPB_API cpb_status cpb_transform_apply(const cpb_transform *transform, cpb_role role, cpb_view x, cpb_out y,
                                       const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
