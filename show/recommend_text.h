/* A recommendation in words. */
#ifndef SHOW_RECOMMEND_TEXT_H
#define SHOW_RECOMMEND_TEXT_H

#include <stddef.h>

#include "capball/transform.h"

/* Which row to take and why, with the numbers; where the embedding does not help, where a lift cannot be
 * used, and where even the best is poor, it says so. The caller frees it; NULL without memory. */
char *show_recommend_text(const cpb_recommendation_facts *of);

#endif
