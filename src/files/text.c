/* .csv .tsv: tables as written by spreadsheets, pandas and R: RFC 4180 with commas, tabs, semicolons or blanks, taken
 * from the first line; that is a header if none of its fields is a number. A cell without a number is NaN. A first
 * column without a name in the header contains the ids of the rows. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/column_names.h"
#include "base/fail.h"
#include "base/rows.h"
#include "files/formats.h"
#include "files/number.h"
#include "base/letters.h"
#include "base/utf8.h"

/* ---- fields ---- */

enum { SHORT_FIELD = 64 };

typedef struct field {
  const char *text;
  size_t length;
  bool quoted, unclosed; /* unclosed: there is more than blanks between the closing quote and the separator */
} field;

/* How fields are separated and numbers are written. */
typedef struct field_style {
  char separator; /* ' ' stands for any number of blanks */
  bool decimal_comma;
} field_style;

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && *p == ' ') p++;
  return p;
}

/* Reads the field at *p and advances past its separator; *p = NULL after the last field. */
static field take_field(const char **p, const char *end, char separator) {
  const char *begin = skip_blanks(*p, end), *stop = begin;
  field taken = {.text = begin, .quoted = begin < end && *begin == '"'};
  if (taken.quoted) {
    taken.text = begin + 1;
    const char *quote = taken.text; /* that closes it, or the end */
    while (quote < end && (*quote != '"' || (quote + 1 < end && quote[1] == '"')))
      quote += *quote == '"' ? 2 : 1;
    const char *after = quote < end ? quote + 1 : end;
    taken.length = (size_t)(quote - taken.text);
    stop = separator == ' ' ? after : skip_blanks(after, end);
    taken.unclosed = quote == end || (stop < end && *stop != separator);
  }
  const char *next = stop == end ? NULL : memchr(stop, separator, (size_t)(end - stop));
  if (!taken.quoted) taken.length = (size_t)((next == NULL ? end : next) - taken.text);
  *p = next == NULL ? NULL : separator == ' ' ? skip_blanks(next, end) : next + 1;
  if (separator == ' ' && *p == end) *p = NULL;
  return taken;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static field trim(field f) {
  while (f.length > 0 && is_blank(f.text[0])) f.text++, f.length--;
  while (f.length > 0 && is_blank(f.text[f.length - 1])) f.length--;
  return f;
}

/* Words for a missing value, and for 1 and 0. */
static bool find_word(field f, double *value) {
  static const struct {
    const char *word;
    double value;
  } words[] = {{"", NAN},     {"na", NAN},  {"n/a", NAN},  {"#n/a", NAN}, {"null", NAN}, {"none", NAN},
               {"<na>", NAN}, {"nan", NAN}, {"-nan", NAN}, {"true", 1},   {"false", 0}};
  f = trim(f);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == f.length && cpb_same_letters_n(words[i].word, f.text, f.length)) {
      *value = words[i].value;
      return true;
    }
  return false;
}

static bool parse_comma(field f, double *value) {
  char copy[SHORT_FIELD];
  const char *comma = memchr(f.text, ',', f.length);
  if (comma == NULL || f.length >= sizeof copy || memchr(f.text, '.', f.length) != NULL) return false;
  memcpy(copy, f.text, f.length);
  copy[comma - f.text] = '.';
  return cpb_number_parse(copy, f.length, value);
}

/* A number that fits a double (NaN if missing; true and false are 1 and 0); false for anything else. */
static bool is_number(field f, field_style style, double *value) {
  return !f.unclosed && (cpb_number_parse(f.text, f.length, value) ||
                         (style.decimal_comma && parse_comma(f, value)) || find_word(f, value));
}

/* No binary bytes. */
static bool is_text(field f) {
  for (size_t i = 0; i < f.length; i++) {
    unsigned char c = (unsigned char)f.text[i];
    if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f) return false;
  }
  return true;
}

/* "1;2;3" in a .csv: numbers, but not in the format of this file. */
static bool begins_like_a_number(field f) {
  f = trim(f);
  size_t i = 0;
  if (i < f.length && (f.text[i] == '+' || f.text[i] == '-')) i++;
  if (i < f.length && f.text[i] == '.') i++;
  return i < f.length && f.text[i] >= '0' && f.text[i] <= '9';
}

/* Adds the field, with surrounding blanks removed and doubled quotes as one. */
static bool keep_text(field f, cpb_texts *texts, cpb_error *error) {
  f = trim(f);
  if (!cpb_texts_add(texts, f.text, f.length, error)) return false;
  if (!f.quoted || memchr(f.text, '"', f.length) == NULL) return true;
  size_t length = 0;
  char *kept = (char *)(uintptr_t)cpb_texts_at(texts, texts->count - 1);
  for (size_t i = 0; i < f.length; i++, length++) {
    kept[length] = f.text[i];
    if (f.text[i] == '"' && i + 1 < f.length && f.text[i + 1] == '"') i++;
  }
  kept[length] = 0;
  return true;
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
  field_style style = {' ', decimal_comma};
  const char *p = line.text, *end = p + line.length;
  size_t fields = 0;
  for (; p != NULL; fields++) {
    field f = take_field(&p, end, ' ');
    double value;
    if (f.unclosed || (!f.quoted && !is_number(f, style, &value))) return false;
  }
  return fields > 1;
}

/* A tab in a file is intentional; semicolons are used where numbers contain decimal commas. */
static char find_separator(cpb_line first, char usual, bool decimal_comma) {
  if (has_outside_quotes(first, '\t')) return '\t';
  if (has_outside_quotes(first, ';')) return ';';
  if (!decimal_comma && has_outside_quotes(first, ',')) return ',';
  if (is_apart_by_blanks(first, decimal_comma)) return ' ';
  return decimal_comma && usual == ',' ? ';' : usual;
}

typedef struct text_state {
  cpb_line first; /* row 0, read to count the columns, and not returned yet */
  field_style style;
  cpb_texts names;   /* of all columns of the file; none without a header */
  char skipped[512]; /* names of the columns skipped, for people */
  char renamed[512]; /* and of those with the name of another */
} text_state;

/* ---- one row ---- */

typedef struct field_counts {
  uint64_t fields, numbers, refused, names, empty, like_numbers;
  bool empty_first, counted; /* counted: 0, 1, 2, .. */
} field_counts;

static field_counts count_fields(cpb_line line, field_style style) {
  const char *p = line.text, *end = line.text + line.length;
  field_counts count = {.counted = true};
  for (; p != NULL; count.fields++) {
    field f = take_field(&p, end, style.separator);
    double value;
    bool missing = !f.unclosed && find_word(f, &value) && isnan(value);
    bool number = !missing && is_number(f, style, &value);
    if (count.fields == 0) count.empty_first = missing && f.length == 0;
    char place[24]; /* "7" as field 7: how pandas and R number columns */
    int digits = snprintf(place, sizeof place, "%" PRIu64, count.fields - count.empty_first);
    bool is_place = f.length == (size_t)digits && memcmp(f.text, place, f.length) == 0;
    count.counted = count.counted && (is_place || (count.fields == 0 && count.empty_first));
    count.empty += missing;
    count.numbers += number;
    /* 1e999 or 0x1.8p3: a line with one is not a header */
    count.refused += !f.unclosed && cpb_number_is_refused(f.text, f.length);
    count.names += !f.unclosed && !missing && !number && is_text(f);
    count.like_numbers += begins_like_a_number(f);
  }
  return count;
}

static bool refuse_field(const cpb_reader *reader, uint64_t row, size_t column, field f, const char *rest) {
  const text_state *state = reader->state;
  const char *name = cpb_texts_at(&state->names, column);
  bool named = name != NULL && *name != 0;
  uint64_t line = reader->lines.number;
  int shown = (int)(f.length < 40 ? f.length : 40);
  char where[80];
  double value;
  snprintf(where, sizeof where, "column %zu%s%.40s%s", column + 1, named ? " (" : "", named ? name : "",
           named ? ")" : "");
  if (f.unclosed)
    return cpb_refuse_row(reader->of, row, CPB_WHY_TEXT_QUOTE,
                          "line %" PRIu64 ", %s: a quote is not closed before the separator", line, where);
  if (!is_text(f))
    return cpb_refuse_row(reader->of, row, CPB_WHY_TEXT_BINARY,
                          "line %" PRIu64 ", %s: \"%.*s\" is binary, not text", line, where, shown, f.text);
  if (rest[0] == 0 && is_number(f, (field_style){.decimal_comma = true}, &value))
    rest = "; with a decimal comma it is one";
  return cpb_refuse_row(reader->of, row, CPB_WHY_TEXT_NUMBER,
                        "line %" PRIu64 ", %s: \"%.*s\" is not a number that fits in a double%s", line, where,
                        shown, f.text, rest);
}

static bool check_text(const cpb_reader *reader, uint64_t row, size_t column, field f) {
  return (!f.unclosed && is_text(f)) || refuse_field(reader, row, column, f, "");
}

/* Texts of rows that an earlier pass has stored are not stored again. */
static bool keep_field(cpb_reader *reader, uint64_t row, size_t column, field f, cpb_texts *kept) {
  return check_text(reader, row, column, f) && (row != kept->count || keep_text(f, kept, reader->of->error));
}

/* After a failure: where the caller wants to know of problems, it is only one of these, and read as NaN. */
static bool report_as_nan(const cpb_reader *reader, double *numbers, size_t count) {
  if (reader->o.problem == NULL) return false;
  reader->o.problem(reader->o.context, reader->of->error);
  for (size_t i = 0; i < count; i++) numbers[i] = NAN;
  return true;
}

static bool parse_field(cpb_reader *reader, uint64_t row, size_t column, field f, double *numbers) {
  const text_state *state = reader->state;
  size_t place = reader->columns.place[column];
  if (place == CPB_COLUMN_ID) return keep_field(reader, row, column, f, &reader->ids);
  if (place == CPB_COLUMN_LABEL) return keep_field(reader, row, column, f, &reader->labels);
  if (place == CPB_COLUMN_UNUSED || is_number(f, state->style, numbers + place)) return true;
  return refuse_field(reader, row, column, f, "") || report_as_nan(reader, numbers + place, 1);
}

static bool parse_line(cpb_reader *reader, cpb_line line, uint64_t row, double *numbers) {
  const text_state *state = reader->state;
  const char *p = line.text, *end = line.text + line.length;
  size_t column = 0, columns = reader->columns.in_file;
  for (; p != NULL && column < columns; column++)
    if (!parse_field(reader, row, column, take_field(&p, end, state->style.separator), numbers)) return false;
  if (p == NULL && column == columns) return true;
  uint64_t fields = count_fields(line, state->style).fields;
  return cpb_refuse_row(reader->of, row, CPB_WHY_FILE_ROW_COLUMNS,
                        "line %" PRIu64 " has %" PRIu64 " field%s, the first line has %zu",
                        reader->lines.number, fields, cpb_s(fields), columns) ||
         report_as_nan(reader, numbers, reader->cols);
}

/* ---- the first lines ---- */

/* Reports the first field that is not a number or, if there are only names, the first that is not a name. */
static bool refuse_row_0(const cpb_reader *reader) {
  const text_state *state = reader->state;
  const char *p = state->first.text, *end = p + state->first.length;
  size_t column = 0;
  double value;
  field f = take_field(&p, end, state->style.separator);
  for (; is_number(f, state->style, &value); column++) f = take_field(&p, end, state->style.separator);
  return refuse_field(reader, 0, column, f, ", and a header has only names");
}

static bool take_names(cpb_reader *reader) {
  text_state *state = reader->state;
  const char *p = state->first.text, *end = p + state->first.length;
  for (size_t column = 0; p != NULL; column++) {
    field f = take_field(&p, end, state->style.separator);
    if (!check_text(reader, 0, column, f) || !keep_text(f, &state->names, reader->of->error)) return false;
  }
  return true;
}

/* What becomes of the names: text, and all different. */
static bool settle_names(cpb_reader *reader) {
  text_state *state = reader->state;
  size_t count = state->names.count;
  const char *const *settled = NULL;
  const char **raw = calloc(count + 1, sizeof *raw);
  cpb_texts names = {0};
  for (size_t k = 0; raw != NULL && k < count; k++) raw[k] = cpb_texts_at(&state->names, k);
  bool whole = raw != NULL && cpb_column_names_copy(raw, count, &settled);
  if (!whole) cpb_fail_memory(reader->of->error, "%zu names", count);
  state->renamed[0] = 0;
  for (size_t k = 0; whole && k < count; k++) {
    size_t length = strlen(settled[k]), used = strlen(state->renamed);
    if (length > cpb_utf8_decode(NULL, raw[k]))
      snprintf(state->renamed + used, sizeof state->renamed - used, "%s%s (column %zu) is %s",
               used > 0 ? ", " : "", raw[k], k + 1, settled[k]);
    whole = cpb_texts_add(&names, settled[k], length, reader->of->error);
  }
  cpb_column_names_free(settled);
  free(raw);
  cpb_texts_free(&state->names);
  state->names = names;
  return whole;
}

/* Row 0 after a header. R's write.table writes no name, not even an empty one, for the column of row names. Names alone
 * are a table without rows, unless they look like a row in another format: then the separator is different, or each
 * number has a typo. */
static bool take_first_row(cpb_reader *reader, field_counts *header) {
  text_state *state = reader->state;
  if (!take_names(reader) || !cpb_lines_next(&reader->lines, &reader->source, &state->first)) return false;
  if (state->first.text != NULL) {
    if (count_fields(state->first, state->style).fields != header->fields + 1) return true;
    header->fields++;
    return cpb_texts_add_first(&state->names, reader->of->error);
  }
  reader->rows = 0;
  return header->like_numbers == 0 || reader->o.header == CPB_HEADER_YES ||
         cpb_refuse(reader->of, CPB_WHY_TEXT_SEPARATOR,
                    "its only line begins with numbers, but is not a row of %s: is the separator a "
                    "different one?",
                    reader->format->name);
}

/* Names are not numbers, except for columns numbered 0, 1, 2, .. after one without a name, which is how pandas writes
 * frames without names. A row 0 with a typo must not be taken for a header: its numbers would be lost silently. */
static bool is_header(const cpb_reader *reader, field_counts count) {
  if (reader->o.header != CPB_HEADER_AUTO) return reader->o.header == CPB_HEADER_YES;
  if (count.names > 0 && count.numbers + count.refused == 0) return true;
  return count.empty_first && count.counted && count.fields > 1;
}

/* Skips a byte order mark. "sep=;" is Excel's notation for the separator. */
static bool take_separator(cpb_reader *reader) {
  text_state *state = reader->state;
  size_t mark = state->first.length >= 3 && memcmp(state->first.text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  state->first = (cpb_line){state->first.text + mark, state->first.length - mark};
  state->style = (field_style){.decimal_comma = reader->o.decimal_comma};
  if (state->first.length == 5 && memcmp(state->first.text, "sep=", 4) == 0 && state->first.text[4] != 0) {
    state->style.separator = state->first.text[4];
    return cpb_lines_next(&reader->lines, &reader->source, &state->first);
  }
  state->style.separator =
      find_separator(state->first, (char)reader->format->variant, reader->o.decimal_comma);
  return true;
}

/* The number of columns taken, and their names in their order. */
static bool set_columns(cpb_reader *reader) {
  const text_state *state = reader->state;
  size_t named = reader->cols = reader->columns.taken;
  cpb_column_names_free(reader->names);
  reader->names = NULL;
  if (state->names.count == 0) return true;
  const char **views = calloc(named, sizeof *views);
  for (size_t k = 0; views != NULL && k < reader->columns.in_file; k++)
    if (reader->columns.place[k] < named) views[reader->columns.place[k]] = cpb_texts_at(&state->names, k);
  bool whole = views != NULL && cpb_column_names_copy(views, named, &reader->names);
  free((void *)(uintptr_t)views);
  return whole || cpb_fail_memory(reader->of->error, "%zu names", named) == CPB_OK;
}

/* Text, and not a number with a typo; dates and times are text. */
static bool is_text_cell(field f, field_style style) {
  double value;
  if (is_number(f, style, &value)) return false;
  size_t marks = 0;
  for (size_t i = 1; i < f.length; i++) marks += f.text[i] == '-' || f.text[i] == '/' || f.text[i] == ':';
  return !begins_like_a_number(f) || marks >= 2;
}

static void skip_column(cpb_reader *reader, size_t column) {
  text_state *state = reader->state;
  cpb_columns *columns = &reader->columns;
  size_t place = columns->place[column], used = strlen(state->skipped);
  const char *name = cpb_texts_at(&state->names, column);
  char number[24];
  snprintf(number, sizeof number, "%zu", column + 1);
  snprintf(state->skipped + used, sizeof state->skipped - used, "%s%s", used > 0 ? ", " : "",
           name != NULL && *name != 0 ? name : number);
  columns->place[column] = CPB_COLUMN_UNUSED;
  for (size_t i = 0; i < columns->in_file; i++)
    if (columns->place[i] < columns->taken && columns->place[i] > place) columns->place[i]--;
  columns->taken--;
}

/* Columns whose cell in row 0 is text, as long as others are left. */
static void skip_text_columns(cpb_reader *reader) {
  text_state *state = reader->state;
  const char *p = state->first.text, *end = p == NULL ? NULL : p + state->first.length;
  for (size_t column = 0; p != NULL && column < reader->columns.in_file; column++) {
    field f = take_field(&p, end, state->style.separator);
    bool number = reader->columns.place[column] < reader->columns.taken;
    if (number && reader->columns.taken > 1 && is_text_cell(f, state->style)) skip_column(reader, column);
  }
}

static bool text_rewind(cpb_reader *reader) {
  text_state *state = reader->state;
  cpb_lines_start(&reader->lines, true);
  state->names.used = state->names.count = 0;
  if (!cpb_lines_next(&reader->lines, &reader->source, &state->first) ||
      (state->first.text != NULL && !take_separator(reader)))
    return false;
  if (state->first.text == NULL)
    return cpb_refuse(reader->of, CPB_WHY_FILE_EMPTY, "is empty: without a line there is no d");
  field_counts count = count_fields(state->first, state->style);
  if (count.fields > CPB_COLS_MAX)
    return cpb_refuse(reader->of, CPB_WHY_FILE_COLUMNS, "line 1 has %" PRIu64 " fields, at most %d are read",
                      count.fields, CPB_COLS_MAX);
  bool refused = count.numbers + count.empty < count.fields && !cpb_columns_are_chosen(&reader->o) &&
                 !reader->o.skip_text && reader->o.problem == NULL;
  if (is_header(reader, count) ? !take_first_row(reader, &count) : refused && !refuse_row_0(reader))
    return false;
  if (state->names.count > 0 && !settle_names(reader)) return false;
  if (reader->columns.place != NULL) return true; /* chosen by an earlier pass, or by name */
  /* a first column without a name contains the ids, unless it is requested as numbers */
  const char *first = cpb_texts_at(&state->names, 0);
  bool first_is_id = count.fields > 1 && first != NULL && *first == 0 && reader->o.id_column == NULL &&
                     reader->o.columns == NULL;
  if (!cpb_columns_choose(&reader->columns, &reader->o, first_is_id, reader->of, &state->names,
                          (size_t)count.fields))
    return false;
  if (reader->o.skip_text && reader->o.columns == NULL) skip_text_columns(reader);
  return set_columns(reader);
}

static bool text_open(cpb_reader *reader) {
  reader->state = calloc(1, sizeof(text_state));
  if (reader->state == NULL)
    return cpb_fail_memory(reader->of->error, "%zu bytes", sizeof(text_state)) == CPB_OK;
  reader->dtype = CPB_F64;
  return text_rewind(reader);
}

static void text_close(cpb_reader *reader) {
  text_state *state = reader->state;
  if (state != NULL) cpb_texts_free(&state->names);
  free(state);
}

bool cpb_next_lines(cpb_reader *reader, size_t max_rows, cpb_view *block,
                    bool (*take)(cpb_reader *reader, cpb_line *line),
                    bool (*parse)(cpb_reader *reader, cpb_line line, uint64_t row, double *numbers)) {
  size_t rows = 0, row_bytes = reader->cols * sizeof(double);
  for (; rows < max_rows; rows++) {
    cpb_line line;
    if (!take(reader, &line)) return false;
    if (line.text == NULL) break;
    size_t size = cpb_size_muladd(rows + 1, row_bytes, 0);
    if (!cpb_buffer_grow(&reader->buffer, size, rows * row_bytes, reader->of->error)) return false;
    double *numbers = (double *)(void *)(reader->buffer.bytes + rows * row_bytes);
    if (!parse(reader, line, reader->next_row + rows, numbers)) return false;
  }
  *block = cpb_rows(reader->buffer.bytes, CPB_F64, rows, reader->cols);
  return true;
}

static bool take_row(cpb_reader *reader, cpb_line *line) {
  text_state *state = reader->state;
  *line = state->first;
  state->first = (cpb_line){NULL, 0};
  return line->text != NULL || cpb_lines_next(&reader->lines, &reader->source, line);
}

static bool text_next(cpb_reader *reader, size_t max_rows, cpb_view *block) {
  if (!cpb_next_lines(reader, max_rows, block, take_row, parse_line)) return false;
  if (block->rows < max_rows) reader->rows = reader->next_row + block->rows;
  return true;
}

/* ---- writing ---- */

/* The character after cell j of a row. */
static char after(const cpb_writer *writer, size_t j) {
  return j + 1 == writer->o.cols ? '\n' : (char)writer->format->variant;
}

/* In quotes if it would be read differently without. */
static void print_text(cpb_writer *writer, const char *text, char next) {
  const char *foreign = writer->format->variant == '\t' ? "\t\"\r\n" : ",;\t\"\r\n";
  size_t whole = strlen(text);
  bool quotes =
      text[strcspn(text, foreign)] != 0 || (whole > 0 && (text[0] == ' ' || text[whole - 1] == ' '));
  if (quotes) cpb_text_puts(&writer->out, "\"");
  for (; *text != 0; text += text[0] == '"') {
    size_t length = strcspn(text, "\"");
    cpb_text_put(&writer->out, text, length);
    text += length;
    if (*text == '"') cpb_text_puts(&writer->out, "\"\"");
  }
  if (quotes) cpb_text_puts(&writer->out, "\"");
  cpb_text_put(&writer->out, &next, 1);
}

/* Unnamed columns are numbered, as in pandas. */
static bool text_begin(cpb_writer *writer) {
  if (writer->o.columns == NULL && writer->o.rows_of == NULL) return true;
  if (writer->o.rows_of != NULL) print_text(writer, "", (char)writer->format->variant);
  for (size_t j = 0; j < writer->o.cols; j++) {
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", j);
    print_text(writer, writer->o.columns != NULL ? writer->o.columns[j] : digits, after(writer, j));
  }
  return true;
}

void cpb_writer_printed(cpb_writer *writer, size_t j, const char *text, size_t length) {
  if (writer->o.seal == NULL) return;
  double *numbers = (double *)(void *)writer->parsed.bytes;
  if (!cpb_number_parse(text, length, &numbers[j])) numbers[j] = NAN;
}

static void print_number(cpb_writer *writer, const void *row, size_t j) {
  char text[CPB_NUMBER_ROOM + 1];
  size_t length = cpb_number_print_short(text, row, writer->o.dtype, j);
  cpb_writer_printed(writer, j, text, length);
  text[length] = after(writer, j);
  cpb_text_put(&writer->out, text, length + 1);
}

static void print_row(cpb_writer *writer, const void *row, bool first) {
  (void)first;
  if (writer->o.rows_of != NULL) {
    const char *id = cpb_reader_id(writer->o.rows_of, writer->next_id++);
    print_text(writer, id != NULL ? id : "", (char)writer->format->variant);
  }
  for (size_t j = 0; j < writer->o.cols; j++) {
    /* the id of the row whose number the cell contains */
    bool named = writer->o.cells_of != NULL;
    double cell = named ? cpb_view_at(cpb_rows(row, writer->o.dtype, 1, writer->o.cols), 0, j) : -1;
    const char *id = cell >= 0 ? cpb_texts_at(&writer->o.cells_of->ids, (uint64_t)cell) : NULL;
    if (id != NULL)
      print_text(writer, id, after(writer, j));
    else
      print_number(writer, row, j);
  }
}

static bool text_select(cpb_reader *reader, const char *const *names, size_t count) {
  const text_state *state = reader->state;
  bool done = cpb_columns_select(&reader->columns, names, count, reader->of, &state->names);
  reader->cols = reader->columns.taken;
  return done && set_columns(reader);
}

static void text_describe(const cpb_reader *reader, cpb_file_info *info) {
  const text_state *state = reader->state;
  info->separator = state->style.separator;
  info->names = state->names.count > 0;
  info->ids = reader->columns.ids;
  info->labels = reader->columns.labels;
  info->skipped = state->skipped[0] != 0 ? state->skipped : NULL;
  info->renamed = state->renamed[0] != 0 ? state->renamed : NULL;
}

#define TEXT(word, words, separator)                                                                         \
  {                                                                                                          \
    .name = word, .extensions = words, .variant = separator, .dtypes = ~0u, .streams_in = true,              \
    .streams_out = true, .open = text_open, .next = text_next, .rewind = text_rewind, .close = text_close,   \
    .select = text_select, .describe = text_describe, .begin = text_begin, .print = print_row                \
  }
const cpb_format cpb_format_csv = TEXT("csv", ".csv", ',');
const cpb_format cpb_format_tsv = TEXT("tsv", ".tsv .txt", '\t');

/* ---- ids and labels ---- */

uint64_t cpb_reader_row(const cpb_reader *reader, uint64_t row) {
  if (reader == NULL) return 0;
  const uint64_t *bad = (const uint64_t *)(const void *)reader->bad.bytes;
  size_t low = 0, high = reader->bad_count; /* bad rows before it: those with bad[j] - j <= row */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (bad[middle] - middle <= row)
      low = middle + 1;
    else
      high = middle;
  }
  return row + low;
}

const char *cpb_reader_id(const cpb_reader *reader, uint64_t row) {
  return reader == NULL ? NULL : cpb_texts_at(&reader->ids, cpb_reader_row(reader, row));
}

const char *cpb_reader_label(const cpb_reader *reader, uint64_t row) {
  return reader == NULL ? NULL : cpb_texts_at(&reader->labels, cpb_reader_row(reader, row));
}
