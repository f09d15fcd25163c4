/* Lines of text, lists of strings, and which columns of a file are read. */
#ifndef CPB_FILES_LINES_H
#define CPB_FILES_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/file.h"
#include "files/input.h"

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
void cpb_texts_free(cpb_texts *texts);

/* ---- Which columns of a file are read, and how they are used. ---- */

/* The place of a file's column in a row, or one of these. */
#define CPB_COLUMN_UNUSED SIZE_MAX
#define CPB_COLUMN_ID (SIZE_MAX - 1)
#define CPB_COLUMN_LABEL (SIZE_MAX - 2)

typedef struct cpb_columns {
  size_t *place; /* of each column of the file, and as many for other uses */
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

#endif
