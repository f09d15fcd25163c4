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
 * An order of things for everything, so that equal statistics are equal bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/state_bytes.h"
#include "scale/statistics_parts.h"

enum { VERSION = 2, OLDEST = 1, REPEATS = 2 };
static const cpb_state_kind kind = {"CPBSTATE", VERSION, "statistics", OLDEST};

static void put_elements(cpb_state_out *to, const unsigned char *row, cpb_dtype dtype, size_t d) {
  size_t size = cpb_dtype_size(dtype);
  if (to->bytes == NULL || CPB_LITTLE_ENDIAN) {
    cpb_put_bytes(to, row, size * d);
    return;
  }
  for (size_t i = 0; i < d; i++) {
    uint64_t number = 0;
    if (size == 8) {
      memcpy(&number, row + i * size, 8);
    } else if (size == 4) {
      uint32_t word;
      memcpy(&word, row + i * size, 4);
      number = word;
    } else if (size == 2) {
      uint16_t word;
      memcpy(&word, row + i * size, 2);
      number = word;
    } else
      number = row[i];
    cpb_put_number(to, number, size);
  }
}

static void put_ids(cpb_state_out *to, const cpb_id_sums *ids, bool repeats) {
  const uint64_t numbers[] = {
      repeats ? REPEATS : ids->unknown, ids->count, ids->low, ids->high, ids->sum, ids->square};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cpb_put_number(to, numbers[i], 8);
}

static void put_norms(cpb_state_out *to, cpb_statistics *s) {
  cpb_norm_sketch *norms = &s->norms;
  cpb_put_number(to, s->origin, 8);
  cpb_put_number(to, s->norm_rows, 8);
  for (size_t i = 0; s->rows == 0 && i < s->options.d; i++) cpb_put_double(to, s->mean[i]);
  cpb_put_number(to, norms->count, 8);
  cpb_put_number(to, norms->overflows, 8);
  cpb_put_double(to, norms->count > 0 ? norms->moments.high[0] : 0);
  cpb_put_sum(to, &norms->moments.sum[0]);
  cpb_put_sum(to, &norms->moments.sum[1]);
  size_t at = to->used;
  uint64_t bins = 0;
  cpb_put_number(to, 0, 8);
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; norms->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      if (norms->page[page][i] > 0) {
        cpb_put_number(to, page * CPB_NORM_PER_PAGE + i, 4);
        cpb_put_number(to, norms->page[page][i], 8);
        bins++;
      }
  cpb_state_out back = {to->bytes, at};
  cpb_put_number(&back, bins, 8);
}

static void put_all(cpb_state_out *to, void *statistics) {
  cpb_statistics *s = statistics;
  cpb_put_bytes(to, kind.mark, 8);
  cpb_put_number(to, VERSION, 4);
  cpb_put_number(to, (uint64_t)s->options.dtype, 4);
  cpb_put_number(to, s->options.d, 8);
  cpb_put_number(to, s->options.sample, 8);
  cpb_put_number(to, s->options.seed, 8);
  cpb_put_number(to, s->has_norms ? 2 : 1, 8);
  cpb_put_number(to, s->rows, 8);
  cpb_put_number(to, s->nan_rows, 8);
  cpb_put_number(to, s->inf_rows, 8);
  put_ids(to, &s->ids, s->options.repeats);
  for (size_t i = 0; s->rows > 0 && i < s->options.d; i++) {
    cpb_put_double(to, s->columns.low[i] + 0.); /* 0, never -0: which came first is not to be seen */
    cpb_put_double(to, s->columns.high[i] + 0.);
    cpb_put_sum(to, &s->columns.sum[i]);
  }
  cpb_put_number(to, s->sample.count, 8);
  for (size_t i = 0; i < s->sample.count; i++) {
    cpb_put_number(to, s->sample.ids[i], 8);
    put_elements(to, s->sample.rows + i * s->sample.row_bytes, s->options.dtype, s->options.d);
  }
  if (s->has_norms) put_norms(to, s);
  cpb_put_checksum(to);
}

cpb_status cpb_statistics_serialize(cpb_statistics *s, void **bytes, size_t *count, cpb_error *error) {
  if (s == NULL || bytes == NULL || count == NULL)
    return cpb_fail_missing(error, s == NULL ? "statistics" : bytes == NULL ? "bytes" : "count");
  *bytes = NULL;
  cpb_status status = cpb_row_sample_settle(&s->sample, error);
  if (status == CPB_OK) status = cpb_statistics_check_ids(s, error);
  if (status != CPB_OK) return status;
  return cpb_state_write(put_all, s, bytes, count, error);
}

/* ---- reading ---- */

static void get_elements(cpb_state_in *from, unsigned char *row, cpb_dtype dtype, size_t d) {
  size_t size = cpb_dtype_size(dtype);
  for (size_t i = 0; i < d; i++) {
    uint64_t number = cpb_get_number(from, size);
    uint32_t word = (uint32_t)number;
    uint16_t half = (uint16_t)number;
    uint8_t byte = (uint8_t)number;
    const void *element = size == 8   ? (const void *)&number
                          : size == 4 ? (const void *)&word
                          : size == 2 ? (const void *)&half
                                      : (const void *)&byte;
    memcpy(row + i * size, element, size);
  }
}

static void get_options(cpb_state_in *from, cpb_statistics_options *options, bool *has_norms) {
  cpb_state_begin(from, &kind);
  options->dtype = (cpb_dtype)cpb_get_number(from, 4);
  options->d = cpb_get_size(from);
  options->sample = cpb_get_size(from);
  options->seed = cpb_get_number(from, 8);
  uint64_t pass = cpb_get_number(from, 8);
  if (pass != 1 && pass != 2) cpb_state_refuse(from, "the pass is neither 1 nor 2");
  *has_norms = pass == 2;
}

static void get_ids(cpb_state_in *from, cpb_id_sums *ids, bool *repeats) {
  uint64_t unknown = from->version == 1 ? 1 : cpb_get_number(from, 8);
  *ids = (cpb_id_sums){.unknown = unknown == 1};
  *repeats = unknown == REPEATS;
  if (from->version == 1) return;
  ids->count = cpb_get_number(from, 8);
  ids->low = cpb_get_number(from, 8);
  ids->high = cpb_get_number(from, 8);
  ids->sum = cpb_get_number(from, 8);
  ids->square = cpb_get_number(from, 8);
  if (unknown > REPEATS || ids->low > ids->high) cpb_state_refuse(from, "the ids are damaged");
  if (ids->count == 0 && (ids->high | ids->sum | ids->square) != 0)
    cpb_state_refuse(from, "there are ids of no rows");
}

static bool is_extreme(double low, double high) {
  bool plain = !(low == 0 && signbit(low)) && !(high == 0 && signbit(high));
  return plain && isfinite(low) && isfinite(high) && low <= high;
}

static void get_columns(cpb_state_in *from, cpb_statistics *s) {
  s->rows = cpb_get_number(from, 8);
  s->nan_rows = cpb_get_number(from, 8);
  s->inf_rows = cpb_get_number(from, 8);
  get_ids(from, &s->ids, &s->options.repeats);
  s->sample.repeats = s->options.repeats;
  if (!s->ids.unknown && s->ids.count != s->rows + s->nan_rows + s->inf_rows)
    cpb_state_refuse(from, "the ids are not of as many rows as it says");
  for (size_t i = 0; s->rows > 0 && i < s->options.d && from->status == CPB_OK; i++) {
    s->columns.low[i] = cpb_get_double(from);
    s->columns.high[i] = cpb_get_double(from);
    if (!is_extreme(s->columns.low[i], s->columns.high[i]))
      cpb_state_refuse(from, "a column has impossible extremes");
    cpb_get_sum(from, &s->columns.sum[i]);
  }
}

static void get_sample_row(cpb_state_in *from, cpb_statistics *s, unsigned char *row, uint64_t *last_hash,
                           uint64_t *last_id, bool first) {
  uint64_t id = cpb_get_number(from, 8), hash = cpb_row_sample_hash(s->options.seed, id);
  get_elements(from, row, s->options.dtype, s->options.d);
  if (from->status != CPB_OK) return;
  if (!first && (hash < *last_hash ||
                 (hash == *last_hash && (id < *last_id || (id == *last_id && !s->options.repeats)))))
    cpb_state_refuse(from, "the sample is out of order");
  cpb_view view = cpb_rows(row, s->options.dtype, 1, s->options.d);
  for (size_t i = 0; i < s->options.d; i++)
    if (!isfinite(cpb_view_at(view, 0, i))) cpb_state_refuse(from, "a row of the sample is not finite");
  if (from->status == CPB_OK) from->status = cpb_row_sample_offer(&s->sample, id, row, from->error);
  *last_hash = hash;
  *last_id = id;
}

static void get_sample(cpb_state_in *from, cpb_statistics *s) {
  uint64_t count = cpb_get_number(from, 8), hash = 0, id = 0;
  uint64_t wanted = s->rows < s->options.sample ? s->rows : s->options.sample;
  if (from->status == CPB_OK && count != wanted)
    cpb_state_refuse(from, "the sample has a wrong number of rows");
  if (from->status == CPB_OK && count > from->left / (s->sample.row_bytes + 8))
    cpb_state_refuse(from, "the state is truncated");
  double *row = from->status == CPB_OK ? malloc(cpb_dtype_size(CPB_F64) * s->options.d) : NULL;
  if (from->status == CPB_OK && row == NULL)
    from->status = cpb_fail_memory(from->error, "a row of %zu columns", s->options.d);
  for (uint64_t i = 0; i < count && from->status == CPB_OK; i++)
    get_sample_row(from, s, (unsigned char *)row, &hash, &id, i == 0);
  free(row);
  if (from->status == CPB_OK) from->status = cpb_row_sample_settle(&s->sample, from->error);
}

static void get_bins(cpb_state_in *from, cpb_norm_sketch *norms) {
  uint64_t bins = cpb_get_number(from, 8), total = 0;
  int64_t before = -1;
  for (uint64_t i = 0; i < bins && from->status == CPB_OK; i++) {
    uint64_t bin = cpb_get_number(from, 4), count = cpb_get_number(from, 8);
    if (from->status != CPB_OK) return;
    if ((int64_t)bin <= before || bin >= (uint64_t)(CPB_NORM_PAGES - 1) * CPB_NORM_PER_PAGE || count == 0 ||
        count > norms->count - total) {
      cpb_state_refuse(from, "the histogram of norms is damaged");
      return;
    }
    before = (int64_t)bin;
    total += count;
    from->status = cpb_norm_sketch_count(norms, (uint32_t)bin, count, from->error);
  }
  if (from->status == CPB_OK && total != norms->count)
    cpb_state_refuse(from, "the histogram of norms is incomplete");
}

static void get_norms(cpb_state_in *from, cpb_statistics *s) {
  cpb_norm_sketch *norms = &s->norms;
  s->has_norms = true;
  s->origin = cpb_get_number(from, 8);
  s->norm_rows = from->version == 1 ? 0 : cpb_get_number(from, 8);
  if (from->version == 1 && s->rows == 0) cpb_state_refuse(from, "norms without rows");
  for (size_t i = 0; s->rows == 0 && i < s->options.d && from->status == CPB_OK; i++) {
    s->mean[i] = cpb_get_double(from);
    if (!isfinite(s->mean[i])) cpb_state_refuse(from, "a mean is not finite");
  }
  norms->count = cpb_get_number(from, 8);
  norms->overflows = cpb_get_number(from, 8);
  if (from->version == 1) s->norm_rows = norms->count;
  if (norms->count > s->norm_rows) cpb_state_refuse(from, "there are more norms than rows");
  double max = cpb_get_double(from);
  bool plain = norms->overflows <= norms->count && isfinite(max) && !signbit(max);
  if (!plain || (norms->count == 0 && max != 0)) cpb_state_refuse(from, "the norms are damaged");
  if (norms->count > 0) norms->moments.high[0] = max;
  cpb_get_sum(from, &norms->moments.sum[0]);
  cpb_get_sum(from, &norms->moments.sum[1]);
  get_bins(from, norms);
}

static void get_all(cpb_state_in *from, cpb_statistics **out) {
  cpb_statistics_options options;
  cpb_statistics_options_init(&options, sizeof options);
  bool has_norms = false;
  cpb_error why;
  get_options(from, &options, &has_norms);
  if (from->status != CPB_OK) return;
  /* a column takes 8 bytes and more, so a short state cannot make us allocate much */
  enum { WITHOUT_ROWS = 88 };
  if (options.d > 1 && options.d > from->left / 8 && from->left > WITHOUT_ROWS)
    cpb_state_refuse(from, "the state is truncated");
  if (from->status == CPB_OK && cpb_statistics_new(&options, out, &why) != CPB_OK)
    cpb_state_refuse(from, why.text);
  if (from->status != CPB_OK) return;
  get_columns(from, *out);
  get_sample(from, *out);
  if (has_norms && from->status == CPB_OK) get_norms(from, *out);
  cpb_state_end(from);
}

cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name, cpb_statistics **out,
                                      cpb_error *error) {
  if (bytes == NULL || out == NULL) return cpb_fail_missing(error, bytes == NULL ? "bytes" : "statistics");
  *out = NULL;
  cpb_state_in from = {bytes, count, name == NULL ? "state" : name, CPB_OK, error, 0};
  get_all(&from, out);
  if (from.status == CPB_OK && (*out)->has_norms) {
    cpb_statistics_result result = {.size = sizeof result}; /* pass 2 measures from the mean */
    from.status = cpb_statistics_finish(*out, &result, error);
  }
  if (from.status == CPB_OK) return CPB_OK;
  cpb_statistics_free(*out);
  *out = NULL;
  return from.status;
}
