/* An append-only list of strings: names of columns, ids of rows. */
#ifndef CPB_IO_TEXTS_H
#define CPB_IO_TEXTS_H

#include "io/buffer.h"

typedef struct cpb_texts {
  cpb_buffer bytes;  /* each 0-terminated */
  cpb_buffer starts; /* size_t each */
  size_t used, count;
} cpb_texts;

cpb_status cpb_texts_add(cpb_texts *texts, const char *text, size_t length, cpb_error *error);
/* NULL for i >= count. Valid until the next string is added. */
const char *cpb_texts_at(const cpb_texts *texts, uint64_t i);
/* The index of a string; count if it is not in the list. */
size_t cpb_texts_find(const cpb_texts *texts, const char *text, size_t length);
void cpb_texts_clear(cpb_texts *texts);
void cpb_texts_free(cpb_texts *texts);

#endif
