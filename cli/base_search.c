#include "base_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "doubles.h"
#include "progress.h"
#include "table_file.h"

enum {
  BATCH = 16384,         /* queries whose answers are held at once */
  BLOCK_BYTES = 8 << 20, /* of the base: enough for all threads, little beside the answers */
};

cpb_metric cli_metric(const cli_job *job) {
  for (int i = 0; job->options.metric != NULL && i < CPB_METRICS; i++)
    if (strcmp(job->options.metric, cpb_metric_name((cpb_metric)i)) == 0) return (cpb_metric)i;
  return CPB_L2;
}

double cli_distance(cpb_metric metric, double value) { return metric == CPB_COSINE ? 1 - value : value; }

/* ---- one pass over the base ---- */

typedef struct pass {
  const cli_job *job;
  cpb_reader *base;
  cpb_search *search;
  uint64_t done;
  cli_progress progress;
} pass;

static int offer(pass *p, cpb_view rows) {
  cpb_error error = {.row = -1};
  if (cpb_search_feed(p->search, rows, p->done, cpb_pool_exec(p->job->pool), &error) != CPB_OK)
    return cli_fail_row(p->job, cpb_reader_info(p->base).path, p->done, &error);
  p->done += rows.rows;
  cli_progress_add(&p->progress, rows.rows);
  return CLI_OK;
}

static int offer_in_place(pass *p, size_t per_block) {
  cpb_file_info info = cpb_reader_info(p->base);
  int result = CLI_OK;
  cpb_error error;
  void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(p->base, per_block) + 63) / 64 * 64);
  if (buffer == NULL) return cli_fail(p->job, "%s: no memory for a block of rows", info.path);
  while (result == CLI_OK && p->done < info.rows) {
    cli_block block = {.loan = {NULL, 0}};
    uint64_t left = info.rows - p->done;
    if (cli_interrupted() != 0)
      result = CLI_FAILED;
    else if (cli_block_read(p->base, p->done, left < per_block ? (size_t)left : per_block, buffer, &block,
                            &error) != CPB_OK)
      result = cli_fail(p->job, "%s", error.text);
    else
      result = offer(p, block.rows);
    if (cli_block_release(p->base, &block, &error) != CPB_OK && result == CLI_OK)
      result = cli_fail(p->job, "%s", error.text);
  }
  free(buffer);
  return result;
}

static int offer_in_turn(pass *p, size_t per_block) {
  cpb_view block;
  cpb_error error;
  for (;;) {
    if (cli_interrupted() != 0) return CLI_FAILED;
    if (cpb_reader_next(p->base, per_block, &block, &error) != CPB_OK)
      return cli_fail(p->job, "%s", error.text);
    if (block.rows == 0) return CLI_OK;
    int result = offer(p, block);
    if (result != CLI_OK) return result;
  }
}

int cli_search_feed(const cli_job *job, cpb_reader *base, cpb_search *search) {
  cpb_file_info info = cpb_reader_info(base);
  size_t row_bytes = info.cols * cpb_dtype_size(info.dtype), per_block = BLOCK_BYTES / row_bytes + 1;
  pass p = {.job = job, .base = base, .search = search};
  cli_progress_start(&p.progress, job, info.rows, row_bytes);
  int result = info.random_access ? offer_in_place(&p, per_block) : offer_in_turn(&p, per_block);
  cli_progress_end(&p.progress);
  return result;
}

/* ---- all queries ---- */

static int check_k(const cli_base_search *s, uint64_t rows) {
  if (rows == 0) return cli_fail(s->job, "%s has no rows", cli_name(s->base));
  if (s->k <= rows) return CLI_OK;
  return cli_fail(s->job, "%s has %llu row%s, fewer than the %zu neighbours asked for", cli_name(s->base),
                  (unsigned long long)rows, cli_s(rows), s->k);
}

static int run_batch(const cli_base_search *s, cpb_reader *base, cpb_view queries, size_t first) {
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  cpb_search *search;
  cpb_error error = {.row = -1};
  double *limits = cli_alloc(queries.rows, sizeof *limits);
  for (size_t i = 0; i < queries.rows; i++) limits[i] = s->limit;
  options.metric = s->metric;
  options.k = s->k;
  options.limits = s->k == 0 ? limits : NULL;
  cpb_status status = cpb_search_new(queries, &options, &search, &error);
  free(limits);
  if (status != CPB_OK) return cli_fail_row(s->job, s->queries, first, &error);
  int result = cli_search_feed(s->job, base, search);
  if (result == CLI_OK) result = check_k(s, cpb_search_rows(search));
  for (size_t i = 0; result == CLI_OK && i < queries.rows; i++) {
    const cpb_hit *hits;
    size_t count;
    result = cpb_search_hits(search, i, &hits, &count, &error) == CPB_OK
                 ? s->take(s->arg, first + i, hits, count)
                 : cli_fail(s->job, "%s", error.text);
  }
  cpb_search_free(search);
  return result;
}

static int run_batches(const cli_base_search *s, cpb_reader *base, cpb_view queries) {
  cpb_file_info info = cpb_reader_info(base);
  cpb_error error;
  int result = CLI_OK;
  if (info.cols != queries.cols)
    result = cli_fail(s->job, "%s has %zu column%s, but %s has %zu", cli_name(s->queries), queries.cols,
                      cli_s(queries.cols), cli_name(s->base), info.cols);
  else if (queries.rows == 0)
    result = cli_fail(s->job, "%s has no rows", cli_name(s->queries));
  else if (info.rows != CPB_ROWS_UNKNOWN)
    result = check_k(s, info.rows);
  if (result == CLI_OK)
    result = s->begin(s->arg, queries.rows, info.rows == CPB_ROWS_UNKNOWN ? 0 : info.rows);
  for (size_t first = 0; result == CLI_OK && first < queries.rows; first += BATCH) {
    size_t left = queries.rows - first;
    if (first > 0 && cpb_reader_rewind(base, &error) != CPB_OK)
      result = cli_fail(s->job, "%s (more than %d queries read the base again)", error.text, BATCH);
    if (result == CLI_OK)
      result = run_batch(s, base, cli_rows_slice(queries, first, left < BATCH ? left : BATCH), first);
  }
  return result;
}

int cli_base_search_run(const cli_base_search *search) {
  cpb_reader *base = NULL, *reader = NULL;
  cpb_view queries = {0};
  int result =
      cli_open_reader(search->job, search->base, cli_operand_format(search->job, search->base), &base);
  if (result == CLI_OK)
    result = cli_open_reader(search->job, search->queries, cli_operand_format(search->job, search->queries),
                             &reader);
  if (result == CLI_OK) result = cli_read_table(search->job, reader, &queries);
  if (result == CLI_OK) result = run_batches(search, base, queries);
  free((void *)(uintptr_t)queries.data);
  cpb_reader_free(reader);
  cpb_reader_free(base);
  return result;
}
