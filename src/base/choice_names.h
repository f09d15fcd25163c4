/* Inline: names of choices for files, options and messages, in the order of their public enumerations, up to a NULL. */
#ifndef CPB_CHOICE_NAMES_H
#define CPB_CHOICE_NAMES_H

#include <stddef.h>

static const char *const cpb_kernel_names[] = {"linear", "rbf", "polynomial", NULL};
static const char *const cpb_bound_names[] = {"none", "certain", "probable", NULL};
static const char *const cpb_score_names[] = {"ip", "cosine", "cosine-distance", NULL};

#endif
