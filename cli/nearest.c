#include <string.h>

#include "cli.h"

/* Edit distance in which swapping adjacent characters counts as one step. */
static size_t distance(const char *a, const char *b) {
  enum { LONGEST = 32 };
  size_t rows[LONGEST + 1][LONGEST + 1], m = strlen(a), n = strlen(b);
  if (m > LONGEST || n > LONGEST) return LONGEST;
  for (size_t i = 0; i <= m; i++) rows[i][0] = i;
  for (size_t j = 0; j <= n; j++) rows[0][j] = j;
  for (size_t i = 1; i <= m; i++)
    for (size_t j = 1; j <= n; j++) {
      size_t best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (rows[i - 1][j] + 1 < best) best = rows[i - 1][j] + 1;
      if (rows[i][j - 1] + 1 < best) best = rows[i][j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && rows[i - 2][j - 2] + 1 < best) best = rows[i - 2][j - 2] + 1;
      rows[i][j] = best;
    }
  return rows[m][n];
}

const char *cli_nearest(const char *word, const char *const *names, size_t count) {
  const char *nearest = NULL;
  size_t best = strlen(word) / 3 + 2; /* beyond this it is a different word, not a typo */
  for (size_t i = 0; i < count; i++) {
    size_t steps = distance(word, names[i]);
    if (strlen(word) >= 2 && strncmp(word, names[i], strlen(word)) == 0) steps = 0;
    if (steps < best && steps < strlen(names[i])) {
      best = steps;
      nearest = names[i];
    }
  }
  return nearest;
}
