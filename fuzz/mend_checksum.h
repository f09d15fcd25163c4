/* A file whose only fault is its checksum is mended, so that a fuzzer gets behind it. */
#ifndef FUZZ_MEND_CHECKSUM_H
#define FUZZ_MEND_CHECKSUM_H

#include <string.h>

#include "capball/status.h"

/* The sentence "its numbers have checksum <16 digits>, but it says .." tells the right one. */
static inline int mend_checksum(char *text, const cpb_error *error) {
  static const char key[] = "\"checksum\": \"", words[] = "have checksum ";
  const char *right = strstr(error->text, words);
  char *stored = strstr(text, key);
  if (right == NULL || stored == NULL || strlen(stored) < sizeof key - 1 + 16) return 0;
  memcpy(stored + sizeof key - 1, right + sizeof words - 1, 16);
  return 1;
}

#endif
