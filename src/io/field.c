#define _POSIX_C_SOURCE 200809L
#include "io/field.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/number.h"

enum { SHORT_FIELD = 64 };

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && *p == ' ') p++;
  return p;
}

/* The position after the closing quote of the text at `p`, or the end. */
static const char *quote_end(const char *p, const char *end) {
  while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"'))) p += *p == '"' ? 2 : 1;
  return p < end ? p : end;
}

/* The next field after a separator of blanks, or NULL. */
static const char *after_blanks(const char *p, const char *end) {
  p = skip_blanks(p, end);
  return p == end ? NULL : p;
}

cpb_field cpb_field_take(const char **p, const char *end, char separator) {
  const char *begin = skip_blanks(*p, end), *stop = begin;
  cpb_field taken = {.text = begin, .quoted = begin < end && *begin == '"'};
  if (taken.quoted) {
    taken.text = begin + 1;
    stop = quote_end(taken.text, end);
    taken.closed = stop < end;
    taken.length = (size_t)(stop - taken.text);
    const char *quote = stop < end ? stop + 1 : stop;
    stop = separator == ' ' ? quote : skip_blanks(quote, end);
    taken.closed = taken.closed && (stop == end || *stop == separator);
  }
  const char *next = stop == end ? NULL : memchr(stop, separator, (size_t)(end - stop));
  if (!taken.quoted) taken.length = (size_t)((next == NULL ? end : next) - taken.text);
  *p = next == NULL ? NULL : separator == ' ' ? after_blanks(next, end) : next + 1;
  return taken;
}

bool cpb_field_unclosed(cpb_field f) { return f.quoted && !f.closed; }

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static cpb_field trim(cpb_field f) {
  while (f.length > 0 && is_blank(f.text[0])) f.text++, f.length--;
  while (f.length > 0 && is_blank(f.text[f.length - 1])) f.length--;
  return f;
}

static bool is_one_of(cpb_field f, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strlen(words[i]) == f.length && strncasecmp(words[i], f.text, f.length) == 0) return true;
  return false;
}

bool cpb_field_missing(cpb_field f) {
  static const char *const words[] = {"", "na", "n/a", "#n/a", "null", "none", "<na>", "nan", "-nan"};
  return !cpb_field_unclosed(f) && is_one_of(trim(f), words, sizeof words / sizeof *words);
}

static bool parse_comma(cpb_field f, double *value) {
  char copy[SHORT_FIELD];
  const char *comma = memchr(f.text, ',', f.length);
  if (comma == NULL || f.length >= sizeof copy || memchr(f.text, '.', f.length) != NULL) return false;
  memcpy(copy, f.text, f.length);
  copy[comma - f.text] = '.';
  return cpb_number_parse(copy, f.length, value);
}

static bool parse_truth(cpb_field f, double *value) {
  static const char *const yes = "true", *const no = "false";
  f = trim(f);
  *value = is_one_of(f, &yes, 1);
  return *value == 1 || is_one_of(f, &no, 1);
}

bool cpb_field_number(cpb_field f, cpb_field_style style, double *value) {
  if (cpb_field_unclosed(f)) return false;
  if (cpb_number_parse(f.text, f.length, value)) return true;
  if (style.decimal_comma && parse_comma(f, value)) return true;
  if (parse_truth(f, value)) return true;
  *value = NAN;
  return cpb_field_missing(f);
}

static bool is_control(unsigned char c) {
  return (c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

bool cpb_field_is_text(cpb_field f) {
  for (size_t i = 0; i < f.length; i++)
    if (is_control((unsigned char)f.text[i])) return false;
  return true;
}

bool cpb_field_is_name(cpb_field f, cpb_field_style style) {
  double value;
  return !cpb_field_unclosed(f) && cpb_field_is_text(f) && !cpb_field_number(f, style, &value);
}

bool cpb_field_is_refused_number(cpb_field f) {
  return !cpb_field_unclosed(f) && cpb_number_is_refused(f.text, f.length);
}

bool cpb_field_begins_like_a_number(cpb_field f) {
  f = trim(f);
  size_t i = 0;
  if (i < f.length && (f.text[i] == '+' || f.text[i] == '-')) i++;
  if (i < f.length && f.text[i] == '.') i++;
  return i < f.length && f.text[i] >= '0' && f.text[i] <= '9';
}

cpb_status cpb_field_keep(cpb_field f, cpb_texts *texts, cpb_error *error) {
  f = trim(f);
  cpb_status status = cpb_texts_add(texts, f.text, f.length, error);
  if (status != CPB_OK || !f.quoted || memchr(f.text, '"', f.length) == NULL) return status;
  size_t length = 0;
  char *kept = (char *)(uintptr_t)cpb_texts_at(texts, texts->count - 1);
  for (size_t i = 0; i < f.length; i++, length++) {
    kept[length] = f.text[i];
    if (f.text[i] == '"' && i + 1 < f.length && f.text[i + 1] == '"') i++;
  }
  kept[length] = 0;
  return CPB_OK;
}

/* ---- which separator ---- */

static bool has_outside_quotes(cpb_line line, char wanted) {
  bool quoted = false;
  for (size_t i = 0; i < line.length; i++) {
    if (line.text[i] == '"') quoted = !quoted;
    if (line.text[i] == wanted && !quoted) return true;
  }
  return false;
}

/* Words separated by blanks are one name, "body mass", unless they are numbers or each is quoted. */
static bool is_apart_by_blanks(cpb_line line, bool decimal_comma) {
  cpb_field_style style = {' ', decimal_comma};
  const char *p = line.text, *end = p + line.length;
  size_t fields = 0;
  for (; p != NULL; fields++) {
    cpb_field f = cpb_field_take(&p, end, ' ');
    double value;
    if (cpb_field_unclosed(f) || (!f.quoted && !cpb_field_number(f, style, &value))) return false;
  }
  return fields > 1;
}

/* A tab in a file is intentional; semicolons are used where numbers contain decimal commas. */
char cpb_field_separator(cpb_line first, char usual, bool decimal_comma) {
  if (has_outside_quotes(first, '\t')) return '\t';
  if (has_outside_quotes(first, ';')) return ';';
  if (!decimal_comma && has_outside_quotes(first, ',')) return ',';
  if (is_apart_by_blanks(first, decimal_comma)) return ' ';
  return decimal_comma && usual == ',' ? ';' : usual;
}
