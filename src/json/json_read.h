/* JSON text into libjansson's values. Its own reader does not look whether there was memory for the letters of a long
 * word, and then reads another number, or ends the process. */
#ifndef CPB_JSON_JSON_READ_H
#define CPB_JSON_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>

#include "capball/status.h"

enum {
  CPB_JSON_ANY = 1,   /* a text may be a number, a string or a word too, not only an object or an array */
  CPB_JSON_REALS = 2, /* integers are read as reals, and have no limit of their own */
  CPB_JSON_LOOK = 4   /* the text is only looked at: numbers of any size, repeated names and \u0000 pass */
};

/* Where a text stops being JSON, and why; why = NULL: nowhere. */
typedef struct cpb_json_fault {
  const char *why;
  bool no_memory;
  unsigned long long line, column;
} cpb_json_fault;

/* The one value of a text (RFC 8259; names at most once, no \u0000), to be given to json_decref; NULL: see fault. */
json_t *cpb_json_value(const char *text, size_t length, unsigned how, cpb_json_fault *fault);

/* The same, with a sentence about the file `name`: EFORMAT with line and column, or ENOMEM. */
cpb_status cpb_json_read(const char *text, size_t length, unsigned how, const char *name, json_t **value,
                         cpb_error *error);

#endif
