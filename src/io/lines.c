#include "io/lines.h"

#include <string.h>

#include "io/file_fail.h"

enum { FIRST_SIZE = 1 << 18 };

void cpb_lines_start(cpb_lines *lines, bool quotes) {
  cpb_buffer kept = lines->buffer;
  *lines = (cpb_lines){.buffer = kept, .quotes = quotes, .next = 1};
}

void cpb_lines_free(cpb_lines *lines) { cpb_buffer_free(&lines->buffer); }

static void move_to_front(cpb_lines *lines) {
  if (lines->begin == 0) return;
  size_t left = lines->end - lines->begin;
  memmove(lines->buffer.bytes, lines->buffer.bytes + lines->begin, left);
  lines->scanned -= lines->begin;
  lines->begin = 0;
  lines->end = left;
}

/* Doubles the buffer when it is half full: a long line that arrives in small pieces is copied a few times, not once
 * per piece. */
static cpb_status make_room(cpb_lines *lines, cpb_error *error) {
  size_t size = lines->buffer.size;
  if (size != 0 && lines->end <= size / 2) return CPB_OK;
  size = size == 0 ? FIRST_SIZE : size > CPB_LINE_MAX / 2 ? CPB_LINE_MAX + 1 : 2 * size;
  return cpb_buffer_reserve(&lines->buffer, size, lines->end, error);
}

/* Reads more behind the unprocessed bytes. */
static cpb_status refill(cpb_lines *lines, cpb_input *source, cpb_error *error) {
  size_t got = 0;
  move_to_front(lines);
  if (lines->end > CPB_LINE_MAX)
    return cpb_file_fail(error, CPB_WHY_LINE_TOO_LONG, source->path, "line %llu has more than %d bytes%s",
                         (unsigned long long)lines->next, CPB_LINE_MAX,
                         lines->quotes ? ", or a quote is never closed" : "");
  cpb_status status = make_room(lines, error);
  size_t room = lines->buffer.size <= CPB_LINE_MAX ? lines->buffer.size : CPB_LINE_MAX + 1;
  if (status == CPB_OK)
    status = cpb_input_read_some(source, lines->buffer.bytes + lines->end, room - lines->end, &got, error);
  lines->end += got;
  lines->finished = got == 0;
  return status;
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
static cpb_status take_line(cpb_lines *lines, cpb_input *source, cpb_line *line, cpb_error *error) {
  bool quoted = false;
  unsigned char *newline = NULL;
  while ((newline = lines->end == 0 ? NULL : line_end(lines, &quoted)) == NULL && !lines->finished) {
    cpb_status status = refill(lines, source, error);
    if (status != CPB_OK) return status;
  }
  *line = (cpb_line){NULL, 0};
  if (newline == NULL && lines->begin == lines->end) return CPB_OK;
  unsigned char *text = lines->buffer.bytes + lines->begin;
  unsigned char *end = newline == NULL ? lines->buffer.bytes + lines->end : newline;
  lines->begin = lines->scanned = (size_t)(end - lines->buffer.bytes) + (newline != NULL);
  lines->number = lines->next;
  lines->next += 1 + count_byte(text, end, '\n');
  if (end > text && end[-1] == '\r') end--;
  *line = (cpb_line){(const char *)text, (size_t)(end - text)};
  return CPB_OK;
}

static bool is_blank(cpb_line line) {
  for (size_t i = 0; i < line.length; i++)
    if (line.text[i] != ' ') return false;
  return true;
}

cpb_status cpb_lines_next(cpb_lines *lines, cpb_input *source, cpb_line *line, cpb_error *error) {
  cpb_status status;
  do status = take_line(lines, source, line, error);
  while (status == CPB_OK && line->text != NULL && is_blank(*line));
  return status;
}
