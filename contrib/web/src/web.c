#include "web.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"

cpb_error web_error;

WEB(alloc) void *web_alloc(size_t bytes) { return malloc(bytes == 0 ? 1 : bytes); }
WEB(release) void web_release(void *memory) { free(memory); }
WEB(version) const char *web_version(void) { return cpb_version(); }
WEB(isa) const char *web_isa(void) { return cpb_isa_name(); }

__attribute__((import_module("capball"), import_name("progress"))) int web_progress(double share);

static int report(void *context, double share) {
  (void)context;
  return web_progress(share);
}

const cpb_exec *web_exec(void) {
  static cpb_exec exec;
  cpb_exec_init(&exec, sizeof exec);
  exec.progress = report;
  return &exec;
}

WEB(error_json) char *web_error_json(void) {
  return web_text(CPB_OK, web_new("{s:s, s:I, s:o, s:s, s:s}", "status", cpb_status_name(web_error.status),
                                  "reason", (uint64_t)web_error.reason, "row",
                                  web_error.row < 0 ? web_new("null") : web_new("I", (uint64_t)web_error.row),
                                  "argument", web_error.argument, "text", web_error.text));
}

/* As people are shown it. */
WEB(printable) char *web_printable(const char *text) {
  size_t room = 4 * strlen(text) + 1;
  char *shown = malloc(room);
  if (shown == NULL)
    cpb_fail_memory(&web_error, "%zu bytes", room);
  else
    cpb_printable_copy(shown, room, text);
  return shown;
}

/* ---- rows ---- */

WEB(rows_new) web_rows *web_rows_new(cpb_dtype dtype, size_t rows, size_t cols) {
  web_rows *made = calloc(1, sizeof *made);
  void *data =
      cols != 0 && rows > SIZE_MAX / 8 / cols ? NULL : web_alloc(rows * cols * cpb_dtype_size(dtype));
  if (made == NULL || data == NULL) {
    free(made);
    free(data);
    cpb_fail_memory(&web_error, "%zu rows of %zu numbers", rows, cols);
    return NULL;
  }
  made->view = cpb_rows(data, dtype, rows, cols);
  return made;
}

WEB(rows_data) const void *web_rows_data(const web_rows *rows) { return rows->view.data; }

void web_file_free(show_file *file);

static void free_list(char **list, size_t count) {
  for (size_t i = 0; list != NULL && i < count; i++) free(list[i]);
  free(list);
}

WEB(rows_free) void web_rows_free(web_rows *rows) {
  free_list(rows->names, rows->view.cols);
  free_list(rows->ids, rows->view.rows);
  free((void *)(uintptr_t)rows->view.data);
  web_file_free(&rows->file);
  free(rows);
}

WEB(rows_json) char *web_rows_json(const web_rows *rows) {
  return web_text(
      CPB_OK, web_new("{s:I, s:I, s:s, s:o, s:o}", "rows", (uint64_t)rows->view.rows, "cols",
                      (uint64_t)rows->view.cols, "dtype", cpb_dtype_name(rows->view.dtype), "names",
                      web_names((const char *const *)rows->names, rows->view.cols), "ids",
                      web_names((const char *const *)rows->ids, rows->ids == NULL ? 0 : rows->view.rows)));
}

cpb_source web_source(const web_rows *rows) {
  cpb_source source = cpb_source_from_view(rows->view);
  source.names = (const char *const *)rows->names;
  return source;
}

/* ---- options ---- */

web_options web_open(const char *text) {
  web_options options = {.status = CPB_OK};
  options.status = cpb_json_read(text, strlen(text), CPB_JSON_AS_REALS, "options", &options.root, &web_error);
  return options;
}

cpb_status web_close(web_options *options, cpb_status status) {
  for (size_t i = 0; i < options->vector_count; i++) free(options->vectors[i]);
  free(options->root);
  return options->status != CPB_OK ? options->status : status;
}

/* NULL for absent and null members, and after a failure. */
static const cpb_json *member(const web_options *options, const char *key) {
  const cpb_json *value = options->status == CPB_OK ? cpb_json_get(options->root, key) : NULL;
  return cpb_json_is(value, CPB_JSON_NULL) ? NULL : value;
}

static void refuse(web_options *options, const char *key, const char *claim) {
  options->status = cpb_fail(&web_error, CPB_WHY_DOMAIN, key, "%s must be %s", key, claim);
}

void web_get_number(web_options *options, const char *key, double *to) {
  const cpb_json *value = member(options, key);
  if (value == NULL) return;
  if (cpb_json_is_number(value))
    *to = value->real;
  else
    refuse(options, key, "a number");
}

static bool get_integer(web_options *options, const char *key, double most, double *to) {
  if (member(options, key) == NULL) return false;
  double number = -1;
  web_get_number(options, key, &number);
  bool right = number >= 0 && number <= most && number == floor(number);
  if (options->status == CPB_OK && !right)
    options->status =
        cpb_fail_domain(&web_error, key, number, "%s must be an integer from 0 to %.0f", key, most);
  *to = number;
  return right;
}

void web_get_count(web_options *options, const char *key, size_t *to) {
  double number;
  if (get_integer(options, key, (double)UINT32_MAX, &number)) *to = (size_t)number;
}

void web_get_count_or(web_options *options, const char *key, const char *word, size_t *to) {
  const cpb_json *value = member(options, key);
  const char *text = value != NULL ? cpb_json_string_of(value) : NULL;
  if (text != NULL && strcmp(text, word) == 0)
    *to = SIZE_MAX;
  else
    web_get_count(options, key, to);
}

void web_get_seed(web_options *options, const char *key, uint64_t *to) {
  double number;
  if (get_integer(options, key, 0x1p53, &number)) *to = (uint64_t)number;
}

void web_get_flag(web_options *options, const char *key, bool *to) {
  const cpb_json *value = member(options, key);
  if (value == NULL) return;
  *to = cpb_json_is(value, CPB_JSON_TRUE);
  if (!*to && !cpb_json_is(value, CPB_JSON_FALSE)) refuse(options, key, "true or false");
}

void web_get_vector(web_options *options, const char *key, size_t count, const double **to) {
  const cpb_json *value = member(options, key);
  if (value == NULL) return;
  double *numbers = calloc(count + 1, sizeof *numbers);
  options->vectors[options->vector_count++] = numbers;
  if (numbers == NULL) {
    options->status = cpb_fail_memory(&web_error, "%zu numbers", count);
    return;
  }
  size_t at = 0;
  for (const cpb_json *one = cpb_json_first(value); one != NULL && at < count; one = one->next)
    numbers[at++] = cpb_json_is_number(one) ? one->real : NAN;
  if (cpb_json_size(value) != count)
    options->status =
        cpb_fail_count(&web_error, key, cpb_json_size(value), "%s must have %zu numbers", key, count);
  *to = numbers;
}

const char *web_get_string(web_options *options, const char *key) {
  const cpb_json *value = member(options, key);
  if (value != NULL && !cpb_json_is(value, CPB_JSON_STRING)) refuse(options, key, "a string");
  return cpb_json_string_of(value);
}

bool web_is(const web_options *options, const char *key, const char *name) {
  const char *said = cpb_json_string_of(member(options, key));
  return said != NULL && strcmp(said, name) == 0;
}

bool web_chosen(web_options *options, const char *key, int at) {
  const cpb_json *value = member(options, key);
  if (value == NULL || at >= 0) return value != NULL;
  const char *said = cpb_json_string_of(value);
  options->status =
      cpb_fail(&web_error, CPB_WHY_CHOICE, key, "there is no %s \"%s\"", key, said == NULL ? "?" : said);
  return false;
}

/* ---- results ---- */

char *web_text(cpb_status status, cpb_text *value) {
  char *text = value != NULL && value->failure == CPB_JSON_WHOLE && status == CPB_OK ? value->bytes : NULL;
  if (text == NULL && status == CPB_OK) cpb_fail_memory(&web_error, "a result");
  if (value != NULL && text == NULL) free(value->bytes);
  free(value);
  return text;
}

cpb_text *web_real(double value) { return isfinite(value) ? web_new("f", value) : web_new("null"); }

cpb_text *web_names(const char *const *names, size_t count) {
  if (names == NULL) return web_new("null");
  cpb_text *list = web_new("[]");
  for (size_t i = 0; i < count; i++) list = cpb_json_append(list, web_new("s", names[i]));
  return list;
}

cpb_text *web_raw(const char *json) {
  cpb_text *value = web_new("");
  if (value != NULL) cpb_text_puts(value, json == NULL ? "null" : json);
  return value;
}
