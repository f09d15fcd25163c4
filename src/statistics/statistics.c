#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "loops/ruler.h"
#include "capball/advanced/statistics.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/state_bytes.h"
#include "statistics/norm_sketch.h"
#include "statistics/piece_fail.h"
#include "statistics/row_sample.h"

typedef struct cpb_id_sums {
  bool unknown;         /* some rows came without ids (a state of an older version) */
  uint64_t count;       /* ids given */
  uint64_t low, high;   /* the smallest and the largest; 0 without ids */
  uint64_t sum, square; /* of the ids and of their squares, modulo 2^64 */
} cpb_id_sums;

struct cpb_statistics {
  cpb_statistics_options options;
  uint64_t rows, nan_rows, inf_rows;
  cpb_id_sums ids; /* of all of them */
  cpb_column_sums columns;
  cpb_row_sample sample;
  double *mean;    /* set by finish and begin_norms; by restart if there are no rows */
  bool has_norms;  /* pass 2 */
  uint64_t origin; /* pass 2: checksum of the state of pass 1 */
  cpb_norm_sketch norms;
  uint64_t norm_rows; /* pass 2: rows seen, including those without a norm */
};

static void id_sums_merge(cpb_id_sums *s, const cpb_id_sums *other) {
  s->unknown |= other->unknown;
  if (other->count == 0) return;
  if (s->count == 0 || other->low < s->low) s->low = other->low;
  if (s->count == 0 || other->high > s->high) s->high = other->high;
  s->count += other->count;
  s->sum += other->sum;
  s->square += other->square;
}

/* 0 + 1 + .. + (n-1) and the sum of their squares, modulo 2^64. */
static void sums_below(uint64_t n, uint64_t *sum, uint64_t *square) {
  uint64_t a = n - 1, b = n, c = 2 * n - 1;
  *(a % 2 == 0 ? &a : &b) /= 2;
  *sum = a * b;
  *(a % 3 == 0 ? &a : b % 3 == 0 ? &b : &c) /= 3;
  *square = a * b * c;
}

/* EINVAL when an id has certainly occurred twice: more ids than numbers from low to high, or not each of them once. */
static cpb_status id_sums_check(const cpb_id_sums *s, cpb_error *error) {
  uint64_t n = s->count, low = s->low, sum, square;
  if (s->unknown || n == 0 || n - 1 < s->high - low) return CPB_OK;
  bool too_many = n - 1 > s->high - low;
  sums_below(n, &sum, &square);
  if (!too_many && s->sum == n * low + sum && s->square == n * low * low + 2 * low * sum + square)
    return CPB_OK;
  return cpb_fail(error, CPB_WHY_ROW_TWICE, "ids", "%llu rows have ids from %llu to %llu%s",
                  (unsigned long long)n, (unsigned long long)low, (unsigned long long)s->high,
                  too_many ? ": some row was given twice, pieces overlap"
                           : ", but not each of them once: pieces overlap");
}

CPB_DEFAULTS(cpb_statistics_options, .size = sizeof(cpb_statistics_options), .dtype = CPB_F32, .sample = 4096)

static cpb_status check_options(const cpb_statistics_options *options, cpb_error *error) {
  enum { MOST_COLUMNS = 1 << 20, MOST_SAMPLE = 1 << 24 };
  if (options->d < 1 || options->d > MOST_COLUMNS)
    return cpb_fail_count(error, "d", options->d, "d must be 1 .. %d", MOST_COLUMNS);
  if ((unsigned)options->dtype > CPB_I8) return cpb_fail_dtype(error, "dtype", options->dtype);
  if (options->sample > MOST_SAMPLE)
    return cpb_fail_count(error, "sample", options->sample, "a sample holds at most %d rows", MOST_SAMPLE);
  return CPB_OK;
}

cpb_status cpb_statistics_new(const cpb_statistics_options *given, cpb_statistics **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "statistics");
  *out = NULL;
  cpb_statistics_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_statistics_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status != CPB_OK) return status;
  cpb_statistics *s = calloc(1, sizeof *s);
  if (s == NULL) return cpb_fail_memory(error, "statistics");
  s->options = *options;
  cpb_row_sample_init(&s->sample, options->sample, options->d * cpb_dtype_size(options->dtype),
                      options->seed);
  s->sample.repeats = options->repeats;
  status = cpb_column_sums_new(&s->columns, options->d, error);
  if (status == CPB_OK) status = cpb_norm_sketch_init(&s->norms, error);
  s->mean = calloc(options->d, sizeof(double));
  if (status == CPB_OK && s->mean == NULL) status = cpb_fail_memory(error, "%zu columns", options->d);
  if (status != CPB_OK) {
    cpb_statistics_free(s);
    return status;
  }
  *out = s;
  return CPB_OK;
}

void cpb_statistics_free(cpb_statistics *s) {
  if (s == NULL) return;
  cpb_column_sums_free(&s->columns);
  cpb_row_sample_free(&s->sample);
  cpb_norm_sketch_free(&s->norms);
  free(s->mean);
  free(s);
}

void cpb_statistics_describe(const cpb_statistics *s, cpb_statistics_options *options) {
  cpb_sized_give(options, s == NULL ? NULL : &s->options, sizeof s->options);
}

/* Adds rows to the sums up to the first that is not finite; returns their number. */
static size_t add_finite(cpb_statistics *s, const cpb_loops *loops, cpb_view rows) {
  size_t count = cpb_column_sums_add(&s->columns, loops, rows), end = count;
  if (count == rows.rows) return count;
  /* the bad row is among the next rows; those before it still count */
  while (end < rows.rows && cpb_row_fault(loops, rows, end) == 0) end++;
  cpb_column_sums_add(&s->columns, loops, cpb_view_slice(rows, count, end - count));
  return end;
}

static cpb_status update_columns(cpb_statistics *s, cpb_view rows, cpb_row_ids ids, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  size_t bytes = rows.stride * cpb_dtype_size(rows.dtype);
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++) {
    size_t end = i + add_finite(s, loops, cpb_view_slice(rows, i, rows.rows - i));
    s->rows += end - i;
    for (; i < end && status == CPB_OK; i++)
      status =
          cpb_row_sample_offer(&s->sample, cpb_row_id(ids, i), (const char *)rows.data + i * bytes, error);
    if (status == CPB_OK && end < rows.rows)
      *(cpb_row_fault(loops, rows, end) == CPB_FAULT_NAN ? &s->nan_rows : &s->inf_rows) += 1;
  }
  return status;
}

static cpb_status update_norms(cpb_statistics *s, cpb_view rows, cpb_error *error) {
  enum { BATCH = 512 };
  double norms[BATCH];
  cpb_ruler metric = {.loops = cpb_loops_here(), .x = rows, .c = s->mean, .sign = 1};
  cpb_status status = CPB_OK;
  for (size_t first = 0; first < rows.rows && status == CPB_OK; first += BATCH) {
    size_t batch = rows.rows - first < BATCH ? rows.rows - first : BATCH, found = 0;
    cpb_ruler_lengths(&metric, first, batch, norms);
    for (size_t i = 0; i < batch; i++)
      if (cpb_ruler_length_known(&metric, first + i, norms[i], &norms[found]) == 0) found++;
    status = cpb_norm_sketch_add(&s->norms, metric.loops, norms, found, error);
  }
  return status;
}

static cpb_status update(cpb_statistics *s, cpb_view rows, cpb_row_ids ids, cpb_error *error) {
  if (s == NULL) return cpb_fail_missing(error, "statistics");
  cpb_status status = cpb_check_view(rows, "rows", s->options.d, error);
  if (status != CPB_OK) return status;
  if (rows.dtype != s->options.dtype)
    return cpb_fail(error, CPB_WHY_DTYPE_OTHER, "rows", "rows are %s, wanted %s", cpb_dtype_name(rows.dtype),
                    cpb_dtype_name(s->options.dtype));
  if (s->has_norms) {
    s->norm_rows += rows.rows;
    return update_norms(s, rows, error);
  }
  for (size_t i = 0; i < rows.rows; i++) {
    uint64_t id = cpb_row_id(ids, i);
    id_sums_merge(&s->ids, &(cpb_id_sums){.count = 1, .low = id, .high = id, .sum = id, .square = id * id});
  }
  return update_columns(s, rows, ids, error);
}

cpb_status cpb_statistics_update(cpb_statistics *s, cpb_view rows, uint64_t first_id, cpb_error *error) {
  return update(s, rows, (cpb_row_ids){NULL, first_id}, error);
}

cpb_status cpb_statistics_update_ids(cpb_statistics *s, cpb_view rows, const uint64_t *ids,
                                     cpb_error *error) {
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  return update(s, rows, (cpb_row_ids){ids, 0}, error);
}

uint64_t cpb_statistics_bad_rows(const cpb_statistics *s) {
  return s == NULL ? 0 : s->nan_rows + s->inf_rows;
}

/* ---- merging ---- */

static cpb_status check_alike(const cpb_statistics *a, const cpb_statistics *b, cpb_error *error) {
  const cpb_statistics_options *p = &a->options, *q = &b->options;
  if (p->d != q->d) return cpb_fail_piece_columns(error, p->d, q->d);
  if (p->dtype != q->dtype)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece is %s, the other %s", cpb_dtype_name(p->dtype),
                    cpb_dtype_name(q->dtype));
  if (p->sample != q->sample)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece samples %zu rows, the other %zu", p->sample,
                    q->sample);
  if (p->seed != q->seed)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece has seed %llu, the other %llu",
                    (unsigned long long)p->seed, (unsigned long long)q->seed);
  if (a->has_norms != b->has_norms)
    return cpb_fail(error, CPB_WHY_PIECES, "piece",
                    "one piece is of pass 1, the other of pass 2 (with norms)");
  if (a->origin != b->origin)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the norms of the pieces are about different centres");
  return CPB_OK;
}

cpb_status cpb_statistics_merge(cpb_statistics *whole, const cpb_statistics *piece, cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "statistics");
  cpb_status status = check_alike(whole, piece, error);
  if (status != CPB_OK) return status;
  if (piece->options.repeats) whole->options.repeats = whole->sample.repeats = true;
  status = whole->has_norms ? cpb_norm_sketch_merge(&whole->norms, &piece->norms, error)
                            : cpb_row_sample_merge(&whole->sample, &piece->sample, error);
  if (status != CPB_OK) return status;
  whole->norm_rows += piece->norm_rows;
  if (whole->has_norms) return CPB_OK;
  whole->rows += piece->rows;
  whole->nan_rows += piece->nan_rows;
  whole->inf_rows += piece->inf_rows;
  id_sums_merge(&whole->ids, &piece->ids);
  cpb_column_sums_merge(&whole->columns, &piece->columns);
  return CPB_OK;
}

cpb_status cpb_statistics_restart(cpb_statistics *piece, const cpb_statistics *whole, cpb_error *error) {
  if (whole == NULL || piece == NULL || whole == piece) return cpb_fail_same_piece(error, "statistics");
  piece->has_norms = whole->has_norms;
  piece->origin = whole->origin;
  cpb_status status = check_alike(whole, piece, error);
  if (status != CPB_OK) return status;
  memcpy(piece->mean, whole->mean, whole->options.d * sizeof *piece->mean);
  cpb_norm_sketch_clear(&piece->norms);
  piece->rows = piece->nan_rows = piece->inf_rows = 0;
  piece->norm_rows = 0;
  piece->ids = (cpb_id_sums){0};
  cpb_column_sums_clear(&piece->columns);
  piece->sample.count = 0;
  piece->sample.bound = whole->sample.bound;
  return CPB_OK;
}

/* EINVAL when a row has certainly been given twice in a pass. */
static cpb_status statistics_check_ids(const cpb_statistics *s, cpb_error *error) {
  uint64_t given = s->rows + s->nan_rows + s->inf_rows;
  cpb_status status = s->options.repeats ? CPB_OK : id_sums_check(&s->ids, error);
  if (status != CPB_OK || s->rows == 0 || s->norm_rows <= given) return status;
  return cpb_fail(error, CPB_WHY_ROW_TWICE, "statistics",
                  "pass 1 had %llu rows, pass 2 has %llu: pieces overlap", (unsigned long long)given,
                  (unsigned long long)s->norm_rows);
}

/* The mean of the rows, if there are any. */
static void statistics_set_mean(cpb_statistics *s) {
  if (s->rows == 0) return;
  for (size_t i = 0; i < s->options.d; i++) {
    s->mean[i] = cpb_exact_mean(&s->columns.sum[i], s->rows);
    /* 0 and -0 are equal: their order of arrival must not show */
    s->columns.low[i] += 0.;
    s->columns.high[i] += 0.;
  }
}

cpb_status cpb_statistics_finish(cpb_statistics *s, cpb_statistics_result *result, cpb_error *error) {
  if (s == NULL || result == NULL) return cpb_fail_missing(error, s == NULL ? "statistics" : "result");
  cpb_status status = cpb_sized_check(result, "cpb_statistics_result", error);
  if (status == CPB_OK) status = cpb_row_sample_settle(&s->sample, error);
  if (status == CPB_OK) status = statistics_check_ids(s, error);
  if (status != CPB_OK) return status;
  statistics_set_mean(s);
  bool any = s->rows > 0;
  uint64_t n = s->norms.count;
  cpb_statistics_result ours = {.rows = s->rows,
                                .nan_rows = s->nan_rows,
                                .inf_rows = s->inf_rows,
                                .mean = any ? s->mean : NULL,
                                .low = any ? s->columns.low : NULL,
                                .high = any ? s->columns.high : NULL,
                                .sample =
                                    cpb_rows(s->sample.rows, s->options.dtype, s->sample.count, s->options.d),
                                .sample_ids = s->sample.ids,
                                .norms = s->has_norms,
                                .norm_rows = n,
                                .norm_mean = n > 0 ? cpb_exact_mean(&s->norms.moments.sum[0], n) : NAN,
                                .norm_square_mean = n > 0 ? cpb_exact_mean(&s->norms.moments.sum[1], n) : NAN,
                                .norm_max = n > 0 ? s->norms.moments.high[0] : NAN,
                                .norm_median = n > 0 ? cpb_norm_sketch_rank(&s->norms, (n - 1) / 2) : NAN};
  if (s->norms.overflows > 0) ours.norm_square_mean = INFINITY;
  cpb_sized_give(result, &ours, sizeof ours);
  return CPB_OK;
}

/* Statistics as bytes. All numbers are little-endian; doubles as their bits.
 *
 *   "CPBSTATE"  u32 version  u32 dtype  u64 d  u64 sample  u64 seed  u64 pass (1, 2)
 *   u64 rows  u64 NaN rows  u64 inf rows  ids      (ids since version 2)
 *   per column  f64 low  f64 high  sum             (no columns without rows)
 *   u64 rows of the sample, per row  u64 id  the row's elements
 *   pass 2      u64 origin  u64 rows seen  per column f64 mean (only without rows; both since version 2)
 *               u64 norms  u64 overflows  f64 max  sum  sum of squares
 *               u64 bins, per bin  u32 bin  u64 count
 *   u64 FNV-1a of all before
 *   ids         u64 unknown (0, 1; 2: they may repeat)  u64 count  u64 low  u64 high  u64 sum  u64 sum of squares
 *   a sum       u32 first digit  u32 digits, per digit  i64
 * Everything has a fixed order, so that equal statistics have equal bytes. */

enum { VERSION = 2, OLDEST = 1, REPEATS = 2 };
static const cpb_state_kind kind = {"CPBSTATE", VERSION, "statistics", OLDEST};

static const cpb_state_member options_table[] = {
    CPB_MEMBER(U32, cpb_statistics_options, dtype), CPB_MEMBER(SIZE, cpb_statistics_options, d),
    CPB_MEMBER(SIZE, cpb_statistics_options, sample), CPB_MEMBER(U64, cpb_statistics_options, seed)};

static const cpb_state_member counts[] = {CPB_MEMBER(U64, cpb_statistics, rows),
                                          CPB_MEMBER(U64, cpb_statistics, nan_rows),
                                          CPB_MEMBER(U64, cpb_statistics, inf_rows)};

static const cpb_state_member id_table[] = {
    CPB_MEMBER(U64, cpb_id_sums, count), CPB_MEMBER(U64, cpb_id_sums, low),
    CPB_MEMBER(U64, cpb_id_sums, high), CPB_MEMBER(U64, cpb_id_sums, sum),
    CPB_MEMBER(U64, cpb_id_sums, square)};

static void carry_ids(cpb_state *s, cpb_statistics *of) {
  cpb_id_sums *ids = &of->ids;
  uint64_t unknown = of->options.repeats ? REPEATS : ids->unknown;
  unknown = s->version == 1 ? 1 : cpb_state_number(s, unknown, 8);
  if (s->reading) {
    *ids = (cpb_id_sums){.unknown = unknown == 1};
    of->sample.repeats = of->options.repeats = unknown == REPEATS;
  }
  if (s->version == 1) return;
  cpb_state_serialize_members(s, ids, CPB_STATE_TABLE(id_table), 0);
  cpb_state_require(s, unknown <= REPEATS && ids->low <= ids->high, "the ids are damaged");
  cpb_state_require(s, ids->count > 0 || (ids->high | ids->sum | ids->square) == 0,
                    "there are ids of no rows");
  cpb_state_require(s, ids->unknown || ids->count == of->rows + of->nan_rows + of->inf_rows,
                    "the ids do not match the number of rows");
}

static void carry_columns(cpb_state *s, cpb_statistics *of) {
  cpb_column_sums *columns = &of->columns;
  for (size_t i = 0; of->rows > 0 && i < of->options.d && s->status == CPB_OK; i++) {
    /* 0, never -0: their order of arrival must not show */
    double low = cpb_state_double(s, columns->low[i] + 0.), high = cpb_state_double(s, columns->high[i] + 0.);
    bool plain = !(low == 0 && signbit(low)) && !(high == 0 && signbit(high));
    cpb_state_require(s, plain && isfinite(low) && isfinite(high) && low <= high,
                      "a column has impossible extremes");
    if (s->reading) columns->low[i] = low;
    if (s->reading) columns->high[i] = high;
    cpb_state_sum(s, &columns->sum[i]);
  }
}

/* Elements of 1, 2, 4 or 8 bytes, in native byte order. */
static void carry_elements(cpb_state *s, unsigned char *row, size_t size, size_t d) {
  bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  for (size_t i = 0; i < d * size; i += size) {
    uint64_t number = 0;
    for (size_t k = 0; k < size && !s->reading; k++)
      number |= (uint64_t)row[i + (little ? k : size - 1 - k)] << 8 * k;
    number = cpb_state_number(s, number, size);
    for (size_t k = 0; k < size && s->reading; k++)
      row[i + (little ? k : size - 1 - k)] = (unsigned char)(number >> 8 * k);
  }
}

/* One row that was read: it must come after the one before. */
static void check_sample_row(cpb_state *s, cpb_statistics *of, const cpb_sample_entry *here,
                             const cpb_sample_entry *before, const void *row) {
  const cpb_statistics_options *o = &of->options;
  bool first = of->sample.count == 0, same = here->hash == before->hash && here->id == before->id;
  bool above = here->hash > before->hash || (here->hash == before->hash && here->id > before->id);
  cpb_state_require(s, first || above || (same && o->repeats), "the sample is out of order");
  cpb_state_require(s, cpb_row_is_finite(cpb_rows(row, o->dtype, 1, o->d), 0),
                    "a row of the sample is not finite");
  if (s->status == CPB_OK) s->status = cpb_row_sample_offer(&of->sample, here->id, row, s->error);
}

static void carry_sample(cpb_state *s, cpb_statistics *of) {
  cpb_row_sample *sample = &of->sample;
  uint64_t count = cpb_state_number(s, sample->count, 8);
  uint64_t wanted = of->rows < of->options.sample ? of->rows : of->options.sample;
  cpb_state_require(s, count == wanted, "the sample has a wrong number of rows");
  cpb_state_require(s, count <= s->left / (sample->row_bytes + 8), "the state is truncated");
  if (s->status != CPB_OK) return;
  cpb_sample_entry here = {0}, before;
  double *row = s->reading ? malloc(cpb_dtype_size(CPB_F64) * of->options.d) : NULL;
  if (s->reading && row == NULL) s->status = cpb_fail_memory(s->error, "a row of %zu columns", of->options.d);
  for (uint64_t i = 0; i < count && s->status == CPB_OK; i++) {
    unsigned char *at = s->reading ? (unsigned char *)row : sample->rows + i * sample->row_bytes;
    before = here;
    here.id = cpb_state_number(s, s->reading ? 0 : sample->ids[i], 8);
    here.hash = cpb_row_sample_hash(of->options.seed, here.id);
    carry_elements(s, at, cpb_dtype_size(of->options.dtype), of->options.d);
    if (s->reading && s->status == CPB_OK) check_sample_row(s, of, &here, &before, row);
  }
  free(row);
  if (s->reading && s->status == CPB_OK) s->status = cpb_row_sample_settle(sample, s->error);
}

static void write_bins(cpb_state *s, const cpb_norm_sketch *norms) {
  size_t at = s->used;
  uint64_t bins = 0;
  cpb_state_number(s, 0, 8);
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; norms->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      if (norms->page[page][i] > 0) {
        cpb_state_number(s, page * CPB_NORM_PER_PAGE + i, 4);
        cpb_state_number(s, norms->page[page][i], 8);
        bins++;
      }
  cpb_state back = {.to = s->to, .used = at};
  cpb_state_number(&back, bins, 8);
}

static void read_bins(cpb_state *s, cpb_norm_sketch *norms) {
  uint64_t bins = cpb_state_number(s, 0, 8), total = 0;
  int64_t before = -1;
  for (uint64_t i = 0; i < bins && s->status == CPB_OK; i++) {
    uint64_t bin = cpb_state_number(s, 0, 4), count = cpb_state_number(s, 0, 8);
    cpb_state_require(s,
                      (int64_t)bin > before && bin < (uint64_t)(CPB_NORM_PAGES - 1) * CPB_NORM_PER_PAGE &&
                          count > 0 && count <= norms->count - total,
                      "the histogram of norms is damaged");
    before = (int64_t)bin;
    total += count;
    if (s->status == CPB_OK) s->status = cpb_norm_sketch_count(norms, (uint32_t)bin, count, s->error);
  }
  cpb_state_require(s, total == norms->count, "the histogram of norms is incomplete");
}

static const cpb_state_member norm_counts[] = {CPB_MEMBER(U64, cpb_norm_sketch, count),
                                               CPB_MEMBER(U64, cpb_norm_sketch, overflows)};

static void carry_norms(cpb_state *s, cpb_statistics *of) {
  cpb_norm_sketch *norms = &of->norms;
  of->origin = cpb_state_number(s, of->origin, 8);
  of->norm_rows = s->version == 1 ? 0 : cpb_state_number(s, of->norm_rows, 8);
  cpb_state_require(s, s->version > 1 || of->rows > 0, "norms without rows");
  for (size_t i = 0; of->rows == 0 && i < of->options.d && s->status == CPB_OK; i++) {
    of->mean[i] = cpb_state_double(s, of->mean[i]);
    cpb_state_require(s, isfinite(of->mean[i]), "a mean is not finite");
  }
  cpb_state_serialize_members(s, norms, CPB_STATE_TABLE(norm_counts), 0);
  if (s->version == 1) of->norm_rows = norms->count;
  cpb_state_require(s, norms->count <= of->norm_rows, "there are more norms than rows");
  double max = cpb_state_double(s, norms->count > 0 ? norms->moments.high[0] : 0);
  bool plain = norms->overflows <= norms->count && isfinite(max) && !signbit(max);
  cpb_state_require(s, plain && (norms->count > 0 || max == 0), "the norms are damaged");
  if (s->reading && norms->count > 0) norms->moments.high[0] = max;
  cpb_state_sum(s, &norms->moments.sum[0]);
  cpb_state_sum(s, &norms->moments.sum[1]);
  if (s->reading)
    read_bins(s, norms);
  else
    write_bins(s, norms);
}

/* ---- the whole state ---- */

static void carry(cpb_state *s, void **object) {
  cpb_statistics *of = *object;
  cpb_statistics_options options = defaults;
  cpb_state_begin(s, &kind);
  cpb_state_serialize_members(s, s->reading ? &options : &of->options, CPB_STATE_TABLE(options_table), 0);
  uint64_t pass = cpb_state_number(s, !s->reading && of->has_norms ? 2 : 1, 8);
  cpb_state_require(s, pass == 1 || pass == 2, "the pass is neither 1 nor 2");
  /* a column takes at least 8 bytes, so a short state cannot cause a large allocation */
  enum { WITHOUT_ROWS = 88 };
  cpb_state_require(s, options.d <= 1 || options.d <= s->left / 8 || s->left <= WITHOUT_ROWS,
                    "the state is truncated");
  if (s->reading && s->status == CPB_OK) {
    cpb_error why;
    cpb_state_require(s, cpb_statistics_new(&options, &of, &why) == CPB_OK, why.text);
    *object = of;
  }
  if (s->status != CPB_OK) return;
  cpb_state_serialize_members(s, of, CPB_STATE_TABLE(counts), 0);
  carry_ids(s, of);
  carry_columns(s, of);
  carry_sample(s, of);
  of->has_norms = pass == 2;
  if (pass == 2 && s->status == CPB_OK) carry_norms(s, of);
  cpb_state_end(s);
}

cpb_status cpb_statistics_serialize(cpb_statistics *s, void **bytes, size_t *count, cpb_error *error) {
  if (s == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, s == NULL ? "statistics" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = cpb_row_sample_settle(&s->sample, error);
  if (status == CPB_OK) status = statistics_check_ids(s, error);
  if (status != CPB_OK) return status;
  return cpb_state_write(carry, s, bytes, count, error);
}

static void release(void *statistics) { cpb_statistics_free(statistics); }

cpb_status cpb_statistics_begin_norms(cpb_statistics *s, cpb_error *error) {
  if (s == NULL) return cpb_fail_missing(error, "statistics");
  if (s->has_norms) return cpb_fail(error, CPB_WHY_CALL_ORDER, "statistics", "pass 2 has begun already");
  if (s->rows == 0)
    return cpb_fail(error, CPB_WHY_NO_ROWS, "statistics",
                    "there are no rows, and so no mean to measure from");
  void *bytes;
  size_t count;
  cpb_status status = cpb_statistics_serialize(s, &bytes, &count, error);
  if (status != CPB_OK) return status;
  s->origin = cpb_state_checksum(bytes, count);
  free(bytes);
  statistics_set_mean(s);
  s->has_norms = true;
  return CPB_OK;
}

/* In pass 2 norms are measured from the mean. */
static void carry_finished(cpb_state *s, void **object) {
  cpb_statistics_result result = {.size = sizeof result};
  carry(s, object);
  cpb_statistics *of = *object;
  if (s->status == CPB_OK && of->has_norms) s->status = cpb_statistics_finish(of, &result, s->error);
}

cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name, cpb_statistics **out,
                                      cpb_error *error) {
  return cpb_state_read(carry_finished, release, "statistics", bytes, count, name, out, error);
}
