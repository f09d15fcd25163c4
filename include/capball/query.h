/* Euclidean queries for an engine that supports only inner products or cosines.                     T13
 *
 * The engine stores rows y = S(x) computed by cpb_map_embed and returns, for a vector p, the rows of largest
 * score <p,y>. With q a query and |.| the length |Wx| in the metric of the map (W = I without whitening):
 *   range   {|x-q| <= r} is {<p,y> >= b}, (p,b) the cap of the ball (q,r): exact
 *   k-NN    request more than k by p(q,r), r a typical k-th distance, or by the point query p(q,0) = S(q);
 *           compute distances from the rows or from the scores; a certificate says whether any other row
 *           could be nearer
 *
 * The map must have pole e and no reflection: under other maps Euclidean balls are not caps. */
#ifndef CAPBALL_QUERY_H
#define CAPBALL_QUERY_H

#include "capball/transform.h"

CPB_BEGIN

/** p(q,r) and b for every query: the cap of the ball (T3), or S(q) and b = 1 if r = 0.         T3 T13
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  radii    n numbers >= 0
 *  p        n rows of d+1, f32 or f64; may not overlap the queries
 *  b, sigma n numbers each or NULL. Rounded to a type of unit roundoff u, (p,b) determines the radius only
 *           to the relative error u/sigma^2.
 *  EROW: a query with NaN or inf, or a ball whose cap is not representable in double; its row is NaN. */
CPB_CALL cpb_status cpb_query_caps(const cpb_map *map, cpb_view queries, const double *radii, cpb_out p,
                                   double *b, double *sigma, const cpb_exec *exec, cpb_error *error);

/** The median distance to the k-th neighbour in the base, over a sample of the queries: a radius for ball
 *  queries.                                                                                             T13 */
CPB_CALL cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k,
                                   double *radius, const cpb_exec *exec, cpb_error *error);

/** What the scores of an engine are. Values are fixed. */
typedef enum cpb_score_kind {
  CPB_SCORE_IP = 0,
  CPB_SCORE_COSINE = 1,
  CPB_SCORE_COSINE_DISTANCE = 2, /* 1 - cosine */
} cpb_score_kind;

enum { CPB_PRECISION_UNKNOWN = -1 };

/** What is known of embedded rows from the rows themselves. */
typedef struct cpb_stored_rows {
  size_t size;         /* sizeof(cpb_stored_rows) */
  cpb_dtype precision; /* the coarsest of f64, f32, f16 that a row may have been rounded to: an f32 file may
                          hold rows that were f16 before */
  double row_error; /* the resulting bound of the distance between rows and images of the data; inf if .. */
  bool unexplained; /* .. a row is farther from the sphere than rounding explains, so nothing is proven .. */
  double off;       /* .. by this much, for the farthest row .. */
  uint64_t row;     /* .. and its number */
} cpb_stored_rows;

/** How candidates are rescored. Start from cpb_rescore_options_init. */
typedef struct cpb_rescore_options {
  size_t size;
  size_t k;        /* number of neighbours; default 10 */
  double radius;   /* r of the queries p(q,r); 0 (the default): point queries */
  cpb_view scores; /* the engine's scores, one per candidate, to compute distances from; data = NULL (the
                                default): from the rows */
  cpb_score_kind score_kind; /* what they are */
  double score_error; /* bound of their distance from <p,y>; NaN (the default): as in cpb_external, plus 4
                                roundings of their type */
  cpb_source
      *all; /* all embedded rows, to prove the result for any engine, which promises nothing, and to count how
                      many candidates would prove the rest; NULL (the default): the engine must promise that its
                      candidates are the `count` rows of the highest scores of all rows of `embedded` */
  double within;  /* > 0: all rows within this distance, and k is `count`; 0 (the default): k nearest */
  bool unordered; /* the candidates are unsorted: nothing is known about the engine's scores (false) */
  int precision; /* the cpb_dtype the rows were rounded to, if known from a matching seal or cpb_transform_verify;
                      CPB_PRECISION_UNKNOWN (the default): determined from the rows that are read (with `all` from
                      all rows, in a pass of its own), taking the coarsest */
  cpb_stored_rows *stored; /* receives what was found, its size set; NULL (the default) */
} cpb_rescore_options;
CPB_API void cpb_rescore_options_init(cpb_rescore_options *options, size_t size);

/** The candidates of an engine, for n queries. */
typedef struct cpb_candidates {
  const uint64_t *ids; /* n x count row numbers, largest <p,y> first; no row twice for a query */
  size_t count;        /* per query */
} cpb_candidates;

/** Output arrays of the caller. */
typedef struct cpb_rescore_out {
  cpb_hit *hits;    /* n x k; those of query i start at hits[i*k], nearest first, value = |x-q| */
  uint64_t *needed; /* n or NULL: 0 if the result is proven; else how many candidates would prove it, or the
                       number of all rows if there is no `all` to count them; `count` if these candidates are
                       enough, but scores and rows order them differently */
} cpb_rescore_out;

/** The k nearest of an engine's candidates, by distances from their embedded rows or from the engine's scores, and
 *  a proof that no other row is nearer, with all rounding errors accounted for. It is a proof about the data if the
 *  embedded rows are the images of the data under this map, rounded to `precision` at most; this call cannot check
 *  that, a seal can (capball/advanced/seal.h). Without options->all the proof assumes that the engine returned its true
 *  top `count` candidates; with it all rows are examined and nothing is assumed about the engine.        T8 T13
 *  Scores in f32 or f16 do not distinguish rows near the query (they determine the squared distance only to 2 s^2
 *  score_error/(rise a)), so a result from scores is proven only if the rows give the same k in the same order.
 *  queries   n rows of d, any dtype                                       borrowed for the call
 *  embedded  all rows of the index by number, not those of the candidates alone: d+1 columns, f32, f64 or f16, of
 *            this transform
 *  Neither results nor proofs depend on the order of the queries.
 *  transform sphere (cpb_transform_of_map), lift-ip or lift-cosine; EINVAL for the others, which do not determine
 *            distances. Lifts preserve the order, so their proofs need few candidates beyond k.
 *  EROW: an embedded row that is not on the sphere. EINVAL: an impossible row number or score, and candidates
 *  whose scores increase: they are from another transform, radius or query, or from other rows. */
CPB_CALL cpb_status cpb_transform_rescore(const cpb_transform *transform, cpb_view queries,
                                          cpb_candidates candidates, const cpb_store *embedded,
                                          const cpb_rescore_options *options, const cpb_rescore_out *out,
                                          const cpb_exec *exec, cpb_error *error);

/* Exact Euclidean neighbours from any index of embedded rows that finds large inner products.       T13
 *
 * The index is two callbacks; the library calls them, computes distances from the rows, and doubles the number of
 * candidates until the certificate holds. */

/** An index over the rows S(x). Its callbacks are called from the calling thread only; a status other than
 *  CPB_OK ends the call and is returned from it, with its message. */
typedef struct cpb_external {
  void *self;
  uint64_t rows;

  /** The `count` rows of largest <p,y>, in any order, for p of d+1 doubles and unit length: ids and scores,
   *  *found of each. A proof needs the promise that no other row scores higher than these. Fewer than requested are
   *  not a proof, unless they are all rows. */
  cpb_status (*search)(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                       size_t *found, cpb_error *error);

  /** The d+1 coordinates of one row. */
  cpb_status (*row)(void *self, uint64_t id, double *y, cpb_error *error);

  double row_error;   /* bound of |y-S(x)|; 0: that of cpb_map_embed rounding to f32 */
  double score_error; /* bound of a score's distance from <p,y>; 0: 2(d+4) 2^-24, for p and sums in f32.
                         Quantising engines have larger errors */
} cpb_external;

/** How the index is queried. Start from cpb_external_options_init. */
typedef struct cpb_external_options {
  size_t size;   /* sizeof(cpb_external_options) */
  double radius; /* r of the ball query p(q,r); 0: the point query */
  size_t first;  /* candidates requested first; 0: twice k, at least 32 */
  size_t most;   /* candidates requested at most; 0: all rows */
} cpb_external_options;
CPB_API void cpb_external_options_init(cpb_external_options *options, size_t size);

/** The quality of the result of one query. */
typedef struct cpb_external_report {
  uint64_t looked; /* candidates of the last request */
  bool proven;     /* no other row is nearer than the k-th */
} cpb_external_report;

/** The k nearest rows of every query, by distances from the embedded rows. Rows whose distances differ
 *  by less than row_error resolves may be in either order.
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  hits     n x k, caller's; those of query i start at hits[i*k], nearest first, value = |x-q|
 *  reports  n, or NULL
 *  EINVAL: k = 0, k > index->rows, fewer than k rows found, or an id that is not a row. */
CPB_CALL cpb_status cpb_external_knn(const cpb_map *map, const cpb_external *index, cpb_view queries,
                                     size_t k, const cpb_external_options *options, cpb_hit *hits,
                                     cpb_external_report *reports, cpb_error *error);

CPB_END
#endif
