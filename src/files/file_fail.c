#define _POSIX_C_SOURCE 200809L
#include "files/file_fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_text.h"
#include "base/system.h"
#include "base/utf8.h"

enum { SENTENCE = 320, PATH_SHOWN = 180 };

/* The last PATH_SHOWN bytes of a text, from the start of a character on. */
static const char *end_of(const char *text) {
  size_t length = strlen(text);
  if (length <= PATH_SHOWN) return text;
  const char *end = text + length - PATH_SHOWN;
  while ((*end & 0xc0) == 0x80) end++;
  return end;
}

/* "path: message"; a longer message is cut. */
static cpb_status fail_at(cpb_error *error, cpb_reason reason, const char *path, int64_t row,
                          const char *format, va_list arguments) {
  char sentence[SENTENCE], name[4 * PATH_SHOWN + 1];
  vsnprintf(sentence, sizeof sentence, format, arguments);
  cpb_printable_copy(name, sizeof name, end_of(path));
  bool cut = end_of(path) != path || end_of(name) != name;
  cpb_status status = cpb_fail(error, reason, "path", "%s%s: %s", cut ? ".." : "", end_of(name), sentence);
  if (error != NULL) error->row = row;
  return status;
}

cpb_status cpb_file_fail(cpb_error *error, cpb_reason reason, const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  cpb_status status = fail_at(error, reason, path, -1, format, arguments);
  va_end(arguments);
  return status;
}

bool cpb_refuse(const cpb_file_call *of, cpb_reason reason, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_at(of->error, reason, of->path, -1, format, arguments);
  va_end(arguments);
  return false;
}

bool cpb_refuse_row(const cpb_file_call *of, uint64_t row, cpb_reason reason, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fail_at(of->error, reason, of->path, (int64_t)row, format, arguments);
  va_end(arguments);
  return false;
}

cpb_status cpb_file_fail_errno(cpb_error *error, const char *path, const char *verb) {
  char said[128];
  cpb_sys_error_text(errno, said, sizeof said);
  return cpb_file_fail(error, CPB_WHY_SYSTEM, path, "cannot %s: %s", verb, said);
}

bool cpb_refuse_errno(const cpb_file_call *of, const char *verb) {
  return cpb_file_fail_errno(of->error, of->path, verb) == CPB_OK;
}
