#include "name_list.h"
#include "src/base/system_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* With room for one more. */
typedef struct growing {
  cli_name_list *names;
  size_t room, text_room;
} growing;

static void *larger(void *memory, size_t count, size_t size) {
  void *made = cli_alloc(count, size);
  if (memory != NULL) memcpy(made, memory, count / 2 * size);
  free(memory);
  return made;
}

static void make_room(growing *g, size_t bytes) {
  cli_name_list *names = g->names;
  while (names->count + 2 > g->room) {
    g->room = g->room == 0 ? 64 : 2 * g->room;
    if (!names->keyed) names->ids = larger(names->ids, g->room, sizeof *names->ids);
    if (names->keyed) names->offsets = larger(names->offsets, g->room, sizeof *names->offsets);
    if (names->count == 0 && names->keyed) names->offsets[0] = 0;
  }
  while (names->keyed && names->offsets[names->count] + bytes > g->text_room) {
    g->text_room = g->text_room == 0 ? 4096 : 2 * g->text_room;
    names->text = larger(names->text, g->text_room, 1);
  }
}

static bool add_name(growing *g, const char *word, size_t bytes) {
  cli_name_list *names = g->names;
  const char *end;
  make_room(g, bytes);
  if (names->keyed) {
    memcpy(names->text + names->offsets[names->count], word, bytes);
    names->offsets[names->count + 1] = names->offsets[names->count] + bytes;
  } else if (!cli_read_count(word, &end, &names->ids[names->count]) || (size_t)(end - word) != bytes)
    return false;
  names->count++;
  return true;
}

static void finish(cli_name_list *names) {
  growing g = {.names = names};
  if (names->count == 0) make_room(&g, 1);
  names->keys = (cpb_index_keys){names->text, names->offsets, names->count};
}

/* The next line without its end, in memory that grows; false at the end of the file. */
static bool next_line(FILE *file, char **line, size_t *room, size_t *length) {
  int byte;
  *length = 0;
  while ((byte = getc(file)) != EOF && byte != '\n') {
    if (*length + 2 > *room) {
      *room = *room == 0 ? 256 : 2 * *room;
      *line = larger(*line, *room, 1);
    }
    (*line)[(*length)++] = (char)byte;
  }
  if (byte == EOF && *length == 0) return false;
  if (*line == NULL) *line = cli_alloc(*room = 256, 1);
  if (*length > 0 && (*line)[*length - 1] == '\r') --*length;
  (*line)[*length] = 0;
  return true;
}

int cli_read_names(const cli_job *job, const char *path, bool keyed, cli_name_list *names) {
  *names = (cli_name_list){.keyed = keyed};
  growing g = {.names = names};
  FILE *file = strcmp(path, "-") == 0 ? stdin : cpb_sys_fopen(path, "r");
  char *line = NULL;
  size_t room = 0, length;
  int result = file != NULL ? CLI_OK : cli_fail(job, "cannot open %s: %s", path, strerror(errno));
  while (result == CLI_OK && next_line(file, &line, &room, &length))
    if (!add_name(&g, line, length))
      result = cli_fail(job, "%s: line %zu is not an id: \"%s\"", cli_name(path), names->count + 1, line);
  if (result == CLI_OK && ferror(file))
    result = cli_fail(job, "cannot read %s: %s", cli_name(path), strerror(errno));
  if (file != NULL && file != stdin) fclose(file);
  free(line);
  finish(names);
  return result;
}

int cli_take_names(const cli_job *job, char *const *words, size_t count, bool keyed, cli_name_list *names) {
  *names = (cli_name_list){.keyed = keyed};
  growing g = {.names = names};
  int result = CLI_OK;
  for (size_t i = 0; i < count && result == CLI_OK; i++)
    if (!add_name(&g, words[i], strlen(words[i]))) result = cli_misuse(job, "\"%s\" is not an id", words[i]);
  finish(names);
  return result;
}

void cli_free_names(cli_name_list *names) {
  free(names->ids);
  free(names->text);
  free(names->offsets);
  *names = (cli_name_list){0};
}

const uint64_t *cli_ids_of(const cli_name_list *names, size_t from) {
  return names->keyed ? NULL : names->ids + from;
}

cpb_index_keys cli_keys_of(const cli_name_list *names, size_t from, size_t to) {
  return (cpb_index_keys){names->text, names->offsets + from, to - from};
}

static bool read_span(const char *given, uint64_t *first, uint64_t *last) {
  const char *at;
  return cli_read_count(given, &at, first) && strncmp(at, "..", 2) == 0 &&
         cli_read_count(at + 2, &at, last) && *at == 0;
}

int cli_read_filter(const cli_job *job, const cpb_index *index, const char *given, cli_name_list *names,
                    cpb_index_filter *filter) {
  cpb_index_report report = {.size = sizeof report};
  cpb_error error;
  uint64_t last;
  *filter = (cpb_index_filter){.size = sizeof *filter};
  *names = (cli_name_list){0};
  cpb_index_describe(index, &report);
  if (!report.keys && read_span(given, &filter->first, &last)) {
    if (last < filter->first || last == UINT64_MAX)
      return cli_misuse(job, "--filter A..B must have A <= B, got \"%s\"", given);
    filter->end = last + 1;
    return CLI_OK;
  }
  int result = cli_read_names(job, given, report.keys, names);
  if (result == CLI_OK && report.keys) {
    names->ids = cli_alloc(names->count + 1, sizeof *names->ids);
    if (cpb_index_find_keys(index, &names->keys, names->ids, &error) != CPB_OK)
      result = cli_fail(job, "%s: %s", given, error.text);
  }
  filter->ids = names->ids;
  filter->count = names->count;
  return result;
}

int cli_keys_of_ids(const cli_job *job, const cpb_index *index, const uint64_t *ids, size_t count,
                    char **text, uint64_t *offsets) {
  cpb_error error;
  *text = NULL;
  cpb_status status = cpb_index_keys_of(index, ids, count, offsets, NULL, 0, &error);
  if (status == CPB_OK) *text = cli_alloc((size_t)offsets[count] + 1, 1);
  if (status == CPB_OK)
    status = cpb_index_keys_of(index, ids, count, offsets, *text, (size_t)offsets[count], &error);
  return status == CPB_OK ? CLI_OK : cli_fail(job, "%s", error.text);
}
