/* An external program: it sees only what was installed, and uses what pulls in every dependency. */
#include <capball/advanced/abid.h>
#include <capball/advanced/candidates.h>
#include <capball/advanced/classes.h>
#include <capball/advanced/engine.h>
#include <capball/advanced/estimator.h>
#include <capball/advanced/feed.h>
#include <capball/advanced/fitting.h>
#include <capball/advanced/flow.h>
#include <capball/advanced/laws.h>
#include <capball/advanced/rounds.h>
#include <capball/advanced/seal.h>
#include <capball/advanced/statistics.h>
#include <capball/capball.h>
#include <stdio.h>

int main(void) {
  cpb_error error = {0};
  cpb_pool *pool = NULL;
  if (cpb_pool_new(2, &pool, &error) != CPB_OK) return 1;
  cpb_pool_free(pool);

  cpb_map *map = NULL;
  if (cpb_map_load("no-such-map.json", &map, &error) != CPB_EIO) return 2;
  cpb_reader *reader = NULL;
  if (cpb_reader_open("no-such-file.hdf5", NULL, &reader, &error) == CPB_OK) return 3;

  double c[] = {3, 4}, p[3];
  cpb_region ball = {.kind = CPB_BALL, .d = 2, .c = c, .r = 5};
  cpb_cap cap = {.d = 2, .p = p};
  if (cpb_cap_from_region(&ball, 5, &cap, &error) != CPB_OK) return 4;
  printf("capball %s\n", cpb_version());
  return 0;
}
