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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/state_bytes.h"
#include "scale/statistics_parts.h"

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
  cpb_state_carry_members(s, ids, CPB_STATE_TABLE(id_table), 0);
  cpb_state_require(s, unknown <= REPEATS && ids->low <= ids->high, "the ids are damaged");
  cpb_state_require(s, ids->count > 0 || (ids->high | ids->sum | ids->square) == 0,
                    "there are ids of no rows");
  cpb_state_require(s, ids->unknown || ids->count == of->rows + of->nan_rows + of->inf_rows,
                    "the ids do not match the number of rows");
}

static bool is_extreme(double low, double high) {
  bool plain = !(low == 0 && signbit(low)) && !(high == 0 && signbit(high));
  return plain && isfinite(low) && isfinite(high) && low <= high;
}

static void carry_columns(cpb_state *s, cpb_statistics *of) {
  cpb_column_sums *columns = &of->columns;
  for (size_t i = 0; of->rows > 0 && i < of->options.d && s->status == CPB_OK; i++) {
    /* 0, never -0: their order of arrival must not show */
    double low = cpb_state_double(s, columns->low[i] + 0.), high = cpb_state_double(s, columns->high[i] + 0.);
    cpb_state_require(s, is_extreme(low, high), "a column has impossible extremes");
    if (s->reading) columns->low[i] = low;
    if (s->reading) columns->high[i] = high;
    cpb_state_sum(s, &columns->sum[i]);
  }
}

/* ---- the sample ---- */

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

typedef struct place {
  uint64_t hash, id;
} place;

static void read_sample_row(cpb_state *s, cpb_statistics *of, unsigned char *row, place *before) {
  const cpb_statistics_options *o = &of->options;
  place here = {.id = cpb_state_number(s, 0, 8)};
  here.hash = cpb_row_sample_hash(o->seed, here.id);
  carry_elements(s, row, cpb_dtype_size(o->dtype), o->d);
  if (s->status != CPB_OK) return;
  bool first = of->sample.count == 0, same = here.hash == before->hash && here.id == before->id;
  bool above = here.hash > before->hash || (here.hash == before->hash && here.id > before->id);
  cpb_state_require(s, first || above || (same && o->repeats), "the sample is out of order");
  cpb_view view = cpb_rows(row, o->dtype, 1, o->d);
  for (size_t i = 0; i < o->d; i++)
    cpb_state_require(s, isfinite(cpb_view_at(view, 0, i)), "a row of the sample is not finite");
  if (s->status == CPB_OK) s->status = cpb_row_sample_offer(&of->sample, here.id, row, s->error);
  *before = here;
}

static void read_sample(cpb_state *s, cpb_statistics *of) {
  uint64_t count = cpb_state_number(s, 0, 8);
  uint64_t wanted = of->rows < of->options.sample ? of->rows : of->options.sample;
  cpb_state_require(s, count == wanted, "the sample has a wrong number of rows");
  cpb_state_require(s, count <= s->left / (of->sample.row_bytes + 8), "the state is truncated");
  if (s->status != CPB_OK) return;
  place before = {0};
  double *row = malloc(cpb_dtype_size(CPB_F64) * of->options.d);
  if (row == NULL) s->status = cpb_fail_memory(s->error, "a row of %zu columns", of->options.d);
  for (uint64_t i = 0; i < count && s->status == CPB_OK; i++)
    read_sample_row(s, of, (unsigned char *)row, &before);
  free(row);
  if (s->status == CPB_OK) s->status = cpb_row_sample_settle(&of->sample, s->error);
}

static void write_sample(cpb_state *s, const cpb_row_sample *sample, const cpb_statistics_options *o) {
  cpb_state_number(s, sample->count, 8);
  for (size_t i = 0; i < sample->count; i++) {
    cpb_state_number(s, sample->ids[i], 8);
    carry_elements(s, sample->rows + i * sample->row_bytes, cpb_dtype_size(o->dtype), o->d);
  }
}

/* ---- norms ---- */

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
  cpb_state_carry_members(s, norms, CPB_STATE_TABLE(norm_counts), 0);
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

static void make(cpb_state *s, const cpb_statistics_options *options, void **object) {
  cpb_statistics *made = NULL;
  cpb_error why;
  /* a column takes at least 8 bytes, so a short state cannot cause a large allocation */
  enum { WITHOUT_ROWS = 88 };
  cpb_state_require(s, options->d <= 1 || options->d <= s->left / 8 || s->left <= WITHOUT_ROWS,
                    "the state is truncated");
  if (s->status == CPB_OK && cpb_statistics_new(options, &made, &why) != CPB_OK)
    cpb_state_refuse(s, why.text);
  *object = made;
}

static void carry(cpb_state *s, void **object) {
  cpb_statistics *of = *object;
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  cpb_state_begin(s, &kind);
  cpb_state_carry_members(s, s->reading ? &options : &of->options, CPB_STATE_TABLE(options_table), 0);
  uint64_t pass = cpb_state_number(s, !s->reading && of->has_norms ? 2 : 1, 8);
  cpb_state_require(s, pass == 1 || pass == 2, "the pass is neither 1 nor 2");
  if (s->reading && s->status == CPB_OK) make(s, &options, object);
  if (s->status != CPB_OK) return;
  of = *object;
  cpb_state_carry_members(s, of, CPB_STATE_TABLE(counts), 0);
  carry_ids(s, of);
  carry_columns(s, of);
  if (s->reading)
    read_sample(s, of);
  else
    write_sample(s, &of->sample, &of->options);
  of->has_norms = pass == 2;
  if (pass == 2 && s->status == CPB_OK) carry_norms(s, of);
  cpb_state_end(s);
}

cpb_status cpb_statistics_serialize(cpb_statistics *s, void **bytes, size_t *count, cpb_error *error) {
  if (s == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, s == NULL ? "statistics" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = cpb_row_sample_settle(&s->sample, error);
  if (status == CPB_OK) status = cpb_statistics_check_ids(s, error);
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
  cpb_statistics_set_mean(s);
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
