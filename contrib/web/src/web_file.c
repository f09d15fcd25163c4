/* Rows from the bytes of a file, by the readers of the library; JavaScript provides the file system. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "web.h"

web_rows *web_rows_new(cpb_dtype dtype, size_t rows, size_t cols);
void web_rows_free(web_rows *rows);
void web_file_free(show_file *file);

static char *copy(const char *string) {
  size_t length = strlen(string == NULL ? "" : string);
  char *made = calloc(length + 1, 1);
  if (made != NULL && string != NULL) memcpy(made, string, length);
  return made;
}

static char **copy_names(const char *const *names, size_t count) {
  char **list = names == NULL ? NULL : calloc(count + 1, sizeof *list);
  for (size_t i = 0; list != NULL && i < count; i++) list[i] = copy(names[i]);
  return list;
}

static char **copy_ids(const cpb_reader *reader, size_t count) {
  char **list = calloc(count + 1, sizeof *list);
  for (size_t i = 0; list != NULL && i < count; i++) list[i] = copy(cpb_reader_id(reader, i));
  return list;
}

static web_rows *hold(cpb_reader *reader, cpb_status *status) {
  cpb_source source = cpb_reader_source(reader, false);
  cpb_view view = {.rows = 0};
  *status = cpb_source_hold(&source, &view, web_exec(), &web_error);
  web_rows *rows = *status == CPB_OK ? calloc(1, sizeof *rows) : NULL;
  if (rows == NULL) {
    cpb_free((void *)(uintptr_t)view.data);
    return NULL;
  }
  rows->view = view;
  rows->names = copy_names(source.names, view.cols);
  if (cpb_reader_info(reader).ids) rows->ids = copy_ids(reader, view.rows);
  return rows;
}

void web_file_free(show_file *file) {
  for (size_t i = 0; i < file->count; i++) free((void *)(uintptr_t)file->options[i].value);
  free((void *)(uintptr_t)file->options);
  free((void *)(uintptr_t)file->path);
}

/* The options of the command that read the file so. */
static void remember(web_rows *rows, const char *path, const cpb_reader_options *o) {
  const show_option all[] = {{"format", o->format},
                             {"columns", o->columns},
                             {"drop", o->drop},
                             {"id-column", o->id_column},
                             {"skip-bad", o->skip_bad ? "" : NULL},
                             {"decimal-comma", o->decimal_comma ? "" : NULL}};
  show_option *given = calloc(sizeof all / sizeof *all, sizeof *given);
  rows->file = (show_file){.path = copy(path), .options = given};
  for (size_t i = 0; given != NULL && i < sizeof all / sizeof *all; i++)
    if (all[i].value != NULL)
      given[rows->file.count++] = (show_option){all[i].name, *all[i].value != 0 ? copy(all[i].value) : NULL};
}

WEB(rows_read) web_rows *web_rows_read(const char *path, const char *text) {
  web_options o = web_open(text);
  cpb_reader_options options;
  cpb_reader *reader = NULL;
  web_rows *rows = NULL;
  cpb_reader_options_init(&options, sizeof options);
  options.format = web_get_string(&o, "format");
  options.columns = web_get_string(&o, "columns");
  options.drop = web_get_string(&o, "drop");
  options.id_column = web_get_string(&o, "idColumn");
  web_get_flag(&o, "skipBad", &options.skip_bad);
  web_get_flag(&o, "decimalComma", &options.decimal_comma);
  cpb_status status = o.status;
  if (status == CPB_OK) status = cpb_reader_open_as(path, &options, &reader, &web_error);
  if (status == CPB_OK) rows = hold(reader, &status);
  cpb_reader_free(reader);
  if (rows != NULL) remember(rows, path, &options);
  if (web_close(&o, status) == CPB_OK) return rows;
  if (rows != NULL) web_rows_free(rows);
  return NULL;
}
