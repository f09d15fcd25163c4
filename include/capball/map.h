/* The map between the data space R^d and the unit sphere of R^(d+1).
 *
 *   T1  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2) and its inverse
 *   T2  any pole v = (u,w):  S(x) = 2s H/|H|^2 - v,  H = [x, (s-<x,u>)/w], or a reflection after S, for
 *       data that are already on a sphere
 *   T6  preceded by a whitening W and a centre m:  y = S(W(x-m))
 *
 * In this order: a single call (cpb_embed), maps as objects, maps fitted to rows, maps as files. */
#ifndef CAPBALL_MAP_H
#define CAPBALL_MAP_H

#include <stdbool.h>

#include "capball/region.h"

CPB_BEGIN

/** y_i = S(x_i) for every row: the map of scale s, centre 0 and no options.               R^d -> S^d, T1
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of d+1, f32 or f64
 *  s    scale, > 0, in the unit of x
 *  Runs on this thread; error bounds and rows without an image as in cpb_map_embed. */
CPB_CALL cpb_status cpb_embed(cpb_view x, cpb_out y, double s, cpb_error *error);

/** x_i = S^-1(y_i/|y_i|) for every row, the inverse of cpb_embed; see cpb_map_unembed.    S^d -> R^d, T1 */
CPB_CALL cpb_status cpb_unembed(cpb_view y, cpb_out x, double s, cpb_error *error);

/** The definition of a map; pointers are borrowed for the call of cpb_map_new. Start from
 *  cpb_map_options_init and set what differs from the defaults. */
typedef struct cpb_map_options {
  size_t size;                /* sizeof(cpb_map_options) */
  size_t d;                   /* dimension of the data, >= 1 */
  double s;                   /* scale, > 0, in the unit of W(x-m) */
  const double *center;       /* m: d coordinates, NULL = 0 */
  const double *pole;         /* v: d+1 coordinates, |v| = 1, v[d] != 0; NULL = e = (0,..,0,1) */
  const double *whiten;       /* W: d*d row-major, invertible; NULL = I */
  const double *toward;       /* direction on the sphere, d+1 coordinates, any length, that is reflected
                           onto e; NULL = none. Cannot be combined with a pole. */
  const char *const *columns; /* d column names; NULL: none */
} cpb_map_options;
CPB_API void cpb_map_options_init(cpb_map_options *options, size_t size);

typedef struct cpb_map cpb_map;

/** Creates *map, owned by the caller. All options are checked; EINVAL names the invalid value. */
CPB_CALL cpb_status cpb_map_new(const cpb_map_options *options, cpb_map **map, cpb_error *error);
CPB_API void cpb_map_free(cpb_map *map);

/** The options of the map; pointers are views into the map, NULL where the option was NULL. */
CPB_API void cpb_map_describe(const cpb_map *map, cpb_map_options *options);

/** y_i = S(x_i) for every row.                                              R^d -> S^d, T1 T2 T6
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of d+1, f32 or f64; may be x itself (same data, dtype and stride >= d+1),
 *       otherwise may not overlap it
 *  Error <= 4u of y's type, normwise (u = 2^-24, 2^-53), |y| = 1 within 2 ulp. A pole multiplies the
 *  rounding of double by 1/|w|, a whitening by the condition of W, a centre by |x|/|x-m|.
 *  A row with inf is mapped to -v, the limit. A row with NaN gives NaN and EROW; all other rows are computed.
 *  Thread-safe; rows are independent. Allocates only for a map with whitening. */
CPB_CALL cpb_status cpb_map_embed(const cpb_map *map, cpb_view x, cpb_out y, const cpb_exec *exec,
                                  cpb_error *error);

/** x_i = S^-1(y_i/|y_i|) for every row.                                     S^d -> R^d, T1 T2 T6
 *  y    n rows of d+1, any dtype and any length but 0                 borrowed for the call
 *  x    n rows of d; may be y itself (same data, dtype and stride), otherwise no overlap
 *  unembed(embed(x)) = x within 4u for f32 and 16u for f64, |x|/s from 1e-15 to 1e15, pole e. With a
 *  pole or a reflection the rounding of y itself changes x by up to 16u (|x|^2+s^2)/(s |w|).
 *  Rows without a preimage (NaN, inf, 0, -v), or whose preimage overflows x's type, give NaN and EROW. */
CPB_CALL cpb_status cpb_map_unembed(const cpb_map *map, cpb_view y, cpb_out x, const cpb_exec *exec,
                                    cpb_error *error);

/** The cap that is the image of a region under this map; the region's metric must be the map's
 *  (see T5, T6). cap->p: d+1 coordinates, caller's. */
CPB_CALL cpb_status cpb_map_cap(const cpb_map *map, const cpb_region *region, cpb_cap *cap, cpb_error *error);

/** The region whose image is this cap. The cap is complete, or has sigma and a both NaN: then they are
 *  computed. region->c and region->axis: d coordinates each, caller's; with whitening region->W is a
 *  view into the map. */
CPB_CALL cpb_status cpb_map_region(const cpb_map *map, const cpb_cap *cap, cpb_region *region,
                                   cpb_error *error);

/* Choosing the scale s for a goal.
 *
 *   mean, median   of the norms about the centre: a simple choice
 *   hemisphere     the largest norm: all rows are on the northern hemisphere                     T7
 *   spread         rows are spread over the sphere as evenly as possible: the largest ABID       T9
 *   recall         the smallest s at which exact search on the sphere still finds the target
 *                  fraction of the true k nearest neighbours, by a margin of one standard error  T13
 * Spread does not imply recall: the scale of the largest ABID is near the mean norm, where even an exact
 * search in the embedded space misses a quarter of the neighbours or more. */

/** Values are fixed. */
typedef enum cpb_goal {
  CPB_GOAL_MEAN = 0,
  CPB_GOAL_MEDIAN = 1,
  CPB_GOAL_HEMISPHERE = 2,
  CPB_GOAL_SPREAD = 3,
  CPB_GOAL_RECALL = 4,
} cpb_goal;
enum { CPB_GOALS = 5 };

/** "mean", "median", "hemisphere", "spread", "recall"; a view, never NULL. */
CPB_API const char *cpb_goal_name(cpb_goal goal);

/** Which centre a map has. Values are fixed. */
typedef enum cpb_centring {
  CPB_CENTRE_MEAN = 0,  /* for rows other than f64 rounded to f32, if no column changes by more than s/2^22 */
  CPB_CENTRE_NONE = 1,  /* 0 */
  CPB_CENTRE_GIVEN = 2, /* options.center */
} cpb_centring;

/** How to fit a map. Start from cpb_map_fit_options_init. */
typedef struct cpb_map_fit_options {
  size_t size;
  double s;              /* the scale, > 0; 0 (the default): chosen according to the goal */
  cpb_goal goal;         /* default CPB_GOAL_MEAN */
  double target;         /* for CPB_GOAL_RECALL, 0 < target < 1; default 0.99 */
  size_t k;              /* for CPB_GOAL_RECALL: number of neighbours; default 10 */
  cpb_centring centring; /* default CPB_CENTRE_MEAN */
  const double *center;  /* d coordinates, with CPB_CENTRE_GIVEN */
  const double *pole;    /* d+1 coordinates of length 1; NULL = e */
  bool whiten;           /* W with W^T W = cov(x)^-1, about the mean for any centre; default false */
  double ridge;   /* with whiten: every variance is increased by this fraction of itself, that of a constant
                            column by this fraction of the mean variance; >= 0, default 0 */
  bool spherical; /* rows are directions: their mean direction is reflected onto e, s = 1, the map's d is one
                     less than the source's columns; excludes all options above. Default false */
  bool skip_bad;  /* default false */
  size_t sample;  /* for the goals spread and recall: number of rows sampled; default 4096 */
  uint64_t seed;  /* of the sample; default 0 */
  const char *const *columns; /* column names for the map, one per column; NULL: those of the source */
} cpb_map_fit_options;
CPB_API void cpb_map_fit_options_init(cpb_map_fit_options *options, size_t size);

/** A chosen scale and the reasons for it, for cpb_choice_to_json; the caller frees it with cpb_choice_free. */
typedef struct cpb_choice cpb_choice;
CPB_API void cpb_choice_free(cpb_choice *choice);

/** What a fit has read, and why it chose this scale. */
typedef struct cpb_map_fit_report {
  size_t size;
  uint64_t rows, bad_rows; /* used, skipped; 0 and 0 if no row had to be read */
  size_t passes;           /* over the source */
  cpb_choice *choice;      /* curves and the scales of other goals; NULL if there was nothing to choose. The
                         caller frees it with cpb_choice_free */
} cpb_map_fit_report;

/** Fits *map, owned by the caller.                                                    T1 T2 T6 T7 T9 T13
 *    y = S(W(x-m)),  m = mean x,  W^T W = cov(x)^-1,  s by the goal: a norm |W(x-m)|, ABID, recall
 *  One pass for mean and sample, one for the covariance, one for norms, two for a median that is not about
 *  the mean alone. The median has a relative error below 2^-13; that of whitened or other norms, 2^-30.
 *  EINVAL names options that cannot be combined, a column that cannot be whitened, or a goal without a scale. */
CPB_CALL cpb_status cpb_map_fit(cpb_source *rows, const cpb_map_fit_options *options, cpb_map **map,
                                cpb_map_fit_report *report, const cpb_exec *exec, cpb_error *error);

/* A map as a file: JSON, versioned, 17 digits, with a checksum and its origin. */

/** What the file contains besides the map. Strings are views, NULL where absent. Set its size. */
typedef struct cpb_map_origin {
  size_t size;          /* sizeof(cpb_map_origin) */
  const char *goal;     /* how s was chosen: "given", "mean", "median", "hemisphere", .. */
  const char *source;   /* name of the data it was fitted to */
  uint64_t rows;        /* of the data, 0 if unknown */
  const char *evidence; /* JSON: reasons for this scale; copied verbatim to the key "evidence" */
} cpb_map_origin;

/** The evidence for a chosen scale, as `capball fit` stores it: what the goal measures at s, the scales of other goals,
 *  curves. options: of the fit. Free *text with cpb_free. */
CPB_CALL cpb_status cpb_choice_to_json(const cpb_choice *choice, const cpb_map_fit_options *options,
                                       char **text, cpb_error *error);

/** The content of the file (keys "capball", "dim", "columns" if columns have names, "scale", "center", "pole",
 *  "whiten", "toward", "goal", "evidence", "made_from", "checksum"). *text is 0-terminated; free it with cpb_free. */
CPB_CALL cpb_status cpb_map_to_json(const cpb_map *map, const cpb_map_origin *origin, char **text,
                                    cpb_error *error);

/** Reads that text back, bit for bit, into a new *map. Any defect (invalid JSON, an unknown version, a wrong
 *  length, a checksum that does not match, values cpb_map_new rejects) gives EFORMAT with a message.
 *  name  how messages refer to the file; NULL = "map" */
CPB_CALL cpb_status cpb_map_from_json(const char *text, size_t length, const char *name, cpb_map **map,
                                      cpb_error *error);

/** Load and save a file of that format; save replaces the file atomically, "-" is standard output. EIO if
 *  the operating system reports an error. */
CPB_CALL cpb_status cpb_map_load(const char *path, cpb_map **map, cpb_error *error);
CPB_CALL cpb_status cpb_map_save(const cpb_map *map, const char *path, const cpb_map_origin *origin,
                                 cpb_error *error);

CPB_END
#endif
