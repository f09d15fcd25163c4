/* The commands that carry a recommendation out. */
#ifndef CLI_RECOMMEND_COMMANDS_H
#define CLI_RECOMMEND_COMMANDS_H

#include "capball/transform.h"

typedef struct cli_names {
  const char *base, *queries; /* files */
  const char *format;         /* NULL: by their extensions */
} cli_names;

/* Lines of shell, separated by newlines. The caller frees them. NULL when out of memory; "" if rows go into the
 * index unchanged. */
char *cli_recommend_commands(const cli_names *names, const cpb_recommendation_facts *r);

#endif
