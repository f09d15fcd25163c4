/* .csv .tsv: RFC 4180, with commas or tabs. The first line is a header when all of its fields are names:
 * neither numbers nor empty. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"
#include "io/format.h"
#include "io/lines.h"
#include "io/number.h"

typedef struct text_state {
  cpb_lines lines;
  cpb_line first; /* row 0, read to see how many columns there are, and not given out yet */
} text_state;

typedef struct field {
  const char *text;
  size_t length;
  bool quoted, closed; /* closed: nothing but blanks between the closing quote and the separator */
} field;

/* Takes the field at *p and steps behind its separator; *p = NULL after the last field. */
static field take_field(const char **p, const char *end, char separator) {
  const char *begin = *p;
  while (begin < end && *begin == ' ') begin++;
  field taken = {.text = begin, .quoted = begin < end && *begin == '"'};
  const char *stop = begin;
  if (taken.quoted) {
    taken.text = ++stop;
    while (stop < end && (*stop != '"' || (stop + 1 < end && stop[1] == '"'))) stop += *stop == '"' ? 2 : 1;
    taken.closed = stop < end;
    taken.length = (size_t)(stop - taken.text);
    if (stop < end) stop++;
    while (stop < end && *stop == ' ') stop++;
    taken.closed = taken.closed && (stop == end || *stop == separator);
  }
  const char *next = stop == end ? NULL : memchr(stop, separator, (size_t)(end - stop));
  if (!taken.quoted) taken.length = (size_t)((next == NULL ? end : next) - taken.text);
  *p = next == NULL ? NULL : next + 1;
  return taken;
}

static bool unclosed(field f) { return f.quoted && !f.closed; }

static bool is_number(field f) {
  double value;
  return !unclosed(f) && cpb_number_parse(f.text, f.length, &value);
}

static bool is_control(unsigned char c) {
  return (c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

static bool is_text(field f) {
  for (size_t i = 0; i < f.length; i++)
    if (is_control((unsigned char)f.text[i])) return false;
  return true;
}

static size_t count_blanks(field f) {
  size_t blanks = 0;
  while (blanks < f.length && f.text[blanks] != 0 && strchr(" \t\r", f.text[blanks]) != NULL) blanks++;
  return blanks;
}

static bool is_name(field f) {
  return !unclosed(f) && count_blanks(f) < f.length && is_text(f) && !is_number(f);
}

/* "1;2;3" in a .csv: numbers, but not as this file should have them. */
static bool begins_like_a_number(field f) {
  size_t i = count_blanks(f);
  if (i < f.length && (f.text[i] == '+' || f.text[i] == '-')) i++;
  if (i < f.length && f.text[i] == '.') i++;
  return i < f.length && f.text[i] >= '0' && f.text[i] <= '9';
}

typedef struct census {
  uint64_t fields, numbers, names, like_numbers;
} census;

static census count_fields(cpb_line line, char separator) {
  const char *p = line.text, *end = line.text + line.length;
  census count = {0};
  for (; p != NULL; count.fields++) {
    field f = take_field(&p, end, separator);
    count.numbers += is_number(f);
    count.names += is_name(f);
    count.like_numbers += begins_like_a_number(f);
  }
  return count;
}

static cpb_status refuse_field(const cpb_reader *reader, uint64_t row, size_t column, field f,
                               const char *rest, cpb_error *error) {
  const text_state *state = reader->state;
  unsigned long long line = state->lines.number;
  if (unclosed(f))
    return cpb_file_fail_row(error, CPB_WHY_TEXT_QUOTE, reader->source.path, row,
                             "line %llu, column %zu: a quote is not closed before the separator", line,
                             column + 1);
  if (rest[0] != 0 && !is_text(f)) /* of what might have been a header */
    return cpb_file_fail_row(error, CPB_WHY_TEXT_BINARY, reader->source.path, row,
                             "line %llu, column %zu: \"%.*s\" is binary, not text", line, column + 1,
                             (int)(f.length < 40 ? f.length : 40), f.text);
  return cpb_file_fail_row(error, CPB_WHY_TEXT_NUMBER, reader->source.path, row,
                           "line %llu, column %zu: \"%.*s\" is not a number that a double holds%s", line,
                           column + 1, (int)(f.length < 40 ? f.length : 40), f.text, rest);
}

static cpb_status parse_line(const cpb_reader *reader, cpb_line line, uint64_t row, double *numbers,
                             cpb_error *error) {
  const text_state *state = reader->state;
  char separator = (char)reader->format->variant;
  const char *p = line.text, *end = line.text + line.length;
  size_t column = 0;
  for (; p != NULL && column < reader->cols; column++) {
    field f = take_field(&p, end, separator);
    if (unclosed(f) || !cpb_number_parse(f.text, f.length, numbers + column))
      return refuse_field(reader, row, column, f, "", error);
  }
  if (p == NULL && column == reader->cols) return CPB_OK;
  uint64_t fields = count_fields(line, separator).fields;
  return cpb_file_fail_row(error, CPB_WHY_TEXT_FIELDS, reader->source.path, row,
                           "line %llu has %llu field%s, the first line has %zu",
                           (unsigned long long)state->lines.number, (unsigned long long)fields,
                           fields == 1 ? "" : "s", reader->cols);
}

/* Blames the first field that is no number, or, where there are only names, the first that is none. */
static cpb_status refuse_row_0(const cpb_reader *reader, bool numbers, cpb_error *error) {
  const text_state *state = reader->state;
  const char *p = state->first.text, *end = p + state->first.length;
  size_t column = 0;
  field f = take_field(&p, end, (char)reader->format->variant);
  for (; numbers ? is_number(f) : is_name(f); column++)
    f = take_field(&p, end, (char)reader->format->variant);
  return refuse_field(reader, 0, column, f, ", and a header has only names", error);
}

/* Row 0 behind a header. Names alone are a table without rows, unless they look like a row that this format
 * does not have: then the separator is another one, or there is a slip in each number. */
static cpb_status take_first_row(cpb_reader *reader, census header, cpb_error *error) {
  text_state *state = reader->state;
  cpb_status status = cpb_lines_next(&state->lines, &reader->source, &state->first, error);
  if (status != CPB_OK || state->first.text != NULL) return status;
  reader->rows = 0;
  if (header.like_numbers == 0) return CPB_OK;
  return cpb_file_fail(
      error, CPB_WHY_TEXT_SEPARATOR, reader->source.path,
      "its only line begins like numbers, but is no row of %s: is the separator another one?",
      reader->format->name);
}

static void skip_byte_order_mark(cpb_line *line) {
  if (line->length < 3 || memcmp(line->text, "\xef\xbb\xbf", 3) != 0) return;
  line->text += 3;
  line->length -= 3;
}

/* The first line is row 0 unless it is a header, which only counts the columns. A row 0 with a slip in it
 * must not pass for a header: its numbers would be lost without a word. */
static cpb_status start(cpb_reader *reader, cpb_error *error) {
  text_state *state = reader->state;
  cpb_lines_start(&state->lines, true);
  cpb_status status = cpb_lines_next(&state->lines, &reader->source, &state->first, error);
  if (status != CPB_OK) return status;
  if (state->first.text == NULL)
    return cpb_file_fail(error, CPB_WHY_TEXT_EMPTY, reader->source.path,
                         "is empty: without a line there is no d");
  skip_byte_order_mark(&state->first);
  census count = count_fields(state->first, (char)reader->format->variant);
  if (count.fields > CPB_COLS_MAX)
    return cpb_file_fail(error, CPB_WHY_TEXT_WIDTH, reader->source.path,
                         "line 1 has %llu fields, at most %d are read", (unsigned long long)count.fields,
                         CPB_COLS_MAX);
  reader->cols = (size_t)count.fields;
  if (count.names == count.fields) return take_first_row(reader, count, error);
  return count.numbers == count.fields ? CPB_OK : refuse_row_0(reader, count.numbers > 0, error);
}

static cpb_status text_rewind(cpb_reader *reader, cpb_error *error) {
  cpb_numeric numeric;
  cpb_status status = cpb_numeric_enter(&numeric, error);
  if (status != CPB_OK) return status;
  status = start(reader, error);
  cpb_numeric_leave(&numeric);
  return status;
}

static cpb_status text_open(cpb_reader *reader, cpb_error *error) {
  reader->state = calloc(1, sizeof(text_state));
  if (reader->state == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof(text_state));
  reader->dtype = CPB_F64;
  return text_rewind(reader, error);
}

static void text_close(cpb_reader *reader) {
  text_state *state = reader->state;
  if (state != NULL) cpb_lines_free(&state->lines);
  free(state);
}

static cpb_status take_row(cpb_reader *reader, cpb_line *line, cpb_error *error) {
  text_state *state = reader->state;
  *line = state->first;
  state->first = (cpb_line){NULL, 0};
  return line->text != NULL ? CPB_OK : cpb_lines_next(&state->lines, &reader->source, line, error);
}

static cpb_status read_rows(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  size_t rows = 0, row_bytes = reader->cols * sizeof(double);
  for (; rows < max_rows; rows++) {
    cpb_line line;
    cpb_status status = take_row(reader, &line, error);
    if (status != CPB_OK) return status;
    if (line.text == NULL) break;
    size_t size = cpb_size_muladd(rows + 1, row_bytes, 0);
    if (size > reader->buffer.size)
      status =
          cpb_buffer_reserve(&reader->buffer, size > SIZE_MAX / 2 ? size : 2 * size, rows * row_bytes, error);
    double *numbers = (double *)(void *)(reader->buffer.bytes + rows * row_bytes);
    if (status == CPB_OK) status = parse_line(reader, line, reader->next_row + rows, numbers, error);
    if (status != CPB_OK) return status;
  }
  if (rows < max_rows) reader->rows = reader->next_row + rows;
  *block = cpb_rows(reader->buffer.bytes, CPB_F64, rows, reader->cols);
  return CPB_OK;
}

static cpb_status text_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  cpb_numeric numeric;
  cpb_status status = cpb_numeric_enter(&numeric, error);
  if (status != CPB_OK) return status;
  status = read_rows(reader, max_rows, block, error);
  cpb_numeric_leave(&numeric);
  return status;
}

static cpb_status print_row(cpb_writer *writer, cpb_error *error) {
  for (size_t j = 0; j < writer->cols; j++) {
    cpb_status status = cpb_writer_room(writer, CPB_NUMBER_ROOM + 1, error);
    if (status != CPB_OK) return status;
    char *to = (char *)writer->buffer.bytes + writer->used;
    size_t length = cpb_number_print(to, writer->row.bytes, writer->dtype, j);
    to[length] = j + 1 == writer->cols ? '\n' : (char)writer->format->variant;
    writer->used += length + 1;
  }
  return CPB_OK;
}

static cpb_status text_append(cpb_writer *writer, cpb_view block, cpb_error *error) {
  cpb_numeric numeric;
  cpb_status status = cpb_numeric_enter(&numeric, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < block.rows && status == CPB_OK; i++) {
    status = cpb_writer_row(writer, block, i, error);
    if (status == CPB_OK) status = print_row(writer, error);
  }
  cpb_numeric_leave(&numeric);
  return status;
}

#define TEXT(word, words, separator)                                                                         \
  {                                                                                                          \
    .name = word, .extensions = words, .variant = separator, .dtypes = ~0u, .streams_in = true,              \
    .streams_out = true, .open = text_open, .next = text_next, .rewind = text_rewind, .close = text_close,   \
    .append = text_append                                                                                    \
  }
const cpb_format cpb_format_csv = TEXT("csv", ".csv", ',');
const cpb_format cpb_format_tsv = TEXT("tsv", ".tsv .txt", '\t');
