/* Doubles and floats as strings, with the fewest digits that restore the same bits. */
#ifndef CPB_CORE_DIGITS_H
#define CPB_CORE_DIGITS_H

#include <stddef.h>

enum { CPB_DIGITS_ROOM = 32 }; /* bytes of the longest string, including its 0 */

/* As "%.Ng" prints it for the least N that strtod, or strtof, reads back as `value`; the decimal point is that of the
 * thread's locale. Returns the length. */
size_t cpb_digits_f64(char to[CPB_DIGITS_ROOM], double value);
size_t cpb_digits_f32(char to[CPB_DIGITS_ROOM], float value);

#endif
