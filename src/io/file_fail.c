#define _POSIX_C_SOURCE 200809L
#include "io/file_fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/fail.h"

enum { SENTENCE = 320, PATH_SHOWN = 180 };

static const char *end_of_path(const char *path, const char **dots) {
  size_t length = strlen(path);
  *dots = length > PATH_SHOWN ? ".." : "";
  return length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
}

cpb_status cpb_file_fail(cpb_error *error, cpb_status status, const char *path, const char *format, ...) {
  char sentence[SENTENCE];
  const char *dots, *shown = end_of_path(path, &dots);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return cpb_fail(error, status, "%s%s: %s", dots, shown, sentence);
}

cpb_status cpb_file_fail_row(cpb_error *error, cpb_status status, const char *path, uint64_t row,
                             const char *format, ...) {
  char sentence[SENTENCE];
  const char *dots, *shown = end_of_path(path, &dots);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return cpb_fail_row(error, status, (size_t)row, "%s%s: %s", dots, shown, sentence);
}

cpb_status cpb_file_fail_errno(cpb_error *error, const char *path, const char *verb) {
  char reason[128];
  if (strerror_r(errno, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", errno);
  return cpb_file_fail(error, CPB_EIO, path, "cannot %s: %s", verb, reason);
}

cpb_status cpb_fail_memory(cpb_error *error, size_t bytes) {
  return cpb_fail(error, CPB_ENOMEM, "no memory for %zu bytes", bytes);
}
