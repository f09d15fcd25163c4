/* The codes with the fewest differing bits. Blocks of codes are interleaved once and then scanned by all queries
 * while they are in the first-level cache. Every share of the codes has its own k best; a limit reached by one share
 * holds for all, since nothing beyond it can be among the k best overall. */
#include <stdatomic.h>
#include <string.h>

#include "capball/sketch.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "sketch/t14_sketch.h"

enum {
  BLOCK_BYTES = 1 << 14,
  CODES_PER_SHARE = 1 << 12, /* at least */
  SHARES_MAX = 64,
  QUERIES_AT_ONCE = 256,
  ENTRIES_AT_ONCE = 1 << 22, /* for all shares and queries; fewer queries at once if k is large */
};

typedef struct scan {
  const cpb_loops *loops;
  cpb_view codes;
  size_t bytes, words, k;
  size_t shares, per_share, per_block; /* codes; whole groups */
  size_t queries;                      /* of this batch */
  uint64_t *words_of_queries;
  _Atomic size_t *limits; /* of each query: 1 + a distance within which k codes are known to be */
  cpb_best *best;         /* shares x queries */
  cpb_ranked *entries;    /* shares x queries x k */
  uint64_t *groups;       /* shares blocks */
} scan;

typedef struct look {
  cpb_best *best;
  _Atomic size_t *limit;
  size_t first, end; /* codes of the block */
} look;

/* Ids only grow within a share, so a code at the distance of the share's worst does not displace it; a code at the
 * distance of another share's worst may have a lower id, and is kept. */
static uint64_t limit_of(const look *l) {
  uint64_t limit = atomic_load_explicit(l->limit, memory_order_relaxed);
  uint64_t worst = l->best->count < l->best->k ? limit : (uint64_t)l->best->entry[0].key;
  return worst < limit ? worst : limit;
}

static uint64_t found(void *context, size_t group, unsigned below, const uint64_t *distances) {
  look *l = context;
  size_t first = l->first + group * CPB_CODE_GROUP;
  for (; below != 0; below &= below - 1) {
    unsigned i = (unsigned)__builtin_ctz(below);
    if (first + i < l->end) cpb_best_offer(l->best, (double)distances[i], first + i);
  }
  if (l->best->count == l->best->k) cpb_report_least(l->limit, (size_t)l->best->entry[0].key + 1);
  return limit_of(l);
}

static void lay_out(const scan *s, size_t first, size_t count, uint64_t *groups) {
  const uint8_t *code = (const uint8_t *)s->codes.data + first * s->codes.stride;
  for (size_t i = 0; i < count; i++, code += s->codes.stride) {
    uint64_t *to = groups + i / CPB_CODE_GROUP * s->words * CPB_CODE_GROUP + i % CPB_CODE_GROUP;
    for (size_t j = 0; j < s->words; j++) to[j * CPB_CODE_GROUP] = cpb_code_word(code, s->bytes, j);
  }
}

static void scan_block(scan *s, size_t share, size_t first, size_t count) {
  uint64_t *groups = s->groups + share * s->per_block * s->words;
  lay_out(s, first, count, groups);
  for (size_t q = 0; q < s->queries; q++) {
    look l = {&s->best[share * s->queries + q], &s->limits[q], first, first + count};
    s->loops->hamming(&(cpb_hamming){.groups = cpb_code_group_count(count),
                                     .words = s->words,
                                     .codes = groups,
                                     .query = s->words_of_queries + q * s->words,
                                     .limit = limit_of(&l),
                                     .found = found,
                                     .context = &l});
  }
}

static void scan_share(void *arg, size_t share) {
  scan *s = arg;
  size_t first = share * s->per_share, end = first + s->per_share;
  if (end > s->codes.rows) end = s->codes.rows;
  for (; first < end; first += s->per_block)
    scan_block(s, share, first, end - first < s->per_block ? end - first : s->per_block);
}

static void settle(const scan *s, size_t query, cpb_hit *hits) {
  cpb_best *all = &s->best[query];
  for (size_t share = 1; share < s->shares; share++) {
    const cpb_best *more = &s->best[share * s->queries + query];
    for (size_t i = 0; i < more->count; i++) cpb_best_offer(all, more->entry[i].key, more->entry[i].id);
  }
  cpb_ranked_sort(all->entry, all->count);
  for (size_t i = 0; i < s->k; i++) hits[i] = (cpb_hit){all->entry[i].id, all->entry[i].key};
}

static void run_batch(scan *s, cpb_view queries, cpb_hit *hits, const cpb_exec *exec) {
  s->queries = queries.rows;
  for (size_t q = 0; q < queries.rows; q++) {
    const uint8_t *code = (const uint8_t *)queries.data + q * queries.stride;
    for (size_t j = 0; j < s->words; j++)
      s->words_of_queries[q * s->words + j] = cpb_code_word(code, s->bytes, j);
    atomic_init(&s->limits[q], 8 * s->bytes + 1);
  }
  for (size_t i = 0; i < s->shares * s->queries; i++) s->best[i] = (cpb_best){s->k, 0, s->entries + i * s->k};
  cpb_exec_run(exec, s->shares, scan_share, s);
  for (size_t q = 0; q < queries.rows; q++) settle(s, q, hits + q * s->k);
}

static void choose_shares(scan *s, const cpb_exec *exec) {
  size_t threads = cpb_exec_threads(exec), most = s->codes.rows / CODES_PER_SHARE + 1;
  s->shares = threads < SHARES_MAX ? threads : SHARES_MAX;
  if (s->shares > most) s->shares = most;
  size_t groups = cpb_code_group_count(s->codes.rows);
  s->per_share = (groups + s->shares - 1) / s->shares * CPB_CODE_GROUP;
  s->per_block = (BLOCK_BYTES / (s->words * 8) / CPB_CODE_GROUP + 1) * CPB_CODE_GROUP;
}

static bool allocate(scan *s, size_t queries, cpb_memory *memory) {
  size_t all = s->shares * queries, room = s->shares * s->per_block * s->words;
  s->words_of_queries = cpb_memory_take(memory, queries, s->words * sizeof *s->words_of_queries);
  s->limits = cpb_memory_take(memory, queries, sizeof *s->limits);
  s->best = cpb_memory_take(memory, all, sizeof *s->best);
  s->entries = cpb_memory_take(memory, s->k, all * sizeof *s->entries);
  s->groups = cpb_memory_lines(memory, room, sizeof *s->groups); /* the last group may be incomplete */
  return !memory->failed;
}

static cpb_status check(cpb_view codes, cpb_view queries, size_t k, const cpb_hit *hits, cpb_error *error) {
  if (hits == NULL && queries.rows > 0) return cpb_fail_missing(error, "hits");
  if (codes.dtype != CPB_U8 || queries.dtype != CPB_U8)
    return cpb_fail(error, CPB_WHY_DTYPE_IN, "codes", "codes must be u8, got %s and %s",
                    cpb_dtype_name(codes.dtype), cpb_dtype_name(queries.dtype));
  if (codes.cols == 0) return cpb_fail_no_columns(error, "codes");
  cpb_status status = cpb_check_view(codes, "codes", codes.cols, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", codes.cols, error);
  return status == CPB_OK ? cpb_check_k(k, codes.rows, "k", "codes", error) : status;
}

cpb_status cpb_hamming_knn(cpb_view codes, cpb_view queries, size_t k, cpb_hit *hits, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_status status = check(codes, queries, k, hits, error);
  if (status != CPB_OK || queries.rows == 0) return status;
  scan s = {
      .loops = cpb_loops_here(), .codes = codes, .bytes = codes.cols, .words = (codes.cols + 7) / 8, .k = k};
  choose_shares(&s, exec);
  size_t most = ENTRIES_AT_ONCE / s.shares / k, batch = most < QUERIES_AT_ONCE ? most : QUERIES_AT_ONCE;
  if (batch == 0) batch = 1;
  if (batch > queries.rows) batch = queries.rows;
  cpb_memory memory = {0};
  if (allocate(&s, batch, &memory))
    for (size_t first = 0; first < queries.rows; first += batch) {
      size_t left = queries.rows - first;
      run_batch(&s, cpb_view_slice(queries, first, left < batch ? left : batch), hits + first * k, exec);
    }
  else
    status = cpb_fail_memory(error, "the %zu best of %zu queries", k, batch);
  cpb_memory_free(&memory);
  return status;
}
