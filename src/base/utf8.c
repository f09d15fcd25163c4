#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t cpb_utf8_length(const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  size_t length = *p < 0x80                 ? 1
                  : *p >= 0xc2 && *p < 0xe0 ? 2
                  : (*p & 0xf0) == 0xe0     ? 3
                  : *p >= 0xf0 && *p < 0xf5 ? 4
                                            : 0;
  for (size_t i = 1; i < length; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  bool longer = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
  bool outside = (*p == 0xed && p[1] > 0x9f) || (*p == 0xf4 && p[1] > 0x8f);
  return longer || outside ? 0 : length;
}

bool cpb_is_utf8(const char *text) {
  for (size_t length; *text != 0; text += length)
    if ((length = cpb_utf8_length(text)) == 0) return false;
  return true;
}

uint32_t cpb_utf8_code(const char *text, size_t length) {
  const unsigned char *p = (const unsigned char *)text;
  uint32_t code = length == 1 ? *p : *p & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) code = code << 6 | (p[i] & 0x3fu);
  return code;
}

size_t cpb_utf8_put(char *to, uint32_t code) {
  if (code < 0x80) {
    to[0] = (char)code;
    return 1;
  }
  size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  to[0] = (char)(lead[more] | code >> 6 * more);
  for (size_t i = 1; i <= more; i++) to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
  return more + 1;
}

/* The five bytes without a character are control characters, as in browsers. */
static uint32_t windows_1252(unsigned char byte) {
  static const uint16_t codes[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                     0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                     0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                     0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
  return byte < 0x80 || byte >= 0xa0 ? byte : codes[byte - 0x80];
}

size_t cpb_utf8_decode(char *to, const char *text) {
  bool utf8 = cpb_is_utf8(text);
  size_t used = 0;
  for (; *text != 0; text++) {
    char piece[4] = {*text};
    size_t length = utf8 ? 1 : cpb_utf8_put(piece, windows_1252((unsigned char)*text));
    for (size_t i = 0; to != NULL && i < length; i++) to[used + i] = piece[i];
    used += length;
  }
  if (to != NULL) to[used] = 0;
  return used;
}

char *cpb_utf8_copy(const char *text) {
  char *copy = malloc(cpb_utf8_decode(NULL, text) + 1);
  if (copy != NULL) cpb_utf8_decode(copy, text);
  return copy;
}

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
