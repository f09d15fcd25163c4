#include <string.h>

#include "cli.h"

/* Control characters of ASCII, and those of Latin-1 in UTF-8 (C2 80 .. C2 9F). */
static bool commands_terminal(const unsigned char *p) {
  return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
}

/* Bytes of the character that begins here, 0 when it is none: RFC 3629, without surrogates and longer forms. */
static size_t character_length(const unsigned char *p) {
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

bool cli_is_utf8(const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  while (*p != 0) {
    size_t length = character_length(p);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

void cli_print_plain(FILE *to, const char *text) {
  bool checked = cli_is_utf8(text);
  for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
    if (!commands_terminal(p) && (*p < 0x80 || checked))
      putc(*p, to);
    else
      fprintf(to, "\\x%02x", *p);
    /* The second byte of such a pair goes the same way. */
    if (checked && *p == 0xc2 && p[1] < 0xa0) fprintf(to, "\\x%02x", *++p);
  }
}

const char *cli_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }
