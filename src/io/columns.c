#define _POSIX_C_SOURCE 200809L
#include "io/columns.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"

typedef struct choice {
  cpb_columns *columns;
  const char *path;
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

static cpb_status refuse(const choice *c, const char *item, size_t length, cpb_error *error) {
  bool named = c->names != NULL && c->names->count > 0;
  return cpb_file_fail(error, CPB_WHY_COLUMN_NONE, c->path,
                       "there is no column \"%.*s\"; it has %zu column%s%s", (int)(length < 60 ? length : 60),
                       item, c->columns->in_file, cpb_s(c->columns->in_file),
                       named ? ", by name or by number from 1" : " without names, by number from 1");
}

/* The columns first .. last of an item: a name, a number, or a range of numbers. */
static cpb_status find(const choice *c, const char *item, size_t length, size_t *first, size_t *last,
                       cpb_error *error) {
  size_t count = c->columns->in_file;
  size_t named = c->names == NULL ? 0 : cpb_texts_find(c->names, item, length);
  bool by_name = c->names != NULL && named < c->names->count;
  const char *dash = memchr(item, '-', length);
  size_t left = dash == NULL ? length : (size_t)(dash - item);
  *first = by_name ? named : number_of(item, left);
  *last = by_name || dash == NULL ? *first : number_of(dash + 1, length - left - 1);
  if (!by_name && dash != NULL && left + 1 == length) *last = count - 1; /* "3-": all the rest */
  return *first < count && *last < count && *first <= *last ? CPB_OK : refuse(c, item, length, error);
}

typedef cpb_status (*use_column)(choice *c, size_t column, cpb_error *error);

static cpb_status take(choice *c, size_t column, cpb_error *error) {
  if (c->columns->place[column] != CPB_COLUMN_UNUSED)
    return cpb_file_fail(error, CPB_WHY_COLUMN_TWICE, c->path, "column %zu is wanted twice", column + 1);
  c->columns->place[column] = c->next++;
  return CPB_OK;
}

static cpb_status leave(choice *c, size_t column, cpb_error *error) {
  (void)error;
  c->columns->place[column] = CPB_COLUMN_UNUSED;
  return CPB_OK;
}

static cpb_status each(choice *c, const char *list, use_column use, cpb_error *error) {
  for (const char *item = list; list != NULL;) {
    size_t length = strcspn(item, ","), first, last;
    cpb_status status = find(c, item, length, &first, &last, error);
    for (size_t k = first; status == CPB_OK && k <= last; k++) status = use(c, k, error);
    if (status != CPB_OK || item[length] == 0) return status;
    item += length + 1;
  }
  return CPB_OK;
}

static cpb_status set_aside(choice *c, const char *item, size_t as, cpb_error *error) {
  size_t first, last;
  if (item == NULL) return CPB_OK;
  cpb_status status = find(c, item, strlen(item), &first, &last, error);
  if (status == CPB_OK) c->columns->place[first] = as;
  return status;
}

/* Renumbers the places without gaps, in the same order, after columns were excluded. */
static void close_gaps(cpb_columns *columns, size_t *order) {
  size_t limit = columns->in_file;
  for (size_t k = 0; k < limit; k++) order[k] = CPB_COLUMN_UNUSED;
  for (size_t k = 0; k < limit; k++)
    if (columns->place[k] < limit) order[columns->place[k]] = k;
  for (size_t k = 0; k < limit; k++)
    if (order[k] != CPB_COLUMN_UNUSED) columns->place[order[k]] = columns->taken++;
}

static cpb_status choose(choice *c, const cpb_column_wish *wish, cpb_error *error) {
  for (size_t k = 0; k < c->columns->in_file; k++)
    c->columns->place[k] = wish->columns != NULL ? CPB_COLUMN_UNUSED : c->next++;
  cpb_status status = each(c, wish->columns, take, error);
  if (status == CPB_OK) status = each(c, wish->drop, leave, error);
  if (status == CPB_OK && wish->first_is_id) c->columns->place[0] = CPB_COLUMN_ID;
  if (status == CPB_OK) status = set_aside(c, wish->id, CPB_COLUMN_ID, error);
  if (status == CPB_OK) status = set_aside(c, wish->label, CPB_COLUMN_LABEL, error);
  return status;
}

cpb_status cpb_columns_choose(cpb_columns *columns, const cpb_column_wish *wish, const char *path,
                              const cpb_texts *names, size_t in_file, cpb_error *error) {
  cpb_columns_free(columns);
  *columns = (cpb_columns){.place = malloc((in_file + 1) * sizeof(size_t)),
                           .in_file = in_file,
                           .ids = wish->id != NULL || wish->first_is_id,
                           .labels = wish->label != NULL};
  size_t *order = malloc((in_file + 1) * sizeof(size_t));
  choice c = {columns, path, names, 0};
  cpb_status status = columns->place == NULL || order == NULL ? cpb_fail_memory(error, "%zu columns", in_file)
                                                              : choose(&c, wish, error);
  if (status == CPB_OK) close_gaps(columns, order);
  free(order);
  if (status == CPB_OK && columns->taken == 0)
    status = cpb_file_fail(error, CPB_WHY_COLUMNS_ALL_DROPPED, path, "no column is left of %zu", in_file);
  return status;
}

cpb_status cpb_columns_select(cpb_columns *columns, const char *const *wanted, size_t count, const char *path,
                              const cpb_texts *names, cpb_error *error) {
  choice c = {columns, path, names, 0};
  size_t *before = malloc(columns->in_file * sizeof *before);
  if (before == NULL) return cpb_fail_memory(error, "%zu columns", columns->in_file);
  memcpy(before, columns->place, columns->in_file * sizeof *before);
  for (size_t k = 0; k < columns->in_file; k++)
    if (before[k] < columns->taken) columns->place[k] = CPB_COLUMN_UNUSED;
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < count && status == CPB_OK; i++) {
    size_t k = cpb_texts_find(names, wanted[i], strlen(wanted[i]));
    bool there = k < columns->in_file && before[k] < columns->taken;
    status = there ? take(&c, k, error) : refuse(&c, wanted[i], strlen(wanted[i]), error);
  }
  columns->taken = count;
  free(before);
  return status;
}

void cpb_columns_free(cpb_columns *columns) {
  free(columns->place);
  *columns = (cpb_columns){0};
}
