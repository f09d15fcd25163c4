#include "search/index_seek.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "search/index_blocks.h"
#include "search/index_codes.h"
#include "search/index_folds.h"
#include "search/index_scratch.h"
#include "search/index_word_order.h"
#include "base/tell.h"
#include "search/query_numbers.h"

enum { COLS = CPB_BYTES_COLS, MIDDLE = 128, BAND = 8 * COLS };

/* A query, in one part of the rows. */
typedef struct query_state {
  cpb_seek_answer answer;
  cpb_best farthest; /* the k smallest upper bounds, or the nearest rows of the sample; unused with limits */
  cpb_ranked *deferred; /* slots that may be results, with their lower bounds */
  size_t count;
  double *bound; /* rows beyond it are not results */
  uint64_t wasted;
} query_state;

/* Queries of similar step, compared with a panel of rows in one call: whole panels of the byte filter, at most BAND
 * queries. */
typedef struct band {
  size_t first, count; /* positions in the order of queries */
  double step;
} band;

typedef struct seek {
  const cpb_scan_args *asked;
  const cpb_index *index;
  bool
      whole_codes; /* codes of all numbers are made of the rows, block by block: the index has those of a fold */
  size_t n, groups, parts, room; /* groups: panels of the byte filter */
  size_t shares;                 /* tasks are parts x shares of the bands */
  band *bands;
  size_t band_count;
  cpb_byte_filter
      byte_filter; /* the index's, with the grids of the queries; slots of queries are positions in the order */
  double *q;
  cpb_query_scale *known;
  size_t *order;
  int8_t *codes;   /* of the bands; two groups of rows for each panel */
  int32_t *offset; /* of a query's sums, 128 times the sum of its codes */
  bool partial;    /* one query, for which panels may be read in part, words in this order */
  cpb_word_order word_order;
  query_state *query_states; /* parts x n */
  double *bounds;            /* of them */
  _Atomic bool out_of_memory, unreadable;
} seek;

/* ---- rows ---- */

static void offer_within(seek *s, query_state *of, size_t query, double key, uint64_t id) {
  if (!(key <= cpb_seek_key(s->index, s->asked->limits[query])))
    of->wasted++;
  else if (cpb_best_grow(&of->answer.rows))
    of->answer.rows.entry[of->answer.rows.count++] = (cpb_ranked){key, id};
  else
    atomic_store(&s->out_of_memory, true);
}

static void offer_nearest(const seek *s, query_state *of, size_t place, double key, uint64_t id) {
  cpb_best *best = &of->answer.rows;
  of->wasted += best->count == best->k && key > best->entry[0].key;
  cpb_best_offer(best, key, id);
  if (best->count < best->k) return;
  double bound = cpb_byte_filter_bound(&s->byte_filter, place, cpb_seek_key(s->index, best->entry[0].key));
  if (bound < *of->bound) *of->bound = bound;
}

static void prune(query_state *of, double bound) {
  size_t kept = 0;
  for (size_t i = 0; i < of->count; i++) {
    of->deferred[kept] = of->deferred[i];
    kept += of->deferred[i].key <= bound;
  }
  of->count = kept;
}

/* Whether the keys of deferred rows are their values: such rows are not read. */
static bool is_exact(const seek *s, size_t place) {
  return s->byte_filter.panels[place / COLS].exact[place % COLS];
}

static bool measure(const seek *s, size_t slot, size_t query, double *value) {
  return cpb_seek_measure(s->index, slot, s->q + query * s->index->options.cols, value);
}

/* The key of a deferred row; false if the row cannot be read. */
static bool measure_key(const seek *s, size_t place, const cpb_ranked *row, query_state *to, double *key) {
  double value;
  *key = row->key;
  if (is_exact(s, place)) return true;
  if (!measure(s, (size_t)row->id, s->order[place], &value)) return false;
  *key = cpb_seek_key(s->index, value);
  to->answer.measured++;
  return true;
}

/* Measures deferred rows [first, end) of `from`, unless they are beyond the bound, for `to`. */
static void measure_some(seek *s, size_t place, query_state *from, size_t first, size_t end,
                         query_state *to) {
  enum { AHEAD = 8 };
  size_t query = s->order[place];
  for (size_t i = first; i < end; i++) {
    double key;
    if (!is_exact(s, place) && i + AHEAD < end && from->deferred[i + AHEAD].key <= *to->bound)
      cpb_slot_fetch(s->index, (size_t)from->deferred[i + AHEAD].id);
    if (from->deferred[i].key > *to->bound) continue;
    if (!measure_key(s, place, &from->deferred[i], to, &key)) {
      atomic_store(&s->unreadable, true);
      break;
    }
    uint64_t id = cpb_id_map_id(&s->index->ids, (size_t)from->deferred[i].id);
    if (s->asked->limits != NULL)
      offer_within(s, to, query, key, id);
    else
      offer_nearest(s, to, place, key, id);
  }
}

static size_t sort_nearest(const seek *s, query_state *of) {
  enum { FIRST = 32 };
  size_t first = s->asked->k + FIRST;
  first = first < of->count ? first : of->count;
  cpb_ranked_sort_first(of->deferred, of->count, first);
  return first;
}

/* Measures the rows that wait in `from`, those with the smallest lower bounds first. */
static void measure_deferred(seek *s, size_t place, query_state *from, query_state *to) {
  prune(from, *to->bound);
  size_t first = sort_nearest(s, from);
  measure_some(s, place, from, 0, first, to);
  measure_some(s, place, from, first, from->count, to);
  from->count = 0;
}

/* Whether so many measured rows were not results that floats would be faster. */
static bool is_undecided(const seek *s, const query_state *of) {
  enum { PART = 32 };
  return of->wasted > 512 + 8 * s->asked->k + s->index->slots / PART;
}

static void make_place(seek *s, size_t place, query_state *of) {
  prune(of, *of->bound);
  if (of->count <= s->room - s->room / 4) return;
  measure_deferred(s, place, of, of);
  of->answer.undecided = is_undecided(s, of);
}

static void take(seek *s, size_t place, query_state *of, size_t slot, double nearest, double farthest) {
  of->deferred[of->count++] = (cpb_ranked){nearest, slot};
  if (s->asked->limits == NULL) {
    cpb_best_offer(&of->farthest, farthest, slot);
    if (of->farthest.count == of->farthest.k && of->farthest.entry[0].key < *of->bound)
      *of->bound = of->farthest.entry[0].key;
  }
  if (of->count == s->room) make_place(s, place, of);
}

/* ---- panels ---- */

/* A band of queries at a panel of rows. */
typedef struct look {
  seek *s;
  const band *of;
  query_state *query_states;
  const double *bounds;
  const cpb_index_block *block;
  size_t block_slot; /* of the block's first row */
  cpb_byte_filter_run run;
  const int32_t *threshold; /* of the panel's rows */
  cpb_partial *partial;     /* or NULL */
  int32_t edge[BAND]; /* of the product of codes, where nothing is added: above it, rows are within bounds */
} look;

static void found(void *context, size_t column, uint64_t rows, const int32_t *values) {
  look *l = context;
  seek *s = l->s;
  query_state *of = &l->query_states[column];
  size_t place = l->of->first + column;
  bool exact = is_exact(s, place);
  if (of->answer.undecided) return;
  for (; rows != 0; rows &= rows - 1) {
    size_t j = (size_t)__builtin_ctzll(rows), at = l->run.first + j;
    cpb_byte_filter_row row = cpb_codes_row(&s->byte_filter, &l->run, l->block->term[at]);
    double product = (double)values[j] + l->edge[column], nearest, farthest;
    if (exact) {
      nearest = farthest =
          cpb_seek_key(s->index, cpb_byte_filter_value(&s->byte_filter, &row, place, product));
    } else {
      cpb_byte_filter_span span = cpb_byte_filter_look_at(&s->byte_filter, l->run.step, &row, place, product);
      nearest = (double)span.nearest;
      farthest = (double)span.farthest;
    }
    if (!(nearest <= *of->bound)) continue;
    size_t row_of = l->block->row_of[at], slot = l->block_slot + row_of;
    if (row_of >= l->block->count) continue; /* damaged file */
    if (cpb_index_is_removed(s->index, slot)) continue;
    if (!cpb_seek_allows(s->asked->filter, s->order[place], cpb_id_map_id(&s->index->ids, slot))) continue;
    take(s, place, of, slot, nearest, farthest);
  }
}

/* Keeps the differences of edges and offsets within 32 bits; no sum is below LEAST. */
static int32_t within_sums(int32_t edge) {
  enum { LEAST = -1200000000 };
  return edge < LEAST ? LEAST : edge;
}

static void find_edges(look *l) {
  for (size_t at = 0; at < l->of->count; at += COLS) {
    size_t count = l->of->count - at < COLS ? l->of->count - at : COLS;
    cpb_byte_filter_thresholds(&l->s->byte_filter, &l->run, (l->of->first + at) / COLS, 0, count,
                               l->bounds + at, l->edge + at);
  }
}

static void look_at_panel(look *l, void (*found_rows)(void *, size_t, uint64_t, const int32_t *)) {
  const seek *s = l->s;
  size_t words = s->byte_filter.words, first = l->of->first;
  int32_t start[BAND + CPB_BYTES_ROWS];
  for (size_t i = 0; i < l->of->count; i++) {
    l->edge[i] = within_sums(l->edge[i]);
    start[i] = -s->offset[first + i] - l->edge[i];
  }
  for (size_t i = 0; i < CPB_BYTES_ROWS; i++) start[l->of->count + i] = 0;
  s->index->float_filter.loops->scan_bytes(
      &(cpb_panel_bytes){.rows = l->of->count,
                         .words = words,
                         .columns = l->run.count,
                         .a = s->codes + first / COLS * 2 * cpb_bytes_group(words),
                         .start = start,
                         .b = l->block->codes + l->run.first * words * CPB_BYTES_WORD,
                         .threshold = l->threshold,
                         .partial = l->partial,
                         .found = found_rows,
                         .context = l});
}

/* The thresholds of a block's rows for queries of one step. */
typedef struct block_thresholds {
  size_t block;
  double step; /* 0: none yet */
  int32_t row[CPB_INDEX_BLOCK];
} block_thresholds;

static void find_thresholds(const seek *s, size_t block, const cpb_index_block *of, double step,
                            block_thresholds *t) {
  if (t->block == block && t->step == step) return;
  t->block = block;
  t->step = step;
  for (size_t at = 0; at < of->count; at += CPB_INDEX_PANEL) {
    cpb_byte_filter_run run = cpb_codes_run(of, at);
    cpb_codes_thresholds(&s->byte_filter, &run, of->term + at, step, t->row + at);
  }
}

static look look_of(seek *s, size_t part, const band *of, size_t block, const cpb_index_block *coded) {
  size_t cell = part * s->n + of->first;
  return (look){.s = s,
                .of = of,
                .query_states = s->query_states + cell,
                .bounds = s->bounds + cell,
                .block = coded,
                .block_slot = block * CPB_INDEX_BLOCK};
}

/* NULL for panels whose thresholds are not as cpb_partial requires: rows that always pass, which are the last ones, and columns
 * without a row have no thresholds that exclude them, and those of CPB_RISE_MOST may be too low. */
static cpb_partial *partial_of(const look *l, cpb_partial *partial) {
  if (partial == NULL || l->run.count < CPB_INDEX_PANEL) return NULL;
  if (!cpb_codes_can_exclude(l->block->term[l->run.first + CPB_INDEX_PANEL - 1])) return NULL;
  bool limited = false;
  for (size_t j = 0; j < CPB_INDEX_PANEL; j++) limited |= l->threshold[j] >= CPB_RISE_MOST;
  if (limited) return NULL;
  partial->per_square = l->run.step / (2 * l->of->step) * (1 - 0x1p-19); /* thresholds are rounded */
  return partial;
}

static void look_at_block(seek *s, size_t part, const band *of, size_t block, const cpb_index_block *coded,
                          const block_thresholds *t, cpb_partial *partial) {
  look l = look_of(s, part, of, block, coded);
  for (size_t at = 0; at < l.block->count; at += CPB_INDEX_PANEL) {
    l.run = cpb_codes_run(l.block, at);
    l.threshold = t->row + at;
    l.partial = partial_of(&l, partial);
    find_edges(&l);
    look_at_panel(&l, found);
  }
}

/* ---- a sample of the rows ---- */

/* Many queries are compared with a panel of every third block first, and the rows that seem to be nearest are measured.
 * These rows are compared again with all others: that takes less time than to defer all that pass while bounds are wide. */

/* How near a row is on the scale of its band, up to a constant of the query: a formula for all metrics. */
static double nearness(const look *l, size_t column, size_t j, int32_t value) {
  return l->run.step * ((double)value + l->edge[column] - l->threshold[j]);
}

static void found_sample(void *context, size_t column, uint64_t rows, const int32_t *values) {
  const look *l = context;
  for (; rows != 0; rows &= rows - 1) {
    size_t j = (size_t)__builtin_ctzll(rows), slot = l->block_slot + l->block->row_of[l->run.first + j];
    if (!cpb_index_is_removed(l->s->index, slot))
      cpb_best_offer(&l->query_states[column].farthest, -nearness(l, column, j, values[j]), slot);
  }
}

static void sample_panel(look *l) {
  const double most = 1e9;
  int32_t threshold[CPB_INDEX_PANEL];
  cpb_codes_thresholds(&l->s->byte_filter, &l->run, l->block->term + l->run.first, l->of->step, threshold);
  l->threshold = threshold;
  for (size_t i = 0; i < l->of->count; i++) {
    const cpb_best *nearest = &l->query_states[i].farthest;
    double edge = nearest->count == nearest->k ? -nearest->entry[0].key / l->run.step : -2 * most;
    l->edge[i] = (int32_t)(edge > -2 * most ? edge < most ? edge : most : -2 * most);
  }
  look_at_panel(l, found_sample);
}

/* Rows that seem to be nearest are measured: no row farther than k of them is a result. */
static void measure_sample(seek *s, size_t place, query_state *of) {
  const size_t count = of->farthest.count;
  cpb_best *nearest = &of->answer.rows;
  for (size_t i = 0; i < count; i++) cpb_slot_fetch(s->index, (size_t)of->farthest.entry[i].id);
  for (size_t i = 0; i < count; i++) {
    double value;
    if (!measure(s, (size_t)of->farthest.entry[i].id, s->order[place], &value)) break;
    cpb_best_offer(nearest, cpb_seek_key(s->index, value), i);
    of->answer.measured++;
  }
  if (nearest->count == nearest->k)
    *of->bound = cpb_byte_filter_bound(&s->byte_filter, place, cpb_seek_key(s->index, nearest->entry[0].key));
  of->farthest.count = nearest->count = 0;
}

/* The products of long rows take more time than a sample could save, and so do many measured rows if bytes are exact
 * anyway. A filter would be asked twice, and the rows of a file would be read twice. */
static bool wants_sample(const seek *s, const band *of, size_t blocks) {
  enum { FEW_QUERIES = 16, FEW_BLOCKS = 24, LONG = 64 };
  if (s->asked->limits != NULL || s->asked->filter != NULL || s->whole_codes) return false;
  size_t most_k = s->byte_filter.kind == CPB_BYTE_FILTER_FLOATS ? 4 * blocks : blocks / 2;
  return s->index->file == NULL && s->byte_filter.words <= LONG && of->count >= FEW_QUERIES &&
         blocks >= FEW_BLOCKS && s->asked->k <= most_k;
}

/* Blocks far from each other first, because neighbours may be alike, and any of their panels, which are in the order of
 * reach. */
static void sample_part(seek *s, size_t part, const band *of, size_t from, size_t to) {
  enum { APART = 8, EVERY = 3, PANELS = CPB_INDEX_BLOCK / CPB_INDEX_PANEL };
  if (!wants_sample(s, of, to - from)) return;
  for (size_t i = 0; i < APART * EVERY; i += EVERY)
    for (size_t block = from + i; block < to; block += APART * EVERY) {
      look l = look_of(s, part, of, block, &s->index->blocks[block]);
      size_t at = block % PANELS * CPB_INDEX_PANEL;
      if (at >= l.block->count) continue;
      l.run = cpb_codes_run(l.block, at);
      sample_panel(&l);
    }
  query_state *query_states = s->query_states + part * s->n + of->first;
  for (size_t i = 0; i < of->count; i++) measure_sample(s, of->first + i, &query_states[i]);
}

/* ---- one query: panels that are read in part ---- */

/* Rows far from the query are excluded by a part of their numbers; fewer words leave little to leave out. */
static bool wants_partial(const seek *s) {
  enum { LEAST = 96 };
  return s->n == 1 && s->byte_filter.words >= LEAST && s->index->options.metric != CPB_IP;
}

/* Whether it pays to read panels in part: while it saves less than an eighth, it is tried ever more seldom. */
typedef struct parts_tried {
  cpb_partial partial;
  size_t wait, left; /* blocks until the next try */
} parts_tried;

static void look_at_parts(seek *s, size_t part, size_t block, const block_thresholds *t, parts_tried *tried) {
  enum { LONGEST = 16 };
  size_t all = s->index->blocks[block].count / CPB_INDEX_PANEL * s->byte_filter.words;
  bool tries = tried->left == 0;
  tried->partial.words = 0;
  look_at_block(s, part, s->bands, block, &s->index->blocks[block], t, tries ? &tried->partial : NULL);
  if (tries && 8 * tried->partial.words > 7 * all)
    tried->left = tried->wait = tried->wait < LONGEST ? 2 * tried->wait + 1 : LONGEST;
  else if (tries)
    tried->wait = 0;
  else
    tried->left--;
}

/* Makes codes of all numbers of a block. */
typedef struct whole_coder {
  cpb_coder *coder;
  cpb_index_block block;
} whole_coder;

static bool start_coder(seek *s, whole_coder *w) {
  *w = (whole_coder){.coder = NULL};
  if (!s->whole_codes || cpb_coder_start(s->index, &s->byte_filter, &w->coder, &w->block)) return true;
  atomic_store(&s->out_of_memory, true);
  return false;
}

static const cpb_index_block *coded_block(seek *s, whole_coder *w, size_t block) {
  const cpb_index_block *of = &s->index->blocks[block];
  size_t row;
  if (!s->whole_codes) return of;
  w->block.count = of->count;
  w->block.rows = of->rows;
  (void)cpb_coder_run(w->coder, s->index, &w->block, &(cpb_rows_copy){0}, 0, &row); /* rows had no fault */
  return &w->block;
}

/* Compares all queries of a share with a block while it is cached. */
static void look_at_part(void *arg, size_t task) {
  seek *s = arg;
  block_thresholds t = {.step = 0};
  parts_tried tried = {
      .partial = {s->word_order.words, s->word_order.other_sum, s->word_order.other_square, 0, 0}};
  whole_coder w;
  size_t part = task / s->shares, share = task % s->shares, blocks = s->index->block_count;
  size_t from = share * s->band_count / s->shares, to = (share + 1) * s->band_count / s->shares;
  size_t first = part * blocks / s->parts, end = (part + 1) * blocks / s->parts;
  if (!start_coder(s, &w)) return;
  for (size_t i = from; i < to; i++) sample_part(s, part, &s->bands[i], first, end);
  for (size_t block = first; block < end && from < to; block++) {
    const cpb_index_block *coded = coded_block(s, &w, block);
    for (size_t i = from; i < to; i++) {
      find_thresholds(s, block, coded, s->bands[i].step, &t);
      if (s->partial)
        look_at_parts(s, part, block, &t, &tried);
      else
        look_at_block(s, part, &s->bands[i], block, coded, &t, NULL);
    }
  }
  cpb_coder_free(w.coder);
  cpb_block_free(&w.block);
}

/* ---- what the parts found ---- */

static void join(seek *s, size_t place, query_state *all, query_state *part) {
  if (*part->bound < *all->bound) *all->bound = *part->bound;
  all->answer.measured += part->answer.measured;
  all->answer.undecided |= part->answer.undecided;
  for (size_t i = 0; i < part->answer.rows.count; i++) {
    cpb_ranked row = part->answer.rows.entry[i];
    if (s->asked->limits != NULL && cpb_best_grow(&all->answer.rows))
      all->answer.rows.entry[all->answer.rows.count++] = row;
    else if (s->asked->limits != NULL)
      atomic_store(&s->out_of_memory, true);
    else
      offer_nearest(s, all, place, row.key, row.id);
  }
  if (s->asked->limits == NULL) return;
  free(part->answer.rows.entry);
  part->answer.rows = (cpb_best){0};
}

static void settle(void *arg, size_t place) {
  seek *s = arg;
  query_state *all = &s->query_states[place];
  for (size_t part = 1; part < s->parts; part++) join(s, place, all, &s->query_states[part * s->n + place]);
  for (size_t part = 0; part < s->parts && !all->answer.undecided; part++)
    measure_deferred(s, place, &s->query_states[part * s->n + place], all);
}

/* ---- queries ---- */

static void pack_query(seek *s, const band *of, size_t place) {
  size_t words = s->byte_filter.words;
  const uint8_t *columns = s->byte_filter.codes_of_queries + place / COLS * cpb_bytes_panel(words);
  int8_t *to = s->codes + of->first / COLS * 2 * cpb_bytes_group(words);
  int32_t sum = 0;
  for (size_t k = 0; k < s->index->options.cols; k++) {
    int32_t code = columns[cpb_bytes_panel_at(k, place % COLS)] - MIDDLE;
    to[cpb_bytes_at(words, place - of->first, k)] = (int8_t)code;
    sum += code;
  }
  s->offset[place] = MIDDLE * sum;
}

/* A panel joins the band before it if their steps are similar. */
static void find_bands(seek *s, const cpb_byte_filter_queries *queries) {
  const double alike = 1.25;
  s->band_count = 0;
  for (size_t panel = 0; panel < s->groups; panel++) {
    double step = cpb_byte_filter_step(&s->byte_filter, queries, panel);
    size_t first = panel * COLS, count = s->n - first < COLS ? s->n - first : COLS;
    band *last = s->band_count > 0 ? &s->bands[s->band_count - 1] : NULL;
    if (last != NULL && last->count + count <= BAND && step <= alike * last->step &&
        last->step <= alike * step) {
      last->count += count;
      last->step = step > last->step ? step : last->step;
    } else
      s->bands[s->band_count++] = (band){first, count, step};
  }
}

static void grid_queries(seek *s, float *factors) {
  size_t d = s->index->options.cols;
  cpb_byte_filter_queries queries = {.n = s->n, .q = s->q, .query_scale = s->known, .order = s->order};
  cpb_ranked *room = s->query_states[0].deferred; /* not in use yet: that of all queries */
  for (size_t i = 0; i < s->n; i++)
    cpb_float_filter_query(&s->index->float_filter, s->q + i * d, &s->known[i], factors, 1);
  cpb_query_order(s->known, s->q, s->index->center, s->n, d, room, s->order);
  find_bands(s, &queries);
  memset(s->codes, 0, 2 * s->groups * cpb_bytes_group(s->byte_filter.words));
  for (const band *of = s->bands; of < s->bands + s->band_count; of++) {
    for (size_t at = 0; at < of->count; at += COLS)
      cpb_byte_filter_grid(&s->byte_filter, &queries, (of->first + at) / COLS, of->step);
    for (size_t i = 0; i < of->count; i++) pack_query(s, of, of->first + i);
  }
}

/* ---- room ---- */

static void share_work(seek *s) {
  enum { PER_THREAD = 2 };
  size_t threads = cpb_exec_threads(s->asked->exec);
  size_t wanted = threads > 1 ? PER_THREAD * threads : 1, blocks = s->index->block_count;
  size_t bands = (s->n + BAND - 1) / BAND; /* or a few more */
  s->shares = bands < wanted ? bands : wanted;
  s->parts = wanted / s->shares < blocks ? wanted / s->shares : blocks;
}

/* Adds up the sizes of the arrays or, given memory, places them. */
static void lay_out(seek *s, cpb_carver *c, cpb_ranked **entries, float **factors,
                    cpb_seek_answer **answers) {
  size_t d = s->index->options.cols, words = s->byte_filter.words, cells = s->parts * s->n;
  size_t ordered = s->partial ? words : 0;
  size_t kept = s->asked->limits != NULL ? 0 : s->asked->k;
  s->q = cpb_carve(c, s->n * d, sizeof *s->q);
  s->known = cpb_carve(c, s->n, sizeof *s->known);
  s->order = cpb_carve(c, s->n, sizeof *s->order);
  s->offset = cpb_carve(c, s->groups * COLS, sizeof *s->offset);
  s->bands = cpb_carve(c, s->groups, sizeof *s->bands);
  s->codes = cpb_carve(c, 2 * s->groups, cpb_bytes_group(words));
  s->byte_filter.panels = cpb_carve(c, s->groups, sizeof *s->byte_filter.panels);
  s->byte_filter.codes_of_queries = cpb_carve(c, s->groups, cpb_bytes_panel(words));
  s->query_states = cpb_carve(c, cells, sizeof *s->query_states);
  s->bounds = cpb_carve(c, cells, sizeof *s->bounds);
  *entries = cpb_carve(c, cells * (s->room + 2 * kept), sizeof **entries);
  s->word_order = (cpb_word_order){
      .words = cpb_carve(c, ordered + CPB_PARTIAL_STEP, sizeof *s->word_order.words),
      .other_sum = cpb_carve(c, ordered / CPB_PARTIAL_STEP, sizeof *s->word_order.other_sum),
      .other_square = cpb_carve(c, ordered / CPB_PARTIAL_STEP, sizeof *s->word_order.other_square),
      .room = cpb_carve(c, ordered, sizeof *s->word_order.room)};
  *factors = cpb_carve(c, d, sizeof **factors);
  *answers = cpb_carve(c, s->n, sizeof **answers);
}

static void place_query_states(seek *s, cpb_ranked *entries) {
  size_t k = s->asked->k;
  for (size_t cell = 0; cell < s->parts * s->n; cell++) {
    query_state *of = &s->query_states[cell];
    s->bounds[cell] = INFINITY;
    *of = (query_state){.bound = &s->bounds[cell], .deferred = entries};
    entries += s->room;
    if (s->asked->limits != NULL) continue;
    of->farthest = (cpb_best){k, 0, entries};
    of->answer.rows = (cpb_best){k, 0, entries + k};
    entries += 2 * k;
  }
}

static void set_limits(seek *s) {
  for (size_t cell = 0; cell < s->parts * s->n; cell++)
    s->bounds[cell] =
        cpb_byte_filter_bound(&s->byte_filter, cell % s->n, s->asked->limits[s->order[cell % s->n]]);
}

static void put_in_order(const seek *s, cpb_seek_answer *answers) {
  for (size_t place = 0; place < s->n; place++) answers[s->order[place]] = s->query_states[place].answer;
}

static void forget(seek *s) {
  for (size_t cell = 0; s->asked->limits != NULL && cell < s->parts * s->n; cell++)
    free(s->query_states[cell].answer.rows.entry);
}

static cpb_status look_at_all(seek *s, cpb_error *error) {
  cpb_status status = cpb_exec_run_told(s->asked->exec, s->parts * s->shares, look_at_part, s, error);
  if (status == CPB_OK) cpb_exec_run(s->asked->exec, s->n, settle, s);
  if (status == CPB_OK && atomic_load(&s->out_of_memory)) status = cpb_fail_memory(error, "the rows found");
  if (status == CPB_OK && atomic_load(&s->unreadable)) status = cpb_seek_fail_read(error);
  if (status != CPB_OK) forget(s);
  return status;
}

static cpb_status seek_codes(const cpb_scan_args *question, const cpb_byte_filter *filter,
                             cpb_index_scratch *scratch, cpb_seek_answer **answers, cpb_error *error) {
  enum { SPARE = 64 };
  seek s = {.asked = question, .index = question->index, .n = question->queries.rows, .byte_filter = *filter};
  cpb_ranked *entries;
  float *factors;
  cpb_carver c = {0};
  s.whole_codes = s.index->fold != NULL;
  s.groups = (s.n + COLS - 1) / COLS;
  s.room = 2 * question->k + SPARE;
  s.byte_filter.panel_count = s.groups;
  s.partial = wants_partial(&s);
  share_work(&s);
  lay_out(&s, &c, &entries, &factors, answers);
  c = (cpb_carver){.at = cpb_scratch_room(scratch, c.bytes)};
  if (c.at == NULL) return cpb_fail_memory(error, "%zu queries", s.n);
  lay_out(&s, &c, &entries, &factors, answers);
  cpb_status status = cpb_query_take(s.index->options.metric, question->queries, s.q, s.known, error);
  if (status != CPB_OK) return status;
  place_query_states(&s, entries);
  grid_queries(&s, factors);
  if (s.partial) cpb_word_order_find(s.index, s.codes, s.bands[0].step, &s.word_order);
  if (question->limits != NULL) set_limits(&s);
  status = look_at_all(&s, error);
  if (status == CPB_OK) put_in_order(&s, *answers);
  return status;
}

/* A filter for codes of all numbers of an index that has folds, with a centre from some of its rows. */
static bool new_whole_filter(const cpb_index *index, cpb_byte_filter *filter) {
  enum { SAMPLE = 512 };
  size_t step = 1 + (index->slots - 1) / SAMPLE, count = 0;
  cpb_row_buffer buffer;
  char *sample = malloc(SAMPLE * index->row_bytes);
  for (size_t slot = 0; sample != NULL && slot < index->slots; slot += step)
    memcpy(sample + count++ * index->row_bytes, cpb_slot_row(index, slot, &buffer), index->row_bytes);
  bool made = cpb_byte_filter_new(filter, &index->float_filter, 1) && sample != NULL &&
              cpb_byte_filter_prepare_rows(
                  filter, cpb_rows(sample, index->options.dtype, count, index->options.cols));
  free(sample);
  return made;
}

/* Many queries repay codes of all numbers, which are made block by block. */
static bool are_many(const cpb_index *index, size_t queries) {
  enum { MANY = 32 };
  return queries >= MANY && index->float_filter.loops->panel_bytes != NULL;
}

cpb_status cpb_seek_codes(const cpb_scan_args *question, cpb_index_scratch *scratch,
                          cpb_seek_answer **answers, cpb_error *error) {
  cpb_byte_filter whole;
  const cpb_index *index = question->index;
  if (index->fold == NULL) return seek_codes(question, &index->byte_filter, scratch, answers, error);
  if (!are_many(index, question->queries.rows)) return cpb_seek_folds(question, scratch, answers, error);
  cpb_status status = new_whole_filter(index, &whole) ? seek_codes(question, &whole, scratch, answers, error)
                                                      : cpb_fail_memory(error, "codes of rows");
  cpb_byte_filter_free(&whole);
  return status;
}
