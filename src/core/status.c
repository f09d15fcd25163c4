#include <math.h>
#include <stdarg.h>
#include <stdio.h>

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
  }
  return "unknown status";
}

const char *cpb_version(void) { return CPB_VERSION; }

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
