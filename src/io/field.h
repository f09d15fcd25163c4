/* Fields of a line of text: RFC 4180 with any separator, numbers and missing values. */
#ifndef CPB_IO_FIELD_H
#define CPB_IO_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/file.h"
#include "io/input.h"

/* ---- Splits an input into lines. ---- */

/* The longest line accepted, in bytes: the widest row has 2^24 numbers of less than 32 characters. */
enum { CPB_LINE_MAX = 1 << 29 };

typedef struct cpb_lines {
  cpb_buffer buffer;
  size_t begin, scanned, end; /* unprocessed bytes of the buffer */
  bool finished;              /* the source is at its end */
  bool quotes;                /* a line end between double quotes does not end a line (RFC 4180) */
  uint64_t number, next;      /* number of the last line returned, counted from 1, and of the next */
} cpb_lines;

typedef struct cpb_line {
  const char *text; /* valid until the next call; NULL after the last line */
  size_t length;    /* without the line end, LF or CRLF */
} cpb_line;

void cpb_lines_start(cpb_lines *lines, bool quotes);

/* The next line that is not blank. */
bool cpb_lines_next(cpb_lines *lines, cpb_input *source, cpb_line *line);

/* ---- An append-only list of strings: names of columns, ids of rows. ---- */

typedef struct cpb_texts {
  cpb_buffer bytes;  /* each 0-terminated */
  cpb_buffer starts; /* size_t each */
  size_t used, count;
} cpb_texts;

bool cpb_texts_add(cpb_texts *texts, const char *text, size_t length, cpb_error *error);

/* Adds "" before all others. */
bool cpb_texts_add_first(cpb_texts *texts, cpb_error *error);

/* NULL for i >= count. Valid until the next string is added. */
const char *cpb_texts_at(const cpb_texts *texts, uint64_t i);
void cpb_texts_clear(cpb_texts *texts);
void cpb_texts_free(cpb_texts *texts);

/* ---- Which columns of a file are read, and how they are used. ---- */

/* The place of a file's column in a row, or one of these. */
#define CPB_COLUMN_UNUSED SIZE_MAX
#define CPB_COLUMN_ID (SIZE_MAX - 1)
#define CPB_COLUMN_LABEL (SIZE_MAX - 2)

typedef struct cpb_columns {
  size_t *place; /* of each column of the file */
  size_t in_file, taken;
  bool ids, labels;
} cpb_columns;

/* Chooses as the options say: "a,b,3-7" is a list of names, or numbers from 1.
 * first_is_id  the first column contains ids
 * names        of the file's columns; NULL or empty: none
 * EFORMAT if a list names a column that does not exist, or if no column remains. Free it in any case. */
bool cpb_columns_choose(cpb_columns *columns, const cpb_reader_options *options, bool first_is_id,
                        const cpb_file_call *of, const cpb_texts *names, size_t in_file);

/* Restricts the columns taken to those with these names, in this order; `names` are those of the whole file. */
bool cpb_columns_select(cpb_columns *columns, const char *const *wanted, size_t count,
                        const cpb_file_call *of, const cpb_texts *names);
void cpb_columns_free(cpb_columns *columns);

static inline bool cpb_columns_are_chosen(const cpb_reader_options *o) {
  return o->columns != NULL || o->drop != NULL || o->id_column != NULL || o->label_column != NULL;
}

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
bool cpb_field_keep(cpb_field f, cpb_texts *texts, cpb_error *error);

/* The separator detected from the first line of a file, or `usual` if it does not show one. */
char cpb_field_separator(cpb_line first, char usual, bool decimal_comma);

#endif
