#include "put_text.h"

#include "src/base/printable.h"

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
