#include "sql_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sql_state(const cpb_error *error) {
  switch (error->reason) {
  case CPB_WHY_ROW_RANGE:
  case CPB_WHY_BEYOND_DOUBLE: return "22003"; /* numeric_value_out_of_range */
  case CPB_WHY_JSON_SYNTAX: return "22032";   /* invalid_json_text */
  default: break;
  }
  switch (error->status) {
  case CPB_ESHAPE: return "22000";   /* data_exception, as pgvector for vectors of different lengths */
  case CPB_EDTYPE: return "42804";   /* datatype_mismatch */
  case CPB_ENOMEM: return "53200";   /* out_of_memory */
  case CPB_EIO: return "58030";      /* io_error */
  case CPB_EFORMAT: return "22P02";  /* invalid_text_representation */
  case CPB_ESTOPPED: return "57014"; /* query_canceled */
  default: return "22023";           /* invalid_parameter_value */
  }
}

const char *sql_message(cpb_error *error) {
  static const char row[] = " row 0 ";
  char *at = strstr(error->text, row);
  if (error->row == 0 && at != NULL) memmove(at + 1, at + sizeof row - 1, strlen(at + sizeof row - 1) + 1);
  return error->text;
}

cpb_status sql_fail(cpb_error *error, cpb_reason reason, const char *format, ...) {
  va_list arguments;
  *error = (cpb_error){.status = (cpb_status)((int)reason / 1000), .reason = reason, .row = -1};
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return error->status;
}
