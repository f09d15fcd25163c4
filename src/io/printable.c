#include "io/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the character at p if it is valid UTF-8 (shortest form, no surrogate) and no control
 * character of ASCII or Latin-1; else 0. */
static size_t shown_length(const unsigned char *p) {
  if (p[0] < 0x80) return p[0] >= 0x20 && p[0] != 0x7f;
  size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
  if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
  uint32_t code = p[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0; /* the 0 at the end of the text, too */
    code = code << 6 | (p[i] & 0x3fu);
  }
  return code >= least[length] && code <= 0x10ffff && (code & ~0x7ffu) != 0xd800 ? length : 0;
}

void cpb_printable(char *to, size_t size, const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  size_t used = 0;
  while (*p != 0) {
    size_t length = shown_length(p), room = length == 0 ? 4 : length;
    if (used + room >= size) break;
    if (length == 0)
      snprintf(to + used, 5, "\\x%02x", *p);
    else
      memcpy(to + used, p, length);
    used += room;
    p += length == 0 ? 1 : length;
  }
  to[used] = 0;
}
