#include "engine/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/best.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "loops/block_product.h"
#include "base/blocks.h"

/* All three kinds of index are products of floats: integers up to 127 multiply and add exactly (sums up to 2^24), and
 * signs +-1 have the product d - 2 Hamming distance. By L2, <q,x> - |x|^2/2 ranks as -|x-q| does; floats are moved by
 * `shift` first, which changes no distance, so that a common offset of all rows does not cancel digits. */
static void encode(cpb_engine engine, float factor, const float *shift, const float *from, size_t count,
                   float *to) {
  const float to_whole = 0x1.8p23f; /* adding and subtracting it rounds to the nearest integer */
  switch (engine) {
  case CPB_ENGINE_FLOAT:
    for (size_t i = 0; i < count; i++) to[i] = shift == NULL ? from[i] : from[i] - shift[i];
    break;
  case CPB_ENGINE_INT8:
    for (size_t i = 0; i < count; i++) to[i] = (from[i] * factor + to_whole) - to_whole;
    break;
  case CPB_ENGINE_BITS:
    for (size_t i = 0; i < count; i++) to[i] = from[i] >= 0 ? 1.0F : -1.0F;
    break;
  }
}

/* One kind of index queried in one form. */
typedef struct contest {
  cpb_engine engine;
  size_t form;
  float *panels;           /* of CPB_PANEL_COLS queries each */
  float *thresholds;       /* rows below it score worse than all members of the query */
  cpb_ranked *members;     /* queries x most: the true neighbours by their scores, best first */
  _Atomic uint64_t *ahead; /* queries x (most+1): rows that score better than the members from this one on */
} contest;

enum { CONTESTS = 2 * CPB_ENGINES };

typedef struct measurement {
  const cpb_rank_job *job;
  const cpb_loops *loops;
  size_t cols, per_block;
  float factor;      /* of int8 rows */
  float *shift;      /* of float rows by L2, cols numbers; NULL: none */
  float *queries[2]; /* by form; NULL: not used */
  size_t count;      /* of contests */
  contest contests[CONTESTS];
  _Atomic uint64_t largest; /* bits of the largest coordinate of a base row */
  cpb_memory memory;
  atomic_bool no_memory;
} measurement;

static float largest_of(const float *values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; i++) largest = fabsf(values[i]) > largest ? fabsf(values[i]) : largest;
  return largest;
}

static float int8_factor(float largest) { return largest > 0 ? 127 / largest : 0; }

static size_t panels_of(const measurement *m) {
  return (m->job->truth->queries + CPB_PANEL_COLS - 1) / CPB_PANEL_COLS;
}

/* Rows of the base as floats, and in the layout of the panel loop. */
typedef struct scratch {
  cpb_memory memory;
  float *rows, *coded, *starts;
} scratch;

static scratch scratch_for(const measurement *m, size_t rows) {
  size_t padded = cpb_round_up(rows, CPB_PANEL_ROWS), group = cpb_panel_group(m->cols);
  scratch s = {.memory = {0}};
  s.rows = cpb_memory_take(&s.memory, rows, m->cols * sizeof *s.rows);
  s.coded = cpb_memory_zeros(&s.memory, padded / CPB_PANEL_ROWS, group * sizeof *s.coded);
  s.starts = cpb_memory_zeros(&s.memory, padded, sizeof *s.starts);
  return s;
}

/* Frees it; a lack of memory ends the measurement. */
static void scratch_free(measurement *m, scratch *s) {
  if (s->memory.failed) atomic_store(&m->no_memory, true);
  cpb_memory_free(&s->memory);
}

static float square_of(const float *values, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i] * values[i];
  return sum;
}

/* Also starts[i], what the product of row i with any query is added to. */
static void encode_rows(const measurement *m, cpb_engine engine, const float *rows, size_t count,
                        float *groups, float *starts) {
  bool l2 = m->job->recipe->metric == CPB_L2;
  for (size_t i = 0; i < count; i++) {
    starts[i] = 0;
    for (size_t k = 0; k < m->cols; k += CPB_PANEL_LINE) {
      size_t width = m->cols - k < CPB_PANEL_LINE ? m->cols - k : CPB_PANEL_LINE;
      float *to = groups + cpb_panel_at(m->cols, i, k);
      encode(engine, m->factor, m->shift == NULL ? NULL : m->shift + k, rows + i * m->cols + k, width, to);
      if (l2) starts[i] -= square_of(to, width) / 2;
    }
  }
}

static bool has_stopped(const measurement *m) { return atomic_load(&m->no_memory); }

static cpb_status fail_memory(const measurement *m, cpb_error *error) {
  return cpb_fail_memory(error, "%zu queries of %zu numbers", m->job->truth->queries, m->cols);
}

/* ---- the largest coordinate ---- */

static void rank_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  measurement *m = arg;
  if (has_stopped(m)) return;
  float *rows = malloc(count * m->cols * sizeof *rows);
  if (rows == NULL) {
    atomic_store(&m->no_memory, true);
    return;
  }
  cpb_prepare_rows(m->job->recipe->transform, cpb_view_slice(m->job->base, first, count), true, rows, NULL,
                   NULL);
  float largest = largest_of(rows, count * m->cols);
  uint32_t bits;
  memcpy(&bits, &largest, sizeof bits); /* non-negative floats are ordered like their bits */
  cpb_report_largest(&m->largest, bits);
  free(rows);
}

static void find_factor(measurement *m, const cpb_exec *exec) {
  cpb_blocks_run(&(cpb_blocks){m->job->base.rows, m->per_block, rank_block, m}, exec);
  uint32_t bits = (uint32_t)atomic_load(&m->largest);
  float largest;
  memcpy(&largest, &bits, sizeof largest);
  m->factor = int8_factor(largest);
}

/* ---- queries as panels ---- */

static void pack_queries(const measurement *m, const contest *c, float *coded) {
  size_t queries = m->job->truth->queries;
  const float *rows = m->queries[c->form];
  bool l2 = m->job->recipe->metric == CPB_L2; /* rows and queries in the same unit */
  float factor = l2 ? m->factor : int8_factor(largest_of(rows, queries * m->cols));
  for (size_t q = 0; q < queries; q++) {
    float *column = c->panels + q / CPB_PANEL_COLS * m->cols * CPB_PANEL_COLS + q % CPB_PANEL_COLS;
    encode(c->engine, factor, m->shift, rows + q * m->cols, m->cols, coded);
    for (size_t i = 0; i < m->cols; i++) column[i * CPB_PANEL_COLS] = coded[i];
  }
}

static void new_contest(measurement *m, cpb_engine engine, size_t form) {
  contest *c = &m->contests[m->count++];
  const cpb_truth *truth = m->job->truth;
  size_t columns = panels_of(m) * CPB_PANEL_COLS;
  c->engine = engine;
  c->form = form;
  c->panels = cpb_memory_lines(&m->memory, columns, m->cols * sizeof *c->panels);
  c->thresholds = cpb_memory_lines(&m->memory, columns, sizeof *c->thresholds);
  c->members = cpb_memory_take(&m->memory, truth->queries, truth->most * sizeof *c->members);
  c->ahead = cpb_memory_zeros(&m->memory, truth->queries, (truth->most + 1) * sizeof *c->ahead);
  for (size_t i = 0; i < columns && !m->memory.failed; i++) c->thresholds[i] = INFINITY;
}

/* ---- the scores of the members ---- */

typedef struct scoring {
  cpb_ranked *members;
  size_t column;
} scoring;

static void take_score(void *context, size_t row, uint64_t columns, const float *values) {
  (void)columns;
  scoring *s = context;
  s->members[row].key = -(double)values[s->column];
}

/* Runs the panel loop over the stored rows of one contest. */
static void run_panel(const measurement *m, const contest *c, size_t panel, const float *rows, size_t count,
                      const float *starts, const float *thresholds,
                      void (*found)(void *, size_t, uint64_t, const float *), void *context) {
  size_t left = m->job->truth->queries - panel * CPB_PANEL_COLS;
  cpb_panel p = {.rows = count,
                 .k = m->cols,
                 .columns = left < CPB_PANEL_COLS ? left : CPB_PANEL_COLS,
                 .a = rows,
                 .start = starts,
                 .b = c->panels + panel * m->cols * CPB_PANEL_COLS,
                 .threshold = thresholds,
                 .found = found,
                 .context = context};
  m->loops->panel(&p);
}

static void score_members(measurement *m, size_t query, const float *rows, float *coded, float *starts) {
  const cpb_truth *truth = m->job->truth;
  size_t count = truth->count[query], panel = query / CPB_PANEL_COLS;
  float everything[CPB_PANEL_COLS];
  for (size_t i = 0; i < CPB_PANEL_COLS; i++) everything[i] = -INFINITY;
  for (size_t i = 0; i < m->count; i++) {
    contest *c = &m->contests[i];
    scoring s = {c->members + query * truth->most, query % CPB_PANEL_COLS};
    for (size_t k = 0; k < count; k++) s.members[k].id = truth->ids[query * truth->most + k];
    encode_rows(m, c->engine, rows, count, coded, starts);
    run_panel(m, c, panel, coded, count, starts, everything, take_score, &s);
    cpb_ranked_sort(s.members, count);
    c->thresholds[query] = nextafterf((float)-s.members[count - 1].key, -INFINITY);
  }
}

static void score_query(void *arg, size_t block, size_t query, size_t one) {
  (void)block;
  (void)one;
  measurement *m = arg;
  const cpb_truth *truth = m->job->truth;
  cpb_view base = m->job->base;
  size_t count = truth->count[query];
  if (has_stopped(m)) return;
  scratch s = scratch_for(m, count);
  void *gathered = cpb_memory_take(&s.memory, count, base.cols * cpb_dtype_size(base.dtype));
  const uint64_t *ids = truth->ids + query * truth->most;
  cpb_store from = cpb_store_from_view(base);
  if (!s.memory.failed && cpb_view_get(&from, ids, count, gathered, NULL) == CPB_OK) {
    cpb_view rows = cpb_rows(gathered, base.dtype, count, base.cols);
    cpb_prepare_rows(m->job->recipe->transform, rows, true, s.rows, NULL, NULL);
    score_members(m, query, s.rows, s.coded, s.starts);
  }
  scratch_free(m, &s);
}

/* ---- rows that score better ---- */

typedef struct counting {
  const cpb_truth *truth;
  const contest *contest;
  size_t first_query;
  uint64_t first_id;
  uint32_t *ahead; /* CPB_PANEL_COLS x (most+1), of this block */
} counting;

/* The number of members that are better. */
static size_t place_among(const cpb_ranked *members, size_t count, cpb_ranked row) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    cpb_ranked here = members[middle];
    if (here.key < row.key || (here.key == row.key && here.id < row.id))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void count_row(void *context, size_t row, uint64_t columns, const float *values) {
  counting *c = context;
  const cpb_truth *truth = c->truth;
  for (; columns != 0; columns &= columns - 1) {
    size_t column = (size_t)__builtin_ctzll(columns), query = c->first_query + column;
    cpb_ranked here = {-(double)values[column], c->first_id + row};
    if (here.id == truth->self[query]) continue;
    size_t place = place_among(c->contest->members + query * truth->most, truth->count[query], here);
    c->ahead[column * (truth->most + 1) + place]++;
  }
}

static void count_panel(const measurement *m, const contest *of, size_t panel, const float *rows,
                        uint64_t first, size_t count, const float *starts, uint32_t *ahead) {
  const cpb_truth *truth = m->job->truth;
  size_t first_query = panel * CPB_PANEL_COLS, places = truth->most + 1;
  size_t used = truth->queries - first_query < CPB_PANEL_COLS ? truth->queries - first_query : CPB_PANEL_COLS;
  counting c = {truth, of, first_query, first, ahead};
  memset(ahead, 0, used * places * sizeof *ahead);
  run_panel(m, of, panel, rows, count, starts, of->thresholds + first_query, count_row, &c);
  for (size_t i = 0; i < used * places; i++)
    if (ahead[i] != 0) atomic_fetch_add(&of->ahead[first_query * places + i], ahead[i]);
}

static void count_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  measurement *m = arg;
  if (has_stopped(m)) return;
  scratch s = scratch_for(m, count);
  uint32_t *ahead = cpb_memory_take(&s.memory, CPB_PANEL_COLS * (m->job->truth->most + 1), sizeof *ahead);
  if (!s.memory.failed) {
    cpb_view base = cpb_view_slice(m->job->base, first, count);
    cpb_prepare_rows(m->job->recipe->transform, base, true, s.rows, NULL, NULL);
    for (size_t i = 0; i < m->count; i++) {
      const contest *c = &m->contests[i];
      if (i == 0 || c->engine != m->contests[i - 1].engine)
        encode_rows(m, c->engine, s.rows, count, s.coded, s.starts);
      for (size_t panel = 0; panel < panels_of(m); panel++)
        count_panel(m, c, panel, s.coded, first, count, s.starts, ahead);
    }
  }
  scratch_free(m, &s);
}

/* A member is behind every row that beats it or a better member; it was counted once itself. */
static void add_up(const measurement *m, const contest *c, uint64_t *ranks) {
  const cpb_truth *truth = m->job->truth;
  for (size_t q = 0; q < truth->queries; q++) {
    uint64_t before = 0;
    for (size_t i = 0; i < truth->k; i++) {
      before += atomic_load(&c->ahead[q * (truth->most + 1) + i]);
      ranks[q * truth->k + i] = before - 1;
    }
  }
}

static cpb_status prepare(measurement *m, const cpb_exec *exec, cpb_error *error) {
  const cpb_rank_job *job = m->job;
  size_t forms = job->radius > 0 ? 2 : 1;
  /* Raw rows by L2 are moved by their centre. */
  if (job->recipe->metric == CPB_L2 && job->recipe->kind == CPB_TRANSFORM_NONE)
    m->shift = cpb_memory_take(&m->memory, m->cols, sizeof *m->shift);
  for (size_t form = 0; form < forms; form++)
    m->queries[form] = cpb_memory_take(&m->memory, job->queries.rows, m->cols * sizeof **m->queries);
  for (size_t i = 0; i < CPB_ENGINES * forms; i++) new_contest(m, (cpb_engine)(i / forms), i % forms);
  float *coded = cpb_memory_take(&m->memory, m->cols, sizeof *coded);
  if (m->memory.failed) return fail_memory(m, error);
  if (m->shift != NULL) m->loops->narrow(job->center, m->cols, m->shift);
  find_factor(m, exec);
  for (size_t form = 0; form < forms; form++) {
    double radius = form == 1 ? job->radius : 0;
    cpb_status status = cpb_prepare_queries(job->recipe->transform, job->queries, NULL, radius, form == 0,
                                            m->queries[form], NULL, error);
    if (status != CPB_OK) return status;
  }
  for (size_t i = 0; i < m->count; i++) pack_queries(m, &m->contests[i], coded);
  return CPB_OK;
}

cpb_status cpb_ranks_measure(const cpb_rank_job *job, uint64_t *ranks[CPB_ENGINES][2], const cpb_exec *exec,
                             cpb_error *error) {
  enum { MOST = 512, LONG = 4 }; /* panels are read again for every block, but small sets are still split */
  size_t cols = cpb_transform_cols(job->recipe->transform), rows = LONG * cpb_blocks_rows(cols);
  measurement m = {
      .job = job, .loops = cpb_loops_here(), .cols = cols, .per_block = rows < MOST ? rows : MOST};
  cpb_status status = prepare(&m, exec, error);
  if (status == CPB_OK && !has_stopped(&m)) {
    cpb_blocks_run(&(cpb_blocks){job->truth->queries, 1, score_query, &m}, exec);
    status = cpb_blocks_run_told(&(cpb_blocks){job->base.rows, m.per_block, count_block, &m}, exec, error);
  }
  if (status == CPB_OK && has_stopped(&m)) status = fail_memory(&m, error);
  for (size_t i = 0; i < m.count && status == CPB_OK; i++)
    add_up(&m, &m.contests[i], ranks[m.contests[i].engine][m.contests[i].form]);
  cpb_memory_free(&m.memory);
  return status;
}
