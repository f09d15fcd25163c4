#include "files/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/column_names.h"
#include "base/utf8.h"

enum { FIRST_SIZE = 1 << 18 };

void cpb_lines_start(cpb_lines *lines, bool quotes) {
  cpb_buffer kept = lines->buffer;
  *lines = (cpb_lines){.buffer = kept, .quotes = quotes, .next = 1};
}

/* Reads more behind the unprocessed bytes, which are moved to the front. The buffer is doubled when it is half full, so
 * that a long line in small pieces is copied only a few times. */
static bool refill(cpb_lines *lines, cpb_input *source) {
  size_t got, size = lines->buffer.size, left = lines->end - lines->begin;
  if (lines->begin != 0) memmove(lines->buffer.bytes, lines->buffer.bytes + lines->begin, left);
  lines->scanned -= lines->begin;
  lines->begin = 0;
  lines->end = left;
  if (left > CPB_LINE_MAX)
    return cpb_refuse(&source->of, CPB_WHY_LINE_TOO_LONG, "line %" PRIu64 " has more than %d bytes%s",
                      lines->next, CPB_LINE_MAX, lines->quotes ? ", or a quote is never closed" : "");
  if (size == 0 || left > size / 2)
    size = size == 0 ? FIRST_SIZE : size > CPB_LINE_MAX / 2 ? CPB_LINE_MAX + 1 : 2 * size;
  if (!cpb_buffer_reserve(&lines->buffer, size, left, source->of.error)) return false;
  size_t room = lines->buffer.size <= CPB_LINE_MAX ? lines->buffer.size : CPB_LINE_MAX + 1;
  if (!cpb_input_read_some(source, lines->buffer.bytes + left, room - left, &got)) return false;
  lines->end += got;
  lines->finished = got == 0;
  return true;
}

static size_t count_byte(const unsigned char *p, const unsigned char *end, int byte) {
  size_t count = 0;
  while (p < end && (p = memchr(p, byte, (size_t)(end - p))) != NULL) p++, count++;
  return count;
}

/* The LF that ends the line at begin, or NULL if it has not been read yet. `quoted` is carried over. */
static unsigned char *line_end(cpb_lines *lines, bool *quoted) {
  unsigned char *end = lines->buffer.bytes + lines->end;
  while (lines->scanned < lines->end) {
    unsigned char *from = lines->buffer.bytes + lines->scanned;
    unsigned char *newline = memchr(from, '\n', (size_t)(end - from));
    unsigned char *until = newline == NULL ? end : newline;
    if (lines->quotes && count_byte(from, until, '"') % 2 == 1) *quoted = !*quoted;
    lines->scanned = (size_t)(until - lines->buffer.bytes) + (newline != NULL);
    if (newline != NULL && !*quoted) return newline;
  }
  return NULL;
}

/* Any line, blank or not. */
static bool take_line(cpb_lines *lines, cpb_input *source, cpb_line *line) {
  bool quoted = false;
  unsigned char *newline = NULL;
  while ((newline = lines->end == 0 ? NULL : line_end(lines, &quoted)) == NULL && !lines->finished)
    if (!refill(lines, source)) return false;
  *line = (cpb_line){NULL, 0};
  if (newline == NULL && lines->begin == lines->end) return true;
  unsigned char *text = lines->buffer.bytes + lines->begin;
  unsigned char *end = newline == NULL ? lines->buffer.bytes + lines->end : newline;
  lines->begin = lines->scanned = (size_t)(end - lines->buffer.bytes) + (newline != NULL);
  lines->number = lines->next;
  lines->next += 1 + count_byte(text, end, '\n');
  if (end > text && end[-1] == '\r') end--;
  *line = (cpb_line){(const char *)text, (size_t)(end - text)};
  return true;
}

bool cpb_lines_next(cpb_lines *lines, cpb_input *source, cpb_line *line) {
  while (take_line(lines, source, line)) {
    size_t blanks = 0;
    while (blanks < line->length && line->text[blanks] == ' ') blanks++;
    if (line->text == NULL || blanks < line->length) return true;
  }
  return false;
}

static size_t *starts_of(const cpb_texts *texts) { return (size_t *)(void *)texts->starts.bytes; }

bool cpb_texts_add(cpb_texts *texts, const char *text, size_t length, cpb_error *error) {
  size_t starts = texts->count * sizeof(size_t);
  if (!cpb_buffer_grow(&texts->bytes, texts->used + length + 1, texts->used, error) ||
      !cpb_buffer_grow(&texts->starts, starts + sizeof(size_t), starts, error))
    return false;
  char *to = (char *)texts->bytes.bytes + texts->used;
  if (length != 0) memcpy(to, text, length);
  to[length] = 0;
  starts_of(texts)[texts->count++] = texts->used;
  texts->used += length + 1;
  return true;
}

bool cpb_texts_add_first(cpb_texts *texts, cpb_error *error) {
  size_t empty = texts->used, others = texts->count;
  if (!cpb_texts_add(texts, "", 0, error)) return false;
  memmove(starts_of(texts) + 1, starts_of(texts), others * sizeof empty);
  starts_of(texts)[0] = empty;
  return true;
}

const char *cpb_texts_at(const cpb_texts *texts, uint64_t i) {
  return i < texts->count ? (const char *)texts->bytes.bytes + starts_of(texts)[i] : NULL;
}

/* The index of a string; count if it is not in the list. */
static size_t texts_find(const cpb_texts *texts, const char *text, size_t length) {
  size_t i = 0;
  for (; i < texts->count; i++) {
    const char *known = cpb_texts_at(texts, i);
    if (strlen(known) == length && memcmp(known, text, length) == 0) break;
  }
  return i;
}

void cpb_texts_free(cpb_texts *texts) {
  cpb_buffer_free(&texts->bytes);
  cpb_buffer_free(&texts->starts);
  texts->used = texts->count = 0;
}

/* ---- columns ---- */

typedef struct choice {
  cpb_columns *columns;
  const cpb_file_call *of;
  const cpb_texts *names;
  size_t next; /* place of the next column taken */
} choice;

/* Digits only: a column counted from 0; SIZE_MAX for anything else. */
static size_t number_of(const char *text, size_t length) {
  size_t number = 0;
  for (size_t i = 0; i < length && number < SIZE_MAX / 16; i++) {
    if (text[i] < '0' || text[i] > '9') return SIZE_MAX;
    number = 10 * number + (size_t)(text[i] - '0');
  }
  return number - 1; /* an empty text and 0 are not columns */
}

static bool refuse(const choice *c, const char *item, size_t length) {
  bool named = c->names != NULL && c->names->count > 0;
  return cpb_refuse(c->of, CPB_WHY_COLUMN_NONE, "there is no column \"%.*s\"; it has %zu column%s%s",
                    (int)(length < 60 ? length : 60), item, c->columns->in_file, cpb_s(c->columns->in_file),
                    named ? ", by name or by number from 1" : " without names, by number from 1");
}

/* The columns first .. last of an item: a name, a number, or a range of numbers. */
static bool find(const choice *c, const char *item, size_t length, size_t *first, size_t *last) {
  size_t count = c->columns->in_file;
  size_t named = c->names == NULL ? 0 : texts_find(c->names, item, length);
  bool by_name = c->names != NULL && named < c->names->count;
  const char *dash = memchr(item, '-', length);
  size_t left = dash == NULL ? length : (size_t)(dash - item);
  *first = by_name ? named : number_of(item, left);
  *last = by_name || dash == NULL ? *first : number_of(dash + 1, length - left - 1);
  if (!by_name && dash != NULL && left + 1 == length) *last = count - 1; /* "3-": all the rest */
  return (*first < count && *last < count && *first <= *last) || refuse(c, item, length);
}

static bool take(choice *c, size_t column) {
  if (c->columns->place[column] != CPB_COLUMN_UNUSED)
    return cpb_refuse(c->of, CPB_WHY_COLUMN_TWICE, "column %zu is wanted twice", column + 1);
  c->columns->place[column] = c->next++;
  return true;
}

static bool each(choice *c, const char *item, bool takes) {
  while (item != NULL) {
    size_t length = strcspn(item, ","), first, last;
    if (!find(c, item, length, &first, &last)) return false;
    for (size_t k = first; k <= last; k++) {
      if (!takes) c->columns->place[k] = CPB_COLUMN_UNUSED;
      if (takes && !take(c, k)) return false;
    }
    item = item[length] == 0 ? NULL : item + length + 1;
  }
  return true;
}

static bool set_aside(choice *c, const char *item, size_t as) {
  size_t first, last;
  if (item == NULL) return true;
  if (!find(c, item, strlen(item), &first, &last)) return false;
  c->columns->place[first] = as;
  return true;
}

/* Renumbers the places without gaps, in the same order, after columns were excluded. */
static void close_gaps(cpb_columns *columns) {
  size_t limit = columns->in_file, *order = columns->place + limit;
  for (size_t k = 0; k < limit; k++) order[k] = CPB_COLUMN_UNUSED;
  for (size_t k = 0; k < limit; k++)
    if (columns->place[k] < limit) order[columns->place[k]] = k;
  for (size_t k = 0; k < limit; k++)
    if (order[k] != CPB_COLUMN_UNUSED) columns->place[order[k]] = columns->taken++;
}

/* The columns that the options name, whose texts are UTF-8 like the names. */
static bool choose(choice *c, const cpb_reader_options *options, bool first_is_id) {
  cpb_columns *columns = c->columns;
  for (size_t k = 0; k < columns->in_file; k++)
    columns->place[k] = options->columns != NULL ? CPB_COLUMN_UNUSED : c->next++;
  if (!each(c, options->columns, true) || !each(c, options->drop, false)) return false;
  if (first_is_id) columns->place[0] = CPB_COLUMN_ID;
  if (!set_aside(c, options->id_column, CPB_COLUMN_ID) ||
      !set_aside(c, options->label_column, CPB_COLUMN_LABEL))
    return false;
  close_gaps(columns);
  return columns->taken > 0 ||
         cpb_refuse(c->of, CPB_WHY_COLUMNS_ALL_DROPPED, "no column is left of %zu", columns->in_file);
}

bool cpb_columns_choose(cpb_columns *columns, const cpb_reader_options *options, bool first_is_id,
                        const cpb_file_call *of, const cpb_texts *names, size_t in_file) {
  cpb_columns_free(columns);
  *columns = (cpb_columns){.place = malloc((2 * in_file + 1) * sizeof(size_t)),
                           .in_file = in_file,
                           .ids = options->id_column != NULL || first_is_id,
                           .labels = options->label_column != NULL};
  choice c = {columns, of, names, 0};
  cpb_reader_options o = *options;
  const char **texts[] = {&o.columns, &o.drop, &o.id_column, &o.label_column};
  char *decoded[] = {NULL, NULL, NULL, NULL};
  bool whole = columns->place != NULL;
  for (size_t i = 0; i < 4; i++)
    if (*texts[i] != NULL) whole = (*texts[i] = decoded[i] = cpb_utf8_copy(*texts[i])) != NULL && whole;
  if (whole)
    whole = choose(&c, &o, first_is_id);
  else
    cpb_fail_memory(of->error, "%zu columns", in_file);
  for (size_t i = 0; i < 4; i++) free(decoded[i]);
  return whole;
}

bool cpb_columns_select(cpb_columns *columns, const char *const *wanted, size_t count,
                        const cpb_file_call *of, const cpb_texts *names) {
  choice c = {columns, of, names, 0};
  size_t *before = columns->place + columns->in_file;
  if (!cpb_column_names_copy(wanted, count, &wanted))
    return cpb_fail_memory(of->error, "%zu names", count) == CPB_OK;
  memcpy(before, columns->place, columns->in_file * sizeof *before);
  for (size_t k = 0; k < columns->in_file; k++)
    if (before[k] < columns->taken) columns->place[k] = CPB_COLUMN_UNUSED;
  bool done = true;
  for (size_t i = 0; i < count && done; i++) {
    size_t k = texts_find(names, wanted[i], strlen(wanted[i]));
    bool there = k < columns->in_file && before[k] < columns->taken;
    done = there ? take(&c, k) : refuse(&c, wanted[i], strlen(wanted[i]));
  }
  columns->taken = count;
  cpb_column_names_free(wanted);
  return done;
}

void cpb_columns_free(cpb_columns *columns) {
  free(columns->place);
  *columns = (cpb_columns){0};
}
