/* Doubles and floats as strings, with the decimal point '.' in every locale. */
#ifndef CPB_BASE_DIGITS_H
#define CPB_BASE_DIGITS_H

#include <stddef.h>

enum { CPB_DIGITS_ROOM = 32 }; /* bytes of the longest string, including its 0 */

/* With the fewest digits that restore the same bits: as "%.Ng" prints it for the least N that strtod, or strtof, reads
 * back as `value`. Returns the length. */
size_t cpb_digits_f64(char to[CPB_DIGITS_ROOM], double value);
size_t cpb_digits_f32(char to[CPB_DIGITS_ROOM], float value);

/* "%.*g" */
size_t cpb_digits_rounded(char to[CPB_DIGITS_ROOM], double value, int digits);

/* The powers of ten that are exact doubles. */
extern const double cpb_powers_of_ten[23];

/* strtod */
double cpb_digits_read(const char *text, char **end);

#endif
