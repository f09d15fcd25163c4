/* Fields of a line of text: RFC 4180 with any separator, numbers and cells without one. */
#ifndef CPB_IO_FIELD_H
#define CPB_IO_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "io/lines.h"
#include "io/texts.h"

typedef struct cpb_field {
  const char *text;
  size_t length;
  bool quoted, closed; /* closed: nothing but blanks between the closing quote and the separator */
} cpb_field;

/* How fields are set apart and written. */
typedef struct cpb_field_style {
  char separator; /* ' ' stands for any number of blanks */
  bool decimal_comma;
} cpb_field_style;

/* Takes the field at *p and steps behind its separator; *p = NULL after the last field. */
cpb_field cpb_field_take(const char **p, const char *end, char separator);

/* A quote is not closed before the separator. */
bool cpb_field_unclosed(cpb_field f);

/* Blanks and nothing else, or a word for "there is no number": NA, N/A, null, None, <NA>. */
bool cpb_field_missing(cpb_field f);

/* A number that a double holds (NaN where it is missing; true and false are 1 and 0); false for anything
 * else. */
bool cpb_field_number(cpb_field f, cpb_field_style style, double *value);

/* No bytes that are no text. */
bool cpb_field_is_text(cpb_field f);

/* What could stand in a header: text, neither a number nor missing. */
bool cpb_field_is_name(cpb_field f, cpb_field_style style);

/* A number that is not read, 1e999 or 0x1.8p3: a line with one is no header. */
bool cpb_field_is_refused_number(cpb_field f);

/* "1;2;3" in a .csv: numbers, but not as this file should have them. */
bool cpb_field_begins_like_a_number(cpb_field f);

/* Adds it without blanks around it, doubled quotes as one. */
cpb_status cpb_field_keep(cpb_field f, cpb_texts *texts, cpb_error *error);

/* The separator that the first line of a file tells of, `usual` where it tells of none. */
char cpb_field_separator(cpb_line first, char usual, bool decimal_comma);

#endif
