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

#include <stdbool.h>

#include "capball/map.h"
#include "capball/search.h"
#include "capball/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/** p(q,r) and b for every query: T3's cap of the ball, S(q) and b = 1 where r = 0.             T3 T13
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  radii    n numbers >= 0
 *  p        n rows of d+1, f32 or f64; may not overlap the queries
 *  b, sigma n numbers each or NULL. Rounded to a type of unit roundoff u, (p,b) knows the radius only
 *           to the relative error u/sigma^2.
 *  EROW: a query with NaN or inf, or a ball whose cap no double holds; its row is NaN. */
CPB_API cpb_status cpb_query_caps(const cpb_map *map, cpb_view queries, const double *radii, cpb_out p,
                                  double *b, double *sigma, const cpb_exec *exec, cpb_error *error);

/** norms[i] = |W(q_i-m)|, which the laws below call `norm`. EROW as above. */
CPB_API cpb_status cpb_query_norms(const cpb_map *map, cpb_view queries, double *norms, const cpb_exec *exec,
                                   cpb_error *error);

/** |x_i-q| from embedded rows alone: |x-q|^2 = s^2 |y-S(q)|^2/((1+y0)(1+q0)), in double.        T8 T13
 *  query      1 row of d, any dtype
 *  rows       n rows of d+1, any dtype, of unit length                 borrowed for the call
 *  distances  n numbers; inf for -e, the image of infinity
 *  EROW: a row with NaN, or a query with NaN or inf. Thread-safe. */
CPB_API cpb_status cpb_query_distances(const cpb_map *map, cpb_view query, cpb_view rows, double *distances,
                                       cpb_error *error);

/** cpb_rerank from embedded rows alone, the data being elsewhere or gone.                          T13
 *    |x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0),  norms about the map's centre
 *  map        of the embedding; pole e, nothing reflected. Distances are in its metric
 *  embedded   rows of d+1, made by this map. Their rounding is the limit: |x-q| is off by about 2u s of
 *             their type for rows of |x| <= s. */
CPB_API cpb_status cpb_rerank_embedded(const cpb_map *map, cpb_view embedded, cpb_view queries,
                                       const cpb_hit *candidates, size_t count, size_t k, cpb_hit *hits,
                                       const cpb_exec *exec, cpb_error *error);

/** The same where rows are got by number, each once: cpb_rerank, or with a map cpb_rerank_embedded.    T13
 *  base   rows of d, with a map embedded rows of d+1. EROW: error->row is the number of a row of it */
CPB_API cpb_status cpb_rerank_store(const cpb_store *base, const cpb_map *map, cpb_view queries,
                                    const cpb_hit *candidates, size_t count, size_t k, cpb_hit *hits,
                                    const cpb_exec *exec, cpb_error *error);

/** |x-q| from the score of p(q,r): |x-q|^2 = r^2 + (2 s^2/rise) (b-score)/a, never below 0.      T4 T13
 *  score  <p,y>; a cosine is the same, a cosine distance is 1-score
 *  rise   1+y0 of the row, by cpb_rise
 *  An error e of the score is one of 2 s^2 e/(rise a) in the square. NaN outside the domain. */
CPB_API double cpb_query_distance(double norm, double r, double s, double score, double rise);

/** sin^2 h, a quarter of the largest |p(q,r)-y|^2 over the rows y of the ball |x-q| <= D: the smallest score
 *  there is 1 - 2 sin^2 h. For r = 0 it is s^2 D^2/((norm^2+s^2)((norm-D)^2+s^2)); 1 once the ball holds
 *  the antipode of p, for r = 0 from D = norm+s^2/norm on.                                      T13
 *  norm, r, D >= 0, D may be inf; s > 0. NaN outside the domain.
 *  The error of h is below 8u (1 + (norm+r+D)/s), of sin^2 h below 64u of itself for norm, r, D <= s. */
CPB_API double cpb_query_reach(double norm, double r, double s, double D);

/** How far a row of this type may lie from S(x) where cpb_map_embed made it. NaN for u8 and i8. */
CPB_API double cpb_query_row_error(const cpb_map *map, cpb_dtype dtype);

/** How far a score may lie from <p,y> for the stored y, where the engine rounds p to f32 and sums in f32
 *  in any order, and divides by lengths found in the same way: 2(d+4) 2^-24; and, for scores in f32 or f16, by
 *  how much more once it is given in this type, 1-score too: 4 units of its rounding. Engines that quantise
 *  err by more. */
CPB_API double cpb_query_score_error(size_t d, cpb_dtype scores);

/** The certificate: every row whose x lies within D of q is scored above this floor. So if an engine
 *  has given its C best rows, D is the k-th distance among them and the C-th score is below the floor, no row
 *  left out is as near as the k-th: the k nearest are among the C.                               T13
 *  D            a distance as cpb_query_distances gives it; the floor holds for what D may truly be
 *  row_error    of the stored rows, score_error of the scores, as above
 *  -inf where nothing can be said, NaN outside the domain. */
CPB_API double cpb_query_floor(const cpb_map *map, double norm, double r, double D, double row_error,
                               double score_error);

/** counts[i] += the number of rows with <p_i,y> >= limits[i], products in double: with the floor as limit,
 *  how many rows are in the way of a certificate.
 *  p       n rows of d+1, any dtype; rows any number of rows of d+1
 *  EROW: a row with NaN or inf; no count has changed then. */
CPB_API cpb_status cpb_query_count(cpb_view p, const double *limits, cpb_view rows, uint64_t *counts,
                                   const cpb_exec *exec, cpb_error *error);

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
  double score_error;        /* NaN (the default): cpb_query_score_error of their type */
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

/** The k nearest of an engine's candidates, by distances from their embedded rows or from the engine's scores, and
 *  a proof that no other row is nearer, all roundings counted. It is a proof about the data if the embedded rows are the
 *  images of the data under this map, rounded to `precision` at most; this call cannot know that, a seal can
 *  (capball/seal.h). Without options->all the proof holds if no other row
 *  has a higher score, that is if the engine's first `count` are its best; with it all rows are looked at, and
 *  the engine need not be believed.                                                                  T8 T13
 *  Scores in f32 or f16 tell no rows apart that are near the query (they know the square of a distance to
 *  2 s^2 score_error/(rise a)), so an answer by scores is proven only where the rows give the same k in the same
 *  order.
 *  queries   n rows of d, any dtype                                       borrowed for the call
 *  ids       n x count row numbers, the engine's best by <p,y>, best first; none twice for a query
 *  embedded  the rows of the index by number, d+1 columns, f32, f64 or f16, of this map
 *  hits      n x k, caller's; query i's are hits[i*k ..], nearest first, value = |x-q|
 *  needed    n or NULL: 0 where the answer is proven on that condition, else how many candidates would prove it, where `all` lets it
 *            be counted, and the number of all rows where not; `count`, where these candidates are enough, but
 *            the scores order them otherwise than the rows do: distances from the rows prove it
 *  The answer does not depend on the order of the queries, nor does what is proven.
 *  EROW: an embedded row that is no point of the sphere. EINVAL: a row number or a score that cannot be, and
 *  candidates whose scores do not fall: they were found by another map, radius or query, or in other rows. */
CPB_API cpb_status cpb_rescore(const cpb_map *map, cpb_view queries, const uint64_t *ids, size_t count,
                               const cpb_store *embedded, const cpb_rescore_options *options, cpb_hit *hits,
                               uint64_t *needed, const cpb_exec *exec, cpb_error *error);

/** The same for rows of a transform: sphere, lift-ip or lift-cosine; EINVAL for the others, whose rows know no
 *  distances. Lifts keep the order, so their proofs need little more than k candidates.                  T13 */
CPB_API cpb_status cpb_transform_rescore(const cpb_transform *transform, cpb_view queries,
                                         const uint64_t *ids, size_t count, const cpb_store *embedded,
                                         const cpb_rescore_options *options, cpb_hit *hits, uint64_t *needed,
                                         const cpb_exec *exec, cpb_error *error);

/** Whether rows are the images of data under a transform (sphere, lift-ip or lift-cosine), row by row, all of them.    T13
 *  base       the data, d columns; embedded   as many rows of cpb_transform_cols
 *  precision  the finest of f64, f32, f16 whose rounding explains every row: what cpb_rescore_options takes
 *  EROW names the first row that lies farther from its image than f16 explains. ESHAPE for another number of rows. */
CPB_API cpb_status cpb_transform_verify(const cpb_transform *transform, cpb_source *base,
                                        cpb_source *embedded, cpb_dtype *precision, const cpb_exec *exec,
                                        cpb_error *error);

/** What a random audit of answers found. */
typedef struct cpb_audit {
  size_t size;      /* sizeof(cpb_audit) */
  size_t queries;   /* that were looked at, chosen by a hash of their number */
  uint64_t rows;    /* that each of them was compared with: all of them */
  double recall;    /* share of their true k nearest in the answers */
  double low, high; /* between which the recall of all queries lies, with 95 % confidence (Wilson's interval,
                       queries being the sample: neighbours of one query stand or fall together) */
} cpb_audit;

/** How many of the true k nearest an approximate engine found: some queries are answered by all rows.
 *  queries, hits   n rows and n x k answers, as cpb_transform_rescore gave them
 *  all             all embedded rows
 *  most, seed      queries to look at, at most (0: 100), and the seed of their choice
 *  Rows as near as the k-th within a millionth count as found.                                          T13 */
CPB_API cpb_status cpb_transform_audit(const cpb_transform *transform, cpb_view queries, const cpb_hit *hits,
                                       size_t k, cpb_source *all, size_t most, uint64_t seed,
                                       cpb_audit *audit, const cpb_exec *exec, cpb_error *error);

/** A usual k-th distance: the median over a few queries, chosen by a hash of their ids, of the exact k-th
 *  distance to the whole base. First all queries, then all of the base, each in any pieces. */
typedef struct cpb_radius_sample cpb_radius_sample;

/** Gives *sample to the caller. The map is borrowed while the sample lives.
 *  k >= 1; most: queries to take, 0: 64 */
CPB_API cpb_status cpb_radius_sample_new(const cpb_map *map, size_t k, size_t most,
                                         cpb_radius_sample **sample, cpb_error *error);
CPB_API void cpb_radius_sample_free(cpb_radius_sample *sample);

/** Offers queries first_id, first_id+1, .. EROW as above. */
CPB_API cpb_status cpb_radius_sample_queries(cpb_radius_sample *sample, cpb_view queries, uint64_t first_id,
                                             cpb_error *error);

/** Offers rows of the base (not embedded); no queries after this. EROW: a row with NaN or inf. */
CPB_API cpb_status cpb_radius_sample_base(cpb_radius_sample *sample, cpb_view rows, const cpb_exec *exec,
                                          cpb_error *error);

/** The median, of an even number the mean of the two in the middle; 0 where rows repeat so much that it is.
 * EINVAL when the base has fewer than k rows. */
CPB_API cpb_status cpb_radius_sample_median(cpb_radius_sample *sample, double *radius, cpb_error *error);

/* Exact Euclidean neighbours from any index of embedded rows that finds large inner products.       T13
 *
 * The index is two callbacks; the library asks, computes distances from the rows, and asks for twice as many
 * until the certificate holds. */

/** Someone's index over the rows S(x). Its callbacks are called from the calling thread alone; what they
 *  return other than CPB_OK ends the call and is handed on, with their sentence. */
typedef struct cpb_index {
  void *self;
  uint64_t rows;

  /** The `count` rows of the largest <p,y>, in any order, p of d+1 doubles and unit length: ids and scores,
   *  *found of each. Fewer than asked for, from an index that does not hold all rows or looks at some only,
   *  are no proof. */
  cpb_status (*search)(void *self, const double *p, size_t count, uint64_t *ids, double *scores,
                       size_t *found, cpb_error *error);

  /** The d+1 coordinates of one row. */
  cpb_status (*row)(void *self, uint64_t id, double *y, cpb_error *error);

  double row_error;   /* 0: cpb_query_row_error of f32 */
  double score_error; /* 0: cpb_query_score_error of f32 */
} cpb_index;

/** How it is asked. Start from cpb_index_options_init. */
typedef struct cpb_index_options {
  size_t size;   /* sizeof(cpb_index_options) */
  double radius; /* r of the ball query p(q,r); 0: the point query */
  size_t first;  /* candidates asked for at first; 0: twice k, at least 32 */
  size_t most;   /* candidates asked for at most; 0: all rows */
} cpb_index_options;

CPB_API void cpb_index_options_init(cpb_index_options *options, size_t size);

/** How good the answer to one query is. */
typedef struct cpb_index_report {
  uint64_t looked; /* candidates of the last question */
  bool proven;     /* no other row is nearer than the k-th */
} cpb_index_report;

/** The k nearest rows of every query, by distances from the embedded rows. Rows whose distances differ
 *  by less than row_error resolves may stand in either order.
 *  queries  n rows of d, any dtype                                     borrowed for the call
 *  hits     n x k, caller's; query i's are hits[i*k ..], nearest first, value = |x-q|
 *  reports  n, or NULL
 *  EINVAL: k = 0, k > index->rows, fewer than k rows found, an id that is none of the rows. */
CPB_API cpb_status cpb_index_knn(const cpb_map *map, const cpb_index *index, cpb_view queries, size_t k,
                                 const cpb_index_options *options, cpb_hit *hits, cpb_index_report *reports,
                                 cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
