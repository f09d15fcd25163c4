/* Inline: words that are the same but for the case of their letters, in every locale. */
#ifndef CPB_BASE_LETTERS_H
#define CPB_BASE_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

static inline char cpb_small_letter(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* The first `count` characters, or fewer if both end before. */
static inline bool cpb_same_letters_n(const char *a, const char *b, size_t count) {
  for (; count > 0 && cpb_small_letter(*a) == cpb_small_letter(*b); a++, b++, count--)
    if (*a == 0) return true;
  return count == 0;
}

static inline bool cpb_same_letters(const char *a, const char *b) {
  return cpb_same_letters_n(a, b, (size_t)-1);
}

#endif
