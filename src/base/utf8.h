/* Text as UTF-8 (RFC 3629: no surrogates or overlong forms). */
#ifndef CPB_BASE_UTF8_H
#define CPB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of bytes of the character that starts here; 0: invalid. */
size_t cpb_utf8_length(const char *text);
bool cpb_is_utf8(const char *text);

/* The code point of the valid character of `length` bytes that starts here. */
uint32_t cpb_utf8_code(const char *text, size_t length);

/* Writes a code point, 1 to 4 bytes; returns their number. */
size_t cpb_utf8_put(char *to, uint32_t code);

/* Copies a text with its 0; one that is not UTF-8 is taken for Windows-1252, which includes the letters of Latin-1. to NULL:
 * nothing is written. Returns the number of bytes without the 0. */
size_t cpb_utf8_decode(char *to, const char *text);

/* The same to memory that the caller frees; NULL if there is none. */
char *cpb_utf8_copy(const char *text);

/* Text from files and users, as people are shown it: in messages, tables, pages and pictures. */

/* Not a control character of ASCII or Latin-1, nor a mark or separator that changes the order in which text is shown:
 * U+061C, U+200E, U+200F, U+2028 .. U+202E, U+2066 .. U+2069. */
bool cpb_is_printable(uint32_t code);

enum { CPB_PIECE_ROOM = 17 };

/* The next character of *text, which is advanced past it: as it is if it is printable, else each of its bytes as \xNN, as
 * are bytes that are not UTF-8. Returns its length, 0 at the end of the text. */
size_t cpb_printable_next(const char **text, char piece[CPB_PIECE_ROOM]);

/* Copies a text as it is shown, cut to size > 0 between two characters and 0-terminated. */
void cpb_printable_copy(char *to, size_t size, const char *text);

#endif
