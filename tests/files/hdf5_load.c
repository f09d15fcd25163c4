/* The table of libhdf5's functions: threads that request it at the same time get the same table or the same error. */
#include <stdatomic.h>

#include "capball/exec.h"
#include "files/hdf5_calls.h"
#include "support/check.h"

enum { THREADS = 8, TASKS = 64 };

typedef struct answers {
  atomic_size_t loaded, refused, without_reason;
} answers;

static void load(void *argument, size_t task) {
  (void)task;
  answers *given = argument;
  cpb_error error = {.text = ""};
  if (cpb_hdf5_load(&(cpb_file_call){"file.h5", &error}))
    atomic_fetch_add(&given->loaded, 1);
  else
    atomic_fetch_add(error.text[0] == 0 ? &given->without_reason : &given->refused, 1);
}

static void threads_load_at_once(void **state) {
  (void)state;
  answers given = {0};
  cpb_pool *pool = NULL;
  cpb_error error;
  test_status((int)cpb_pool_new(THREADS, &pool, &error), CPB_OK, error.text);
  const cpb_exec *exec = cpb_pool_exec(pool);
  exec->run(exec->pool, TASKS, load, &given);
  cpb_pool_free(pool);
  size_t loaded = atomic_load(&given.loaded), refused = atomic_load(&given.refused);
  assert_true((loaded == TASKS && refused == 0) || (loaded == 0 && refused == TASKS));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_load_at_once)};
  return cmocka_run_group_tests_name("hdf5_load", tests, NULL, NULL);
}
