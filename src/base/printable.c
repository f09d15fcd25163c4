#include "base/printable.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

bool cpb_is_printable(uint32_t code) {
  bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool mark = code == 0x61c || code == 0x200e || code == 0x200f;
  return !control && !mark && !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

size_t cpb_printable_next(const char **text, char piece[CPB_PIECE_ROOM]) {
  const char *p = *text;
  size_t length = *p == 0 ? 0 : cpb_utf8_length(p), bytes = *p != 0 && length == 0 ? 1 : length, used = 0;
  *text += bytes;
  if (length > 0 && cpb_is_printable(cpb_utf8_code(p, length)))
    memcpy(piece, p, used = length);
  else
    for (size_t i = 0; i < bytes; i++) used += (size_t)sprintf(piece + used, "\\x%02x", (unsigned char)p[i]);
  piece[used] = 0;
  return used;
}

void cpb_printable_copy(char *to, size_t size, const char *text) {
  char piece[CPB_PIECE_ROOM];
  size_t used = 0;
  for (size_t length; (length = cpb_printable_next(&text, piece)) > 0 && used + length < size; used += length)
    memcpy(to + used, piece, length);
  to[used] = 0;
}
