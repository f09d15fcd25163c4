/* JSON text into libjansson's values. Its own reader does not look whether there was memory for the letters of a long
 * word, and then reads another number, or ends the process. */
#ifndef CPB_JSON_JSON_READ_H
#define CPB_JSON_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>

#include "capball/status.h"

/* The one value of a text (RFC 8259; names at most once, no \u0000), to be given to json_decref. Each fault is a
 * sentence about the file `name`: EFORMAT with line and column, or ENOMEM. With any = false it must be an object or an
 * array. */
cpb_status cpb_json_read(const char *text, size_t length, bool any, const char *name, json_t **value,
                         cpb_error *error);

#endif
