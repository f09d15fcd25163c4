#include "base/column_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *text_of(const char *name) { return name == NULL ? "" : name; }

/* One block: the addresses, then the names. suffix: the number behind each, 0 for none; or NULL. */
static const char **copy_names(const char *const *names, size_t count, const size_t *suffix) {
  size_t bytes = count * sizeof *names;
  for (size_t k = 0; k < count; k++) {
    int more = suffix != NULL && suffix[k] > 0 ? snprintf(NULL, 0, ".%zu", suffix[k]) : 0;
    bytes += cpb_utf8_decode(NULL, text_of(names[k])) + (size_t)more + 1;
  }
  const char **made = malloc(bytes);
  if (made == NULL) return NULL;
  char *to = (char *)(made + count), *end = (char *)made + bytes;
  for (size_t k = 0; k < count; k++) {
    made[k] = to;
    to += cpb_utf8_decode(to, text_of(names[k]));
    if (suffix != NULL && suffix[k] > 0) to += snprintf(to, (size_t)(end - to), ".%zu", suffix[k]);
    to++;
  }
  return made;
}

typedef struct named {
  const char *name;
  size_t column;
} named;

static int compare_names(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int compare(const void *a, const void *b) {
  const named *x = a, *y = b;
  int order = compare_names(a, b);
  return order != 0 ? order : (x->column > y->column) - (x->column < y->column);
}

/* The numbers of the columns whose name repeats an earlier one; how many there are. room: for the longest name and a number */
static size_t number_repeats(const named *sorted, size_t count, char *room, size_t *suffix) {
  size_t repeats = 0, number = 0;
  for (size_t i = 1; i < count; i++) {
    if (compare_names(&sorted[i - 1], &sorted[i]) != 0) {
      number = 0;
      continue;
    }
    do sprintf(room, "%s.%zu", sorted[i].name, ++number);
    while (bsearch(&(named){room, 0}, sorted, count, sizeof *sorted, compare_names) != NULL);
    suffix[sorted[i].column] = number;
    repeats++;
  }
  return repeats;
}

/* The names again, those that repeat with a number; NULL without memory. */
static const char **tell_apart(const char **names, size_t count) {
  enum { NUMBER_ROOM = 24 };
  size_t longest = 0;
  for (size_t k = 0; k < count; k++) longest = strlen(names[k]) > longest ? strlen(names[k]) : longest;
  named *sorted = calloc(count, sizeof *sorted);
  size_t *suffix = calloc(count, sizeof *suffix);
  char *room = malloc(longest + NUMBER_ROOM);
  bool whole = sorted != NULL && suffix != NULL && room != NULL;
  for (size_t k = 0; whole && k < count; k++) sorted[k] = (named){names[k], k};
  if (whole) qsort(sorted, count, sizeof *sorted, compare);
  const char **apart = names;
  if (!whole || number_repeats(sorted, count, room, suffix) > 0) {
    apart = whole ? copy_names(names, count, suffix) : NULL;
    free(names);
  }
  free(sorted);
  free(suffix);
  free(room);
  return apart;
}

bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy) {
  const char **made = names == NULL ? NULL : copy_names(names, count, NULL);
  *copy = made == NULL || count < 2 ? made : tell_apart(made, count);
  return names == NULL || *copy != NULL;
}

void cpb_column_names_free(const char *const *names) { free((void *)(uintptr_t)names); }
