#include "scale/row_sample.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

void cpb_row_sample_init(cpb_row_sample *sample, size_t most, size_t row_bytes, uint64_t seed) {
  *sample = (cpb_row_sample){.most = most, .row_bytes = row_bytes, .seed = seed, .bound = UINT64_MAX};
}

void cpb_row_sample_free(cpb_row_sample *sample) {
  free(sample->entries);
  free(sample->rows);
  free(sample->ids);
  *sample = (cpb_row_sample){0};
}

void cpb_row_sample_clear(cpb_row_sample *sample, uint64_t bound) {
  sample->count = 0;
  sample->bound = bound;
}

/* splitmix64's finaliser, twice. */
static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

uint64_t cpb_row_sample_hash(uint64_t seed, uint64_t id) {
  return mix(id * 0x9e3779b97f4a7c15u + mix(seed + 0x9e3779b97f4a7c15u));
}

static int by_hash(const void *left, const void *right) {
  const cpb_sample_entry *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static cpb_status fail_memory(const cpb_row_sample *sample, cpb_error *error) {
  return cpb_fail(error, CPB_ENOMEM, "no memory for a sample of %zu rows", sample->most);
}

static cpb_status reserve(cpb_row_sample *sample, size_t room, cpb_error *error) {
  if (room <= sample->room) return CPB_OK;
  if (room > SIZE_MAX / 64 / (sample->row_bytes + 1)) return fail_memory(sample, error);
  cpb_sample_entry *entries = realloc(sample->entries, room * sizeof *entries);
  if (entries != NULL) sample->entries = entries;
  unsigned char *rows = realloc(sample->rows, room * sample->row_bytes);
  if (rows != NULL) sample->rows = rows;
  uint64_t *ids = realloc(sample->ids, room * sizeof *ids);
  if (ids != NULL) sample->ids = ids;
  if (entries == NULL || rows == NULL || ids == NULL) return fail_memory(sample, error);
  sample->room = room;
  return CPB_OK;
}

/* Rows into the order of their entries, along the cycles of the permutation. */
static void sort_rows(cpb_row_sample *sample, size_t total, unsigned char *spare) {
  size_t bytes = sample->row_bytes;
  for (size_t start = 0; start < total; start++) {
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
  qsort(sample->entries, sample->count, sizeof *sample->entries, by_hash);
  sort_rows(sample, sample->count, spare);
  free(spare);
  if (sample->count >= sample->most) {
    sample->count = sample->most;
    if (sample->most > 0) sample->bound = sample->entries[sample->most - 1].hash;
  }
  for (size_t i = 0; i < sample->count; i++) sample->ids[i] = sample->entries[i].id;
  return CPB_OK;
}

static cpb_status take(cpb_row_sample *sample, uint64_t hash, uint64_t id, const void *row,
                       cpb_error *error) {
  if (sample->count == sample->room) {
    /* twice as many as wanted, so that settling is rare */
    size_t limit = 2 * sample->most, room = sample->room < 32 ? 64 : 2 * sample->room;
    cpb_status status = sample->room >= limit && sample->count > sample->most
                            ? cpb_row_sample_settle(sample, error)
                            : reserve(sample, room < limit || limit == 0 ? room : limit, error);
    if (status != CPB_OK) return status;
    if (hash > sample->bound) return CPB_OK;
  }
  sample->entries[sample->count] = (cpb_sample_entry){hash, id, sample->count};
  memcpy(sample->rows + sample->count * sample->row_bytes, row, sample->row_bytes);
  sample->count++;
  return CPB_OK;
}

cpb_status cpb_row_sample_offer(cpb_row_sample *sample, uint64_t id, const void *row, cpb_error *error) {
  uint64_t hash = cpb_row_sample_hash(sample->seed, id);
  if (sample->most == 0 || hash > sample->bound) return CPB_OK;
  return take(sample, hash, id, row, error);
}

static cpb_status check_distinct(const cpb_row_sample *a, const cpb_row_sample *b, cpb_error *error) {
  for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
    int order = by_hash(&a->entries[i], &b->entries[j]);
    if (order == 0)
      return cpb_fail(error, CPB_EINVAL, "row %llu is in both pieces: they overlap",
                      (unsigned long long)a->entries[i].id);
    *(order < 0 ? &i : &j) += 1;
  }
  return CPB_OK;
}

cpb_status cpb_row_sample_merge(cpb_row_sample *sample, const cpb_row_sample *other, cpb_error *error) {
  cpb_status status = check_distinct(sample, other, error);
  if (status == CPB_OK) status = reserve(sample, sample->count + other->count, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < other->count; i++) {
    sample->entries[sample->count] =
        (cpb_sample_entry){other->entries[i].hash, other->entries[i].id, sample->count};
    memcpy(sample->rows + sample->count * sample->row_bytes,
           other->rows + other->entries[i].place * other->row_bytes, other->row_bytes);
    sample->count++;
  }
  return cpb_row_sample_settle(sample, error);
}
