/* Text from files and users, as people are shown it: in messages, tables, pages and pictures. */
#ifndef CPB_BASE_PRINTABLE_H
#define CPB_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
