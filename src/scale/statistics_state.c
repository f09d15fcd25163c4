/* Statistics as bytes. All numbers are little-endian; doubles as their bits.
 *
 *   "CPBSTATE"  u32 version  u32 dtype  u64 d  u64 sample  u64 seed  u64 pass (1, 2)
 *   u64 rows  u64 NaN rows  u64 inf rows
 *   per column  f64 low  f64 high  sum             (no columns without rows)
 *   u64 rows of the sample, per row  u64 id  the row's elements
 *   pass 2      u64 origin  u64 norms  u64 overflows  f64 max  sum  sum of squares
 *               u64 bins, per bin  u32 bin  u64 count
 *   u64 FNV-1a of all before
 *   a sum       u32 first digit  u32 digits, per digit  i64
 * An order of things for everything, so that equal statistics are equal bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "scale/statistics_parts.h"

enum { VERSION = 1 };
static const char magic[8] = {'C', 'P', 'B', 'S', 'T', 'A', 'T', 'E'};

uint64_t cpb_checksum(const void *bytes, size_t count) {
  const unsigned char *byte = bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

/* ---- writing: once to measure (bytes = NULL), once to write ---- */

typedef struct sink {
  unsigned char *bytes;
  size_t used;
} sink;

static void put_bytes(sink *to, const void *bytes, size_t count) {
  if (to->bytes != NULL && count > 0) memcpy(to->bytes + to->used, bytes, count);
  to->used += count;
}

static void put_number(sink *to, uint64_t number, size_t bytes) {
  unsigned char little[8];
  for (size_t i = 0; i < bytes; i++) little[i] = (unsigned char)(number >> 8 * i);
  put_bytes(to, little, bytes);
}

static void put_double(sink *to, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  put_number(to, bits, 8);
}

static void put_sum(sink *to, cpb_exact_sum *sum) {
  cpb_exact_carry(sum);
  put_number(to, (uint64_t)sum->first, 4);
  put_number(to, (uint64_t)(sum->end - sum->first), 4);
  for (int i = sum->first; i < sum->end; i++) put_number(to, (uint64_t)sum->digit[i], 8);
}

static void put_elements(sink *to, const unsigned char *row, cpb_dtype dtype, size_t d) {
  size_t size = cpb_dtype_size(dtype);
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
    put_number(to, number, size);
  }
}

static void put_norms(sink *to, cpb_statistics *s) {
  cpb_norm_sketch *norms = &s->norms;
  put_number(to, s->origin, 8);
  put_number(to, norms->count, 8);
  put_number(to, norms->overflows, 8);
  put_double(to, norms->count > 0 ? norms->moments.high[0] : 0);
  put_sum(to, &norms->moments.sum[0]);
  put_sum(to, &norms->moments.sum[1]);
  size_t at = to->used;
  uint64_t bins = 0;
  put_number(to, 0, 8);
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; norms->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      if (norms->page[page][i] > 0) {
        put_number(to, page * CPB_NORM_PER_PAGE + i, 4);
        put_number(to, norms->page[page][i], 8);
        bins++;
      }
  sink back = {to->bytes, at};
  put_number(&back, bins, 8);
}

static void put_all(sink *to, cpb_statistics *s) {
  put_bytes(to, magic, sizeof magic);
  put_number(to, VERSION, 4);
  put_number(to, (uint64_t)s->options.dtype, 4);
  put_number(to, s->options.d, 8);
  put_number(to, s->options.sample, 8);
  put_number(to, s->options.seed, 8);
  put_number(to, s->has_norms ? 2 : 1, 8);
  put_number(to, s->rows, 8);
  put_number(to, s->nan_rows, 8);
  put_number(to, s->inf_rows, 8);
  for (size_t i = 0; s->rows > 0 && i < s->options.d; i++) {
    put_double(to, s->columns.low[i] + 0.); /* 0, never -0: which came first is not to be seen */
    put_double(to, s->columns.high[i] + 0.);
    put_sum(to, &s->columns.sum[i]);
  }
  put_number(to, s->sample.count, 8);
  for (size_t i = 0; i < s->sample.count; i++) {
    put_number(to, s->sample.ids[i], 8);
    put_elements(to, s->sample.rows + i * s->sample.row_bytes, s->options.dtype, s->options.d);
  }
  if (s->has_norms) put_norms(to, s);
  put_number(to, to->bytes != NULL ? cpb_checksum(to->bytes, to->used) : 0, 8);
}

cpb_status cpb_statistics_serialize(cpb_statistics *s, void **bytes, size_t *count, cpb_error *error) {
  if (s == NULL || bytes == NULL || count == NULL)
    return cpb_fail(error, CPB_EINVAL, "statistics, bytes and count must not be NULL");
  *bytes = NULL;
  cpb_status status = cpb_row_sample_settle(&s->sample, error);
  if (status != CPB_OK) return status;
  sink measure = {NULL, 0};
  put_all(&measure, s);
  sink to = {malloc(measure.used), 0};
  if (to.bytes == NULL)
    return cpb_fail(error, CPB_ENOMEM, "no memory for a state of %zu bytes", measure.used);
  put_all(&to, s);
  *bytes = to.bytes;
  *count = to.used;
  return CPB_OK;
}

/* ---- reading ---- */

typedef struct source {
  const unsigned char *bytes;
  size_t left;
  const char *name;
  cpb_status status; /* the first failure stays; everything after it reads 0 */
  cpb_error *error;
} source;

static void refuse(source *from, const char *what) {
  if (from->status == CPB_OK) from->status = cpb_fail(from->error, CPB_EFORMAT, "%s: %s", from->name, what);
}

static const unsigned char *get_bytes(source *from, size_t count) {
  if (from->status == CPB_OK && count > from->left) refuse(from, "the state is truncated");
  if (from->status != CPB_OK) return NULL;
  const unsigned char *bytes = from->bytes;
  from->bytes += count;
  from->left -= count;
  return bytes;
}

static uint64_t get_number(source *from, size_t bytes) {
  const unsigned char *little = get_bytes(from, bytes);
  uint64_t number = 0;
  for (size_t i = 0; little != NULL && i < bytes; i++) number |= (uint64_t)little[i] << 8 * i;
  return number;
}

static double get_double(source *from) {
  uint64_t bits = get_number(from, 8);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void get_sum(source *from, cpb_exact_sum *sum) {
  uint64_t first = get_number(from, 4), digits = get_number(from, 4);
  if (first > CPB_EXACT_DIGITS || digits > CPB_EXACT_DIGITS - first) {
    refuse(from, "a sum has digits where there are none");
    return;
  }
  sum->first = (int)first;
  sum->end = (int)(first + digits);
  for (int i = sum->first; i < sum->end; i++) {
    uint64_t bits = get_number(from, 8);
    memcpy(&sum->digit[i], &bits, sizeof bits);
  }
  if (from->status == CPB_OK && !cpb_exact_is_carried(sum)) refuse(from, "a sum has impossible digits");
}

static void get_elements(source *from, unsigned char *row, cpb_dtype dtype, size_t d) {
  size_t size = cpb_dtype_size(dtype);
  for (size_t i = 0; i < d; i++) {
    uint64_t number = get_number(from, size);
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

static void get_options(source *from, cpb_statistics_options *options, bool *has_norms) {
  const unsigned char *mark = get_bytes(from, sizeof magic);
  if (mark == NULL || memcmp(mark, magic, sizeof magic) != 0) {
    from->status = CPB_OK;
    refuse(from, "these are not statistics of capball (no CPBSTATE at the start)");
    return;
  }
  uint64_t version = get_number(from, 4);
  if (from->status == CPB_OK && version != VERSION) {
    from->status = cpb_fail(from->error, CPB_EFORMAT, "%s: the state is of version %" PRIu64 ", wanted %d",
                            from->name, version, VERSION);
    return;
  }
  options->dtype = (cpb_dtype)get_number(from, 4);
  options->d = get_number(from, 8);
  options->sample = get_number(from, 8);
  options->seed = get_number(from, 8);
  uint64_t pass = get_number(from, 8);
  if (pass != 1 && pass != 2) refuse(from, "the pass is neither 1 nor 2");
  *has_norms = pass == 2;
}

static bool is_extreme(double low, double high) {
  bool plain = !(low == 0 && signbit(low)) && !(high == 0 && signbit(high));
  return plain && isfinite(low) && isfinite(high) && low <= high;
}

static void get_columns(source *from, cpb_statistics *s) {
  s->rows = get_number(from, 8);
  s->nan_rows = get_number(from, 8);
  s->inf_rows = get_number(from, 8);
  for (size_t i = 0; s->rows > 0 && i < s->options.d && from->status == CPB_OK; i++) {
    s->columns.low[i] = get_double(from);
    s->columns.high[i] = get_double(from);
    if (!is_extreme(s->columns.low[i], s->columns.high[i])) refuse(from, "a column has impossible extremes");
    get_sum(from, &s->columns.sum[i]);
  }
}

static void get_sample_row(source *from, cpb_statistics *s, unsigned char *row, uint64_t *last_hash,
                           uint64_t *last_id, bool first) {
  uint64_t id = get_number(from, 8), hash = cpb_row_sample_hash(s->options.seed, id);
  get_elements(from, row, s->options.dtype, s->options.d);
  if (from->status != CPB_OK) return;
  if (!first && (hash < *last_hash || (hash == *last_hash && id <= *last_id)))
    refuse(from, "the sample is out of order");
  cpb_view view = cpb_rows(row, s->options.dtype, 1, s->options.d);
  for (size_t i = 0; i < s->options.d; i++)
    if (!isfinite(cpb_view_at(view, 0, i))) refuse(from, "a row of the sample is not finite");
  if (from->status == CPB_OK) from->status = cpb_row_sample_offer(&s->sample, id, row, from->error);
  *last_hash = hash;
  *last_id = id;
}

static void get_sample(source *from, cpb_statistics *s) {
  uint64_t count = get_number(from, 8), hash = 0, id = 0;
  uint64_t wanted = s->rows < s->options.sample ? s->rows : s->options.sample;
  if (from->status == CPB_OK && count != wanted) refuse(from, "the sample has a wrong number of rows");
  if (from->status == CPB_OK && count > from->left / (s->sample.row_bytes + 8))
    refuse(from, "the state is truncated");
  double *row = from->status == CPB_OK ? malloc(cpb_dtype_size(CPB_F64) * s->options.d) : NULL;
  if (from->status == CPB_OK && row == NULL)
    from->status = cpb_fail(from->error, CPB_ENOMEM, "no memory for a row of %zu columns", s->options.d);
  for (uint64_t i = 0; i < count && from->status == CPB_OK; i++)
    get_sample_row(from, s, (unsigned char *)row, &hash, &id, i == 0);
  free(row);
  if (from->status == CPB_OK) from->status = cpb_row_sample_settle(&s->sample, from->error);
}

static void get_bins(source *from, cpb_norm_sketch *norms) {
  uint64_t bins = get_number(from, 8), total = 0;
  int64_t before = -1;
  for (uint64_t i = 0; i < bins && from->status == CPB_OK; i++) {
    uint64_t bin = get_number(from, 4), count = get_number(from, 8);
    if (from->status != CPB_OK) return;
    if ((int64_t)bin <= before || bin >= (uint64_t)(CPB_NORM_PAGES - 1) * CPB_NORM_PER_PAGE || count == 0 ||
        count > norms->count - total) {
      refuse(from, "the histogram of norms is damaged");
      return;
    }
    before = (int64_t)bin;
    total += count;
    from->status = cpb_norm_sketch_count(norms, (uint32_t)bin, count, from->error);
  }
  if (from->status == CPB_OK && total != norms->count) refuse(from, "the histogram of norms is incomplete");
}

static void get_norms(source *from, cpb_statistics *s) {
  cpb_norm_sketch *norms = &s->norms;
  s->has_norms = true;
  s->origin = get_number(from, 8);
  norms->count = get_number(from, 8);
  norms->overflows = get_number(from, 8);
  double max = get_double(from);
  bool plain = norms->overflows <= norms->count && isfinite(max) && !signbit(max);
  if (!plain || (norms->count == 0 && max != 0)) refuse(from, "the norms are damaged");
  if (norms->count > 0) norms->moments.high[0] = max;
  get_sum(from, &norms->moments.sum[0]);
  get_sum(from, &norms->moments.sum[1]);
  get_bins(from, norms);
}

static cpb_status check_ends(source *from, size_t count) {
  if (count < sizeof magic + 8 || memcmp(from->bytes, magic, sizeof magic) != 0)
    return CPB_OK; /* said later */
  source tail = {from->bytes + count - 8, 8, from->name, CPB_OK, NULL};
  uint64_t stored = get_number(&tail, 8), is = cpb_checksum(from->bytes, count - 8);
  source version = {from->bytes + sizeof magic, count - sizeof magic, from->name, CPB_OK, NULL};
  if (get_number(&version, 4) != VERSION || stored == is) return CPB_OK;
  return cpb_fail(from->error, CPB_EFORMAT,
                  "%s: its bytes have checksum %016" PRIx64 ", but it says %016" PRIx64
                  ": the state is truncated or damaged",
                  from->name, is, stored);
}

static void get_all(source *from, cpb_statistics **out) {
  cpb_statistics_options options = cpb_statistics_options_default();
  bool has_norms = false;
  cpb_error why;
  get_options(from, &options, &has_norms);
  if (from->status != CPB_OK) return;
  /* a column takes 24 bytes, so a short state cannot make us allocate much */
  if (options.d > 1 && options.d > from->left / 24 && from->left > 40) refuse(from, "the state is truncated");
  if (from->status == CPB_OK && cpb_statistics_new(&options, out, &why) != CPB_OK) refuse(from, why.text);
  if (from->status != CPB_OK) return;
  get_columns(from, *out);
  get_sample(from, *out);
  if (has_norms && from->status == CPB_OK) {
    if ((*out)->rows == 0) refuse(from, "norms without rows");
    get_norms(from, *out);
  }
  get_number(from, 8); /* the checksum */
  if (from->status == CPB_OK && from->left > 0) refuse(from, "the state goes on after its end");
}

cpb_status cpb_statistics_deserialize(const void *bytes, size_t count, const char *name, cpb_statistics **out,
                                      cpb_error *error) {
  if (bytes == NULL || out == NULL)
    return cpb_fail(error, CPB_EINVAL, "bytes and statistics must not be NULL");
  *out = NULL;
  source from = {bytes, count, name == NULL ? "state" : name, CPB_OK, error};
  from.status = check_ends(&from, count);
  if (from.status == CPB_OK) get_all(&from, out);
  if (from.status == CPB_OK && (*out)->has_norms) {
    cpb_statistics_result result; /* pass 2 measures from the mean */
    from.status = cpb_statistics_finish(*out, &result, error);
  }
  if (from.status == CPB_OK) return CPB_OK;
  cpb_statistics_free(*out);
  *out = NULL;
  return from.status;
}
