/* JSON written as text. A value under construction is its text: a list grows by appending to it, and a failure
 * (out of memory, a number that is not finite) is remembered until the caller checks. */
#ifndef CPB_BASE_JSON_TEXT_H
#define CPB_BASE_JSON_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cpb_json_failure {
  CPB_JSON_WHOLE,
  CPB_JSON_NO_MEMORY,
  CPB_JSON_UNSAYABLE /* JSON has no such value */
} cpb_json_failure;

/* Print style; {0}: as in files, 17 digits, "1e7" rather than "1e+07", blanks after ':' and ','. */
typedef struct cpb_json_style {
  bool compact;       /* no blanks */
  bool fewest;        /* the fewest digits that restore a number */
  bool long_exponent; /* e+07 */
  size_t per_line;    /* numbers of a longer vector; 0: all */
} cpb_json_style;

/* A growing string, always terminated by a 0. */
typedef struct cpb_text {
  char *bytes; /* NULL while it is empty; the owner frees it */
  size_t used, room;
  cpb_json_style style;
  cpb_json_failure failure; /* the first failure is kept */
} cpb_text;

/* Adds count bytes, which the caller fills; NULL when out of memory. */
char *cpb_text_extend(cpb_text *text, size_t count);
void cpb_text_put(cpb_text *text, const char *bytes, size_t count);
void cpb_text_puts(cpb_text *text, const char *string);
void cpb_text_format(cpb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { CPB_JSON_NUMBER_ROOM = 40 }; /* of a printed number */

/* The fewest digits that restore a double, in the style of printf's %g. */
size_t cpb_print_fewest(char to[CPB_JSON_NUMBER_ROOM], double value);

void cpb_json_vector(cpb_text *text, const double *numbers, size_t count); /* NULL: null */

/* NULL: null. A string that is not UTF-8 is decoded (cpb_utf8_decode); what is not printable (core/printable.h) is escaped. */
void cpb_json_string(cpb_text *text, const char *string);

/* Writes values by a format of these letters; everything else is copied, with blanks as the style demands:
 *   s  const char *, NULL: null      f  double                             I  uint64_t
 *   x  uint64_t: a string of 16 hexadecimal digits
 *   b  int: true or false            V  const double *, size_t: an array   o  cpb_text *: a value, which is freed
 * "{s:f, s:[I, b]}" takes a name, a number, a name, and two values. o with NULL, or with a failure, fails. */
void cpb_json_pack(cpb_text *text, const char *format, ...);
void cpb_json_pack_list(cpb_text *text, const char *format, va_list list);

/* ---- values built step by step ---- */

/* A new value; NULL when out of memory. */
cpb_text *cpb_json_new(cpb_json_style style, const char *format, ...);
/* Appends a value to the array, or a member to the object, and frees the value. NULL is passed through. */
cpb_text *cpb_json_append(cpb_text *array, cpb_text *value);
cpb_text *cpb_json_set(cpb_text *object, const char *key, cpb_text *value);
void cpb_json_free(cpb_text *value);

#endif
