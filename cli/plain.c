#include <jansson.h>
#include <string.h>

#include "cli.h"

/* Control characters of ASCII, and those of Latin-1 in UTF-8 (C2 80 .. C2 9F). */
static bool commands_terminal(const unsigned char *p) {
  return *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0);
}

void cli_print_plain(FILE *to, const char *text) {
  json_t *checked = json_string(text); /* NULL: not UTF-8 */
  for (const unsigned char *p = (const unsigned char *)text; *p != 0; p++) {
    if (!commands_terminal(p) && (*p < 0x80 || checked != NULL))
      putc(*p, to);
    else
      fprintf(to, "\\x%02x", *p);
    /* The second byte of such a pair goes the same way. */
    if (checked != NULL && *p == 0xc2 && p[1] < 0xa0) fprintf(to, "\\x%02x", *++p);
  }
  json_decref(checked);
}

const char *cli_name(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }
