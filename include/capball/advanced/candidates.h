/* Candidates of an engine or of codes, compared with rows that are elsewhere; transforms that can grow.  T13 T14
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_CANDIDATES_H
#define CAPBALL_ADVANCED_CANDIDATES_H

#include "capball/query.h"
#include "capball/sketch.h"

CPB_BEGIN

/** |x_i-q| from embedded rows alone: |x-q|^2 = s^2 |y-S(q)|^2/((1+y0)(1+q0)), in double.        T8 T13
 *  query      1 row of d, any dtype
 *  rows       n rows of d+1, any dtype, of unit length                 borrowed for the call
 *  distances  n numbers; inf for -e, the image of infinity
 *  EROW: a row with NaN, or a query with NaN or inf. Thread-safe. */
CPB_CALL cpb_status cpb_query_distances(const cpb_map *map, cpb_view query, cpb_view rows, double *distances,
                                        cpb_error *error);

/** How candidates are ranked. Start from cpb_rerank_options_init. */
typedef struct cpb_rerank_options {
  size_t size;
  size_t k;           /* neighbours that are wanted; default 10 */
  const cpb_map *map; /* the rows are embedded by it; NULL (the default): they are the data */
} cpb_rerank_options;

CPB_API void cpb_rerank_options_init(cpb_rerank_options *options, size_t size);

/** cpb_rerank where rows are read by number, each once; with a map from embedded rows alone.             T13
 *    |x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0),  norms about the map's centre
 *  base        rows of d; with a map (pole e, nothing reflected) embedded rows of d+1, whose rounding is the limit: |x-q|
 *              is off by about 2u s of their type for rows of |x| <= s
 *  candidates  queries.rows x count, of which only the ids are looked at
 *  hits        queries.rows x k, caller's
 *  EROW: error->row is the number of a row of the base. */
CPB_CALL cpb_status cpb_rerank_store(const cpb_store *base, cpb_view queries, const cpb_hit *candidates,
                                     size_t count, const cpb_rerank_options *options, cpb_hit *hits,
                                     const cpb_exec *exec, cpb_error *error);

/** What a random audit of answers found. */
typedef struct cpb_audit {
  size_t size;      /* sizeof(cpb_audit) */
  size_t queries;   /* that were looked at, chosen by a hash of their number */
  uint64_t rows;    /* that each of them was compared with: all of them */
  double recall;    /* share of their true k nearest in the answers */
  double low, high; /* between which the recall of all queries lies, with 95 % confidence (Wilson's interval,
                       queries being the sample: neighbours of one query stand or fall together) */
} cpb_audit;

/** What is audited. Start from cpb_audit_options_init. */
typedef struct cpb_audit_options {
  size_t size;
  size_t k;      /* answers per query; default 10 */
  size_t most;   /* queries to look at, at most; default 100 */
  uint64_t seed; /* of their choice */
} cpb_audit_options;

CPB_API void cpb_audit_options_init(cpb_audit_options *options, size_t size);

/** How many of the true k nearest an approximate engine found: some queries are answered by all rows.
 *  queries, hits   n rows and n x k answers, as cpb_transform_rescore gave them
 *  all             all embedded rows
 *  Rows as near as the k-th within a millionth count as found.                                          T13 */
CPB_CALL cpb_status cpb_transform_audit(const cpb_transform *transform, cpb_view queries, const cpb_hit *hits,
                                        cpb_source *all, const cpb_audit_options *options, cpb_audit *audit,
                                        const cpb_exec *exec, cpb_error *error);

/** Whether rows are the images of data under a transform (sphere, lift-ip or lift-cosine), row by row, all of them.    T13
 *  base       the data, d columns; embedded   as many rows of cpb_transform_cols
 *  precision  the finest of f64, f32, f16 whose rounding explains every row: what cpb_rescore_options takes
 *  EROW names the first row that lies farther from its image than f16 explains. ESHAPE for another number of rows. */
CPB_CALL cpb_status cpb_transform_verify(const cpb_transform *transform, cpb_source *base,
                                         cpb_source *embedded, cpb_dtype *precision, const cpb_exec *exec,
                                         cpb_error *error);

/** The same transform with room for rows `factor` >= 1 times as long about the centre: L is so much larger. One
 *  that knows rows of any length is only copied. Gives *grown to the caller.                             T13 */
CPB_CALL cpb_status cpb_transform_grow(const cpb_transform *transform, double factor, cpb_transform **grown,
                                       cpb_error *error);

/** The map whose images the bits divide: centre and scale of the sketch. Gives *map to the caller. */
CPB_CALL cpb_status cpb_sketch_map(const cpb_sketch *sketch, cpb_map **map, cpb_error *error);

/** Whether codes and rows belong together: looks at some of the rows `found` names, at most 64 spread over all.
 *  codes   u8 rows of bits/8
 *  rows    the data, d columns, or their images, d+1
 *  EROW names a row whose code it is not; images near a boundary, within the rounding of f16, pass. */
CPB_CALL cpb_status cpb_sketch_check(const cpb_sketch *sketch, cpb_view codes, const cpb_store *rows,
                                     const cpb_hit *found, size_t count, cpb_error *error);

CPB_END
#endif
