/* Numbers as text, the same in every locale, with the digits that bring the same bits back. */
#ifndef CPB_IO_NUMBER_H
#define CPB_IO_NUMBER_H

#include <locale.h>
#include <stdbool.h>

#include "capball/view.h"

enum { CPB_NUMBER_ROOM = 32 }; /* bytes any printed number needs, with its 0 */

/* The thread's decimal point is '.' between these two; parse and print only in between. */
typedef struct cpb_numeric {
  locale_t own, before;
} cpb_numeric;
cpb_status cpb_numeric_enter(cpb_numeric *numeric, cpb_error *error);
void cpb_numeric_leave(cpb_numeric *numeric);

/* True when the whole text, blanks around it aside, is a number a double holds: decimal, with or
 * without exponent, nan, inf or infinity in any case. 1e999 is none. */
bool cpb_number_parse(const char *text, size_t length, double *value);

/* A number all the same, and no name of a column: 1e999, 0x1.8p3. Not 0x1f, which may be the name of a byte. */
bool cpb_number_is_refused(const char *text, size_t length);

/* Element i of an array: 17 digits for f64, 9 for f32, 5 for f16, all of an integer's. Returns the
 * length. */
size_t cpb_number_print(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i);

/* The same with the fewest digits that bring an f32 or an f64 back; whole numbers below 2^53 have all their digits. */
size_t cpb_number_print_short(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i);

#endif
