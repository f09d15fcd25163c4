/* Splits an input into lines. */
#ifndef CPB_IO_LINES_H
#define CPB_IO_LINES_H

#include "io/buffer.h"
#include "io/input.h"

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
cpb_status cpb_lines_next(cpb_lines *lines, cpb_input *source, cpb_line *line, cpb_error *error);
void cpb_lines_free(cpb_lines *lines);

#endif
