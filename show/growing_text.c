#include "growing_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static ssize_t append(void *cookie, const char *bytes, size_t count) {
  show_text *text = cookie;
  if (text->length + count + 1 > text->room && !text->lost) {
    size_t room = 2 * (text->length + count + 1);
    char *larger = realloc(text->bytes, room);
    text->lost = larger == NULL;
    if (larger != NULL) text->bytes = larger, text->room = room;
  }
  if (text->lost) return 0;
  memcpy(text->bytes + text->length, bytes, count);
  text->length += count;
  text->bytes[text->length] = 0;
  return (ssize_t)count;
}

FILE *show_text_open(show_text *text) {
  *text = (show_text){.bytes = calloc(1, 1), .room = 1};
  FILE *to = text->bytes == NULL ? NULL : fopencookie(text, "w", (cookie_io_functions_t){.write = append});
  if (to == NULL) free(text->bytes);
  if (to == NULL) text->bytes = NULL;
  return to;
}

bool show_text_close(show_text *text, FILE *to) {
  bool failed = ferror(to) != 0;
  failed = fclose(to) != 0 || failed || text->lost;
  if (failed) free(text->bytes);
  if (failed) text->bytes = NULL;
  return !failed;
}
