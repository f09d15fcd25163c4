/* JSON as a tree of values. */
#ifndef CPB_FILES_JSON_READ_H
#define CPB_FILES_JSON_READ_H

#include <stdbool.h>

#include "capball/status.h"

typedef enum cpb_json_type {
  CPB_JSON_NULL,
  CPB_JSON_FALSE,
  CPB_JSON_TRUE,
  CPB_JSON_INTEGER,
  CPB_JSON_REAL,
  CPB_JSON_STRING,
  CPB_JSON_ARRAY,
  CPB_JSON_OBJECT,
  CPB_JSON_RAW /* a value of which only the text is stored, as it is: string and count */
} cpb_json_type;

typedef struct cpb_json cpb_json;
struct cpb_json {
  cpb_json_type type;
  size_t count; /* elements, members, or bytes of the string */
  double real;  /* of a real or an integer */
  union {
    long long integer;
    const char *string; /* 0-terminated */
    cpb_json *first;    /* element or member */
  };
  cpb_json *next;  /* in the array or object it belongs to */
  const char *key; /* of a member of .. */
  const cpb_json *owner;
};

enum {
  CPB_JSON_ANY = 1, /* the text may also be a number, a string or a word, not only an object or an array */
  CPB_JSON_AS_REALS = 2, /* integers are read as reals, without a range limit of their own */
  CPB_JSON_LOOK = 4,     /* check only: numbers of any size, repeated names and \u0000 are accepted */
  CPB_JSON_RAW_ID = 8    /* the member "id" of the outermost object is only checked, and read as raw */
};

/* Where a text is not valid JSON, and why; why = NULL: it is valid. */
typedef struct cpb_json_fault {
  const char *why;
  bool no_memory, of_id; /* of_id: the value that is not valid is the raw id */
  unsigned long long line, column;
} cpb_json_fault;

/* The value of a text (RFC 8259; unique names, no \u0000) and all in it, freed by one free(); NULL: see fault. */
cpb_json *cpb_json_value(const char *text, size_t length, unsigned how, cpb_json_fault *fault);

/* The same, with a message about the file `name`: EFORMAT with line and column, or ENOMEM. */
cpb_status cpb_json_read(const char *text, size_t length, unsigned how, const char *name, cpb_json **value,
                         cpb_error *error);

/* All of these accept NULL. */
const cpb_json *cpb_json_get(const cpb_json *object, const char *key); /* NULL: no such member */
const cpb_json *cpb_json_first(const cpb_json *array);                 /* the others by ->next */
size_t cpb_json_size(const cpb_json *array);                           /* 0 if it is not an array */
bool cpb_json_is(const cpb_json *value, cpb_json_type type);
bool cpb_json_is_number(const cpb_json *value);
long long cpb_json_integer_of(const cpb_json *value);  /* 0 if it is not an integer */
const char *cpb_json_string_of(const cpb_json *value); /* NULL if it is not a string */

#endif
