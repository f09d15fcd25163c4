/* T13: exact search in a base of any size, read block by block. */
#include "capball/search.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "parallel/tell.h"
#include "search/search_object.h"

enum { BATCH = 16384 }; /* queries whose answers are in memory at once */

static cpb_status tell(const cpb_source *base, uint64_t done, const cpb_exec *exec, cpb_error *error) {
  double share = base->rows == CPB_ROWS_UNKNOWN || base->rows == 0 ? 0 : (double)done / (double)base->rows;
  return cpb_exec_tell(exec, share < 1 ? share : 1, error);
}

/* Splits large blocks (such as a whole view) into pieces that occupy all threads and report progress. */
static cpb_status feed_block(cpb_search *search, cpb_source *base, cpb_view block, uint64_t first,
                             const cpb_exec *quiet, const cpb_exec *exec, cpb_error *error) {
  enum { PIECE_BYTES = 8 << 20 };
  size_t most = PIECE_BYTES / (block.cols * cpb_dtype_size(block.dtype)) + 1;
  cpb_status status = CPB_OK;
  for (size_t at = 0; at < block.rows && status == CPB_OK; at += most) {
    size_t count = block.rows - at < most ? block.rows - at : most;
    status = cpb_search_feed(search, cpb_view_slice(block, at, count), first + at, quiet, error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first + at);
    if (status == CPB_OK) status = tell(base, first + at + count, exec, error);
  }
  return status;
}

cpb_status cpb_search_feed_source(cpb_search *search, cpb_source *base, const cpb_exec *exec,
                                  cpb_error *error) {
  if (search == NULL || base == NULL) return cpb_fail_missing(error, search == NULL ? "search" : "base");
  cpb_exec quiet = {.size = sizeof quiet};
  if (exec != NULL) quiet = *exec;
  quiet.progress = NULL; /* the pass over the base reports progress */
  cpb_status status = base->rewind(base, error);
  cpb_view block;
  for (uint64_t first = 0; status == CPB_OK; first += block.rows) {
    status = base->next(base, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = feed_block(search, base, block, first, &quiet, exec, error);
  }
  return status;
}

/* ---- any number of queries ---- */

static cpb_status check_k(size_t k, uint64_t rows, cpb_error *error) {
  if (rows == 0) return cpb_fail(error, CPB_WHY_NO_ROWS, "base", "the base has no rows");
  if (k <= rows) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NEIGHBOURS, "base",
                  "the base has %llu rows, fewer than the %zu neighbours asked for", (unsigned long long)rows,
                  k);
}

static cpb_status take_all(cpb_search *search, size_t queries, size_t first, cpb_search_take *take,
                           void *context, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < queries && status == CPB_OK; i++) {
    const cpb_hit *hits;
    size_t count;
    status = cpb_search_hits(search, i, &hits, &count, error);
    if (status == CPB_OK) status = take(context, first + i, hits, count, error);
  }
  return status;
}

static cpb_status run_batch(cpb_source *base, cpb_view queries, size_t first,
                            const cpb_search_options *options, cpb_search_take *take, void *context,
                            const cpb_exec *exec, cpb_error *error) {
  cpb_search *search = NULL;
  cpb_status status = cpb_search_new(queries, options, &search, error);
  if (status == CPB_EROW) status = cpb_fail_later(error, first);
  if (status == CPB_OK) status = cpb_search_feed_source(search, base, exec, error);
  if (status == CPB_OK) status = check_k(options->k, cpb_search_rows(search), error);
  if (status == CPB_OK) status = take_all(search, queries.rows, first, take, context, error);
  cpb_search_free(search);
  return status;
}

cpb_status cpb_search_run(cpb_source *base, cpb_view queries, const cpb_search_options *options,
                          cpb_search_take *take, void *context, const cpb_exec *exec, cpb_error *error) {
  cpb_search_options o;
  if (base == NULL || take == NULL) return cpb_fail_missing(error, base == NULL ? "base" : "take");
  cpb_search_options_init(&o, sizeof o);
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "search options", error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", base->cols, error);
  if (status == CPB_OK && base->rows != CPB_ROWS_UNKNOWN) status = check_k(o.k, base->rows, error);
  const double *limits = o.limits;
  for (size_t first = 0; first < queries.rows && status == CPB_OK; first += BATCH) {
    size_t left = queries.rows - first, count = left < BATCH ? left : BATCH;
    cpb_exec_part part;
    const cpb_exec *of_batch = cpb_exec_part_of(&part, exec, (double)first / (double)queries.rows,
                                                (double)(first + count) / (double)queries.rows);
    if (limits != NULL) o.limits = limits + first;
    status =
        run_batch(base, cpb_view_slice(queries, first, count), first, &o, take, context, of_batch, error);
  }
  return status;
}
