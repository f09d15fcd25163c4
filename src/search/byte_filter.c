#include "search/byte_filter.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/best.h"

enum { COLS = CPB_BYTES_COLS, MIDDLE = 128, AHEAD = 8 };

static size_t line_floats(size_t d) { return (d + CPB_PANEL_LINE - 1) / CPB_PANEL_LINE * CPB_PANEL_LINE; }

/* Long rows can afford a step per few rows; for short rows choosing steps would cost more than it saves. */
static size_t rows_of_a_run(size_t d) {
  enum { NUMBERS = 512, MOST = 8 };
  size_t groups = NUMBERS / d;
  return (groups < 1 ? 1 : groups > MOST ? MOST : groups) * CPB_BYTES_GROUP;
}

bool cpb_byte_filter_new(cpb_byte_filter *filter, const cpb_float_filter *float_filter, size_t queries) {
  size_t d = float_filter->d;
  *filter = (cpb_byte_filter){.float_filter = float_filter,
                              .words = cpb_bytes_words(d),
                              .panel_count = (queries + COLS - 1) / COLS,
                              .error = cpb_value_error(d),
                              .root = sqrt((double)d),
                              .run_rows = rows_of_a_run(d),
                              .group = CPB_BYTES_GROUP};
  filter->center = cpb_memory_lines(&filter->memory, 2 * line_floats(d), sizeof *filter->center);
  filter->opposite = cpb_memory_lines(&filter->memory, d, sizeof *filter->opposite);
  return !filter->memory.failed;
}

/* As many as there are columns. */
static const float *zeros(const cpb_byte_filter *filter) {
  return filter->center + line_floats(filter->float_filter->d);
}

static bool make_room_for_rows(cpb_byte_filter *filter, size_t block_rows, size_t coded_rows) {
  cpb_memory *memory = &filter->memory;
  size_t coded = (coded_rows / filter->group + 1) * filter->group;
  filter->reach = cpb_memory_lines(memory, block_rows, sizeof *filter->reach);
  filter->rounded = cpb_memory_lines(memory, block_rows, sizeof *filter->rounded);
  filter->order = cpb_memory_lines(memory, block_rows, sizeof *filter->order);
  filter->codes = cpb_memory_lines(memory, coded, cpb_bytes_group(filter->words) / CPB_BYTES_GROUP);
  filter->rows = cpb_memory_lines(memory, block_rows, sizeof *filter->rows);
  filter->gridded = cpb_memory_lines(memory, block_rows, sizeof *filter->gridded);
  filter->part = cpb_memory_lines(memory, block_rows, sizeof *filter->part);
  filter->whole = cpb_memory_lines(memory, block_rows, sizeof *filter->whole);
  filter->runs = cpb_memory_lines(memory, block_rows / filter->run_rows + 1, sizeof *filter->runs);
  return !memory->failed;
}

/* For the grids of the queries and of a block of rows, once they are wanted. */
static bool make_room(cpb_byte_filter *filter, size_t block_rows) {
  if (filter->runs != NULL) return true;
  filter->codes_of_queries =
      cpb_memory_lines(&filter->memory, filter->panel_count, cpb_bytes_panel(filter->words));
  filter->panels = cpb_memory_lines(&filter->memory, filter->panel_count, sizeof *filter->panels);
  return make_room_for_rows(filter, block_rows, block_rows);
}

void cpb_byte_filter_free(cpb_byte_filter *filter) { cpb_memory_free(&filter->memory); }

static double positive(double x) { return cpb_larger(x, 0); }

/* The nearest code; |steps| may be arbitrarily large. */
static double code_of(double steps) {
  const double to_whole = 0x1.8p52; /* adding and subtracting it rounds to the nearest integer */
  double within = steps > -MIDDLE ? steps < MIDDLE - 1 ? steps : MIDDLE - 1 : -MIDDLE;
  return (within + to_whole) - to_whole;
}

/* ---- the centre ---- */

static cpb_byte_filter_kind kind_for(const cpb_float_filter *float_filter, cpb_dtype dtype) {
  if (float_filter->metric == CPB_COSINE || float_filter->unit < 0x1p-20) return CPB_BYTE_FILTER_FLOATS;
  return dtype == CPB_U8 ? CPB_BYTE_FILTER_U8 : dtype == CPB_I8 ? CPB_BYTE_FILTER_I8 : CPB_BYTE_FILTER_FLOATS;
}

/* Rows sampled from the whole input, and the number of queries tried on them. */
enum { SAMPLE = 512, TRIED = 8, PLACES = 32 };

typedef struct trial {
  float *numbers; /* components of the rows, padded to whole lines; x'-m once the centre is known */
  size_t count;
  double size2[SAMPLE + 1], reach[SAMPLE];
  double *y; /* the query being tried: q'-p, .. */
  double reach_of_query;
  double distance[SAMPLE]; /* .. and its distances to the rows */
} trial;

static trial *new_trial(size_t d, cpb_memory *memory) {
  trial *t = cpb_memory_zeros(memory, 1, sizeof *t);
  if (t == NULL) return NULL;
  t->numbers = cpb_memory_lines(memory, SAMPLE * line_floats(d), sizeof *t->numbers);
  t->y = cpb_memory_lines(memory, d, sizeof *t->y);
  return memory->failed ? NULL : t;
}

static void sample_rows(const cpb_byte_filter *filter, cpb_view rows, trial *t) {
  size_t step = 1 + rows.rows / SAMPLE, stride = line_floats(filter->float_filter->d);
  for (size_t row = 0; row < rows.rows && t->count < SAMPLE; row += step) {
    double *size2 = &t->size2[t->count];
    if (row + AHEAD * step < rows.rows) cpb_fetch_row(rows, row + AHEAD * step);
    int fault = cpb_float_filter_numbers(filter->float_filter, rows, row, t->numbers + t->count * stride,
                                         CPB_PANEL_LINE, size2);
    t->count += fault == 0 && *size2 < CPB_FLOAT_FILTER_MOST;
  }
}

/* For a few hundred numbers; 0 if there are none. */
static double median_of(const double *x, size_t count) {
  enum { ENOUGH = 256 };
  cpb_ranked sorted[ENOUGH];
  size_t step = 1 + count / ENOUGH, taken = 0;
  for (size_t i = 0; i < count; i += step) sorted[taken++] = (cpb_ranked){x[i], i};
  cpb_ranked_sort(sorted, taken);
  return taken == 0 ? 0 : sorted[taken / 2].key;
}

/* The mean of the rows of typical size; outliers are ignored. */
static void find_center(cpb_byte_filter *filter, trial *t) {
  size_t d = filter->float_filter->d, stride = line_floats(d), taken = 0, count = t->count;
  double usual2 = median_of(t->size2, count), *mean = filter->opposite;
  memset(mean, 0, d * sizeof *mean);
  for (size_t i = 0; i < count; i++) {
    if (t->size2[i] > 16 * usual2) continue;
    for (size_t k = 0; k < d; k++) mean[k] += (double)t->numbers[i * stride + k];
    taken++;
  }
  for (size_t k = 0; k < d; k++) filter->center[k] = taken == 0 ? 0 : (float)(mean[k] / (double)taken);
  for (size_t i = 0; i < count; i++) {
    float *numbers = t->numbers + i * stride, reach, size2;
    for (size_t k = 0; k < d; k++) numbers[k] -= filter->center[k];
    filter->float_filter->loops->number(&(const float *){numbers}, NULL, 1, d,
                                        &(cpb_shift){1, zeros(filter), zeros(filter)}, &reach, &size2);
    t->reach[i] = (double)reach;
  }
  filter->usual_reach = median_of(t->reach, count);
}

/* ---- queries ---- */

/* The grain of a query; inf: every row is measured, and the numbers of the query are taken as 0. Products with rows of
 * bytes are not scaled, and those of the longest queries would leave the range of single precision. */
static inline double grain_of(const cpb_byte_filter *filter, const cpb_query_scale *query_scale) {
  bool in_range = filter->kind == CPB_BYTE_FILTER_FLOATS || query_scale->length < 0x1p60 * query_scale->unit;
  return in_range ? query_scale->grain : INFINITY;
}

/* Component k of q', with the centre of the queries. */
static inline double query_number(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries,
                                  size_t query, size_t k) {
  const double *q = queries->q + query * filter->float_filter->d;
  const cpb_query_scale *query_scale = &queries->query_scale[query];
  if (isinf(grain_of(filter, query_scale))) return 0;
  if (filter->kind != CPB_BYTE_FILTER_FLOATS) return q[k];
  return cpb_float_filter_number(filter->float_filter, q, query_scale, k);
}

/* p, and the sizes of both centres. */
static void find_opposite(cpb_byte_filter *filter, const cpb_byte_filter_queries *queries) {
  size_t d = filter->float_filter->d;
  bool products = filter->float_filter->metric == CPB_IP && filter->kind == CPB_BYTE_FILTER_FLOATS;
  double *p = filter->opposite, center2 = 0, opposite2 = 0, product = 0;
  for (size_t k = 0; k < d; k++) p[k] = products ? 0 : (double)filter->center[k];
  for (size_t i = 0; products && queries != NULL && i < queries->n; i++)
    for (size_t k = 0; k < d; k++) p[k] += query_number(filter, queries, i, k);
  for (size_t k = 0; k < d; k++) {
    if (products && queries != NULL) p[k] /= (double)queries->n;
    center2 += (double)filter->center[k] * (double)filter->center[k];
    opposite2 += p[k] * p[k];
    product += (double)filter->center[k] * p[k];
  }
  filter->center_size = sqrt(center2);
  filter->opposite_size = sqrt(opposite2);
  filter->product = product;
}

/* Whether a number of a query is the one that its code stands for, where the step is 1: z - opposite alone does not tell, as
 * a small z is lost in it. */
static bool is_on_grid(double z, double opposite) { return z == opposite + code_of(z - opposite); }

static size_t queries_in(const cpb_byte_filter_queries *queries, size_t panel) {
  size_t left = queries->n - panel * COLS;
  return left < COLS ? left : COLS;
}

/* The step of a panel: 1 if rows and queries are integers; else fine enough for the largest query, and no finer than
 * the rows can resolve. */
double cpb_byte_filter_step(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries,
                            size_t panel) {
  size_t first = panel * COLS, count = queries_in(queries, panel);
  double reach = filter->usual_reach / 64, largest = 0;
  bool whole = filter->kind != CPB_BYTE_FILTER_FLOATS;
  for (size_t slot = first; slot < first + count; slot++)
    for (size_t k = 0; k < filter->float_filter->d; k++) {
      double z = query_number(filter, queries, queries->order[slot], k);
      reach = cpb_larger(reach, fabs(z - filter->opposite[k]));
      largest = cpb_larger(largest, fabs(filter->opposite[k]));
      whole = whole && is_on_grid(z, filter->opposite[k]);
    }
  if (whole) return 1;
  if (filter->float_filter->metric == CPB_IP) reach = fmax(reach, largest / 64);
  return fmax(reach, 1e-30) / 127;
}

/* Puts a query on the grid of its panel; it occupies every fourth byte of a line. */
static void grid_query(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries, size_t query,
                       cpb_byte_filter_panel *panel, size_t j, uint8_t *codes) {
  double grain = grain_of(filter, &queries->query_scale[query]);
  bool exact = filter->kind != CPB_BYTE_FILTER_FLOATS && panel->step == 1 && !isinf(grain);
  double square = 0, rest2 = 0, length2 = 0, size2 = 0, constant = 0;
  for (size_t k = 0; k < filter->float_filter->d; k++) {
    double z = query_number(filter, queries, query, k), y = z - filter->opposite[k];
    double code = code_of(y / panel->step), rest = y - panel->step * code;
    codes[cpb_bytes_panel_at(k, j)] = (uint8_t)(code + MIDDLE);
    square += code * code;
    rest2 += rest * rest;
    length2 += y * y;
    size2 += z * z;
    constant += (double)filter->center[k] * z;
    exact = exact && is_on_grid(z, filter->opposite[k]);
  }
  double length = sqrt(length2), size = sqrt(size2);
  bool products = filter->float_filter->metric == CPB_IP;
  panel->square[j] = panel->step * panel->step * square;
  panel->rest[j] =
      sqrt(rest2) * (1 + 1e-11) + 1e-15 * (size + length + filter->opposite_size) + (products ? 0 : grain);
  panel->length[j] = length * (1 + 1e-11) + 0x1p-13 * size;
  panel->constant[j] = constant;
  panel->exact[j] = exact;
  panel->loose[j] = 1e-11 * filter->center_size * size + (products ? grain : 0);
  panel->query_scale[j] = filter->kind == CPB_BYTE_FILTER_FLOATS
                              ? queries->query_scale[query]
                              : (cpb_query_scale){.length = 1, .scale = {1, 1}};
}

void cpb_byte_filter_grid(cpb_byte_filter *filter, const cpb_byte_filter_queries *queries, size_t panel,
                          double step) {
  size_t first = panel * COLS, count = queries_in(queries, panel);
  uint8_t *codes = filter->codes_of_queries + panel * cpb_bytes_panel(filter->words);
  memset(codes, 0, cpb_bytes_panel(filter->words));
  filter->panels[panel].step = step;
  for (size_t j = 0; j < count; j++)
    grid_query(filter, queries, queries->order[first + j], &filter->panels[panel], j, codes);
}

/* ---- whether bytes can separate the rows ---- */

static void try_query(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries, size_t query,
                      trial *t) {
  size_t d = filter->float_filter->d;
  t->reach_of_query = filter->usual_reach / 64;
  for (size_t k = 0; k < d; k++) {
    t->y[k] = query_number(filter, queries, query, k) - filter->opposite[k];
    t->reach_of_query = cpb_larger(t->reach_of_query, fabs(t->y[k]));
  }
  filter->float_filter->loops->rows_dist2[CPB_F32](t->numbers, line_floats(d), t->count, d, t->y,
                                                   t->distance);
  for (size_t i = 0; i < t->count; i++) t->distance[i] = sqrt(t->distance[i]);
}

/* Whether, at the resolution of the grids, more than `most` rows of the sample may be among the nearest `places`. The
 * rounding residual of a component is a twelfth of a squared step on average. */
static bool too_many_remain(const cpb_byte_filter *filter, const trial *t, size_t places, double most) {
  double per_reach = sqrt((double)filter->float_filter->d / 12) / 127, farthest[PLACES];
  double F = per_reach * t->reach_of_query;
  size_t among = 0;
  for (size_t i = 0; i < places; i++) farthest[i] = INFINITY;
  for (size_t i = 0; i < t->count; i++)
    cpb_keep_smallest(farthest, places, t->distance[i] + per_reach * t->reach[i] + F);
  for (size_t i = 0; i < t->count; i++)
    among += t->distance[i] - per_reach * t->reach[i] - F <= farthest[places - 1];
  return (double)among > most;
}

/* Whether more than a quarter of the queries tried are blurred: if the first block is like the sample, it would defer
 * twice as many rows as the buffer holds. */
static bool bytes_cannot_separate(const cpb_byte_filter *filter, const cpb_byte_filter_queries *queries,
                                  trial *t) {
  double part = (double)t->count / (double)queries->block_rows, most = 2 * part * (double)queries->room;
  size_t places = 1 + (size_t)(part * (double)queries->k), blurred = 0;
  size_t tried = queries->n < TRIED ? queries->n : TRIED;
  if (filter->float_filter->metric == CPB_IP || places > PLACES) return false;
  for (size_t j = 0; j < tried && 4 * blurred <= tried; j++) {
    try_query(filter, queries, queries->order[j * queries->n / tried], t);
    blurred += too_many_remain(filter, t, places, most);
  }
  return 4 * blurred > tried;
}

/* Returns the sample; NULL where the rows need none, and without memory. */
static trial *choose_centers(cpb_byte_filter *filter, cpb_view rows, const cpb_byte_filter_queries *queries,
                             cpb_memory *memory) {
  cpb_byte_filter_kind kind = kind_for(filter->float_filter, rows.dtype);
  size_t d = filter->float_filter->d;
  trial *t = kind == CPB_BYTE_FILTER_FLOATS ? new_trial(d, memory) : NULL;
  if (memory->failed) return NULL;
  filter->kind = kind;
  filter->usual_reach = kind == CPB_BYTE_FILTER_FLOATS ? 0 : 1;
  for (size_t k = 0; k < d; k++) filter->center[k] = kind == CPB_BYTE_FILTER_U8 ? MIDDLE : 0;
  if (t != NULL) sample_rows(filter, rows, t);
  if (t != NULL) find_center(filter, t);
  find_opposite(filter, queries);
  return t;
}

bool cpb_byte_filter_prepare_rows(cpb_byte_filter *filter, cpb_view sample) {
  cpb_memory memory = {0};
  choose_centers(filter, sample, NULL, &memory);
  bool made = !memory.failed;
  cpb_memory_free(&memory);
  return made;
}

void cpb_byte_filter_restore(cpb_byte_filter *filter, cpb_byte_filter_kind kind, double usual_reach) {
  filter->kind = kind;
  filter->usual_reach = usual_reach;
  find_opposite(filter, NULL);
}

bool cpb_byte_filter_room(cpb_byte_filter *filter, cpb_dtype dtype, size_t block_rows, size_t run_rows) {
  bool stored =
      filter->kind == CPB_BYTE_FILTER_FLOATS && !cpb_float_filter_takes_floats(filter->float_filter, dtype);
  size_t numbers = stored ? block_rows * line_floats(filter->float_filter->d) : 0;
  filter->run_rows = run_rows;
  filter->group = run_rows + 1; /* not a power of two: lines of a row must not share a set of the cache */
  filter->memory = (cpb_memory){0};
  filter->numbers = cpb_memory_lines(&filter->memory, numbers, sizeof *filter->numbers);
  return make_room_for_rows(filter, block_rows, run_rows);
}

bool cpb_byte_filter_prepare(cpb_byte_filter *filter, cpb_view rows, const cpb_byte_filter_queries *queries) {
  cpb_memory memory = {0};
  if (filter->kind == kind_for(filter->float_filter, rows.dtype) || rows.rows == 0) return true;
  trial *t = choose_centers(filter, rows, queries, &memory);
  filter->fails = t != NULL && queries->k > 0 && bytes_cannot_separate(filter, queries, t);
  bool made = !memory.failed;
  cpb_memory_free(&memory);
  if (!made || (!filter->fails && !make_room(filter, queries->block_rows))) return false;
  for (size_t panel = 0; !filter->fails && panel < filter->panel_count; panel++)
    cpb_byte_filter_grid(filter, queries, panel, cpb_byte_filter_step(filter, queries, panel));
  return true;
}

/* ---- rows ---- */

/* Where the numbers of a block are, up to a shift: rows of floats are converted where they are, twice, which is faster
 * than to store the numbers; those of others are stored. */
typedef struct source {
  const float *x;
  size_t stride;
  cpb_shift shift;
} source;

static source source_of(const cpb_byte_filter *filter, cpb_view block) {
  const cpb_float_filter *of = filter->float_filter;
  if (cpb_float_filter_takes_floats(of, block.dtype))
    return (source){block.data, block.stride, {(float)of->unit, of->center_f32, filter->center}};
  return (source){filter->numbers, line_floats(of->d), {1, zeros(filter), filter->center}};
}

enum { AT_ONCE = CPB_LANES };

static void bound_rounding(double root, size_t count, const double *restrict size2,
                           const float *restrict reach, float *restrict rounded) {
  for (size_t i = 0; i < count; i++)
    rounded[i] = (float)(0x1.2p-23 * (sqrt(size2[i]) + root * (double)reach[i]) + root * 0x1p-146);
}

/* At most AT_ONCE rows. */
static void number_rows(cpb_byte_filter *filter, cpb_view block, size_t first, size_t count, int *fault) {
  const double above = 1 + 0x1p-12,
               below = 0x1p-148; /* of a single-precision sum: 2^10 roundings, underflow */
  const cpb_float_filter *of = filter->float_filter;
  bool floats = cpb_float_filter_takes_floats(of, block.dtype);
  source from = source_of(filter, block);
  const float *x[AT_ONCE], *next[AT_ONCE];
  float sum[AT_ONCE];
  double size2[AT_ONCE]; /* an upper bound on the sum of squares before centring */
  for (size_t i = 0; i < count; i++) {
    size_t row = first + i;
    x[i] = from.x + row * from.stride;
    next[i] = x[i] + (row + AT_ONCE < block.rows ? AT_ONCE * from.stride : 0);
    if (floats) continue;
    if (row + AHEAD < block.rows) cpb_fetch_row(block, row + AHEAD);
    fault[i] = cpb_float_filter_numbers(of, block, row, filter->numbers + row * from.stride, CPB_PANEL_LINE,
                                        &size2[i]);
  }
  of->loops->number(x, next, count, of->d, &from.shift, filter->reach + first, sum);
  for (size_t i = 0; floats && i < count; i++) size2[i] = (double)sum[i] * above + (double)of->d * below;
  bound_rounding(filter->root, count, size2, filter->reach + first, filter->rounded + first);
  for (size_t i = 0; i < count; i++) {
    if (size2[i] < CPB_FLOAT_FILTER_MOST) continue;
    if (floats)
      fault[i] = cpb_row_fault(of->loops, block, first + i);
    else /* memory that becomes padding must be finite */
      memset(filter->numbers + (first + i) * from.stride, 0, from.stride * sizeof *filter->numbers);
    filter->reach[first + i] = INFINITY;
    filter->rounded[first + i] = 0;
  }
}

void cpb_byte_filter_numbers(cpb_byte_filter *filter, cpb_view block, size_t first, size_t count,
                             int *fault) {
  memset(fault, 0, count * sizeof *fault);
  for (size_t i = 0; filter->kind == CPB_BYTE_FILTER_FLOATS && i < count; i += AT_ONCE)
    number_rows(filter, block, first + i, count - i < AT_ONCE ? count - i : AT_ONCE, fault + i);
}

/* The first bits of a reach: non-negative floats are ordered like their bit patterns. */
static uint32_t reach_key(float reach) {
  enum { DROPPED = 19 };
  uint32_t bits;
  memcpy(&bits, &reach, sizeof bits);
  return bits >> DROPPED;
}

/* Sorts by reach, to a few bits of precision. */
static void order_by_reach(cpb_byte_filter *filter, size_t count) {
  enum { KEYS = 0xff0 + 2 }; /* of infinity, and one more */
  uint32_t begin[KEYS], least = KEYS, most = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t key = reach_key(filter->reach[i]);
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  for (uint32_t key = least; key <= most + 1; key++) begin[key] = 0;
  for (size_t i = 0; i < count; i++) begin[reach_key(filter->reach[i]) + 1]++;
  for (uint32_t key = least; key < most; key++) begin[key + 1] += begin[key];
  for (size_t i = 0; i < count; i++) filter->order[begin[reach_key(filter->reach[i])]++] = (uint32_t)i;
}

void cpb_byte_filter_order(cpb_byte_filter *filter, size_t count) {
  if (filter->kind == CPB_BYTE_FILTER_FLOATS)
    order_by_reach(filter, count);
  else
    for (size_t i = 0; i < count; i++) filter->order[i] = (uint32_t)i;
  filter->run_count = 0;
  for (size_t first = 0; first < count; first += filter->run_rows) {
    size_t left = count - first;
    filter->runs[filter->run_count++] =
        (cpb_byte_filter_run){.first = first, .count = left < filter->run_rows ? left : filter->run_rows};
  }
}

/* Rows out of range for single precision are the last of a block, and so of its last runs. */
static size_t count_in_range(const cpb_byte_filter *filter, const cpb_byte_filter_run *run) {
  size_t count = run->count;
  while (count > 0 && !(filter->reach[filter->order[run->first + count - 1]] < INFINITY)) count--;
  return count;
}

static float run_step(const cpb_byte_filter *filter, const cpb_byte_filter_run *run, size_t in_range) {
  float largest = 1e-30f;
  if (filter->kind != CPB_BYTE_FILTER_FLOATS) return 1;
  for (size_t i = run->first; i < run->first + in_range; i++) {
    float reach = filter->reach[filter->order[i]];
    largest = reach > largest ? reach : largest;
  }
  return largest / 127;
}

/* Rows [at, at+count) of the order, at most AT_ONCE; if they are out of range, their codes are zeros. */
static void grid_rows(cpb_byte_filter *filter, cpb_view block, size_t at, size_t count, bool in_range,
                      float per_step, int8_t *to) {
  const cpb_shift none = {1, zeros(filter), zeros(filter)};
  const source from = source_of(filter, block);
  const cpb_view *ahead = &filter->next;
  const float *x[AT_ONCE], *next[AT_ONCE];
  for (size_t i = 0; i < count; i++) {
    size_t later = at + i + AHEAD < block.rows ? at + i + AHEAD : at + i;
    x[i] = in_range ? from.x + filter->order[at + i] * from.stride : zeros(filter);
    next[i] = at + i < ahead->rows ? (const float *)ahead->data + (at + i) * ahead->stride
                                   : from.x + filter->order[later] * from.stride;
  }
  filter->float_filter->loops->grid(x, next, count, filter->float_filter->d, in_range ? &from.shift : &none,
                                    per_step, to, CPB_BYTES_LINE * filter->group, &filter->gridded[at]);
}

static void flip_rows(cpb_byte_filter *filter, cpb_view block, size_t at, size_t count, int8_t *to) {
  for (size_t end = at + count; at < end; at++, to += CPB_BYTES_LINE) {
    if (at + AHEAD < block.rows) cpb_fetch_row(block, filter->order[at + AHEAD]);
    filter->float_filter->loops->flip((const uint8_t *)block.data + filter->order[at] * block.stride,
                                      filter->float_filter->d,
                                      filter->kind == CPB_BYTE_FILTER_U8 ? MIDDLE : 0, to,
                                      CPB_BYTES_LINE * filter->group, &filter->gridded[at]);
  }
}

/* The rows of a run are scattered over the block. */
static void code_rows(cpb_byte_filter *filter, cpb_view block, const cpb_byte_filter_run *of, size_t place,
                      size_t in_range) {
  size_t group_bytes = cpb_bytes_group(filter->words) / CPB_BYTES_GROUP * filter->group;
  for (size_t i = 0, count; i < of->count; i += count, place += count) {
    size_t in_group = place % filter->group, end = i < in_range ? in_range : of->count;
    int8_t *to = filter->codes + place / filter->group * group_bytes + in_group * CPB_BYTES_LINE;
    count = end - i < AT_ONCE ? end - i : AT_ONCE;
    count = count < filter->group - in_group ? count : filter->group - in_group;
    if (filter->kind == CPB_BYTE_FILTER_FLOATS)
      grid_rows(filter, block, of->first + i, count, i < in_range, 1 / (float)of->step, to);
    else
      flip_rows(filter, block, of->first + i, count, to);
  }
}

/* Of a row in range. Rounding: 127 steps of 2^-22 in the codes, and one per column in the sum of the residuals. */
static double rest_of(const cpb_byte_filter *filter, size_t at, double step) {
  const cpb_gridded *about = &filter->gridded[at];
  if (filter->kind == CPB_BYTE_FILTER_FLOATS)
    return step * (sqrt((double)about->rest) * 1.0002 + filter->root * 4e-5) +
           (double)filter->rounded[filter->order[at]];
  return filter->float_filter->metric == CPB_L2
             ? 0
             : 0x1p-23 * (sqrt((double)about->square) + (double)filter->center[0] * filter->root);
}

static double length_of(double step, int32_t square) { return step * sqrt((double)square) * (1 + 1e-15); }

void cpb_byte_filter_codes(cpb_byte_filter *filter, cpb_view block, size_t run, size_t place) {
  cpb_byte_filter_run *of = &filter->runs[run];
  size_t in_range = count_in_range(filter, of);
  int32_t longest = 0;
  double rest = 0;
  of->step = (double)run_step(filter, of, in_range);
  code_rows(filter, block, of, place, in_range);
  for (size_t at = of->first; at < of->first + in_range; at++) {
    int32_t square = filter->gridded[at].square;
    filter->rows[at].rest = rest_of(filter, at, of->step);
    rest = cpb_larger(rest, filter->rows[at].rest);
    longest = square > longest ? square : longest;
  }
  for (size_t i = in_range; i < of->count; i++) filter->rows[of->first + i].rest = INFINITY;
  of->rest = rest;
  of->length = length_of(of->step, longest);
}

/* <x'-m,p>; for rows of bytes 128 times their sum. The centre of x is 0: products are not centred. */
static double row_constant(const cpb_byte_filter *filter, const source *from, size_t row, int32_t sum) {
  const cpb_loops *loops = filter->float_filter->loops;
  if (filter->kind != CPB_BYTE_FILTER_FLOATS) return (double)filter->center[0] * sum;
  double dot = 0, chunk[CPB_CHUNK];
  for (size_t offset = 0, d = filter->float_filter->d; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    loops->widen[CPB_F32](from->x + row * from->stride + offset, count, chunk);
    dot += loops->dot(chunk, filter->opposite + offset, count);
  }
  return (double)from->shift.unit * dot - filter->product;
}

static void describe_row(cpb_byte_filter *filter, const source *from, size_t at, double step) {
  cpb_byte_filter_row *row = &filter->rows[at];
  const cpb_gridded *about = &filter->gridded[at];
  row->square = step * step * about->square;
  filter->whole[at] = -MIDDLE * about->sum;
  filter->part[at] = (float)(-step * about->square / 2);
  if (filter->float_filter->metric == CPB_IP) {
    row->length = length_of(step, about->square);
    row->constant = row_constant(filter, from, filter->order[at], about->sum);
    row->loose = filter->kind == CPB_BYTE_FILTER_FLOATS
                     ? (double)filter->rounded[filter->order[at]] * filter->opposite_size
                     : 0;
    filter->part[at] = (float)((row->constant + row->loose) / step);
  }
  if (!(row->rest < INFINITY)) filter->part[at] = INFINITY;
}

void cpb_byte_filter_describe(cpb_byte_filter *filter, cpb_view block, size_t run) {
  const cpb_byte_filter_run *of = &filter->runs[run];
  source from = source_of(filter, block);
  for (size_t at = of->first; at < of->first + of->count; at++) describe_row(filter, &from, at, of->step);
}

/* ---- bounds ---- */

double cpb_bound_of_value(cpb_metric metric, double error, const cpb_query_scale *query_scale, double value) {
  double bound = cpb_query_scale_value(query_scale, value);
  switch (metric) {
  case CPB_L2: return bound * (1 + error) + DBL_MIN;
  case CPB_IP: return isinf(bound) ? -bound : -bound + fabs(bound) * 1e-15 + DBL_MIN;
  default: return sqrt(fmax(0, 2 - 2 * value) + 4 * error) * (1 + 1e-15);
  }
}

double cpb_byte_filter_bound(const cpb_byte_filter *filter, size_t slot, double value) {
  return cpb_bound_of_value(filter->float_filter->metric, filter->error,
                            &filter->panels[slot / COLS].query_scale[slot % COLS], value);
}

/* A start may be too high, never too low; if it exceeds 32 bits, it is above every threshold. */
void cpb_byte_filter_starts(const cpb_byte_filter *filter, const cpb_byte_filter_run *run, size_t panel,
                            int32_t *start) {
  const float per_step = (float)(1 / filter->panels[panel].step);
  const float *part = filter->part + run->first;
  const int32_t *whole = filter->whole + run->first;
  for (size_t i = 0; i < run->count; i++) start[i] = whole[i] + cpb_bytes_rise(part[i] * per_step);
}

/* A threshold may be too low, never too high. */
static int32_t whole_below(double t) {
  const double most = 1e9;
  t = t > -2e9 ? t : -2e9;
  return (int32_t)(t < most ? t : most) - 2;
}

void cpb_byte_filter_thresholds(const cpb_byte_filter *filter, const cpb_byte_filter_run *run, size_t panel,
                                size_t first, size_t count, const double *bound, int32_t *threshold) {
  const cpb_byte_filter_panel *of = &filter->panels[panel];
  bool products = filter->float_filter->metric == CPB_IP;
  double per_unit = 1 / ((products ? 1 : 2) * run->step * of->step);
  if (!products)
    for (size_t j = first; j < first + count; j++) {
      double reach = bound[j] + of->rest[j] + run->rest, far = reach * reach;
      threshold[j] = whole_below((of->square[j] * (1 - 1e-14) - far * (1 + 1e-14)) * per_unit);
    }
  else
    for (size_t j = first; j < first + count; j++) {
      double least = -bound[j] - of->constant[j];
      double off = run->rest * of->length[j] + run->length * of->rest[j] + of->loose[j];
      threshold[j] = whole_below((least - fabs(least) * 1e-14 - off * (1 + 1e-14)) * per_unit);
    }
}

static cpb_byte_filter_span span_of(double nearest, double farthest) {
  return (cpb_byte_filter_span){(float)(nearest - fabs(nearest) * 0x1p-22 - 0x1p-140),
                                (float)(farthest + fabs(farthest) * 0x1p-22 + 0x1p-140)};
}

cpb_byte_filter_span cpb_byte_filter_look_at(const cpb_byte_filter *filter, double step,
                                             const cpb_byte_filter_row *row, size_t slot, double product) {
  const cpb_byte_filter_panel *panel = &filter->panels[slot / COLS];
  size_t j = slot % COLS;
  double middle = step * panel->step * product;
  if (!(row->rest < INFINITY)) return (cpb_byte_filter_span){-INFINITY, INFINITY};
  if (filter->float_filter->metric == CPB_IP) {
    double sum = middle + row->constant + panel->constant[j];
    double off = row->rest * panel->length[j] + row->length * panel->rest[j] + row->loose + panel->loose[j] +
                 1e-14 * (fabs(middle) + fabs(row->constant) + fabs(panel->constant[j]));
    return span_of(-sum - off, -sum + off);
  }
  double sizes = row->square + panel->square[j], off = row->rest + panel->rest[j];
  double square = sizes - 2 * middle, slack = 1e-14 * sizes;
  if (filter->float_filter->metric == CPB_COSINE)
    slack += 8 * filter->error;                                   /* of values measured in double */
  double root = sqrt(positive(square)), less = root, more = root; /* square roots are slow, .. */
  if (square < 0x1p24 * slack) { /* .. and the slack rarely changes the result */
    less = sqrt(positive(square - slack));
    more = sqrt(positive(square) + slack);
  }
  return span_of(less * (1 - 0x1p-24) - off, more * (1 + 0x1p-24) + off);
}

/* A sum of integers below 2^53, as every other way to compute it. */
double cpb_byte_filter_value(const cpb_byte_filter *filter, const cpb_byte_filter_row *row, size_t slot,
                             double product) {
  const cpb_byte_filter_panel *panel = &filter->panels[slot / COLS];
  size_t j = slot % COLS;
  if (filter->float_filter->metric == CPB_IP) return product + row->constant + panel->constant[j];
  return sqrt(row->square + panel->square[j] - 2 * product);
}
