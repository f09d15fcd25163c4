/* Common transforms of rows for an index that supports only one metric, and the exact lifts.           T13
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
 * M = 5/4 for lift-cosine and 33/32 for ip-*: 1/16 more under the root than the longest row needs, so that
 * the root does not lose precision.
 *
 * The lifts preserve an order exactly: nearest by L2 first (lift-ip, lift-cosine), largest inner product first
 * (ip-cosine, ip-l2). All but lift-ip accept only rows up to the length L they were created for; a longer row
 * is an error. The alternative to all of them is a cpb_map, which can be used as a transform as well,
 * "sphere": x -> S(x) for base rows and queries. */
#ifndef CAPBALL_TRANSFORM_H
#define CAPBALL_TRANSFORM_H

#include <stdbool.h>

#include "capball/map.h"
#include "capball/search.h"

CPB_BEGIN

/** Values are fixed. */
typedef enum cpb_transform_kind {
  CPB_TRANSFORM_NONE = 0,
  CPB_TRANSFORM_CENTER = 1,
  CPB_TRANSFORM_NORMALIZE = 2,
  CPB_TRANSFORM_LIFT_IP = 3,
  CPB_TRANSFORM_LIFT_COSINE = 4,
  CPB_TRANSFORM_IP_COSINE = 5,
  CPB_TRANSFORM_IP_L2 = 6,
  CPB_TRANSFORM_SPHERE = 7, /* a map; see cpb_transform_of_map */
} cpb_transform_kind;
enum { CPB_TRANSFORMS = 7 }; /* kinds that cpb_transform_new creates */

/** Whether a row is stored in an index or used as a query. Values are fixed. */
typedef enum cpb_role {
  CPB_ROLE_BASE = 0,
  CPB_ROLE_QUERY = 1,
} cpb_role;

/** Name and requirements of a kind, and how its rows are compared. */
typedef struct cpb_transform_facts {
  size_t size;       /* sizeof(cpb_transform_facts) */
  const char *name;  /* "none", "center", "normalize", "lift-ip", .. */
  size_t extra;      /* number of columns added to those of the data */
  cpb_metric metric; /* of transformed rows */
  cpb_metric keeps;  /* the metric of the data whose order it preserves; `metric` if it has its own */
  bool centred;      /* takes a centre */
  bool bounded;      /* needs the largest norm of the base */
} cpb_transform_facts;

/** Fills *facts up to facts->size, which the caller has set; name is NULL for an unknown kind.
 *  cpb_transform_about does the same in one expression. */
CPB_API void cpb_transform_kind_describe(cpb_transform_kind kind, cpb_transform_facts *facts);
static inline cpb_transform_facts cpb_transform_about(cpb_transform_kind kind) {
  cpb_transform_facts facts;
  facts.size = sizeof facts;
  cpb_transform_kind_describe(kind, &facts);
  return facts;
}

/** The definition of a transform. Start from cpb_transform_options_init. */
typedef struct cpb_transform_options {
  size_t size; /* sizeof(cpb_transform_options) */
  cpb_transform_kind kind;
  size_t d;             /* columns of the data, >= 1 */
  const double *center; /* m: d coordinates, finite; NULL = 0. Borrowed for the call of cpb_transform_new */
  double max_norm;      /* L: the largest |x-m| of the base, > 0; for bounded kinds */
  const char *const *columns; /* d column names; NULL: none */
} cpb_transform_options;
CPB_API void cpb_transform_options_init(cpb_transform_options *options, size_t size);

typedef struct cpb_transform cpb_transform;

/** Creates *transform, owned by the caller. All options are checked; EINVAL names the invalid value. */
CPB_CALL cpb_status cpb_transform_new(const cpb_transform_options *options, cpb_transform **transform,
                                      cpb_error *error);
CPB_API void cpb_transform_free(cpb_transform *transform);

/** Fits *transform to a base: its mean if the kind is centred, its largest norm if the kind is bounded; for other
 *  kinds nothing is read. The caller owns *transform.                                                    T13
 *  skip_bad   skip rows with NaN or inf */
CPB_CALL cpb_status cpb_transform_fit(cpb_source *base, cpb_transform_kind kind, bool skip_bad,
                                      cpb_transform **transform, const cpb_exec *exec, cpb_error *error);

/** A map as a transform of kind CPB_TRANSFORM_SPHERE, which holds a copy of it; the caller owns *transform. */
CPB_CALL cpb_status cpb_transform_of_map(const cpb_map *map, cpb_transform **transform, cpb_error *error);

/** The map of a sphere, a view into the transform; NULL for the other kinds. */
CPB_API const cpb_map *cpb_transform_map(const cpb_transform *transform);

/** The options of the transform; center and columns are views into it. */
CPB_API void cpb_transform_describe(const cpb_transform *transform, cpb_transform_options *options);

/** Columns of transformed rows. */
CPB_API size_t cpb_transform_cols(const cpb_transform *transform);

/** Transforms every row according to kind and role.                                                     T13
 *  x    n rows of d, any dtype                                        borrowed for the call
 *  y    n rows of cpb_transform_cols, f32 or f64; may not overlap x
 *  Error <= 16u of y's type, normwise; a centre multiplies the rounding of double by |x|/|x-m|.
 *  Rows without an image give NaN and EROW, all other rows are computed: NaN, inf, 0 if a direction is needed, a
 *  result beyond y's type, and base rows longer than max_norm (1+2^-40) for kinds with a root.
 *  Thread-safe; allocates nothing; rows are independent. */
CPB_CALL cpb_status cpb_transform_apply(const cpb_transform *transform, cpb_role role, cpb_view x, cpb_out y,
                                        const cpb_exec *exec, cpb_error *error);

/** The inverse, for base rows.                                                                          T13
 *  y    n rows of cpb_transform_cols, any dtype                       borrowed for the call
 *  x    n rows of d, f32 or f64; may not overlap y
 *  Error <= 16u of x's type plus the rounding of y, normwise. EINVAL for normalize, which discards lengths.
 *  EROW as in cpb_map_unembed for the sphere, and for NaN and inf. */
CPB_CALL cpb_status cpb_transform_unapply(const cpb_transform *transform, cpb_view y, cpb_out x,
                                          const cpb_exec *exec, cpb_error *error);

/* A transform as a file: JSON, versioned, 17 digits, with a checksum. A sphere is stored as a map file. */

/** Load and save such a file; save replaces the file atomically, "-" is standard output. */
CPB_CALL cpb_status cpb_transform_load(const char *path, cpb_transform **transform, cpb_error *error);
CPB_CALL cpb_status cpb_transform_save(const cpb_transform *transform, const char *path, cpb_error *error);

/* Which transform suits an index: all of them measured on a sample of the data.                          T13
 *
 *   transform     none (raw rows, by default by cosine), normalize (centre + normalise), sphere (about the mean, at the
 *                 scale of the largest spread and at 1, 2, 4, 8 mean norms), the exact lifts lift-ip and lift-cosine
 *   index         float (exhaustive comparison of f32 rows: the ceiling of any float index), int8 (coordinates
 *                 times 127/max|coordinate|, rounded, with one factor for rows and one for queries), bits (signs
 *                 of the coordinates, compared by Hamming distance)
 *   query form    point, and on the sphere ball: p(q,r) of the ball (q,r), r the median distance of the k-th neighbours
 * Each combination is one row: the fraction of the true k nearest neighbours by L2 it finds, and the number of
 * candidates that must be re-ranked to find 99 % of them. */

/** Which engine is measured: how its index stores rows. Values are fixed. */
typedef enum cpb_engine {
  CPB_ENGINE_FLOAT = 0,
  CPB_ENGINE_INT8 = 1,
  CPB_ENGINE_BITS = 2,
} cpb_engine;
enum { CPB_ENGINES = 3 };

/** "float", "int8", "bits"; a view, never NULL. */
CPB_API const char *cpb_engine_name(cpb_engine engine);

/** What to measure. Start from cpb_recommend_options_init. */
typedef struct cpb_recommend_options {
  size_t size; /* sizeof(cpb_recommend_options) */
  size_t k;    /* neighbours, default 10 */
  cpb_engine engine;
  size_t sample;  /* base rows to measure, at most, chosen by a hash of their number; default 100000 */
  size_t queries; /* queries, at most, chosen in the same way; default 1000 */
  uint64_t seed;  /* of the hashes; default 0 */
  int metric;     /* of the index, a cpb_metric; default -1: cosine or ip, each transform by its own */
} cpb_recommend_options;
CPB_API void cpb_recommend_options_init(cpb_recommend_options *options, size_t size);

/** One combination; a view into the recommendation. */
typedef struct cpb_recommend_row {
  size_t size;             /* sizeof(cpb_recommend_row) in the library */
  const char *name;        /* static: "none", "normalize", "sphere", "lift-ip", "lift-cosine" */
  bool sphere;             /* the map; otherwise .. */
  cpb_transform_kind kind; /* .. this transform; for none, raw rows */
  double scale;            /* s of the sphere; NaN for the others */
  cpb_engine index;
  bool ball;     /* the query form */
  double recall; /* fraction of the true k nearest among its first k, ties with the k-th included */
  uint64_t candidates_for_99; /* the smallest C whose first C hold 99 % of the true ones, over all queries */
  size_t bytes;               /* per vector */
  const double *curve;        /* curve_count: fraction of the true ones among its first `candidates` */
  uint64_t candidates_most;   /* candidates_for_99 plus one standard error over the queries */
  double recall_error;        /* standard error of recall over the queries */
  cpb_metric metric;          /* how its rows are compared */
} cpb_recommend_row;

/** The measurements and the recommendation; the caller frees it with cpb_recommendation_free. */
typedef struct cpb_recommendation cpb_recommendation;
CPB_API void cpb_recommendation_free(cpb_recommendation *recommendation);

/** What was measured; arrays are views into the recommendation. */
typedef struct cpb_recommendation_facts {
  size_t size;                  /* sizeof(cpb_recommendation_facts) */
  size_t k, base_rows, queries; /* as measured */
  double norm_mean;             /* of the base about its mean */
  double radius;                /* r of the ball queries */
  size_t curve_count;
  const uint64_t *candidates; /* curve_count: k times powers of the cube root of 2, at most base_rows */
  size_t count;
  const cpb_recommend_row *const *rows; /* count: by index, then in the order of the list above */

  /* The best rows for the engine of the options: fewest candidates; within the noise of that (candidates_most) highest
   * recall, within the noise of that (recall_error) simplest: none, normalize, lifts, sphere with points, with balls. */
  size_t pick;        /* of all */
  size_t rival;       /* of those without the sphere if the pick uses it, else of those on the sphere */
  size_t for_cosine;  /* of those that a cosine engine supports: all but lift-ip */
  size_t for_growing; /* of those that accept rows longer than any present one: all but lift-cosine */
  bool poor;          /* even the pick's results are mostly wrong, and very many rows must be re-ranked */
  int metric;         /* of the options */
} cpb_recommendation_facts;

/** Fills *facts up to facts->size, which the caller has set. */
CPB_API void cpb_recommendation_describe(const cpb_recommendation *recommendation,
                                         cpb_recommendation_facts *facts);

/** Measures every combination and picks one; the caller owns *recommendation.                         T13
 *  base      n > k rows of d, any dtype                                 borrowed for the call
 *  queries   rows of d, or no rows: then rows of the base are the queries, and do not find themselves
 *  Rows of equal score are ordered by number. A row without a direction (0, under none and normalize) scores 0.
 *  Up to k rows beyond the k-th that are equally near count as true neighbours.
 *  The result depends only on data, seed and sizes, not on threads or instruction set.
 *  EROW names a row with NaN or inf; EINVAL for k = 0, k >= n, or if all rows are equal. */
CPB_CALL cpb_status cpb_recommend(cpb_view base, cpb_view queries, const cpb_recommend_options *options,
                                  cpb_recommendation **recommendation, const cpb_exec *exec,
                                  cpb_error *error);

/** cpb_recommend on samples of sources: options->sample rows of the base, options->queries of the queries (NULL:
 *  rows of the base are the queries), options->seed for both.                                            T13
 *  skip_bad   skip rows with NaN or inf */
CPB_CALL cpb_status cpb_recommend_fit(cpb_source *base, cpb_source *queries, bool skip_bad,
                                      const cpb_recommend_options *options,
                                      cpb_recommendation **recommendation, const cpb_exec *exec,
                                      cpb_error *error);

CPB_END
#endif
