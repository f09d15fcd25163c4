/* Fields of a line of text: RFC 4180 with any separator, numbers and missing values. */
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

/* How fields are separated and numbers are written. */
typedef struct cpb_field_style {
  char separator; /* ' ' stands for any number of blanks */
  bool decimal_comma;
} cpb_field_style;

/* Reads the field at *p and advances past its separator; *p = NULL after the last field. */
cpb_field cpb_field_take(const char **p, const char *end, char separator);

/* Whether a quote is not closed before the separator. */
bool cpb_field_unclosed(cpb_field f);

/* Only blanks, or a word for a missing value: NA, N/A, null, None, <NA>. */
bool cpb_field_missing(cpb_field f);

/* A number that fits a double (NaN if missing; true and false are 1 and 0); false for anything else. */
bool cpb_field_number(cpb_field f, cpb_field_style style, double *value);

/* Whether it contains only text, no binary bytes. */
bool cpb_field_is_text(cpb_field f);

/* Whether it can be a column name: text, neither a number nor missing. */
bool cpb_field_is_name(cpb_field f, cpb_field_style style);

/* A number that is rejected, such as 1e999 or 0x1.8p3: a line with one is not a header. */
bool cpb_field_is_refused_number(cpb_field f);

/* "1;2;3" in a .csv: numbers, but not in the format of this file. */
bool cpb_field_begins_like_a_number(cpb_field f);

/* Adds the field, with surrounding blanks removed and doubled quotes as one. */
cpb_status cpb_field_keep(cpb_field f, cpb_texts *texts, cpb_error *error);

/* The separator detected from the first line of a file, or `usual` if it does not show one. */
char cpb_field_separator(cpb_line first, char usual, bool decimal_comma);

#endif
