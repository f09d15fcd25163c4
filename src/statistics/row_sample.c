#include "statistics/row_sample.h"

#include <stdlib.h>
#include <string.h>

#include "capball/advanced/statistics.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/rows.h"

void cpb_row_sample_init(cpb_row_sample *sample, size_t most, size_t row_bytes, uint64_t seed) {
  *sample = (cpb_row_sample){.most = most, .row_bytes = row_bytes, .seed = seed, .bound = UINT64_MAX};
}

void cpb_row_sample_free(cpb_row_sample *sample) {
  free(sample->entries);
  free(sample->rows);
  free(sample->ids);
  *sample = (cpb_row_sample){0};
}

/* splitmix64's finaliser, twice. */
uint64_t cpb_row_sample_hash(uint64_t seed, uint64_t id) {
  return cpb_mix(id * 0x9e3779b97f4a7c15u + cpb_mix(seed + 0x9e3779b97f4a7c15u));
}

static int by_hash(const void *left, const void *right) {
  const cpb_sample_entry *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static cpb_status fail_memory(const cpb_row_sample *sample, cpb_error *error) {
  return cpb_fail_memory(error, "a sample of %zu rows", sample->most);
}

/* Sorts the entries and drops those beyond `most`; rows stay in place. */
static cpb_status thin_out(cpb_row_sample *sample, cpb_error *error) {
  qsort(sample->entries, sample->count, sizeof *sample->entries, by_hash);
  for (size_t i = 1; i < sample->count && !sample->repeats; i++)
    if (by_hash(&sample->entries[i - 1], &sample->entries[i]) == 0)
      return cpb_fail(error, CPB_WHY_ROW_TWICE, "ids", "row %llu was given twice: pieces overlap",
                      (unsigned long long)sample->entries[i].id);
  if (sample->count < sample->most) return CPB_OK;
  sample->count = sample->most;
  sample->bound = sample->entries[sample->most - 1].hash;
  return CPB_OK;
}

/* Allocates up to twice the number requested, so that thinning out is rare. */
static cpb_status make_room(cpb_row_sample *sample, cpb_error *error) {
  size_t limit = 2 * sample->most, room = sample->room < 32 ? 64 : 2 * sample->room;
  if (sample->room >= limit) return thin_out(sample, error);
  if (room > limit) room = limit;
  if (room > SIZE_MAX / 64 / (sample->row_bytes + 1)) return fail_memory(sample, error);
  if (!cpb_resize(&sample->entries, room, sizeof *sample->entries) ||
      !cpb_resize(&sample->rows, room, sample->row_bytes) ||
      !cpb_resize(&sample->ids, room, sizeof *sample->ids))
    return fail_memory(sample, error);
  for (size_t i = sample->room; i < room; i++) sample->entries[i].place = i;
  sample->room = room;
  return CPB_OK;
}

/* Permutes the rows into the order of their entries, along the cycles of the permutation. */
static void sort_rows(cpb_row_sample *sample, unsigned char *spare) {
  size_t bytes = sample->row_bytes;
  for (size_t start = 0; start < sample->room; start++) {
    if (sample->entries[start].place == start) continue;
    memcpy(spare, sample->rows + start * bytes, bytes);
    size_t to = start;
    for (size_t from = sample->entries[to].place; from != start; from = sample->entries[to].place) {
      memcpy(sample->rows + to * bytes, sample->rows + from * bytes, bytes);
      sample->entries[to].place = to;
      to = from;
    }
    memcpy(sample->rows + to * bytes, spare, bytes);
    sample->entries[to].place = to;
  }
}

cpb_status cpb_row_sample_settle(cpb_row_sample *sample, cpb_error *error) {
  if (sample->count == 0) return CPB_OK;
  unsigned char *spare = malloc(sample->row_bytes);
  if (spare == NULL) return fail_memory(sample, error);
  cpb_status status = thin_out(sample, error);
  if (status == CPB_OK) sort_rows(sample, spare);
  free(spare);
  for (size_t i = 0; i < sample->count; i++) sample->ids[i] = sample->entries[i].id;
  return status;
}

static cpb_status take(cpb_row_sample *sample, uint64_t hash, uint64_t id, const void *row,
                       cpb_error *error) {
  if (sample->most == 0 || hash > sample->bound) return CPB_OK;
  if (sample->count == sample->room) {
    cpb_status status = make_room(sample, error);
    if (status != CPB_OK || hash > sample->bound) return status;
  }
  cpb_sample_entry *entry = &sample->entries[sample->count++];
  entry->hash = hash;
  entry->id = id;
  memcpy(sample->rows + entry->place * sample->row_bytes, row, sample->row_bytes);
  return CPB_OK;
}

cpb_status cpb_row_sample_offer(cpb_row_sample *sample, uint64_t id, const void *row, cpb_error *error) {
  return take(sample, cpb_row_sample_hash(sample->seed, id), id, row, error);
}

cpb_status cpb_row_sample_draw(cpb_row_sample *sample, cpb_view rows, size_t most, uint64_t seed,
                               cpb_view *chosen, cpb_error *error) {
  cpb_status status = CPB_OK;
  cpb_row_sample_init(sample, most, rows.cols * cpb_dtype_size(rows.dtype), seed);
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++)
    status = cpb_row_sample_offer(sample, i, cpb_view_slice(rows, i, 1).data, error);
  if (status == CPB_OK) status = cpb_row_sample_settle(sample, error);
  *chosen = cpb_rows(sample->rows, rows.dtype, sample->count, rows.cols);
  return status;
}

cpb_status cpb_row_sample_merge(cpb_row_sample *sample, const cpb_row_sample *other, cpb_error *error) {
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < other->count && status == CPB_OK; i++) {
    const cpb_sample_entry *entry = &other->entries[i];
    status = take(sample, entry->hash, entry->id, other->rows + entry->place * other->row_bytes, error);
  }
  return status;
}

/* The bits of an element as a number, so that the hash of a row does not depend on the byte order. */
static uint64_t bits_of(const unsigned char *element, size_t size) {
  uint64_t wide;
  uint32_t word;
  uint16_t half;
  if (size == 1) return *element;
  if (size == 2) return memcpy(&half, element, 2), half;
  if (size == 4) return memcpy(&word, element, 4), word;
  return memcpy(&wide, element, 8), wide;
}

static uint64_t hash_row(const unsigned char *row, size_t size, size_t d) {
  uint64_t hash = d;
  for (size_t i = 0; i < d; i++) {
    hash = (hash ^ bits_of(row + i * size, size)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return cpb_mix(hash) >> 1; /* files store ids as signed integers, which end at 2^63 */
}

cpb_status cpb_rows_hash(cpb_view rows, uint64_t *ids, cpb_error *error) {
  cpb_status status = cpb_check_view(rows, "rows", rows.cols, error);
  if (status != CPB_OK) return status;
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  size_t size = cpb_dtype_size(rows.dtype);
  for (size_t i = 0; i < rows.rows; i++)
    ids[i] = hash_row((const unsigned char *)rows.data + i * rows.stride * size, size, rows.cols);
  return CPB_OK;
}
