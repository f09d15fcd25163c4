/* .libsvm .svm: a line is "label index:value index:value ..", indices from 1, ascending; missing entries are 0. d is
 * the largest index, so the file is read twice. Labels are not part of a vector: they are dropped, and written as 0. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"
#include "io/format.h"
#include "io/number.h"

typedef struct entry {
  size_t index; /* from 1 */
  const char *value;
  size_t length;
} entry;

static cpb_status refuse(const cpb_reader *reader, uint64_t row, const char *text, size_t length,
                         const char *why, cpb_error *error) {
  const cpb_lines *lines = reader->state;
  return cpb_file_fail_row(error, CPB_WHY_LIBSVM_FIELD, reader->source.path, row, "line %llu: \"%.*s\" %s",
                           (unsigned long long)lines->number, (int)(length < 40 ? length : 40), text, why);
}

static size_t word_length(const char *p, const char *end) {
  const char *stop = p;
  while (stop < end && *stop != ' ' && *stop != '\t' && *stop != '\r') stop++;
  return (size_t)(stop - p);
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
  return p;
}

/* The next index:value of a line after index `before`; index = 0 at the end of the line. */
static cpb_status take_entry(const cpb_reader *reader, uint64_t row, const char **p, const char *end,
                             size_t before, entry *taken, cpb_error *error) {
  const char *word = *p = skip_blanks(*p, end);
  size_t length = word_length(word, end), digits = 0, index = 0;
  *taken = (entry){0, NULL, 0};
  if (length == 0) return CPB_OK;
  for (; digits < length && word[digits] >= '0' && word[digits] <= '9' && index <= CPB_COLS_MAX; digits++)
    index = 10 * index + (size_t)(word[digits] - '0');
  if (index > CPB_COLS_MAX)
    return refuse(reader, row, word, length, "has an index above 16777216, the largest that is read", error);
  if (digits == 0 || digits == length || word[digits] != ':')
    return refuse(reader, row, word, length, "is not index:value", error);
  if (index <= before)
    return refuse(
        reader, row, word, length,
        before == 0 ? "has index 0, but they count from 1" : "breaks the ascending order of indices", error);
  *taken = (entry){index, word + digits + 1, length - digits - 1};
  *p = word + length;
  return CPB_OK;
}

/* Skips the label and removes the comment. */
static cpb_status take_label(const cpb_reader *reader, uint64_t row, cpb_line line, const char **p,
                             const char **end, cpb_error *error) {
  const char *comment = memchr(line.text, '#', line.length);
  *end = comment == NULL ? line.text + line.length : comment;
  const char *label = skip_blanks(line.text, *end);
  size_t length = word_length(label, *end);
  *p = label + length;
  if (length != 0 && memchr(label, ':', length) != NULL)
    return refuse(reader, row, label, length, "is not a label", error);
  return CPB_OK;
}

/* The next line that is not only a comment. */
static cpb_status take_line(cpb_reader *reader, cpb_line *line, cpb_error *error) {
  while (true) {
    cpb_status status = cpb_lines_next(reader->state, &reader->source, line, error);
    if (status != CPB_OK || line->text == NULL) return status;
    const char *first = skip_blanks(line->text, line->text + line->length);
    if (first < line->text + line->length && *first != '#') return CPB_OK;
  }
}

/* Writes the values of a line to a row of zeros (NULL: only checks), and finds the largest index. */
static cpb_status parse_line(const cpb_reader *reader, uint64_t row, cpb_line line, double *numbers,
                             size_t *largest, cpb_error *error) {
  const char *p, *end;
  entry e = {0, NULL, 0};
  size_t before = 0;
  cpb_status status = take_label(reader, row, line, &p, &end, error);
  while (status == CPB_OK) {
    status = take_entry(reader, row, &p, end, before, &e, error);
    if (status != CPB_OK || e.index == 0) break;
    if (numbers != NULL && e.index > reader->cols)
      return refuse(reader, row, e.value, e.length, "has an index that was not there in the first pass",
                    error);
    if (numbers != NULL && !cpb_number_parse(e.value, e.length, numbers + e.index - 1))
      return refuse(reader, row, e.value, e.length, "is not a number that fits in a double", error);
    before = e.index;
  }
  if (before > *largest) *largest = before;
  return status;
}

static cpb_status first_pass(cpb_reader *reader, cpb_error *error) {
  uint64_t rows = 0;
  size_t largest = 0;
  cpb_lines_start(reader->state, false);
  for (;; rows++) {
    cpb_line line;
    cpb_status status = take_line(reader, &line, error);
    if (status != CPB_OK) return status;
    if (line.text == NULL) break;
    status = parse_line(reader, rows, line, NULL, &largest, error);
    if (status != CPB_OK) return status;
  }
  if (largest == 0)
    return cpb_file_fail(error, CPB_WHY_FILE_EMPTY, reader->source.path,
                         "has %llu row%s and no index:value in them, so no d", (unsigned long long)rows,
                         cpb_s(rows));
  reader->cols = largest;
  reader->rows = rows;
  return CPB_OK;
}

static cpb_status libsvm_rewind(cpb_reader *reader, cpb_error *error) {
  (void)error;
  cpb_lines_start(reader->state, false);
  return CPB_OK;
}

static cpb_status libsvm_open(cpb_reader *reader, cpb_error *error) {
  reader->state = calloc(1, sizeof(cpb_lines));
  if (reader->state == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof(cpb_lines));
  reader->dtype = CPB_F64;
  cpb_status status = first_pass(reader, error);
  if (status == CPB_OK) status = cpb_input_rewind(&reader->source, error);
  return status == CPB_OK ? libsvm_rewind(reader, error) : status;
}

static void libsvm_close(cpb_reader *reader) {
  if (reader->state != NULL) cpb_lines_free(reader->state);
  free(reader->state);
}

static cpb_status read_rows(cpb_reader *reader, size_t count, double *numbers, cpb_error *error) {
  for (size_t i = 0; i < count; i++) {
    uint64_t row = reader->next_row + i;
    size_t largest = 0;
    cpb_line line;
    cpb_status status = take_line(reader, &line, error);
    if (status != CPB_OK) return status;
    if (line.text == NULL)
      return cpb_file_fail(error, CPB_WHY_FILE_CHANGED, reader->source.path,
                           "has fewer lines than in the first pass");
    memset(numbers + i * reader->cols, 0, reader->cols * sizeof(double));
    status = parse_line(reader, row, line, numbers + i * reader->cols, &largest, error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

static cpb_status libsvm_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  size_t count = cpb_block_count(reader, max_rows), row_bytes = reader->cols * sizeof(double);
  cpb_status status = cpb_buffer_reserve(&reader->buffer, count * row_bytes, 0, error);
  if (status == CPB_OK) status = read_rows(reader, count, (double *)(void *)reader->buffer.bytes, error);
  *block = cpb_rows(reader->buffer.bytes, CPB_F64, count, reader->cols);
  return status;
}

static cpb_status libsvm_begin(cpb_writer *writer, cpb_error *error) {
  if (writer->cols <= CPB_COLS_MAX) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                       "libsvm files have at most %d columns, got %zu", CPB_COLS_MAX, writer->cols);
}

/* +0 is omitted; -0 is not, because its sign would be lost. */
static bool is_zero(const char *element, size_t size) {
  static const char zero[8] = {0};
  return memcmp(element, zero, size) == 0;
}

static void print_entry(cpb_writer *writer, const void *row, size_t column) {
  char text[2 * CPB_NUMBER_ROOM + 2] = " ";
  double index = (double)column + 1;
  size_t length = 1 + cpb_number_print(text + 1, &index, CPB_F64, 0);
  text[length++] = ':';
  size_t digits = cpb_number_print(text + length, row, writer->dtype, column);
  cpb_writer_printed(writer, column, text + length, digits);
  cpb_text_put(&writer->out, text, length + digits);
}

/* The last column of the first row is written even if it is 0: it determines d. */
static void print_row(cpb_writer *writer, const void *row, bool first) {
  size_t size = cpb_dtype_size(writer->dtype);
  if (writer->seal != NULL) memset(writer->parsed.bytes, 0, writer->cols * sizeof(double));
  cpb_text_puts(&writer->out, "0");
  for (size_t j = 0; j < writer->cols; j++)
    if (!is_zero((const char *)row + j * size, size) || (first && j + 1 == writer->cols))
      print_entry(writer, row, j);
  cpb_text_puts(&writer->out, "\n");
}

const cpb_format cpb_format_libsvm = {
    .name = "libsvm",
    .extensions = ".libsvm .svm",
    .dtypes = ~0u,
    .streams_out = true,
    .open = libsvm_open,
    .next = libsvm_next,
    .rewind = libsvm_rewind,
    .close = libsvm_close,
    .begin = libsvm_begin,
    .print = print_row,
};
