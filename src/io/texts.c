#include "capball/advanced/flow.h"
#include "io/texts.h"

#include <string.h>

#include "capball/advanced/flow.h"
#include "io/format.h"

static cpb_status reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  return size <= buffer->size ? CPB_OK : cpb_buffer_reserve(buffer, 2 * size, keep, error);
}

static size_t *starts_of(const cpb_texts *texts) { return (size_t *)(void *)texts->starts.bytes; }

cpb_status cpb_texts_add(cpb_texts *texts, const char *text, size_t length, cpb_error *error) {
  size_t starts = texts->count * sizeof(size_t);
  cpb_status status = reserve(&texts->bytes, texts->used + length + 1, texts->used, error);
  if (status == CPB_OK) status = reserve(&texts->starts, starts + sizeof(size_t), starts, error);
  if (status != CPB_OK) return status;
  char *to = (char *)texts->bytes.bytes + texts->used;
  if (length != 0) memcpy(to, text, length);
  to[length] = 0;
  starts_of(texts)[texts->count++] = texts->used;
  texts->used += length + 1;
  return CPB_OK;
}

const char *cpb_texts_at(const cpb_texts *texts, uint64_t i) {
  return i < texts->count ? (const char *)texts->bytes.bytes + starts_of(texts)[i] : NULL;
}

size_t cpb_texts_find(const cpb_texts *texts, const char *text, size_t length) {
  size_t i = 0;
  for (; i < texts->count; i++) {
    const char *known = cpb_texts_at(texts, i);
    if (strlen(known) == length && memcmp(known, text, length) == 0) break;
  }
  return i;
}

void cpb_texts_clear(cpb_texts *texts) { texts->used = texts->count = 0; }

void cpb_texts_free(cpb_texts *texts) {
  cpb_buffer_free(&texts->bytes);
  cpb_buffer_free(&texts->starts);
  cpb_texts_clear(texts);
}

/* ---- texts of a reader ---- */

uint64_t cpb_reader_row(const cpb_reader *reader, uint64_t row) {
  const uint64_t *bad = (const uint64_t *)(const void *)reader->bad.bytes;
  size_t low = 0, high = reader->bad_count; /* bad rows before it: those with bad[j] - j <= row */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (bad[middle] - middle <= row)
      low = middle + 1;
    else
      high = middle;
  }
  return row + low;
}

const char *cpb_reader_id(const cpb_reader *reader, uint64_t row) {
  return cpb_texts_at(&reader->ids, cpb_reader_row(reader, row));
}

const char *cpb_reader_label(const cpb_reader *reader, uint64_t row) {
  return cpb_texts_at(&reader->labels, cpb_reader_row(reader, row));
}
