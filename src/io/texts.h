/* A list of texts that only grows: names of columns, ids of rows. */
#ifndef CPB_IO_TEXTS_H
#define CPB_IO_TEXTS_H

#include "io/buffer.h"

typedef struct cpb_texts {
  cpb_buffer bytes;  /* each ended by a 0 */
  cpb_buffer starts; /* size_t each */
  size_t used, count;
} cpb_texts;

cpb_status cpb_texts_add(cpb_texts *texts, const char *text, size_t length, cpb_error *error);
/* NULL from count on. Until the next text is added. */
const char *cpb_texts_at(const cpb_texts *texts, uint64_t i);
/* The place of a text; count where there is none. */
size_t cpb_texts_find(const cpb_texts *texts, const char *text, size_t length);
void cpb_texts_clear(cpb_texts *texts);
void cpb_texts_free(cpb_texts *texts);

#endif
