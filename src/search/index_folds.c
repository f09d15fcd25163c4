#define _POSIX_C_SOURCE 200809L
/* One query at a time, and a part of the rows at a time, whose keys fit the second cache:
 *
 *   1. the keys of all rows at level 0, one pass;
 *   2. unless a bound is known, the few rows of smallest key are measured: the k-th of them is nearly the k-th of all;
 *   3. one more pass over the keys; the rows within the bound go to the next level, where each is read from its own cache lines;
 *   4. what the last level leaves is measured, the smallest lower bound first.
 *
 * No step depends on the order of rows, and each only excludes rows that cannot be results. */
#include "search/index_folds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/tell.h"
#include "search/index_blocks.h"
#include "search/index_codes.h"
#include "search/index_scratch.h"
#include "search/query_numbers.h"
#include "search/t15_record.h"

enum {
  BLOCK = CPB_INDEX_BLOCK,
  PANEL = CPB_INDEX_PANEL,
  AT_ONCE = 16, /* blocks whose keys are in memory at the same time: they stay in the second cache */
  FIRST = 32,   /* rows beyond k that are measured first */
  AHEAD = 12    /* rows that are prefetched */
};

/* A query, in one part of the rows. */
typedef struct part_state {
  cpb_seek_answer answer;
  double bound; /* rows beyond it are not results */
  uint64_t wasted;
} part_state;

/* What a thread works with. */
typedef struct workspace {
  float *keys, *least; /* of the rows of some blocks, and the smallest of each panel */
  cpb_fold_passed *passed;
  cpb_ranked *ranked; /* in the memory of `passed` */
} workspace;

typedef struct search {
  const cpb_scan_args *asked;
  const cpb_index *index;
  size_t n, parts, shares; /* tasks are parts of the rows x shares of the queries */
  double *q;
  cpb_query_scale *known;
  uint8_t *whole; /* of rows of bytes: the queries that are of the same type, .. */
  bool *is_whole; /* .. and which these are */
  cpb_fold_asked *folded;
  int16_t *codes;
  part_state *states; /* parts x n */
  workspace *room;    /* of each task */
  double error;       /* of a value */
  _Atomic bool out_of_memory, unreadable;
} search;

/* Some blocks of the rows, for a query. */
typedef struct task {
  search *s;
  size_t query, first, count; /* blocks */
  const cpb_fold_asked *folded;
  workspace *room;
  part_state *of;
} task;

/* ---- measuring ---- */

/* The value of two rows of bytes, with the bits of cpb_measure: sums are integers. */
static bool measure_whole(const search *s, size_t slot, size_t query, double *value) {
  const cpb_index *index = s->index;
  cpb_row_buffer buffer;
  const char *row = cpb_slot_read(index, slot, &buffer);
  const uint8_t *q = s->whole + query * index->row_bytes;
  if (row == NULL) return false;
  const cpb_loops *loops = index->float_filter.loops;
  *value = index->options.metric == CPB_L2
               ? sqrt((double)loops->whole_dist2[index->options.dtype](row, q, index->options.cols))
               : (double)loops->whole_dot[index->options.dtype](row, q, index->options.cols);
  return true;
}

static bool measure(const search *s, size_t slot, size_t query, double *value) {
  if (s->is_whole != NULL && s->is_whole[query]) return measure_whole(s, slot, query, value);
  return cpb_seek_measure(s->index, slot, s->q + query * s->index->options.cols, value);
}

static double bound_of(const search *s, size_t query, double value) {
  return cpb_bound_of_value(s->index->options.metric, s->error, &s->known[query], value);
}

static void offer_within(task *t, double key, uint64_t id) {
  part_state *of = t->of;
  if (!(key <= cpb_seek_key(t->s->index, t->s->asked->limits[t->query])))
    of->wasted++;
  else if (cpb_best_grow(&of->answer.rows))
    of->answer.rows.entry[of->answer.rows.count++] = (cpb_ranked){key, id};
  else
    atomic_store(&t->s->out_of_memory, true);
}

static void offer_nearest(const search *s, part_state *of, size_t query, double key, uint64_t id) {
  cpb_best *best = &of->answer.rows;
  of->wasted += best->count == best->k && key > best->entry[0].key;
  cpb_best_offer(best, key, id);
  if (best->count < best->k) return;
  double bound = bound_of(s, query, cpb_seek_key(s->index, best->entry[0].key));
  if (bound < of->bound) of->bound = bound;
}

/* False if the row cannot be read. */
static bool measure_slot(task *t, size_t slot) {
  const search *s = t->s;
  double value;
  if (!measure(s, slot, t->query, &value)) {
    atomic_store(&t->s->unreadable, true);
    return false;
  }
  uint64_t id = cpb_id_map_id(&s->index->ids, slot);
  t->of->answer.measured++;
  if (s->asked->limits != NULL)
    offer_within(t, cpb_seek_key(s->index, value), id);
  else
    offer_nearest(s, t->of, t->query, cpb_seek_key(s->index, value), id);
  return true;
}

/* Whether so many measured rows were not results that floats would be faster. */
static bool is_undecided(const task *t) {
  enum { PART = 8 };
  return t->of->wasted > 512 + 8 * t->s->asked->k + t->s->index->slots / PART;
}

/* ---- positions ---- */

static const cpb_index_block *block_of(const task *t, size_t at) {
  return &t->s->index->blocks[t->first + at / BLOCK];
}

static cpb_byte_filter_run run_of(const task *t, size_t at) {
  return cpb_codes_run(block_of(t, at), at % BLOCK / PANEL * PANEL);
}

static size_t slot_of(const task *t, size_t at) {
  return (t->first + at / BLOCK) * BLOCK + block_of(t, at)->row_of[at % BLOCK];
}

/* Whether the query may find the row of a position. Damaged files have positions without rows. */
static bool may_find(const task *t, size_t at) {
  const cpb_index *index = t->s->index;
  size_t slot = slot_of(t, at);
  if (block_of(t, at)->row_of[at % BLOCK] >= block_of(t, at)->count || cpb_index_is_removed(index, slot))
    return false;
  return cpb_seek_allows(t->s->asked->filter, t->query, cpb_id_map_id(&index->ids, slot));
}

/* Positions of a panel that have rows. */
static uint64_t rows_of(const task *t, size_t panel) {
  size_t rows = block_of(t, panel * PANEL)->count - panel * PANEL % BLOCK;
  return rows < PANEL ? ((uint64_t)1 << rows) - 1 : UINT64_MAX;
}

static size_t panels_of(const task *t) {
  size_t last = t->first + t->count - 1;
  return (t->count - 1) * (BLOCK / PANEL) + (t->s->index->blocks[last].count + PANEL - 1) / PANEL;
}

/* ---- level 0 ---- */

static void fetch(const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += CPB_BYTES_LINE) __builtin_prefetch((const char *)from + i);
}

static void find_keys(task *t) {
  const cpb_index *index = t->s->index;
  const cpb_loops *loops = index->float_filter.loops;
  _Alignas(64) int32_t sums[BLOCK];
  for (size_t i = 0; i < t->count; i++) {
    const cpb_index_block *block = &index->blocks[t->first + i];
    float *keys = t->room->keys + i * BLOCK, *least = t->room->least + i * (BLOCK / PANEL);
    size_t panels = (block->count + PANEL - 1) / PANEL;
    loops->sum_bytes(&(cpb_panel_sums){.panels = panels,
                                       .words = index->byte_filter.words,
                                       .a = t->folded->first,
                                       .start = t->folded->start,
                                       .b = block->codes,
                                       .sums = sums});
    for (size_t panel = 0; panel < panels; panel++) {
      size_t at = panel * PANEL;
      float of_sum, of_term;
      cpb_fold_key_factors(t->folded, &block->panels[panel], &of_sum, &of_term);
      least[panel] = loops->keys(sums + at, block->term + at, of_sum, of_term, keys + at);
    }
  }
}

/* The rows of a panel whose keys are not above a limit. */
static uint64_t not_above(const task *t, size_t panel, float most) {
  uint64_t above, unsure;
  t->s->index->float_filter.loops->signs(t->room->keys + panel * PANEL, most, &above, &unsure);
  return ~above & rows_of(t, panel);
}

/* ---- the first rows ---- */

/* A key that at least `wanted` panels have rows below, or all. */
static float key_of_first(task *t, size_t wanted) {
  size_t panels = panels_of(t);
  cpb_ranked *ranked = t->room->ranked;
  for (size_t i = 0; i < panels; i++) ranked[i] = (cpb_ranked){(double)t->room->least[i], i};
  if (wanted >= panels) return INFINITY;
  cpb_ranked_sort_first(ranked, panels, wanted);
  return (float)ranked[wanted - 1].key;
}

/* Those that may be found, at their positions. */
static size_t collect(task *t, float most) {
  size_t panels = panels_of(t), count = 0;
  for (size_t panel = 0; panel < panels; panel++) {
    if (t->room->least[panel] > most) continue;
    for (uint64_t rows = not_above(t, panel, most); rows != 0; rows &= rows - 1) {
      size_t at = panel * PANEL + (size_t)__builtin_ctzll(rows);
      if (may_find(t, at)) t->room->ranked[count++] = (cpb_ranked){(double)t->room->keys[at], at};
    }
  }
  return count;
}

/* More rows where a filter leaves few. */
static void measure_first(task *t) {
  size_t wanted = t->s->asked->k + FIRST, count = 0;
  float most = 0;
  for (size_t tried = wanted; count < wanted && most < INFINITY; tried *= 16) {
    most = key_of_first(t, tried);
    count = collect(t, most);
  }
  size_t first = count < wanted ? count : wanted;
  cpb_ranked_sort_first(t->room->ranked, count, first);
  for (size_t i = 0; i < first; i++) cpb_slot_fetch(t->s->index, slot_of(t, (size_t)t->room->ranked[i].id));
  for (size_t i = 0; i < first; i++) {
    size_t at = (size_t)t->room->ranked[i].id;
    if (!measure_slot(t, slot_of(t, at))) return;
    t->room->keys[at] = INFINITY; /* not again */
  }
}

/* ---- further levels ---- */

static size_t pass_first(task *t) {
  size_t panels = panels_of(t), count = 0;
  for (size_t panel = 0; panel < panels; panel++) {
    cpb_byte_filter_run run = run_of(t, panel * PANEL);
    float most = cpb_fold_most(t->folded, &run, t->of->bound);
    if (t->room->least[panel] > most) continue;
    for (uint64_t rows = not_above(t, panel, most); rows != 0; rows &= rows - 1) {
      cpb_fold_passed *row = &t->room->passed[count];
      row->at = panel * PANEL + (size_t)__builtin_ctzll(rows);
      cpb_fold_begin(t->folded, &run, t->room->keys[row->at], row);
      count += t->room->keys[row->at] < INFINITY; /* else it is measured */
    }
  }
  return count;
}

/* The records of a level in their blocks. */
typedef struct level_records {
  size_t at, bytes;
} level_records;

static const char *record_of(const task *t, const level_records *of, size_t at) {
  return block_of(t, at)->records + of->at + at % BLOCK * of->bytes;
}

/* Some rows at a time, while the records of the next ones are fetched. */
static size_t pass_level(task *t, size_t level, size_t count) {
  enum { SOME = CPB_FOLD_ROWS_AT_ONCE };
  const cpb_index_block *block = block_of(t, 0);
  const level_records of = {(size_t)(cpb_block_record(t->s->index, block, level, 0) - block->records),
                            cpb_record_bytes(t->folded->fold, level)};
  cpb_fold_passed *passed = t->room->passed, some[SOME];
  const void *record[SOME];
  double step[SOME];
  size_t kept = 0;
  for (size_t i = 0; i < count && i < SOME; i++) fetch(record_of(t, &of, passed[i].at), of.bytes);
  for (size_t first = 0; first < count; first += SOME) {
    size_t here = count - first < SOME ? count - first : SOME;
    for (size_t i = 0; i < here; i++) {
      some[i] = passed[first + i];
      record[i] = record_of(t, &of, some[i].at);
      step[i] = block_of(t, some[i].at)->panels[some[i].at % BLOCK / PANEL].step;
      if (first + SOME + i < count) fetch(record_of(t, &of, passed[first + SOME + i].at), of.bytes);
    }
    here = cpb_fold_pass(t->folded, level, record, step, t->of->bound, some, here);
    memcpy(passed + kept, some, here * sizeof *some);
    kept += here;
  }
  return kept;
}

/* What the last level leaves gets lower bounds. */
static void find_nearest(task *t, size_t count) {
  const cpb_fold *fold = t->folded->fold;
  size_t last = fold->levels - 1;
  for (size_t i = 0; i < count; i++) {
    cpb_fold_passed *row = &t->room->passed[i];
    const cpb_index_block *block = block_of(t, row->at);
    const char *record = last == 0 ? NULL : cpb_block_record(t->s->index, block, last, row->at % BLOCK);
    row->s = cpb_fold_nearest(t->folded, last, block->panels[row->at % BLOCK / PANEL].rest, record, row);
  }
}

/* Rows that may be found, with their lower bounds. Entries of `ranked` are not longer than those of `passed`. */
static size_t rank_passed(task *t, size_t count) {
  size_t kept = 0;
  _Static_assert(sizeof(cpb_ranked) <= sizeof(cpb_fold_passed), "entries are overwritten from the first on");
  for (size_t i = 0; i < count; i++) {
    cpb_fold_passed row = t->room->passed[i];
    if (row.s > t->of->bound || !may_find(t, row.at)) continue;
    memcpy(&t->room->ranked[kept++], &(cpb_ranked){row.s, slot_of(t, row.at)}, sizeof(cpb_ranked));
  }
  return kept;
}

static void measure_last(task *t, size_t count) {
  cpb_ranked *ranked = t->room->ranked;
  size_t first = count < t->s->asked->k + FIRST ? count : t->s->asked->k + FIRST;
  cpb_ranked_sort_first(ranked, count, first);
  for (size_t i = 0; i < count; i++) {
    if (i + AHEAD < count) cpb_slot_fetch(t->s->index, (size_t)ranked[i + AHEAD].id);
    if (ranked[i].key > t->of->bound) continue;
    if (!measure_slot(t, (size_t)ranked[i].id)) return;
    if (i % 64 == 0 && is_undecided(t)) break;
  }
  t->of->answer.undecided = is_undecided(t);
}

static void look_at_blocks(task *t) {
  if (t->of->answer.undecided) return;
  find_keys(t);
  if (t->s->asked->limits == NULL && t->of->answer.rows.count < t->s->asked->k) measure_first(t);
  size_t count = pass_first(t);
  for (size_t level = 1; level < t->folded->fold->levels; level++) count = pass_level(t, level, count);
  find_nearest(t, count);
  measure_last(t, rank_passed(t, count));
}

static void look_at_part(void *arg, size_t number) {
  search *s = arg;
  size_t part = number / s->shares, share = number % s->shares, blocks = s->index->block_count;
  size_t from = share * s->n / s->shares, to = (share + 1) * s->n / s->shares;
  size_t first = part * blocks / s->parts, end = (part + 1) * blocks / s->parts;
  for (size_t block = first; block < end; block += AT_ONCE)
    for (size_t query = from; query < to; query++)
      look_at_blocks(&(task){.s = s,
                             .query = query,
                             .first = block,
                             .count = end - block < AT_ONCE ? end - block : AT_ONCE,
                             .folded = &s->folded[query],
                             .room = &s->room[number],
                             .of = &s->states[part * s->n + query]});
}

/* ---- queries ---- */

/* Whether a query is a row of bytes, as those of the index are; it is then stored as one. */
static bool take_whole(const search *s, size_t query) {
  const double *q = s->q + query * s->index->options.cols;
  bool is_signed = s->index->options.dtype == CPB_I8;
  uint8_t *to = s->whole + query * s->index->row_bytes;
  for (size_t k = 0; k < s->index->options.cols; k++) {
    if (!(q[k] >= (is_signed ? -128 : 0) && q[k] <= (is_signed ? 127 : 255)) || q[k] != (double)(int)q[k])
      return false;
    to[k] = (uint8_t)(int)q[k];
  }
  return true;
}

static void fold_queries(search *s, cpb_fold_room *room, float *numbers) {
  const cpb_index *index = s->index;
  const cpb_fold *fold = index->fold;
  float *error = numbers + fold->numbers;
  memset(room->start, 0, CPB_PANEL_ROWS * sizeof *room->start);
  for (size_t i = 0; i < s->n; i++) {
    cpb_query_scale *known = &s->known[i];
    const double *q = s->q + i * fold->d;
    cpb_float_filter_query(&index->float_filter, q, known, room->factors, 1);
    memset(room->factors, 0, cpb_panel_group(fold->d) * sizeof *room->factors);
    cpb_fold_query(fold, &index->float_filter, q, known, room, numbers, error);
    cpb_fold_ask(fold, &index->byte_filter, numbers, error, known->grain,
                 s->codes + i * cpb_fold_asked_codes(fold), &s->folded[i]);
    if (s->is_whole != NULL) s->is_whole[i] = take_whole(s, i);
  }
}

/* ---- room ---- */

static void share_work(search *s) {
  enum { PER_THREAD = 2, LEAST = 8 };
  size_t threads = cpb_exec_threads(s->asked->exec);
  size_t wanted = threads > 1 ? PER_THREAD * threads : 1, most = (s->index->block_count + LEAST - 1) / LEAST;
  s->shares = s->n < wanted ? s->n : wanted;
  s->parts = wanted / s->shares < most ? wanted / s->shares : most;
}

static bool is_of_bytes(const cpb_index *index) {
  return index->row_bytes == index->options.cols && index->options.metric != CPB_COSINE;
}

static void place_workspace(search *s, cpb_carver *c, workspace *room) {
  size_t blocks = (s->index->block_count + s->parts - 1) / s->parts;
  blocks = blocks < AT_ONCE ? blocks : AT_ONCE;
  workspace made = {.keys = cpb_carve(c, blocks * BLOCK, sizeof *made.keys),
                    .least = cpb_carve(c, blocks * (BLOCK / PANEL), sizeof *made.least),
                    .passed = cpb_carve(c, blocks * BLOCK, sizeof *made.passed)};
  made.ranked = (cpb_ranked *)(void *)made.passed;
  if (room != NULL) *room = made;
}

/* Adds up the sizes of the arrays or, given memory, places them. */
static void lay_out(search *s, cpb_carver *c, cpb_ranked **entries, cpb_fold_room *room, float **numbers,
                    cpb_seek_answer **answers) {
  const cpb_fold *fold = s->index->fold;
  size_t tasks = s->parts * s->shares, bytes = is_of_bytes(s->index) ? s->n : 0;
  s->q = cpb_carve(c, s->n * fold->d, sizeof *s->q);
  s->known = cpb_carve(c, s->n, sizeof *s->known);
  s->whole = cpb_carve(c, bytes, s->index->row_bytes);
  s->is_whole = cpb_carve(c, bytes, sizeof *s->is_whole);
  if (bytes == 0) s->is_whole = NULL;
  s->folded = cpb_carve(c, s->n, sizeof *s->folded);
  s->codes = cpb_carve(c, s->n * cpb_fold_asked_codes(fold), sizeof *s->codes);
  s->states = cpb_carve(c, s->parts * s->n, sizeof *s->states);
  s->room = cpb_carve(c, tasks, sizeof *s->room);
  *entries = cpb_carve(c, s->asked->limits != NULL ? 0 : s->parts * s->n * s->asked->k, sizeof **entries);
  *numbers = cpb_carve(c, fold->numbers + fold->levels, sizeof **numbers);
  room->factors = cpb_carve(c, cpb_panel_group(fold->d), sizeof *room->factors);
  room->start = cpb_carve(c, CPB_PANEL_ROWS, sizeof *room->start);
  *answers = cpb_carve(c, s->n, sizeof **answers);
  for (size_t i = 0; i < tasks; i++) place_workspace(s, c, c->at != NULL ? &s->room[i] : NULL);
}

static void begin_states(search *s, cpb_ranked *entries) {
  size_t k = s->asked->k;
  for (size_t cell = 0; cell < s->parts * s->n; cell++) {
    const double *limits = s->asked->limits;
    s->states[cell] =
        (part_state){.bound = limits != NULL ? bound_of(s, cell % s->n, limits[cell % s->n]) : INFINITY};
    if (limits == NULL) s->states[cell].answer.rows = (cpb_best){k, 0, entries + cell * k};
  }
}

/* ---- what the parts found ---- */

static void join(search *s, size_t query, part_state *all, part_state *part) {
  all->answer.measured += part->answer.measured;
  all->answer.undecided |= part->answer.undecided;
  for (size_t i = 0; i < part->answer.rows.count; i++) {
    cpb_ranked row = part->answer.rows.entry[i];
    if (s->asked->limits == NULL)
      offer_nearest(s, all, query, row.key, row.id);
    else if (cpb_best_grow(&all->answer.rows))
      all->answer.rows.entry[all->answer.rows.count++] = row;
    else
      atomic_store(&s->out_of_memory, true);
  }
  if (s->asked->limits == NULL) return;
  free(part->answer.rows.entry);
  part->answer.rows = (cpb_best){0};
}

static cpb_status look_at_all(search *s, cpb_seek_answer *answers, cpb_error *error) {
  cpb_status status = cpb_exec_run_told(s->asked->exec, s->parts * s->shares, look_at_part, s, error);
  for (size_t query = 0; query < s->n; query++) {
    for (size_t part = 1; part < s->parts; part++)
      join(s, query, &s->states[query], &s->states[part * s->n + query]);
    answers[query] = s->states[query].answer;
  }
  if (status == CPB_OK && atomic_load(&s->out_of_memory)) status = cpb_fail_memory(error, "the rows found");
  if (status == CPB_OK && atomic_load(&s->unreadable)) status = cpb_seek_fail_read(error);
  for (size_t query = 0; status != CPB_OK && s->asked->limits != NULL && query < s->n; query++)
    free(answers[query].rows.entry);
  return status;
}

cpb_status cpb_seek_folds(const cpb_scan_args *question, cpb_index_scratch *scratch,
                          cpb_seek_answer **answers, cpb_error *error) {
  search s = {.asked = question, .index = question->index, .n = question->queries.rows};
  cpb_ranked *entries;
  float *numbers;
  cpb_fold_room room = {0};
  cpb_carver c = {0};
  s.error = cpb_value_error(s.index->options.cols);
  share_work(&s);
  lay_out(&s, &c, &entries, &room, &numbers, answers);
  c = (cpb_carver){.at = cpb_scratch_room(scratch, c.bytes)};
  if (c.at == NULL) return cpb_fail_memory(error, "%zu queries", s.n);
  lay_out(&s, &c, &entries, &room, &numbers, answers);
  cpb_status status = cpb_query_take(s.index->options.metric, question->queries, s.q, s.known, error);
  if (status != CPB_OK) return status;
  fold_queries(&s, &room, numbers);
  begin_states(&s, entries);
  return look_at_all(&s, *answers, error);
}
