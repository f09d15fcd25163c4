/* Numbers as text, independent of the locale, with enough digits to read back the same bits. */
#ifndef CPB_FILES_NUMBER_H
#define CPB_FILES_NUMBER_H

#include <stdbool.h>

#include "capball/view.h"

enum { CPB_NUMBER_ROOM = 32 }; /* bytes for any printed number, including the final 0 */

/* True if the whole text, except surrounding blanks, is a number that fits a double: decimal, with or without exponent,
 * nan, inf or infinity in any case. 1e999 does not fit. */
bool cpb_number_parse(const char *text, size_t length, double *value);

/* A rejected number, which cannot be a column name: 1e999, 0x1.8p3. Not 0x1f, which may be the name of a byte. */
bool cpb_number_is_refused(const char *text, size_t length);

/* Element i of an array: 17 digits for f64, 9 for f32, 5 for f16, all digits of an integer. Returns the length. */
size_t cpb_number_print(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i);

/* The same with the fewest digits that read back as the same f32 or f64; integers below 2^53 have all their digits. */
size_t cpb_number_print_short(char to[CPB_NUMBER_ROOM], const void *elements, cpb_dtype dtype, size_t i);

#endif
