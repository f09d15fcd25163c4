/* Euclidean questions for an engine that knows only inner products or cosines.                      T13
 *
 * The engine holds rows y = S(x) that cpb_map_embed made and answers a vector p with the rows of the largest
 * score <p,y>. With q a query and |.| the length |Wx| in the metric of the map (W = I unless it whitens):
 *   range   {|x-q| <= r} is {<p,y> >= b}, (p,b) the cap of the ball (q,r): exact
 *   k-NN    ask for more than k by p(q,r), r a usual k-th distance, or by the point query p(q,0) = S(q);
 *           take the distances from the rows or from the scores; a certificate says whether any row
 *           left out could be nearer
 *
 * The pole of the map must be e and nothing reflected: under other maps Euclidean balls are no caps. */
#ifndef CAPBALL_QUERY_H
#define CAPBALL_QUERY_H

#include "capball/transform.h"

CPB_BEGIN

/** p(q,r) and b for every query: T3's cap of the ball, S(q) and b = 1 where r = 0.             T3 T13
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  radii    n numbers >= 0
 *  p        n rows of d+1, f32 or f64; may not overlap the queries
 *  b, sigma n numbers each or NULL. Rounded to a type of unit roundoff u, (p,b) knows the radius only
 *           to the relative error u/sigma^2.
 *  EROW: a query with NaN or inf, or a ball whose cap no double holds; its row is NaN. */
CPB_CALL cpb_status cpb_query_caps(const cpb_map *map, cpb_view queries, const double *radii, cpb_out p,
                                   double *b, double *sigma, const cpb_exec *exec, cpb_error *error);

/** The median, over a sample of the queries, of the distance of their k-th neighbour in the base: the radius for
 *  ball queries.                                                                                        T13 */
CPB_CALL cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k,
                                   double *radius, const cpb_exec *exec, cpb_error *error);

/** What an engine's numbers are. Pinned, append only. */
typedef enum cpb_score_kind {
  CPB_SCORE_IP = 0,
  CPB_SCORE_COSINE = 1,
  CPB_SCORE_COSINE_DISTANCE = 2, /* 1 - cosine */
} cpb_score_kind;

enum { CPB_PRECISION_UNKNOWN = -1 };

/** What embedded rows are, as far as they tell themselves. */
typedef struct cpb_stored_rows {
  size_t size; /* sizeof(cpb_stored_rows) */
  cpb_dtype
      precision; /* the coarsest of f64, f32, f16 that a row that was read may have been rounded to: a file of f32 may
                          hold rows that were f16 before */
  double row_error; /* how far rows may lie from the images of the data then; inf where one is .. */
  bool unexplained; /* .. farther from the sphere than its type explains, so that nothing is proven .. */
  double off;       /* .. by so much, the farthest of them .. */
  uint64_t row;     /* .. and its number */
} cpb_stored_rows;

/** How candidates are put in order. Start from cpb_rescore_options_init. */
typedef struct cpb_rescore_options {
  size_t size;
  size_t k;        /* neighbours that are wanted; default 10 */
  double radius;   /* r of the queries p(q,r); 0 (the default): point queries */
  cpb_view scores; /* the engine's numbers, one per candidate, to take distances from; data = NULL (the
                                default): from the rows */
  cpb_score_kind score_kind; /* what they are */
  double
      score_error; /* how far they may be from <p,y>; NaN (the default): as in cpb_external, and 4 roundings of
                                their type */
  cpb_source *all; /* all embedded rows, to prove the answer whatever the engine did, and to count how many
                      candidates would prove what is not proven; NULL (the default): the engine is believed */
  double within;   /* > 0: all rows within this distance are wanted, and k is `count`; 0 (the default): k */
  bool unordered;  /* the candidates are in no order: nothing is known of the engine's scores (false) */
  int precision; /* the cpb_dtype that the rows were rounded to, where a seal that fits or cpb_transform_verify tells it;
                      CPB_PRECISION_UNKNOWN (the default): every row that is read is looked at, with `all` all of them
                      in a pass of their own, and the coarsest counts */
  cpb_stored_rows *stored; /* what was found, its size set; NULL (the default) */
} cpb_rescore_options;

CPB_API void cpb_rescore_options_init(cpb_rescore_options *options, size_t size);

/** The candidates of an engine, for n queries. */
typedef struct cpb_candidates {
  const uint64_t *ids; /* n x count row numbers, best <p,y> first; none twice for a query */
  size_t count;        /* per query */
} cpb_candidates;

/** Where answers go: the caller's arrays. */
typedef struct cpb_rescore_out {
  cpb_hit *hits;    /* n x k; query i's are hits[i*k ..], nearest first, value = |x-q| */
  uint64_t *needed; /* n or NULL: 0 where the answer is proven; else how many candidates would prove it,
                       or the number of all rows where `all` is not there to count them; `count` where these
                       candidates are enough, but the scores order them otherwise than the rows do */
} cpb_rescore_out;

/** The k nearest of an engine's candidates, by distances from their embedded rows or from the engine's scores, and
 *  a proof that no other row is nearer, all roundings counted. It is a proof about the data if the embedded rows are the
 *  images of the data under this map, rounded to `precision` at most; this call cannot know that, a seal can
 *  (capball/advanced/seal.h). Without options->all the proof holds if no other row
 *  has a higher score, that is if the engine's first `count` are its best; with it all rows are looked at, and
 *  the engine need not be believed.                                                                  T8 T13
 *  Scores in f32 or f16 tell no rows apart that are near the query (they know the square of a distance to
 *  2 s^2 score_error/(rise a)), so an answer by scores is proven only where the rows give the same k in the same
 *  order.
 *  queries   n rows of d, any dtype                                       borrowed for the call
 *  embedded  the rows of the index by number, d+1 columns, f32, f64 or f16, of this transform
 *  The answer does not depend on the order of the queries, nor does what is proven.
 *  transform sphere (cpb_transform_of_map), lift-ip or lift-cosine; EINVAL for the others, whose rows know no
 *            distances. Lifts keep the order, so their proofs need little more than k candidates.
 *  EROW: an embedded row that is no point of the sphere. EINVAL: a row number or a score that cannot be, and
 *  candidates whose scores do not fall: they were found by another transform, radius or query, or in other rows. */
CPB_CALL cpb_status cpb_transform_rescore(const cpb_transform *transform, cpb_view queries,
                                          cpb_candidates candidates, const cpb_store *embedded,
                                          const cpb_rescore_options *options, const cpb_rescore_out *out,
                                          const cpb_exec *exec, cpb_error *error);

/* Exact Euclidean neighbours from any index of embedded rows that finds large inner products.       T13
 *
 * The index is two callbacks; the library asks, computes distances from the rows, and asks for twice as many
 * until the certificate holds. */

/** Someone's index over the rows S(x). Its callbacks are called from the calling thread alone; what they
 *  return other than CPB_OK ends the call and is handed on, with their sentence. */
typedef struct cpb_external {
  void *self;
  uint64_t rows;

  /** The `count` rows of the largest <p,y>, in any order, p of d+1 doubles and unit length: ids and scores,
   *  *found of each. Fewer than asked for, from an index that does not hold all rows or looks at some only,
   *  are no proof. */
  cpb_status (*search)(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                       size_t *found, cpb_error *error);

  /** The d+1 coordinates of one row. */
  cpb_status (*row)(void *self, uint64_t id, double *y, cpb_error *error);

  double row_error;   /* how far a row may be from S(x); 0: as cpb_map_embed rounds to f32 */
  double score_error; /* how far a score may be from <p,y>; 0: 2(d+4) 2^-24, for p and sums in f32. Engines
                         that quantise err by more */
} cpb_external;

/** How it is asked. Start from cpb_external_options_init. */
typedef struct cpb_external_options {
  size_t size;   /* sizeof(cpb_external_options) */
  double radius; /* r of the ball query p(q,r); 0: the point query */
  size_t first;  /* candidates asked for at first; 0: twice k, at least 32 */
  size_t most;   /* candidates asked for at most; 0: all rows */
} cpb_external_options;

CPB_API void cpb_external_options_init(cpb_external_options *options, size_t size);

/** How good the answer to one query is. */
typedef struct cpb_external_report {
  uint64_t looked; /* candidates of the last question */
  bool proven;     /* no other row is nearer than the k-th */
} cpb_external_report;

/** The k nearest rows of every query, by distances from the embedded rows. Rows whose distances differ
 *  by less than row_error resolves may stand in either order.
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  hits     n x k, caller's; query i's are hits[i*k ..], nearest first, value = |x-q|
 *  reports  n, or NULL
 *  EINVAL: k = 0, k > index->rows, fewer than k rows found, an id that is none of the rows. */
CPB_CALL cpb_status cpb_external_knn(const cpb_map *map, const cpb_external *index, cpb_view queries,
                                     size_t k, const cpb_external_options *options, cpb_hit *hits,
                                     cpb_external_report *reports, cpb_error *error);

CPB_END
#endif
