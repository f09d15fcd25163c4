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

/** y_i = S(x_i) for every row: the map of scale s about 0, without options.               R^d -> S^d, T1
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of d+1, f32 or f64
 *  s    scale, > 0, in the unit of x
 *  On this thread; errors and rows without an image as cpb_map_embed. */
CPB_CALL cpb_status cpb_embed(cpb_view x, cpb_out y, double s, cpb_error *error);

/** x_i = S^-1(y_i/|y_i|) for every row, back from y = S(x); as cpb_map_unembed.           S^d -> R^d, T1 */
CPB_CALL cpb_status cpb_unembed(cpb_view y, cpb_out x, double s, cpb_error *error);

/** What a map is made from; pointers are borrowed for the call of cpb_map_new. Start from
 *  cpb_map_options_init and set what is not the default. */
typedef struct cpb_map_options {
  size_t size;                /* sizeof(cpb_map_options) */
  size_t d;                   /* dimension of the data, >= 1 */
  double s;                   /* scale, > 0, in the unit of W(x-m) */
  const double *center;       /* m: d coordinates, NULL = 0 */
  const double *pole;         /* v: d+1 coordinates, |v| = 1, v[d] != 0; NULL = e = (0,..,0,1) */
  const double *whiten;       /* W: d*d row-major, invertible; NULL = I */
  const double *toward;       /* direction on the sphere, d+1 coordinates, any length, that is reflected
                           onto e; NULL = none. Not together with a pole. */
  const char *const *columns; /* d names of the columns of the data; NULL: they have none */
} cpb_map_options;

CPB_API void cpb_map_options_init(cpb_map_options *options, size_t size);

typedef struct cpb_map cpb_map;

/** Gives *map to the caller. Checks everything first: EINVAL names the value. */
CPB_CALL cpb_status cpb_map_new(const cpb_map_options *options, cpb_map **map, cpb_error *error);
CPB_API void cpb_map_free(cpb_map *map);

/** What it was made from; views into the map, NULL where the option was NULL. */
CPB_API void cpb_map_describe(const cpb_map *map, cpb_map_options *options);

/** y_i = S(x_i) for every row.                                              R^d -> S^d, T1 T2 T6
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of d+1, f32 or f64; may be x itself (same data, dtype and stride >= d+1),
 *       otherwise may not overlap it
 *  Error <= 4u of y's type, normwise (u = 2^-24, 2^-53), |y| = 1 within 2 ulp. A pole stretches the
 *  rounding of double by 1/|w|, a whitening by the condition of W, a centre by |x|/|x-m|.
 *  A row with inf goes to -v, the limit. A row with NaN becomes NaN: EROW, all other rows done.
 *  Thread-safe; rows are independent. Allocates only for a map with whitening. */
CPB_CALL cpb_status cpb_map_embed(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec,
                                  cpb_error *error);

/** x_i = S^-1(y_i/|y_i|) for every row.                                     S^d -> R^d, T1 T2 T6
 *  y    n rows of d+1, any dtype and any length but 0                 borrowed for the call
 *  x    n rows of d; may be y itself (same data, dtype and stride), otherwise no overlap
 *  unembed(embed(x)) = x within 4u for f32 and 16u for f64, |x|/s from 1e-15 to 1e15, pole e. With a
 *  pole or a reflection the rounding of y itself moves x by up to 16u (|x|^2+s^2)/(s |w|).
 *  Rows that have no image (NaN, inf, 0, -v) or whose image overflows x's type become NaN: EROW. */
CPB_CALL cpb_status cpb_map_unembed(const cpb_map *map, cpb_view y, cpb_out x, const cpb_exec *exec,
                                    cpb_error *error);

/** The cap that is the image of a region under this map; the region's metric must be the map's
 *  (see T5, T6). cap->p: d+1 coordinates, caller's. */
CPB_CALL cpb_status cpb_map_cap(const cpb_map *map, const cpb_region *region, cpb_cap *cap, cpb_error *error);

/** The region whose image is this cap (complete, or with sigma and a both NaN: then they are
 *  computed). region->c and region->axis: d coordinates each, caller's; with whitening region->W
 *  views into the map, valid while it lives. */
CPB_CALL cpb_status cpb_map_region(const cpb_map *map, const cpb_cap *cap, cpb_region *region,
                                   cpb_error *error);

/* T7: the scale that puts data on one side of the sphere. */

/** The smallest s for which every |x| <= max_norm has colatitude (angle to e) <= phi:
 *  s = max_norm / tan(phi/2).  phi = pi/2 is the hemisphere: y0 >= 0 <=> |x| <= s.            T7
 *  max_norm > 0 finite, 0 < phi < pi; NaN otherwise, and where no double > 0 holds s. */
CPB_API double cpb_hemisphere_scale(double max_norm, double phi);

/** max_i |x_i - center| over n >= 1 rows.
 *  center  d coordinates or NULL. EROW for a row with NaN or inf, EINVAL for no rows; *max_norm is
 *  NaN then. Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_max_norm(cpb_view x, const double *center, double *max_norm, const cpb_exec *exec,
                                 cpb_error *error);

/* T12: the embedding as a layer of a neural net, forward and backward, for batches.
 *
 * The forward pass is cpb_map_embed / cpb_map_unembed with pole e. The scale is learned as
 * t = log s; all gradients are of a loss L with upstream gradient g. */

/** Backward of y = S(x), from x:  k = 2(<x,g'>+s g0)/q,  gx = (2s/q)(g' - k x),               T12
 *  dL/dt = sum_i |y'|^2 g0 - y0 <y',g'>.
 *  x       n rows of d            g     n rows of d+1, of any dtype each
 *  gx      n rows of d, f32 or f64, may overlap neither
 *  grad_t  1 number, caller's, or NULL; the sum has the same bits for any number of threads
 *  Error of gx <= 16u lambda|g| of gx's type, lambda = 2s/q, for x, s and g of any size; of dL/dt
 *  <= 16u sum_i |y'||g|, u = 2^-53. A row with NaN or inf, or whose gradient overflows gx's type,
 *  becomes NaN and adds nothing to dL/dt: EROW.
 *  Thread-safe; allocates one double per block of rows when grad_t is wanted. */
CPB_CALL cpb_status cpb_layer_backward(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                                       const cpb_exec *exec, cpb_error *error);

/** The same from the saved output y (n rows of d+1, unit) instead of x:                      T12
 *  gx = lambda g' - y'(<y',g'>/s + lambda g0),  lambda = (1+y0)/s, south |y'|^2/((1-y0)s).
 *  The bounds are those of this formula at the y given; a y rounded to its type adds a few u of
 *  that type. At the pole -e the gradient is 0, its limit. */
CPB_CALL cpb_status cpb_layer_backward_saved(cpb_view y, cpb_view g, double s, cpb_out gx, double *grad_t,
                                             const cpb_exec *exec, cpb_error *error);

/** Backward of the inverse x = S^-1(y/|y|), pole e, at |y| = 1:                             T12
 *  gy' = (s/rise)(g - y'<g,y'>/rise),  gy0 = -(s/rise)<g,y'>,  rise = 1+y0, south |y'|^2/(1-y0),
 *  dL/dt = sum_i <g,x>.
 *  y    n rows of d+1, unit      g   n rows of d      gy   n rows of d+1, f32 or f64
 *  This is what cpb_map_unembed computes, differentiated: tangent to the sphere, |gy| = |g|/lambda.
 *  The north form s y'/(1+y0) alone has the gradient (s g, -<g,x>)/(1+y0), which differs by a
 *  multiple of y only; that multiple grows with |x|/s, and would drown the rest in the far south.
 *  Error of gy <= 16u |g|/lambda, of dL/dt <= 16u sum_i |x||g|, u of the coarser of y's and gy's types
 *  (2^-53 for dL/dt of f64 y). The pole -e has no image: EROW; the rest as above. */
CPB_CALL cpb_status cpb_layer_inverse_backward(cpb_view y, cpb_view g, double s, cpb_out gy, double *grad_t,
                                               const cpb_exec *exec, cpb_error *error);

/* A map as a file: JSON, versioned, 17 digits, with a checksum and what it was made from. */

/** What the file says beside the map itself. Strings are views, NULL where absent. Set its size. */
typedef struct cpb_map_origin {
  size_t size;          /* sizeof(cpb_map_origin) */
  const char *goal;     /* how s was chosen: "given", "mean", "median", "hemisphere", .. */
  const char *source;   /* the data it was fitted to, as given */
  uint64_t rows;        /* rows of the data, 0 if unknown */
  const char *evidence; /* JSON: why this scale; written as it is under the key "evidence" */
} cpb_map_origin;

/** The whole text of the file (keys "capball", "dim", "columns" where they have names, "scale", "center", "pole", "whiten", "toward",
 *  "goal", "evidence", "made_from", "checksum"); gives *text, 0-terminated, to the caller, who takes it
 *  to cpb_free. */
CPB_CALL cpb_status cpb_map_to_json(const cpb_map *map, const cpb_map_origin *origin, char **text,
                                    cpb_error *error);

/** Reads that text back, bit for bit; gives *map. Every fault (not JSON, foreign version, a wrong length,
 *  a checksum that does not match, values cpb_map_new refuses) is EFORMAT with a sentence.
 *  name  what the sentence calls the file */
CPB_CALL cpb_status cpb_map_from_json(const char *text, size_t length, const char *name, cpb_map **map,
                                      cpb_error *error);

/** The same two through a file: load gives *map; save writes it whole or not at all, "-" is standard
 *  output. EIO where the system refuses. */
CPB_CALL cpb_status cpb_map_load(const char *path, cpb_map **map, cpb_error *error);
CPB_CALL cpb_status cpb_map_save(const cpb_map *map, const char *path, const cpb_map_origin *origin,
                                 cpb_error *error);

/** Under what a line of JSON is turned: a map, or a scale and perhaps a pole. Start from cpb_dual_options_init. */
typedef struct cpb_dual_options {
  size_t size;
  const cpb_map *map; /* NULL (the default): .. */
  double s;           /* .. this scale, > 0; lines may carry a pole, or W and m */
  const double *pole; /* d+1 coordinates of length 1; NULL = e */
  size_t d;           /* of the pole; 0 without one: every line has its own */
} cpb_dual_options;

/** The defaults. */
CPB_API void cpb_dual_options_init(cpb_dual_options *options, size_t size);

/** One JSON object, {"ball": ..}, {"halfspace": ..}, {"complement": ..}, {"ellipsoid": ..}, {"empty": ..},
 *  {"everything": ..}, {"punctured": ..} or {"cap": ..}, as its dual: what `capball dual` reads and prints (see its
 *  help). "id" goes through as it is written. Numbers have the fewest digits that bring them back.               T3 T5 T6
 *  Gives *answer, 0-terminated, to the caller; cpb_free takes it back. EFORMAT for a line that is none; EINVAL as
 *  cpb_map_cap and cpb_map_region. */
CPB_CALL cpb_status cpb_dual_line(const char *line, size_t length, const cpb_dual_options *options,
                                  char **answer, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
