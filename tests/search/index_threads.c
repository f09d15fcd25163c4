/* Eight threads search an index while one changes it: each search sees a whole state. The state is told by its rows: those of one
 * state are equal, and differ from those of any other. For ThreadSanitizer as much as for what is asserted. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "capball/index.h"

enum { D = 40, ROWS = 90, READERS = 8, CHANGES = TEST_SANITIZED ? 60 : 300 };

static cpb_index *shared_index;
static atomic_bool done;
static atomic_int wrong, searches;

static void fill(float *rows, int state) {
  for (size_t i = 0; i < (size_t)ROWS * D; i++) rows[i] = i % D == 0 ? (float)state : 1;
}

/* All rows have the distance of their state from the query. */
static void *search(void *unused) {
  float query[D] = {0};
  cpb_hit hits[ROWS];
  (void)unused;
  while (!atomic_load(&done)) {
    size_t count;
    if (cpb_index_search(shared_index, cpb_rows(query, CPB_F32, 1, D), ROWS, NULL, hits, &count, NULL,
                         NULL) != CPB_OK ||
        count != ROWS)
      atomic_fetch_add(&wrong, 1);
    for (size_t i = 1; i < count; i++)
      if (hits[i].value != hits[0].value || hits[i].id != i) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&searches, 1);
  }
  return NULL;
}

static void searches_see_whole_states(void **state) {
  (void)state;
  static float rows[ROWS * D];
  uint64_t ids[ROWS];
  pthread_t readers[READERS];
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  assert_int_equal(cpb_index_new(&options, &shared_index, NULL), CPB_OK);
  for (size_t i = 0; i < ROWS; i++) ids[i] = i;
  fill(rows, 0);
  assert_int_equal(cpb_index_add(shared_index, cpb_rows(rows, CPB_F32, ROWS, D), ids, NULL, NULL), CPB_OK);
  for (size_t i = 0; i < READERS; i++) assert_int_equal(pthread_create(&readers[i], NULL, search, NULL), 0);
  for (int change = 1; change <= CHANGES || atomic_load(&searches) < 4 * READERS; change++) {
    fill(rows, change);
    assert_int_equal(cpb_index_replace(shared_index, cpb_rows(rows, CPB_F32, ROWS, D), ids, NULL, NULL),
                     CPB_OK);
    if (change % 7 == 0) assert_int_equal(cpb_index_compact(shared_index, NULL, NULL), CPB_OK);
  }
  atomic_store(&done, true);
  for (size_t i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
  cpb_index_free(shared_index);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(searches_see_whole_states)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
