#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/utf8.h"

/* Messages contain names and values from files and users. */
static void say(char *to, size_t size, const char *format, va_list arguments) {
  char said[sizeof((cpb_error *)NULL)->text];
  vsnprintf(said, sizeof said, format, arguments);
  cpb_printable_copy(to, size, said);
}

static void begin(cpb_error *error, cpb_reason reason, const char *argument) {
  error->status = cpb_status_of(reason);
  error->reason = reason;
  error->row = -1;
  error->about = 0;
  snprintf(error->argument, sizeof error->argument, "%s", argument);
}

cpb_status cpb_fail(cpb_error *error, cpb_reason reason, const char *argument, const char *format, ...) {
  if (error == NULL) return cpb_status_of(reason);
  va_list arguments;
  va_start(arguments, format);
  begin(error, reason, argument);
  say(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return error->status;
}

/* "x row 17 " followed by the predicate. */
static void say_of_row(cpb_error *error, const char *predicate) {
  error->about =
      (int32_t)snprintf(error->text, sizeof error->text, "%s row %" PRId64 " ", error->argument, error->row);
  snprintf(error->text + error->about, sizeof error->text - (size_t)error->about, "%s", predicate);
}

cpb_status cpb_fail_row(cpb_error *error, cpb_reason reason, const char *argument, uint64_t row,
                        const char *format, ...) {
  if (error == NULL) return cpb_status_of(reason);
  char predicate[sizeof error->text];
  va_list arguments;
  va_start(arguments, format);
  say(predicate, sizeof predicate, format, arguments);
  va_end(arguments);
  begin(error, reason, argument);
  error->row = (int64_t)row;
  say_of_row(error, predicate);
  return error->status;
}

cpb_status cpb_fail_later(cpb_error *error, uint64_t first) {
  if (error == NULL || error->row < 0) return error == NULL ? CPB_EROW : error->status;
  char predicate[sizeof error->text];
  memcpy(predicate, error->text + error->about, sizeof predicate - (size_t)error->about);
  error->row += (int64_t)first;
  if (error->about > 0) say_of_row(error, predicate);
  return error->status;
}

cpb_status cpb_fail_again(cpb_error *error, const cpb_error *inner) {
  if (error != NULL && error != inner) *error = *inner;
  return inner->status;
}

cpb_status cpb_fail_missing(cpb_error *error, const char *argument) {
  return cpb_fail(error, CPB_WHY_MISSING, argument, "%s must not be NULL", argument);
}

static cpb_status fail_claim(cpb_error *error, const char *argument, const char *claim, va_list arguments,
                             const char *value) {
  char said[sizeof error->text];
  vsnprintf(said, sizeof said - 64, claim, arguments);
  return cpb_fail(error, CPB_WHY_DOMAIN, argument, "%s, got %s", said, value);
}

cpb_status cpb_fail_domain(cpb_error *error, const char *argument, double value, const char *claim, ...) {
  char number[CPB_DIGITS_ROOM];
  va_list arguments;
  cpb_digits_f64(number, value);
  va_start(arguments, claim);
  cpb_status status = fail_claim(error, argument, claim, arguments, number);
  va_end(arguments);
  return status;
}

cpb_status cpb_fail_count(cpb_error *error, const char *argument, uint64_t value, const char *claim, ...) {
  char number[40];
  va_list arguments;
  snprintf(number, sizeof number, "%" PRIu64, value);
  va_start(arguments, claim);
  cpb_status status = fail_claim(error, argument, claim, arguments, number);
  va_end(arguments);
  return status;
}

cpb_status cpb_fail_choice(cpb_error *error, const char *argument, int value) {
  return cpb_fail(error, CPB_WHY_CHOICE, argument, "there is no %s %d", argument, value);
}

cpb_status cpb_fail_not_finite(cpb_error *error, const char *argument, const char *name) {
  return cpb_fail(error, CPB_WHY_NOT_FINITE, argument, "%s is not finite", name);
}

cpb_status cpb_fail_dimension(cpb_error *error, const char *argument, size_t d) {
  return cpb_fail(error, CPB_WHY_DIMENSION, argument, "a %s of dimension %zu is not possible", argument, d);
}

cpb_status cpb_fail_rows(cpb_error *error, const char *argument, size_t rows, size_t wanted) {
  return cpb_fail(error, CPB_WHY_ROWS, argument, "%s has %zu rows, wanted %zu", argument, rows, wanted);
}

cpb_status cpb_fail_no_columns(cpb_error *error, const char *argument) {
  return cpb_fail(error, CPB_WHY_COLUMNS, argument, "%s has 0 columns, wanted at least 1", argument);
}

cpb_status cpb_fail_memory(cpb_error *error, const char *what, ...) {
  char said[sizeof error->text];
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(said, sizeof said - 32, what, arguments);
  va_end(arguments);
  return cpb_fail(error, CPB_WHY_MEMORY, "", "no memory for %s", said);
}

cpb_status cpb_check_k(size_t k, uint64_t count, const char *argument, const char *things, cpb_error *error) {
  if (k == 0) return cpb_fail_count(error, "k", k, "k must be at least 1");
  if (k <= count) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NEIGHBOURS, argument,
                  "%zu neighbour%s asked for, more than the number of %s, %" PRIu64, k, k == 1 ? "" : "s",
                  things, count);
}

cpb_status cpb_check_scale(double s, cpb_error *error) {
  if (s > 0 && s < INFINITY) return CPB_OK;
  return cpb_fail_domain(error, "s", s, "scale s must be > 0 and finite");
}

const char *cpb_status_name(cpb_status status) {
  switch (status) {
  case CPB_OK: return "ok";
  case CPB_EINVAL: return "invalid value";
  case CPB_ESHAPE: return "shapes do not match";
  case CPB_EDTYPE: return "element type not supported";
  case CPB_EROW: return "a row has no result";
  case CPB_ENOMEM: return "out of memory";
  case CPB_EIO: return "input/output error";
  case CPB_EFORMAT: return "malformed file";
  case CPB_ESTOPPED: return "stopped by the caller";
  }
  return "unknown status";
}

#define TEXT_OF(number) #number
#define WITH_DOTS(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *cpb_version(void) { return WITH_DOTS(CPB_VERSION_MAJOR, CPB_VERSION_MINOR, CPB_VERSION_PATCH); }

void cpb_free(void *given) { free(given); }
