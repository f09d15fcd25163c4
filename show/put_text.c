#include "put_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/system_file.h"
#include "src/base/utf8.h"

void *show_alloc(size_t count, size_t size) {
  void *memory = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
  if (memory == NULL) {
    fprintf(stderr, "capball: no memory for %zu x %zu bytes\n", count, size);
    exit(1);
  }
  return memory;
}

int show_put_text(FILE *to, const char *text) {
  char piece[CPB_PIECE_ROOM];
  int shown = 0;
  for (size_t length; (length = cpb_printable_next(&text, piece)) > 0;) {
    if (to != NULL) fputs(piece, to);
    shown += piece[0] == '\\' ? (int)length : 1; /* \xNN is ASCII, any other piece is one character */
  }
  return shown;
}

void show_put_html(FILE *to, const char *text) {
  char piece[CPB_PIECE_ROOM];
  while (cpb_printable_next(&text, piece) > 0) {
    switch (*piece) {
    case '<': fputs("&lt;", to); break;
    case '>': fputs("&gt;", to); break;
    case '&': fputs("&amp;", to); break;
    case '"': fputs("&quot;", to); break;
    default: fputs(piece, to);
    }
  }
}

static size_t append(void *cookie, const char *bytes, size_t count) {
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
  return count;
}

FILE *show_text_open(show_text *text) {
  *text = (show_text){.bytes = calloc(1, 1), .room = 1};
  FILE *to = text->bytes == NULL ? NULL : cpb_sys_stream_open(append, text);
  if (to == NULL) free(text->bytes);
  if (to == NULL) text->bytes = NULL;
  return to;
}

bool show_text_close(show_text *text, FILE *to) {
  bool failed = !cpb_sys_stream_close(to, append, text) || text->lost;
  if (failed) free(text->bytes);
  if (failed) text->bytes = NULL;
  return !failed;
}
