#include <string.h>

#include "cli.h"
#include "src/base/json_text.h"

/* Control characters of ASCII, and those of Latin-1 in UTF-8 (C2 80 .. C2 9F). */
static bool commands_terminal(const unsigned char *p) {
  return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
}

void cli_print_plain(FILE *to, const char *text) {
  bool checked = cpb_is_utf8(text);
  for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
    if (!commands_terminal(p) && (*p < 0x80 || checked))
      putc(*p, to);
    else
      fprintf(to, "\\x%02x", *p);
    /* The second byte of such a pair is escaped too. */
    if (checked && *p == 0xc2 && p[1] < 0xa0) fprintf(to, "\\x%02x", *++p);
  }
}

const char *cli_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }
