/* .libsvm .svm: a line is "label index:value index:value ..", indices from 1, ascending; missing entries are 0. d is
 * the largest index, so the file is read twice. Labels are not part of a vector: they are dropped, and written as 0. */
#include <inttypes.h>
#include <string.h>

#include "files/formats.h"
#include "files/number.h"

static bool refuse(const cpb_reader *reader, uint64_t row, const char *text, size_t length, const char *why) {
  return cpb_refuse_row(reader->of, row, CPB_WHY_LIBSVM_FIELD, "line %" PRIu64 ": \"%.*s\" %s",
                        reader->lines.number, (int)(length < 40 ? length : 40), text, why);
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

/* Reads the index of "index:value", of this many digits. Returns NULL, or what is wrong with the word. */
static const char *read_index(const char *word, size_t length, size_t *index, size_t *digits) {
  size_t before = *index;
  *index = 0;
  for (*digits = 0;
       *digits < length && word[*digits] >= '0' && word[*digits] <= '9' && *index <= CPB_COLS_MAX;)
    *index = 10 * *index + (size_t)(word[(*digits)++] - '0');
  if (*index > CPB_COLS_MAX) return "has an index above 16777216, the largest that is read";
  if (*digits == 0 || *digits == length || word[*digits] != ':') return "is not index:value";
  if (*index > before) return NULL;
  return before == 0 ? "has index 0, but they count from 1" : "breaks the ascending order of indices";
}

/* The next line that is not only a comment. */
static bool take_line(cpb_reader *reader, cpb_line *line) {
  while (cpb_lines_next(&reader->lines, &reader->source, line)) {
    if (line->text == NULL) return true;
    const char *end = line->text + line->length, *first = skip_blanks(line->text, end);
    if (first < end && *first != '#') return true;
  }
  return false;
}

/* Writes the values of a line to a row of zeros (NULL: only checks), and finds the largest index. */
static bool parse_entries(const cpb_reader *reader, cpb_line line, uint64_t row, double *numbers,
                          size_t *largest) {
  const char *comment = memchr(line.text, '#', line.length);
  const char *end = comment == NULL ? line.text + line.length : comment;
  const char *word = skip_blanks(line.text, end);
  size_t length = word_length(word, end), index = 0, digits;
  if (length != 0 && memchr(word, ':', length) != NULL)
    return refuse(reader, row, word, length, "is not a label");
  while ((length = word_length(word = skip_blanks(word + length, end), end)) != 0) {
    const char *why = read_index(word, length, &index, &digits);
    if (why != NULL) return refuse(reader, row, word, length, why);
    if (index > *largest) *largest = index;
    const char *value = word + digits + 1;
    if (numbers != NULL && index > reader->cols)
      return refuse(reader, row, value, length - digits - 1,
                    "has an index that was not there in the first pass");
    if (numbers != NULL && !cpb_number_parse(value, length - digits - 1, numbers + index - 1))
      return refuse(reader, row, value, length - digits - 1, "is not a number that fits in a double");
  }
  return true;
}

static bool parse_row(cpb_reader *reader, cpb_line line, uint64_t row, double *numbers) {
  size_t largest = 0;
  memset(numbers, 0, reader->cols * sizeof *numbers);
  return parse_entries(reader, line, row, numbers, &largest);
}

static bool libsvm_rewind(cpb_reader *reader) {
  cpb_lines_start(&reader->lines, false);
  return true;
}

static bool libsvm_open(cpb_reader *reader) {
  cpb_line line = {"", 0};
  uint64_t rows = 0;
  libsvm_rewind(reader);
  reader->dtype = CPB_F64;
  for (; take_line(reader, &line) && line.text != NULL; rows++)
    if (!parse_entries(reader, line, rows, NULL, &reader->cols)) return false;
  if (line.text != NULL) return false;
  if (reader->cols == 0)
    return cpb_refuse(reader->of, CPB_WHY_FILE_EMPTY,
                      "has %" PRIu64 " row%s and no index:value in them, so no d", rows, cpb_s(rows));
  reader->rows = rows;
  return cpb_input_rewind(&reader->source) && libsvm_rewind(reader);
}

static bool libsvm_next(cpb_reader *reader, size_t max_rows, cpb_view *block) {
  size_t count = cpb_block_count(reader, max_rows);
  return cpb_buffer_reserve(&reader->buffer, count * reader->cols * sizeof(double), 0, reader->of->error) &&
         cpb_next_lines(reader, count, block, take_line, parse_row) &&
         (block->rows == count ||
          cpb_refuse(reader->of, CPB_WHY_FILE_CHANGED, "has fewer lines than in the first pass"));
}

static bool libsvm_begin(cpb_writer *writer) {
  return writer->o.cols <= CPB_COLS_MAX ||
         cpb_refuse(&writer->of, CPB_WHY_FILE_LIMIT, "libsvm files have at most %d columns, got %zu",
                    CPB_COLS_MAX, writer->o.cols);
}

static void print_entry(cpb_writer *writer, const void *row, size_t column) {
  char text[2 * CPB_NUMBER_ROOM + 2] = " ";
  double index = (double)column + 1;
  size_t length = 1 + cpb_number_print(text + 1, &index, CPB_F64, 0);
  text[length++] = ':';
  size_t digits = cpb_number_print(text + length, row, writer->o.dtype, column);
  cpb_writer_printed(writer, column, text + length, digits);
  cpb_text_put(&writer->out, text, length + digits);
}

/* +0 is omitted, but not -0, whose sign would be lost, nor the last column of the first row, which determines d. */
static void print_row(cpb_writer *writer, const void *row, bool first) {
  static const char zero[8] = {0};
  size_t size = cpb_dtype_size(writer->o.dtype);
  if (writer->o.seal != NULL) memset(writer->parsed.bytes, 0, writer->o.cols * sizeof(double));
  cpb_text_puts(&writer->out, "0");
  for (size_t j = 0; j < writer->o.cols; j++)
    if (memcmp((const char *)row + j * size, zero, size) != 0 || (first && j + 1 == writer->o.cols))
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
    .begin = libsvm_begin,
    .print = print_row,
};
