#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"

const char *cpb_status_name(cpb_status status) {
  switch (status) {
  case CPB_OK: return "ok";
  case CPB_EINVAL: return "invalid value";
  case CPB_ESHAPE: return "shapes do not fit";
  case CPB_EDTYPE: return "element type not taken";
  case CPB_EROW: return "a row without an answer";
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

int cpb_version_number(void) { return CPB_VERSION_NUMBER; }

void cpb_free(void *given) { free(given); }

static void write_error(cpb_error *error, int64_t row, const char *format, va_list arguments) {
  if (error == NULL) return;
  error->row = row;
  vsnprintf(error->text, sizeof error->text, format, arguments);
}

cpb_status cpb_fail(cpb_error *error, cpb_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_error(error, -1, format, arguments);
  va_end(arguments);
  return status;
}

cpb_status cpb_fail_row(cpb_error *error, cpb_status status, size_t row, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_error(error, (int64_t)row, format, arguments);
  va_end(arguments);
  return status;
}

cpb_status cpb_check_scale(double s, cpb_error *error) {
  if (s > 0 && s < INFINITY) return CPB_OK;
  return cpb_fail(error, CPB_EINVAL, "scale s must be > 0 and finite, got %.17g", s);
}
