/* Text of strangers (names and contents of files) on its way into a sentence. */
#ifndef CPB_IO_PRINTABLE_H
#define CPB_IO_PRINTABLE_H

#include <stddef.h>

/* Copies text as far as size allows, ended by 0; what a terminal would obey instead of show (control
 * characters, bytes that are not UTF-8) becomes \xNN. Never cuts a character in two. */
void cpb_printable(char *to, size_t size, const char *text);

#endif
