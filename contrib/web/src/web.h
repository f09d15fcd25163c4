/* The WebAssembly interface of the library, for web/npm/core.js and nothing else.
 *
 * Rows are passed as handles, options and small results as JSON, large results through memory of web_alloc. A call
 * that fails returns NULL or -1 and keeps the error for error_json. One thread; all handles are freed by JavaScript. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include <stdbool.h>

#include "capball/view.h"
#include "files/json_read.h"
#include "base/json_text.h"
#include "show/commands.h"

#define WEB(name) __attribute__((export_name(#name)))

/* A value by the format of cpb_json_pack; numbers have the fewest digits that restore them. */
#define web_new(...) cpb_json_new((cpb_json_style){.compact = true, .fewest = true}, __VA_ARGS__)

extern cpb_error web_error; /* of the last call that failed */

/* Reports progress to JavaScript, which can stop the call. */
const cpb_exec *web_exec(void);

/* Rows with the names of their columns and the ids of their rows, NULL where they have none. */
typedef struct web_rows {
  cpb_view view;
  char **names, **ids;
  show_file file; /* that they were read from, and how; no path: none */
} web_rows;

cpb_source web_source(const web_rows *rows);

/* ---- options ---- */

/* Options of one call: a JSON object, and the vectors read from it. */
typedef struct web_options {
  cpb_json *root;
  double *vectors[8];
  size_t vector_count;
  cpb_status status; /* of the first getter that failed */
} web_options;

web_options web_open(const char *text);
cpb_status web_close(web_options *options, cpb_status status); /* status, unless a getter failed */

/* Members; absent and null ones leave *to unchanged. */
void web_get_number(web_options *options, const char *key, double *to);
void web_get_count(web_options *options, const char *key, size_t *to);
/* The same, or `word`, which is SIZE_MAX. */
void web_get_count_or(web_options *options, const char *key, const char *word, size_t *to);
void web_get_seed(web_options *options, const char *key, uint64_t *to);
void web_get_flag(web_options *options, const char *key, bool *to);
void web_get_vector(web_options *options, const char *key, size_t count, const double **to);
const char *web_get_string(web_options *options, const char *key);
/* The index of a string among names(0 .. count-1). */
#define web_get_choice(options, key, type, names, count, to)                                                 \
  do {                                                                                                       \
    int web_at = -1;                                                                                         \
    for (int web_i = 0; web_i < (int)(count); web_i++)                                                       \
      if (web_is(options, key, names((type)web_i))) web_at = web_i;                                          \
    if (web_chosen(options, key, web_at)) *(to) = (type)web_at;                                              \
  } while (0)
bool web_is(const web_options *options, const char *key, const char *name);
bool web_chosen(web_options *options, const char *key, int at);

/* ---- results ---- */

/* The text of a value, for JavaScript to free; NULL if status is not CPB_OK. Frees the value. */
char *web_text(cpb_status status, cpb_text *value);

/* A number, or null if JSON has none for it. */
cpb_text *web_real(double value);
cpb_text *web_raw(const char *json);                         /* null for NULL */
cpb_text *web_names(const char *const *names, size_t count); /* null for NULL */

#endif
