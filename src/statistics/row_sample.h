/* The rows with the smallest hashes of (seed, row id): a uniform sample however the data are divided. */
#ifndef CPB_STATISTICS_ROW_SAMPLE_H
#define CPB_STATISTICS_ROW_SAMPLE_H

#include <stdbool.h>

#include "capball/view.h"

typedef struct cpb_sample_entry {
  uint64_t hash, id;
  size_t place; /* index of its row */
} cpb_sample_entry;

typedef struct cpb_row_sample {
  size_t most, row_bytes;
  uint64_t seed;
  bool repeats;   /* an id may occur more than once */
  uint64_t bound; /* rows with a larger hash can no longer enter */
  size_t count, room;
  cpb_sample_entry *entries; /* `room` entries; their places are a permutation of 0 .. room-1 */
  unsigned char *rows;       /* space for `room` rows */
  uint64_t *ids;             /* filled by cpb_row_sample_settle */
} cpb_row_sample;

void cpb_row_sample_init(cpb_row_sample *sample, size_t most, size_t row_bytes, uint64_t seed);
void cpb_row_sample_free(cpb_row_sample *sample);

uint64_t cpb_row_sample_hash(uint64_t seed, uint64_t id);

cpb_status cpb_row_sample_offer(cpb_row_sample *sample, uint64_t id, const void *row, cpb_error *error);

/* Reduces the sample to `most` rows, sorted by (hash, id). EINVAL when an id was offered twice and may not repeat. */
cpb_status cpb_row_sample_settle(cpb_row_sample *sample, cpb_error *error);

/* Draws at most `most` rows of a view, numbered from 0; *chosen views the rows of the sample. */
cpb_status cpb_row_sample_draw(cpb_row_sample *sample, cpb_view rows, size_t most, uint64_t seed,
                               cpb_view *chosen, cpb_error *error);

/* Offers every row of another sample. */
cpb_status cpb_row_sample_merge(cpb_row_sample *sample, const cpb_row_sample *other, cpb_error *error);

/* ids of the rows of a block: ids[i], or first + i. */
typedef struct cpb_row_ids {
  const uint64_t *ids;
  uint64_t first;
} cpb_row_ids;

static inline uint64_t cpb_row_id(cpb_row_ids ids, size_t i) {
  return ids.ids != NULL ? ids.ids[i] : ids.first + i;
}

#endif
