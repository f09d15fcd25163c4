/* Inline: names of choices, in the order of their public enumerations, for files, options and messages; NULL past the end. */
#ifndef CPB_CHOICE_NAMES_H
#define CPB_CHOICE_NAMES_H

#include <stddef.h>

static inline const char *cpb_kernel_name(size_t i) {
  static const char *const names[] = {"linear", "rbf", "polynomial"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static inline const char *cpb_rotation_name(size_t i) {
  static const char *const names[] = {"chosen", "random", "learned", "turned"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static inline const char *cpb_bound_name(size_t i) {
  static const char *const names[] = {"none", "certain", "probable"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static inline const char *cpb_score_name(size_t i) {
  static const char *const names[] = {"ip", "cosine", "cosine-distance"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

#endif
