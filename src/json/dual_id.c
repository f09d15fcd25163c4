/* Ids are copied as text: as numbers they would be rounded, or might exceed 64 bits. */
#include <stdlib.h>
#include <string.h>

#include "json/dual_line.h"
#include "json/json_read.h"

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && strchr(" \t\r\n", *p) != NULL && *p != 0) p++;
  return p;
}

/* The position after the closing quote of the string that begins at p, or end. */
static const char *skip_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p + 1 : end;
}

/* The position after the value at p: brackets are counted, not checked. */
static const char *skip_value(const char *p, const char *end) {
  for (size_t depth = 0; p < end;) {
    if (depth == 0 && strchr(",}] \t\r\n", *p) != NULL) break;
    if (*p == '"') {
      p = skip_string(p, end);
      if (depth == 0) break;
      continue;
    }
    depth += *p == '{' || *p == '[';
    bool closes = *p == '}' || *p == ']';
    depth -= closes;
    p++;
    if (closes && depth == 0) break;
  }
  return p;
}

/* ENOMEM does not mean that the text is invalid. */
static cpb_status check_value(const char *text, size_t length) {
  cpb_json_fault fault;
  free(cpb_json_value(text, length, CPB_JSON_ANY | CPB_JSON_AS_REALS | CPB_JSON_LOOK, &fault));
  return fault.why == NULL ? CPB_OK : fault.no_memory ? CPB_ENOMEM : CPB_EFORMAT;
}

/* The value of the first "id" of the outermost object; false if the text is not such an object. */
static bool find_id(char *line, size_t length, char **begin, char **behind) {
  const char *end = line + length, *p = skip_blanks(line, end);
  if (p == end || *p != '{') return false;
  do {
    const char *key = skip_blanks(p + 1, end);
    if (key == end || *key != '"') return false;
    p = skip_string(key, end);
    bool found = p - key == 4 && memcmp(key, "\"id\"", 4) == 0;
    p = skip_blanks(p, end);
    if (p == end || *p != ':') return false;
    const char *value = skip_blanks(p + 1, end);
    p = skip_value(value, end);
    if (found) {
      *begin = line + (value - line);
      *behind = line + (p - line);
      return true;
    }
    p = skip_blanks(p, end);
  } while (p < end && *p == ',');
  return false;
}

cpb_status dual_id_take(dual_id *id, char *line, size_t length) {
  char *begin, *behind;
  id->text = NULL;
  if (!find_id(line, length, &begin, &behind)) return CPB_OK;
  size_t size = (size_t)(behind - begin);
  cpb_status status = check_value(begin, size);
  if (status != CPB_OK) return status;
  id->text = calloc(size + 1, 1);
  if (id->text == NULL) return CPB_ENOMEM;
  memcpy(id->text, begin, size);
  memset(begin, ' ', size);
  *begin = '0'; /* any value of sufficiently small size */
  return CPB_OK;
}
