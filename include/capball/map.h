/* The map between the data space R^d and the unit sphere of R^(d+1).
 *
 *   T1  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2) and its inverse
 *   T2  any pole v = (u,w):  S(x) = 2s H/|H|^2 - v,  H = [x, (s-<x,u>)/w], or a reflection behind S, for
 *       data that already lie on a sphere
 *   T6  a whitening W and a centre m in front:  y = S(W(x-m)) */
#ifndef CAPBALL_MAP_H
#define CAPBALL_MAP_H

#include "capball/exec.h"
#include "capball/region.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a map is made from; pointers are borrowed for the call of cpb_map_new. Start from
 *  cpb_map_options_default() and set what is not the default. */
typedef struct cpb_map_options {
  size_t size;          /* sizeof(cpb_map_options) */
  size_t d;             /* dimension of the data, >= 1 */
  double s;             /* scale, > 0, in the unit of W(x-m) */
  const double *center; /* m: d coordinates, NULL = 0 */
  const double *pole;   /* v: d+1 coordinates, |v| = 1, v[d] != 0; NULL = e = (0,..,0,1) */
  const double *whiten; /* W: d*d row-major, invertible; NULL = I */
  const double *toward; /* direction on the sphere, d+1 coordinates, any length, that is reflected
                           onto e; NULL = none. Not together with a pole. */
} cpb_map_options;

CPB_API cpb_map_options cpb_map_options_default(void);

typedef struct cpb_map cpb_map;

/** Gives *map to the caller. Checks everything first: EINVAL names the value. */
CPB_API cpb_status cpb_map_new(const cpb_map_options *options, cpb_map **map, cpb_error *error);
CPB_API void cpb_map_free(cpb_map *map);

/** What it was made from; views into the map, NULL where the option was NULL. */
CPB_API cpb_map_options cpb_map_describe(const cpb_map *map);

/** y_i = S(x_i) for every row.                                              R^d -> S^d, T1 T2 T6
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of d+1, f32 or f64; may be x itself (same data, dtype and stride >= d+1),
 *       otherwise may not overlap it
 *  Error <= 4u of y's type, normwise (u = 2^-24, 2^-53), |y| = 1 within 2 ulp. A pole stretches the
 *  rounding of double by 1/|w|, a whitening by the condition of W, a centre by |x|/|x-m|.
 *  A row with inf goes to -v, the limit. A row with NaN becomes NaN: EROW, all other rows done.
 *  Thread-safe; rows are independent. Allocates only for a map with whitening. */
CPB_API cpb_status cpb_map_embed(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec,
                                 cpb_error *error);

/** x_i = S^-1(y_i/|y_i|) for every row.                                     S^d -> R^d, T1 T2 T6
 *  y    n rows of d+1, any dtype and any length but 0                 borrowed for the call
 *  x    n rows of d; may be y itself (same data, dtype and stride), otherwise no overlap
 *  unembed(embed(x)) = x within 4u for f32 and 16u for f64, |x|/s from 1e-15 to 1e15, pole e. With a
 *  pole or a reflection the rounding of y itself moves x by up to 16u (|x|^2+s^2)/(s |w|).
 *  Rows that have no image (NaN, inf, 0, -v) or whose image overflows x's type become NaN: EROW. */
CPB_API cpb_status cpb_map_unembed(const cpb_map *map, cpb_view y, cpb_out x, const cpb_exec *exec,
                                   cpb_error *error);

/** H = [x, (s-<x,u>)/w], the paper's affine lift onto the hyperplane <H,v> = s.                T2
 *  x    d coordinates      v    d+1, |v| = 1, v[d] != 0      lift   d+1, caller's, may be x */
CPB_API cpb_status cpb_hyperplane_lift(size_t d, const double *x, const double *v, double s, double *lift,
                                       cpb_error *error);

/** H/|H|^2, the paper's affine inversion: S(x) = 2s H/|H|^2 - v.                                 T2 */
CPB_API cpb_status cpb_affine_inversion(size_t d, const double *x, const double *v, double s,
                                        double *inversion, cpb_error *error);

/** The cap that is the image of a region under this map; the region's metric must be the map's
 *  (see T5, T6). cap->p: d+1 coordinates, caller's. */
CPB_API cpb_status cpb_map_cap(const cpb_map *map, const cpb_region *region, cpb_cap *cap, cpb_error *error);

/** The region whose image is this cap (complete, or with sigma and a both NaN: then they are
 *  computed). region->c and region->axis: d coordinates each, caller's; with whitening region->W
 *  views into the map, valid while it lives. */
CPB_API cpb_status cpb_map_region(const cpb_map *map, const cpb_cap *cap, cpb_region *region,
                                  cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
