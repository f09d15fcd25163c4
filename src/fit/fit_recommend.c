/* T13: recommendations and radii from sources. */
#include "capball/query.h"
#include "core/fail.h"
#include "core/sized.h"
#include "fit/fit_parts.h"
#include "proof/proof_parts.h"

/* A hash sample of a source, in constant memory. */
typedef struct sampled {
  cpb_statistics *statistics;
  cpb_statistics_result facts;
} sampled;

static cpb_status read_sample(cpb_source *source, const char *name, size_t rows, uint64_t seed, bool skip_bad,
                              double from, double to, sampled *s, const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_statistics_fit_options options = {.sample = rows, .seed = seed, .skip_bad = skip_bad};
  cpb_status status = cpb_passes_init(&passes, source, 1, exec, error);
  if (status != CPB_OK) return status;
  passes.name = name;
  passes.from = from;
  passes.to = to;
  return cpb_gather_columns(&passes, &options, &s->statistics, &s->facts, error);
}

cpb_status cpb_recommend_fit(cpb_source *base, cpb_source *queries, bool skip_bad,
                             const cpb_recommend_options *options, cpb_recommendation **recommendation,
                             const cpb_exec *exec, cpb_error *error) {
  sampled rows = {.statistics = NULL}, asking = {.statistics = NULL};
  cpb_recommend_options o;
  cpb_exec_part part;
  cpb_recommend_options_init(&o, sizeof o);
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "recommend options", error);
  if (status == CPB_OK)
    status = read_sample(base, "base", o.sample, o.seed, skip_bad, 0, 0.1, &rows, exec, error);
  if (status == CPB_OK && queries != NULL)
    status = cpb_check_source_cols(queries, "queries", base->cols, error);
  if (status == CPB_OK && queries != NULL)
    status = read_sample(queries, "queries", o.queries, o.seed, skip_bad, 0.1, 0.15, &asking, exec, error);
  cpb_view none = {NULL, CPB_F32, 0, 0, 0};
  o.sample = rows.facts.sample.rows;
  if (status == CPB_OK)
    status = cpb_recommend(rows.facts.sample, queries != NULL ? asking.facts.sample : none, &o,
                           recommendation, cpb_exec_part_of(&part, exec, 0.15, 1), error);
  cpb_statistics_free(rows.statistics);
  cpb_statistics_free(asking.statistics);
  return status;
}

/* ---- a usual radius ---- */

typedef cpb_status take_block(cpb_radius_sample *sample, cpb_view block, uint64_t first, const cpb_exec *exec,
                              cpb_error *error);

static cpb_status take_queries(cpb_radius_sample *sample, cpb_view block, uint64_t first,
                               const cpb_exec *exec, cpb_error *error) {
  (void)exec;
  return cpb_radius_sample_queries(sample, block, first, error);
}

static cpb_status take_base(cpb_radius_sample *sample, cpb_view block, uint64_t first, const cpb_exec *exec,
                            cpb_error *error) {
  (void)first;
  return cpb_radius_sample_base(sample, block, exec, error);
}

/* The share of a pass that is done; if the number of rows is unknown, this many blocks count as half. */
static double share_read(const cpb_source *source, uint64_t rows, size_t blocks) {
  enum { HALF = 64 };
  if (source->rows == CPB_ROWS_UNKNOWN) return (double)blocks / (double)(blocks + HALF);
  return source->rows > rows ? (double)rows / (double)source->rows : 1;
}

/* One pass, reported as from .. to; calls within it can be stopped, but report no progress themselves. */
static cpb_status offer(cpb_radius_sample *sample, cpb_source *source, take_block *take, double from,
                        double to, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = source->rewind(source, error);
  cpb_view block;
  size_t blocks = 0;
  for (uint64_t first = 0; status == CPB_OK; first += block.rows) {
    double share = from + (to - from) * share_read(source, first, blocks++);
    cpb_exec_part part;
    status = cpb_exec_tell(exec, share, error);
    if (status == CPB_OK) status = source->next(source, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = take(sample, block, first, cpb_exec_part_of(&part, exec, share, share), error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first);
  }
  return status;
}

cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k, double *radius,
                          const cpb_exec *exec, cpb_error *error) {
  cpb_radius_sample *sample = NULL;
  if (queries == NULL || base == NULL) return cpb_fail_missing(error, queries == NULL ? "queries" : "base");
  if (radius == NULL) return cpb_fail_missing(error, "radius");
  cpb_status status = cpb_radius_sample_new(map, k, 0, &sample, error);
  if (status == CPB_OK) status = offer(sample, queries, take_queries, 0, 0.1, exec, error);
  if (status == CPB_OK) status = offer(sample, base, take_base, 0.1, 1, exec, error);
  if (status == CPB_OK) status = cpb_radius_sample_median(sample, radius, error);
  cpb_radius_sample_free(sample);
  return status;
}
