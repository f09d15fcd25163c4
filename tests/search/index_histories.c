/* After any history of calls, kills and power failures an index gives the results of cpb_knn over the present rows. The
 * model is an array of rows with their ids, in order of the ids, so that ties are in the order of rows.
 *
 * INDEX_HISTORIES: how many histories, INDEX_FIRST: the number of the first, INDEX_STEP: 3 runs every third, which are those
 * that use threads. `make histories` runs 10,000. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/levels.h"
#include "support/crash_disk.h"
#include "support/scratch.h"

#include <sys/wait.h>

#include "capball/advanced/feed.h"
#include "capball/index.h"
#include "base/rows.h"
#include "loops/table.h"

enum { ROWS_MOST = 6000, COLS_MOST = 100, QUERIES_MOST = 70, K_MOST = 20, ID_SPREAD = 20000 };

#define NOBODY ((uint64_t)1 << 40) /* ids from here on are never given */

typedef struct model {
  cpb_metric metric;
  cpb_dtype dtype;
  size_t cols, row_bytes;
  size_t count;
  uint64_t *ids; /* rising */
  char *rows;
  test_rng rng;
  bool keyed; /* rows have text keys, and the ids that the index gives them */
  int shape;  /* of the rows: 0 Gauss, 1 few different ones, 2 a thin shell, 3 mixed sizes, some far out */
} model;

static cpb_error failure;
static void must(cpb_status status) { test_status((int)status, CPB_OK, failure.text); }

/* ---- rows ---- */

static double number(model *m, double size) {
  switch (m->dtype) {
  case CPB_U8: return (double)test_below(&m->rng, m->shape == 1 ? 3 : 256);
  case CPB_I8: return (double)test_below(&m->rng, m->shape == 1 ? 3 : 256) - 128;
  default: return m->shape == 1 ? (double)test_below(&m->rng, 2) : size * test_gauss(&m->rng);
  }
}

static void set_number(const model *m, char *row, size_t k, double x) {
  switch (m->dtype) {
  case CPB_F32: ((float *)(void *)row)[k] = (float)x; break;
  case CPB_F64: ((double *)(void *)row)[k] = x; break;
  case CPB_F16: ((uint16_t *)(void *)row)[k] = test_half(x); break;
  default: ((uint8_t *)row)[k] = (uint8_t)(int)x; break;
  }
}

static bool is_zero(const model *m, const char *row) {
  cpb_view view = cpb_rows(row, m->dtype, 1, m->cols);
  for (size_t k = 0; k < m->cols; k++)
    if (cpb_view_at(view, 0, k) != 0) return false;
  return true;
}

static void make_row(model *m, char *row) {
  static const double sizes[] = {1, 1, 1e-3, 30, 1e3};
  double x[COLS_MOST], size = m->shape == 3 ? sizes[test_below(&m->rng, 5)] : 1, length2 = 0;
  if (m->shape == 3 && m->dtype == CPB_F64 && test_below(&m->rng, 40) == 0) size = 1e200;
  for (size_t k = 0; k < m->cols; k++) x[k] = number(m, size);
  for (size_t k = 0; k < m->cols; k++) length2 += x[k] * x[k];
  bool shell = m->shape == 2 && m->dtype < CPB_U8;
  for (size_t k = 0; k < m->cols; k++) set_number(m, row, k, shell ? x[k] / sqrt(length2) : x[k]);
  if (is_zero(m, row)) set_number(m, row, 0, 1);
}

static cpb_view make_rows(model *m, size_t count, char *memory) {
  for (size_t i = 0; i < count; i++) make_row(m, memory + i * m->row_bytes);
  return cpb_rows(memory, m->dtype, count, m->cols);
}

/* ---- the model ---- */

static size_t place_of(const model *m, uint64_t id) {
  size_t at = 0;
  for (size_t step = (size_t)1 << 16; step > 0; step /= 2)
    if (at + step <= m->count && m->ids[at + step - 1] < id) at += step;
  return at;
}

static bool model_has(const model *m, uint64_t id) {
  size_t at = place_of(m, id);
  return at < m->count && m->ids[at] == id;
}

static void model_add(model *m, uint64_t id, const char *row) {
  size_t at = place_of(m, id), after = m->count - at;
  memmove(m->ids + at + 1, m->ids + at, after * sizeof *m->ids);
  memmove(m->rows + (at + 1) * m->row_bytes, m->rows + at * m->row_bytes, after * m->row_bytes);
  m->ids[at] = id;
  memcpy(m->rows + at * m->row_bytes, row, m->row_bytes);
  m->count++;
}

static void model_remove(model *m, uint64_t id) {
  size_t at = place_of(m, id), after = m->count - at - 1;
  memmove(m->ids + at, m->ids + at + 1, after * sizeof *m->ids);
  memmove(m->rows + at * m->row_bytes, m->rows + (at + 1) * m->row_bytes, after * m->row_bytes);
  m->count--;
}

/* ---- what is asked ---- */

static bool is_even(void *context, size_t query, uint64_t id) {
  (void)context;
  return (id + query) % 2 == 0;
}

static size_t put_key(uint64_t id, char *to);

/* By the last byte of the key. */
static bool ends_in_even(void *context, size_t query, const char *key, size_t bytes) {
  (void)context;
  return bytes > 0 && ((size_t)key[bytes - 1] + query) % 2 == 0;
}

static bool ends_even(uint64_t id, size_t query) {
  char key[700];
  return ends_in_even(NULL, query, key, put_key(id, key));
}

enum { MANY_IDS = 5000 };
static uint64_t many_ids[MANY_IDS]; /* for a list that is not measured row by row */

typedef struct filtering {
  cpb_index_filter filter;
  uint64_t bitmap[ID_SPREAD / 64 + 1000];
  uint64_t ids[200];
} filtering;

static const cpb_index_filter *make_filter(model *m, filtering *f, int kind) {
  f->filter = (cpb_index_filter){.size = sizeof f->filter};
  if (kind == 0) return NULL;
  if (kind == 1) f->filter.allow = is_even;
  if (kind == 2) {
    for (size_t i = 0; i < sizeof f->bitmap / 8; i++) f->bitmap[i] = test_bits(&m->rng) & test_bits(&m->rng);
    f->filter.bitmap = f->bitmap;
    f->filter.bits = 64 * (1 + test_below(&m->rng, sizeof f->bitmap / 8));
  }
  if (kind == 3) {
    for (size_t i = 0; i < 200; i++) f->ids[i] = test_below(&m->rng, ID_SPREAD);
    f->filter.ids = f->ids;
    f->filter.count = test_below(&m->rng, 201);
  }
  if (kind == 4) {
    f->filter.first = test_below(&m->rng, ID_SPREAD);
    f->filter.end = f->filter.first + 1 + test_below(&m->rng, ID_SPREAD);
  }
  if (kind == 5) {
    f->filter.ids = many_ids;
    f->filter.count = MANY_IDS;
    for (size_t i = 0; i < MANY_IDS; i++) many_ids[i] = test_below(&m->rng, ID_SPREAD);
  }
  if (kind == 6) {
    f->filter.allow = m->keyed ? NULL : is_even;
    f->filter.allow_key = m->keyed ? ends_in_even : NULL;
  }
  return &f->filter;
}

static bool allows(const cpb_index_filter *filter, size_t query, uint64_t id) {
  if (filter == NULL) return true;
  if (filter->allow != NULL) return is_even(NULL, query, id);
  if (filter->allow_key != NULL) return ends_even(id, query);
  if (filter->end > 0) return id >= filter->first && id < filter->end;
  if (filter->bitmap != NULL) return id < filter->bits && (filter->bitmap[id / 64] >> id % 64 & 1) != 0;
  for (size_t i = 0; i < filter->count; i++)
    if (filter->ids[i] == id) return true;
  return false;
}

/* The rows a query may find, as a base of its own. */
static char allowed_rows[ROWS_MOST * COLS_MOST * 8];
static uint64_t allowed_ids[ROWS_MOST];

static cpb_view allowed_base(const model *m, const cpb_index_filter *filter, size_t query) {
  size_t count = 0;
  for (size_t i = 0; i < m->count; i++) {
    if (!allows(filter, query, m->ids[i])) continue;
    memcpy(allowed_rows + count * m->row_bytes, m->rows + i * m->row_bytes, m->row_bytes);
    allowed_ids[count++] = m->ids[i];
  }
  return cpb_rows(allowed_rows, m->dtype, count, m->cols);
}

static void same_hits(const cpb_hit *found, const cpb_hit *wanted, size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert_true(found[i].id == allowed_ids[wanted[i].id]);
    assert_memory_equal(&found[i].value, &wanted[i].value, sizeof(double));
  }
}

static void search_is_right(model *m, const cpb_index *index, const cpb_exec *exec) {
  static char memory[QUERIES_MOST * COLS_MOST * 8];
  static cpb_hit hits[QUERIES_MOST * K_MOST], wanted[K_MOST];
  static filtering f;
  size_t counts[QUERIES_MOST], k = 1 + test_below(&m->rng, K_MOST);
  size_t n = test_below(&m->rng, 3) == 0 ? 1 + test_below(&m->rng, QUERIES_MOST) : 1 + test_below(&m->rng, 3);
  cpb_view queries = make_rows(m, n, memory);
  const cpb_index_filter *filter = make_filter(m, &f, (int)test_below(&m->rng, 7));
  if (k > m->count) {
    assert_int_equal(cpb_index_search(index, queries, k, filter, hits, counts, exec, NULL), CPB_EINVAL);
    k = m->count;
  }
  if (k == 0) return;
  must(cpb_index_search(index, queries, k, filter, hits, counts, exec, &failure));
  for (size_t i = 0; i < n; i++) {
    cpb_view base = allowed_base(m, filter, i);
    size_t most = base.rows < k ? base.rows : k;
    assert_int_equal(counts[i], most);
    for (size_t j = most; j < k; j++) assert_true(hits[i * k + j].id == UINT64_MAX);
    if (most == 0) continue;
    must(cpb_knn(base, cpb_view_slice(queries, i, 1), most, m->metric, wanted, NULL, &failure));
    same_hits(hits + i * k, wanted, most);
  }
}

typedef struct ranging {
  model *m;
  const cpb_index_filter *filter;
  cpb_view queries;
  const double *limits;
  size_t called;
} ranging;

static cpb_status check_range(void *context, size_t query, const cpb_hit *hits, size_t count,
                              cpb_error *error) {
  ranging *r = context;
  cpb_view base = allowed_base(r->m, r->filter, query);
  assert_int_equal(query, r->called++);
  cpb_search_options options;
  cpb_search_options_init(&options, sizeof options);
  options.metric = r->m->metric;
  options.limits = r->limits + query;
  cpb_search *search;
  const cpb_hit *wanted;
  size_t there;
  must(cpb_search_new(cpb_view_slice(r->queries, query, 1), &options, &search, error));
  must(cpb_search_feed(search, base, 0, NULL, error));
  must(cpb_search_hits(search, 0, &wanted, &there, error));
  assert_int_equal(count, there);
  same_hits(hits, wanted, count);
  cpb_search_free(search);
  return CPB_OK;
}

/* The distance of some row, so that some are within and ties are at the edge. */
static void range_is_right(model *m, const cpb_index *index, const cpb_exec *exec) {
  static char memory[4 * COLS_MOST * 8];
  static filtering f;
  double limits[4];
  cpb_hit hits[4 * K_MOST];
  size_t n = 1 + test_below(&m->rng, 4), k = 1 + test_below(&m->rng, K_MOST), counts[4];
  cpb_view queries = make_rows(m, n, memory);
  memset(counts, 0, sizeof counts);
  k = k < m->count ? k : m->count;
  if (k > 0) must(cpb_index_search(index, queries, k, NULL, hits, counts, NULL, &failure));
  for (size_t i = 0; i < n; i++) limits[i] = counts[i] == 0 ? 1 : hits[i * k + counts[i] - 1].value;
  ranging r = {m, make_filter(m, &f, (int)test_below(&m->rng, 7)), queries, limits, 0};
  must(cpb_index_range(index, queries, limits, r.filter, check_range, &r, exec, &failure));
  assert_int_equal(r.called, n);
}

/* Block by block, every row of the model is there once. */
static void contents_are_right(const model *m, const cpb_index *index) {
  static uint64_t ids[500];
  static char rows[500 * COLS_MOST * 8];
  uint64_t place = 0;
  size_t room = 1 + (size_t)m->count % 499, count = 0, seen = 0;
  do {
    must(cpb_index_read(index, &place, room, ids, rows, &count, &failure));
    for (size_t i = 0; i < count; i++) {
      size_t at = place_of(m, ids[i]);
      assert_true(model_has(m, ids[i]));
      assert_memory_equal(rows + i * m->row_bytes, m->rows + at * m->row_bytes, m->row_bytes);
    }
    seen += count;
  } while (count > 0);
  assert_int_equal(seen, m->count);
}

/* Both ways. */
static void keys_are_right(const model *m, const cpb_index *index) {
  static char texts[3000 * 700];
  static uint64_t offsets[ROWS_MOST + 1], found[ROWS_MOST];
  char key[700];
  must(cpb_index_keys_of(index, m->ids, m->count, offsets, NULL, 0, &failure));
  assert_true(offsets[m->count] <= sizeof texts);
  must(cpb_index_keys_of(index, m->ids, m->count, offsets, texts, sizeof texts, &failure));
  const cpb_index_keys keys = {texts, offsets, m->count};
  must(cpb_index_find_keys(index, &keys, found, &failure));
  for (size_t i = 0; i < m->count; i++) {
    size_t bytes = put_key(m->ids[i], key);
    assert_true(found[i] == m->ids[i] && offsets[i + 1] - offsets[i] == bytes);
    assert_memory_equal(texts + offsets[i], key, bytes);
  }
}

static void rows_are_right(model *m, const cpb_index *index) {
  char row[COLS_MOST * 8];
  if (m->keyed) keys_are_right(m, index);
  contents_are_right(m, index);
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  assert_int_equal(report.rows, m->count);
  for (size_t i = 0; i < 5 && m->count > 0; i++) {
    size_t at = test_below(&m->rng, m->count);
    must(cpb_index_rows(index, &m->ids[at], 1, row, &failure));
    assert_memory_equal(row, m->rows + at * m->row_bytes, m->row_bytes);
  }
  uint64_t other = test_below(&m->rng, ID_SPREAD);
  assert_int_equal(cpb_index_rows(index, &other, 1, row, NULL), model_has(m, other) ? CPB_OK : CPB_EINVAL);
}

/* ---- histories ---- */

static char new_rows[3000 * COLS_MOST * 8];
static uint64_t new_ids[3000];

/* What an index that borrows its rows may read until it is freed or compacted. */
static struct {
  bool wanted;
  size_t count;
  char *memory[200];
  size_t bytes[200];
} lent;

static cpb_view lend(cpb_view rows) {
  size_t bytes = rows.rows * rows.cols * cpb_dtype_size(rows.dtype);
  if (!lent.wanted) return rows;
  assert_true(lent.count < sizeof lent.memory / sizeof *lent.memory);
  char *copy = lent.memory[lent.count] = malloc(bytes + 1);
  lent.bytes[lent.count++] = bytes;
  memcpy(copy, rows.data, bytes);
  rows.data = copy;
  return rows;
}

/* Whoever still reads it finds other numbers, or is reported by a sanitizer. */
static void take_back(void) {
  while (lent.count > 0) {
    lent.count--;
    memset(lent.memory[lent.count], 0x55, lent.bytes[lent.count]);
    free(lent.memory[lent.count]);
  }
}

static size_t some_count(model *m) {
  size_t most = test_below(&m->rng, 8) == 0 ? 2500 : test_below(&m->rng, 2) == 0 ? 3 : 100;
  return test_below(&m->rng, most + 1);
}

/* ---- keys ---- */

enum { NAMES_MOST = 1 << 17, KEY_ROOM = 700 };

/* A key is the text of a number, which is that of its first id: some keys come back after their row was removed. */
static uint32_t name_of[NAMES_MOST];
static char key_texts[3000 * KEY_ROOM];
static uint64_t key_offsets[3001];

static size_t put_key(uint64_t id, char *to) {
  uint32_t name = name_of[id];
  int length = sprintf(to, "article \xc3\xa9 %u", name);
  if (name % 11 == 0) memset(to + length, 'x', 600), length += 600;
  return (size_t)length;
}

/* Nobody has it, of the model and of the new ids from..to. */
static bool is_free(const model *m, uint32_t name, size_t to) {
  for (size_t i = 0; i < m->count; i++)
    if (name_of[m->ids[i]] == name) return false;
  for (size_t i = 0; i < to; i++)
    if (name_of[new_ids[i]] == name) return false;
  return true;
}

/* The new ids from..to get keys. */
static void name_new(const model *m, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    uint64_t id = new_ids[i];
    assert_true(id < NAMES_MOST);
    name_of[id] = (uint32_t)id;
    if (id % 4 == 0 && id >= 37 && is_free(m, name_of[id - 37], i)) name_of[id] = name_of[id - 37];
  }
}

static cpb_index_keys keys_of(const uint64_t *ids, size_t count) {
  for (size_t i = 0; i < count; i++)
    key_offsets[i + 1] = key_offsets[i] + put_key(ids[i], key_texts + key_offsets[i]);
  return (cpb_index_keys){key_texts, key_offsets, count};
}

static void add(model *m, cpb_index *index, bool numbered, const cpb_exec *exec) {
  size_t count = some_count(m), kept = 0;
  if (m->count + count > ROWS_MOST / 2) return;
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  for (size_t i = 0; i < count; i++) {
    uint64_t id = numbered ? report.next_id + i : test_below(&m->rng, ID_SPREAD);
    bool twice = model_has(m, id);
    for (size_t j = 0; j < kept && !numbered; j++) twice |= new_ids[j] == id;
    if (!twice) new_ids[kept++] = id;
  }
  cpb_view rows = lend(make_rows(m, kept, new_rows));
  if (m->keyed) {
    name_new(m, 0, kept);
    const cpb_index_keys keys = keys_of(new_ids, kept);
    must(cpb_index_add_keys(index, rows, &keys, exec, &failure));
  } else
    must(cpb_index_add(index, rows, numbered ? NULL : new_ids, exec, &failure));
  for (size_t i = 0; i < kept; i++) model_add(m, new_ids[i], new_rows + i * m->row_bytes);
}

static size_t some_of(model *m, size_t most) {
  size_t count = test_below(&m->rng, most + 1), kept = 0;
  for (size_t i = 0; i < count && m->count > 0; i++) {
    uint64_t id = m->ids[test_below(&m->rng, m->count)];
    bool twice = false;
    for (size_t j = 0; j < kept; j++) twice |= new_ids[j] == id;
    if (!twice) new_ids[kept++] = id;
  }
  return kept;
}

static void remove_some(model *m, cpb_index *index) {
  size_t count = some_of(m, test_below(&m->rng, 10) == 0 ? 1000 : 20);
  uint64_t removed = NOBODY;
  if (test_below(&m->rng, 2) == 0) {
    new_ids[count] = NOBODY; /* is ignored */
    must(cpb_index_remove(index, new_ids, count + 1, &removed, &failure));
    assert_true(removed == count);
  } else
    must(cpb_index_remove(index, new_ids, count, NULL, &failure));
  for (size_t i = 0; i < count; i++) model_remove(m, new_ids[i]);
}

static void replace_some(model *m, cpb_index *index, const cpb_exec *exec) {
  size_t count = some_of(m, 40);
  must(cpb_index_replace(index, lend(make_rows(m, count, new_rows)), new_ids, exec, &failure));
  for (size_t i = 0; i < count; i++) {
    model_remove(m, new_ids[i]);
    model_add(m, new_ids[i], new_rows + i * m->row_bytes);
  }
}

/* New ids and present ones, in one call. */
static void put_some(model *m, cpb_index *index, const cpb_exec *exec) {
  size_t present = some_of(m, 40), count = present, most = count + test_below(&m->rng, 40);
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  for (size_t i = count; i < most && m->count + most < ROWS_MOST / 2; i++) {
    uint64_t id = m->keyed ? report.next_id + i - present : test_below(&m->rng, ID_SPREAD);
    bool twice = false;
    for (size_t j = 0; j < count; j++) twice |= new_ids[j] == id;
    if (!twice) new_ids[count++] = id;
  }
  cpb_view rows = lend(make_rows(m, count, new_rows));
  if (m->keyed) {
    name_new(m, present, count);
    const cpb_index_keys keys = keys_of(new_ids, count);
    must(cpb_index_put_keys(index, rows, &keys, exec, &failure));
  } else
    must(cpb_index_put(index, rows, new_ids, exec, &failure));
  for (size_t i = 0; i < count; i++) {
    if (model_has(m, new_ids[i])) model_remove(m, new_ids[i]);
    model_add(m, new_ids[i], new_rows + i * m->row_bytes);
  }
}

/* Calls that fail change nothing. */
static void fail_some(model *m, cpb_index *index) {
  size_t count = 1 + some_count(m);
  cpb_view rows = make_rows(m, count, new_rows);
  for (size_t i = 0; i < count; i++) new_ids[i] = NOBODY + i;
  if (m->count > 0) {
    new_ids[count - 1] = m->ids[test_below(&m->rng, m->count)];
    assert_int_equal(cpb_index_add(index, rows, new_ids, NULL, NULL), CPB_EINVAL);
    new_ids[count - 1] = NOBODY;
    assert_int_equal(cpb_index_remove(index, new_ids, count, NULL, NULL), CPB_EINVAL);
  }
  if (m->dtype != CPB_F32) return;
  ((float *)(void *)new_rows)[test_below(&m->rng, count * m->cols)] = NAN;
  cpb_error error;
  if (m->keyed) {
    for (size_t i = 0; i < count; i++)
      key_offsets[i + 1] = key_offsets[i] + (size_t)sprintf(key_texts + key_offsets[i], "new %zu", i);
    const cpb_index_keys keys = {key_texts, key_offsets, count};
    assert_int_equal(cpb_index_put_keys(index, rows, &keys, NULL, &error), CPB_EROW);
  } else
    assert_int_equal(cpb_index_add(index, rows, NULL, NULL, &error), CPB_EROW);
  assert_true(error.row >= 0 && (size_t)error.row < count);
}

/* ---- files ---- */

static char file_name[200], other_name[200], old_name[200];

static cpb_index *opened(const char *path, bool writable) {
  cpb_index *index;
  must(cpb_index_open(path, writable, &index, &failure));
  return index;
}

static bool has_state(const cpb_index *index, const model *m) {
  static char row[COLS_MOST * 8];
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  bool same = report.rows == m->count;
  for (size_t i = 0; same && i < m->count; i++)
    same = cpb_index_rows(index, &m->ids[i], 1, row, NULL) == CPB_OK &&
           memcmp(row, m->rows + i * m->row_bytes, m->row_bytes) == 0;
  if (same && m->keyed) keys_are_right(m, index);
  return same;
}

/* Another process, as far as the file is concerned: a reader that is never opened again, but after a power failure. */
static cpb_index *follower;

static void follow(bool again) {
  if (!again && follower != NULL) return;
  cpb_index_free(follower);
  follower = opened(file_name, false);
  must(cpb_index_follow(follower, true, &failure));
}

static void stop_following(void) {
  cpb_index_free(follower);
  follower = NULL;
}

static void follower_is_right(model *m) {
  static char row[COLS_MOST * 8];
  uint64_t first = m->count > 0 ? m->ids[0] : 0;
  if (follower == NULL) return;
  (void)!cpb_index_rows(follower, &first, 1, row, NULL); /* reads follow as searches do; describe does not */
  assert_true(has_state(follower, m));
  search_is_right(m, follower, NULL);
}

static model copy_of(const model *m) {
  model copy = *m;
  copy.ids = malloc(ROWS_MOST * sizeof *copy.ids);
  copy.rows = malloc(ROWS_MOST * m->row_bytes);
  memcpy(copy.ids, m->ids, m->count * sizeof *copy.ids);
  memcpy(copy.rows, m->rows, m->count * m->row_bytes);
  return copy;
}

static void adopt(model *m, model *other) {
  free(m->ids);
  free(m->rows);
  *m = *other;
}

static cpb_index *move_to_file(model *m, cpb_index *index, bool in_file) {
  if (in_file) assert_int_equal(cpb_index_save(index, file_name, NULL), CPB_EINVAL);
  must(cpb_index_save(index, in_file ? other_name : file_name, &failure));
  cpb_index_free(index);
  take_back();
  if (in_file) assert_int_equal(rename(other_name, file_name), 0);
  index = opened(file_name, true);
  assert_true(has_state(index, m));
  return index;
}

static cpb_index *close_and_open(model *m, cpb_index *index) {
  cpb_index *second;
  assert_int_equal(cpb_index_open(file_name, true, &second, NULL), CPB_EIO); /* one writer */
  cpb_index *reader = opened(file_name, false);
  assert_true(has_state(reader, m));
  assert_int_equal(cpb_index_remove(reader, m->ids, m->count > 0, NULL, NULL), CPB_EINVAL);
  cpb_index_free(index);
  index = opened(file_name, true);
  assert_true(has_state(index, m) && has_state(reader, m));
  cpb_index_free(reader);
  return index;
}

static void change_something(model *m, cpb_index *index) {
  switch (test_below(&m->rng, 4)) {
  case 0: add(m, index, true, NULL); break;
  case 1: remove_some(m, index); break;
  case 2: put_some(m, index, NULL); break;
  default: replace_some(m, index, NULL); break;
  }
}

/* ---- kills and power failures ---- */

enum { OPERATIONS_MOST = 5 };

/* Changes, saves and at most one compaction; `done` is told after each. */
static void operate(model *m, cpb_index *index, int operations, void (*done)(const model *m, bool synced)) {
  bool compacted = false;
  for (int i = 0; i < operations; i++) {
    size_t which = test_below(&m->rng, 6);
    bool compacts = which == 0 && !compacted;
    if (compacts) {
      must(cpb_index_compact(index, NULL, &failure));
      compacted = true;
    } else if (which == 1)
      must(cpb_index_save(index, NULL, &failure));
    else
      change_something(m, index);
    done(m, compacts || which == 1);
  }
}

static void count_done(const model *m, bool synced) {
  (void)m;
  crash_disk->done++;
  if (synced) crash_disk->synced = crash_disk->done;
}

static model states[OPERATIONS_MOST + 1];
static int state_count;

static void keep_state(const model *m, bool synced) {
  (void)synced;
  states[state_count++] = copy_of(m);
}

/* In a process that ends in one of its system calls, or after the last of them. */
static void run_to_the_end(model *m, int operations, long calls, bool after) {
  cpb_index *index;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    crash_disk->calls_left = calls;
    crash_disk->after = after;
    must(cpb_index_open(file_name, true, &index, &failure));
    operate(m, index, operations, count_done);
    kill(getpid(), SIGKILL);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  crash_disk->calls_left = -1;
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What would happen if nobody was killed, with a copy of the index. */
static void find_states(const model *m, int operations) {
  model after = copy_of(m);
  cpb_index *index = opened(other_name, true);
  state_count = 0;
  keep_state(m, false);
  operate(&after, index, operations, keep_state);
  cpb_index_free(index);
  free(after.ids);
  free(after.rows);
}

/* The index has the state after `done` operations or one more; after a power failure, or after fewer, but not fewer than
 * were synced. */
static void adopt_state(model *m, const cpb_index *index, int least) {
  int most = crash_disk->done + 1 < state_count ? crash_disk->done + 1 : state_count - 1, found = least;
  while (found <= most && !has_state(index, &states[found])) found++;
  if (found > most) fail_msg("no state from %d to %d of %d is that of the file", least, most, state_count);
  for (int i = 0; i < state_count; i++) {
    if (i == found) continue;
    free(states[i].ids);
    free(states[i].rows);
  }
  adopt(m, &states[found]);
}

static cpb_index *end_abruptly(model *m, cpb_index *index, bool power) {
  int operations = 1 + (int)test_below(&m->rng, OPERATIONS_MOST);
  long calls = (long)test_below(&m->rng, test_below(&m->rng, 2) == 0 ? 12 : 60);
  bool after = test_below(&m->rng, 2) == 0;
  must(cpb_index_save(index, other_name, &failure));
  cpb_index_free(index);
  crash_disk->watches = power;
  crash_disk->done = crash_disk->synced = 0;
  if (power) crash_disk_settle();
  assert_int_equal(link(file_name, old_name), 0);
  run_to_the_end(m, operations, calls, after);
  crash_disk->watches = false;
  find_states(m, operations);
  if (power) crash_disk_lose_power(&m->rng, old_name);
  assert_int_equal(unlink(old_name), 0);
  index = opened(file_name, true);
  if (power) follow(true);
  adopt_state(m, index, power ? crash_disk->synced : crash_disk->done);
  must(cpb_index_check(index, NULL, &failure));
  follower_is_right(m);
  return index;
}

static void live_through(const model *start, int steps, bool numbered, const cpb_exec *exec) {
  model m = *start;
  bool in_file = false;
  m.row_bytes = m.cols * cpb_dtype_size(m.dtype);
  m.ids = calloc(ROWS_MOST, sizeof *m.ids);
  m.rows = malloc(ROWS_MOST * m.row_bytes);
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = m.cols;
  options.dtype = m.dtype;
  options.metric = m.metric;
  options.borrow = lent.wanted;
  options.keys = m.keyed;
  if (m.cols > 1 && test_below(&m.rng, 3) == 0) /* otherwise chosen by the program */
    test_levels(&m.rng, m.cols, options.levels);
  cpb_index *index;
  must(cpb_index_new(&options, &index, &failure));
  for (int step = 0; step < steps; step++) switch (test_below(&m.rng, 13)) {
    case 0:
    case 1:
    case 2: add(&m, index, numbered, exec); break;
    case 3: remove_some(&m, index); break;
    case 4:
      if (!numbered || test_below(&m.rng, 4) == 0) replace_some(&m, index, exec);
      if (!numbered || test_below(&m.rng, 4) == 0) put_some(&m, index, exec);
      break;
    case 5: range_is_right(&m, index, exec); break;
    case 6:
      rows_are_right(&m, index);
      if (in_file) follower_is_right(&m);
      break;
    case 7:
      fail_some(&m, index);
      if (test_below(&m.rng, 4) != 0) break;
      must(cpb_index_compact(index, exec, &failure));
      take_back();
      break;
    case 8:
      if (in_file && test_below(&m.rng, 4) != 0) break;
      index = move_to_file(&m, index, in_file);
      in_file = true;
      follow(false);
      break;
    case 9:
      if (in_file) index = close_and_open(&m, index);
      break;
    case 10:
    case 11:
      if (in_file) index = end_abruptly(&m, index, test_below(&m.rng, 2) == 0);
      break;
    default: search_is_right(&m, index, exec); break;
    }
  search_is_right(&m, index, exec);
  if (in_file) follower_is_right(&m);
  stop_following();
  cpb_index_free(index);
  take_back();
  unlink(file_name);
  free(m.ids);
  free(m.rows);
}

static int setting(const char *name, int usual) {
  const char *text = getenv(name);
  return text != NULL ? atoi(text) : usual;
}

static void histories(void **state) {
  (void)state;
  static const size_t widths[] = {1, 5, 31, 32, 33, 64, 96, 100};
  int first = setting("INDEX_FIRST", 0), end = first + setting("INDEX_HISTORIES", TEST_SANITIZED ? 8 : 70);
  snprintf(file_name, sizeof file_name, "%s", scratch_path("index"));
  snprintf(other_name, sizeof other_name, "%s", scratch_path("other"));
  snprintf(old_name, sizeof old_name, "%s", scratch_path("old"));
  crash_disk_begin(file_name, scratch_path("."));
  cpb_pool *pool;
  must(cpb_pool_new(3, &pool, &failure));
  for (int run = first; run < end; run += setting("INDEX_STEP", 1)) {
    test_rng rng = {(uint64_t)run + 1};
    model m = {.metric = (cpb_metric)test_below(&rng, 3),
               .dtype = (cpb_dtype)test_below(&rng, 5),
               .cols = widths[test_below(&rng, sizeof widths / sizeof *widths)],
               .shape = (int)test_below(&rng, 4)};
    bool numbered = test_below(&rng, 2) == 0;
    m.keyed = test_below(&rng, 3) == 0;
    numbered |= m.keyed;
    m.rng = rng;
    lent.wanted = run % 2 == 1;
    live_through(&m, 40, numbered, run % 3 == 0 ? cpb_pool_exec(pool) : NULL);
  }
  cpb_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(histories)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
