/* The pool runs every task once, and the reported faulty row is the lowest, whichever thread meets it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capball/exec.h"
#include "base/blocks.h"
#include "sphere/choice.h"
#include "support/check.h"

static const size_t thread_counts[] = {1, 2, 3, 8};
enum { COUNTS = sizeof thread_counts / sizeof *thread_counts, MOST = 1000 };

static cpb_pool *new_pool(size_t threads) {
  cpb_pool *pool = NULL;
  cpb_error error;
  test_status((int)cpb_pool_new(threads, &pool, &error), CPB_OK, error.text);
  assert_non_null(pool);
  return pool;
}

static void count_task(void *arg, size_t i) {
  atomic_int *counts = arg;
  atomic_fetch_add(&counts[i], 1);
}

static void every_task_runs_once(void **state) {
  (void)state;
  static atomic_int counts[MOST + 1];
  const size_t sizes[] = {0, 1, 2, 7, MOST};
  for (size_t k = 0; k < COUNTS; k++) {
    cpb_pool *pool = new_pool(thread_counts[k]);
    const cpb_exec *exec = cpb_pool_exec(pool);
    assert_int_equal(exec->threads, thread_counts[k]);
    for (int round = 0; round < 200;
         round++) { /* a worker that is late from one round must not eat the next */
      size_t tasks = sizes[round % 5];
      for (size_t i = 0; i <= MOST; i++) atomic_store(&counts[i], 0);
      exec->run(exec->pool, tasks, count_task, counts);
      for (size_t i = 0; i <= MOST; i++) assert_int_equal(atomic_load(&counts[i]), i < tasks ? 1 : 0);
    }
    cpb_pool_free(pool);
  }
}

/* A task that has a pool of its own: pools do not know each other. */
typedef struct nest {
  size_t inner_tasks;
  atomic_size_t ran;
} nest;

static void add_one(void *arg, size_t i) {
  (void)i;
  atomic_fetch_add(&((nest *)arg)->ran, 1);
}

static void run_inner(void *arg, size_t i) {
  (void)i;
  nest *n = arg;
  cpb_pool *pool = NULL;
  if (cpb_pool_new(2, &pool, NULL) != CPB_OK) return;
  const cpb_exec *exec = cpb_pool_exec(pool);
  exec->run(exec->pool, n->inner_tasks, add_one, n);
  cpb_pool_free(pool);
}

static void pools_nest(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, MOST};
  for (size_t k = 0; k < COUNTS; k++) {
    cpb_pool *pool = new_pool(thread_counts[k]);
    const cpb_exec *exec = cpb_pool_exec(pool);
    for (int size = 0; size < 3; size++) {
      nest n = {.inner_tasks = sizes[size]};
      atomic_init(&n.ran, 0);
      exec->run(exec->pool, 5, run_inner, &n);
      assert_int_equal(atomic_load(&n.ran), 5 * sizes[size]);
    }
    cpb_pool_free(pool);
  }
}

/* A task that calls through the pool it runs on. */
typedef struct nest_in_one {
  const cpb_exec *exec;
  nest inner;
} nest_in_one;

static void run_in_the_same(void *arg, size_t i) {
  (void)i;
  nest_in_one *n = arg;
  n->exec->run(n->exec->pool, n->inner.inner_tasks, add_one, &n->inner);
}

static void one_pool_nests(void **state) {
  (void)state;
  for (size_t k = 0; k < COUNTS; k++) {
    cpb_pool *pool = new_pool(thread_counts[k]);
    nest_in_one n = {.exec = cpb_pool_exec(pool), .inner = {.inner_tasks = 50}};
    atomic_init(&n.inner.ran, 0);
    n.exec->run(n.exec->pool, 40, run_in_the_same, &n);
    assert_int_equal(atomic_load(&n.inner.ran), 40 * 50);
    cpb_pool_free(pool);
  }
}

/* --- Several callers --------------------------------------------------------------------------------- */

enum { CALLS = 10000, ROWS = 12, COLS = 20 };

typedef struct caller {
  const cpb_exec *exec;
  double x[ROWS * COLS], right[ROWS];
  size_t wrong;
} caller;

typedef struct question {
  const caller *of;
  double sums[ROWS];
} question;

static void sum_row(void *argument, size_t row) {
  question *q = argument;
  q->sums[row] = 0;
  for (size_t k = 0; k < COLS; k++) q->sums[row] += q->of->x[row * COLS + k];
}

static void *call_often(void *argument) {
  caller *c = argument;
  for (size_t i = 0; i < CALLS; i++) {
    question q = {.of = c};
    c->exec->run(c->exec->pool, ROWS, sum_row, &q);
    c->wrong += memcmp(q.sums, c->right, sizeof q.sums) != 0;
  }
  return NULL;
}

static void two_callers_share_a_pool(void **state) {
  (void)state;
  enum { CALLERS = 2 };
  static caller callers[CALLERS];
  pthread_t threads[CALLERS];
  test_rng rng = {31};
  cpb_pool *pool = new_pool(3);
  for (size_t k = 0; k < CALLERS; k++) {
    for (size_t i = 0; i < ROWS * COLS; i++) callers[k].x[i] = test_gauss(&rng);
    callers[k].exec = cpb_pool_exec(pool);
    question q = {.of = &callers[k]};
    for (size_t i = 0; i < ROWS; i++) sum_row(&q, i);
    memcpy(callers[k].right, q.sums, sizeof q.sums);
  }
  for (size_t k = 0; k < CALLERS; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, call_often, &callers[k]), 0);
  for (size_t k = 0; k < CALLERS; k++) pthread_join(threads[k], NULL);
  for (size_t k = 0; k < CALLERS; k++) assert_int_equal(callers[k].wrong, 0);
  cpb_pool_free(pool);
}

/* What the child finds: 0 when every task ran once. It does not come back. */
static _Noreturn void run_in_child(const cpb_exec *exec, cpb_pool *pool) {
  static atomic_int counts[MOST + 1];
  exec->run(exec->pool, MOST, count_task, counts);
  exec->run(exec->pool, MOST, count_task, counts);
  int wrong = 0;
  for (size_t i = 0; i < MOST; i++) wrong += atomic_load(&counts[i]) != 2;
  cpb_pool_free(pool);
  _exit(wrong != 0);
}

static void wait_for_all(void *barrier, size_t i) {
  (void)i;
  pthread_barrier_wait(barrier);
}

/* Every worker has begun: a thread that is just starting may hold a lock of the C library's or of a sanitizer's, and a
 * fork would give the child that lock for ever. */
static void await_workers(const cpb_exec *exec) {
  pthread_barrier_t all;
  assert_int_equal(pthread_barrier_init(&all, NULL, (unsigned)exec->threads), 0);
  exec->run(exec->pool, exec->threads, wait_for_all, &all);
  pthread_barrier_destroy(&all);
}

static void a_fork_has_workers_of_its_own(void **state) {
  (void)state;
#if defined(__SANITIZE_THREAD__)
  skip(); /* the sanitizer ends children that start threads */
#endif
  for (size_t k = 0; k < COUNTS; k++) {
    cpb_pool *pool = new_pool(thread_counts[k]);
    const cpb_exec *exec = cpb_pool_exec(pool);
    static atomic_int counts[MOST + 1];
    await_workers(exec);
    exec->run(exec->pool, MOST, count_task, counts);
    for (int round = 0; round < 5; round++) {
      pid_t child = fork();
      if (child == 0) {
        alarm(120);
        run_in_child(exec, pool);
      }
      int ended = -1;
      assert_int_equal(waitpid(child, &ended, 0), child);
      assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    if (fork() == 0) { /* a child that only frees it */
      cpb_pool_free(pool);
      _exit(0);
    }
    int ended = -1;
    assert_true(wait(&ended) > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    exec->run(exec->pool, MOST, count_task, counts);
    cpb_pool_free(pool);
  }
}

static void pools_of_odd_sizes(void **state) {
  (void)state;
  cpb_error error;
  cpb_pool *pool = new_pool(0);
  assert_true(cpb_pool_exec(pool)->threads >= 1);
  cpb_pool_free(pool);
  cpb_pool_free(NULL);
  assert_null(cpb_pool_exec(NULL));
  test_status((int)cpb_pool_new(2, NULL, &error), CPB_EINVAL, error.text);
  test_status((int)cpb_pool_new(5000, &pool, &error), CPB_EINVAL, error.text);
  assert_non_null(strstr(error.text, "5000"));
  assert_null(pool);
}

/* --- Blocks ----------------------------------------------------------------------------------------- */

typedef struct seen_rows {
  atomic_int *counts;
  size_t per_block;
  atomic_int wrong;
} seen_rows;

static void see(void *arg, size_t block, size_t first, size_t count) {
  seen_rows *seen = arg;
  if (first != block * seen->per_block || count > seen->per_block) atomic_store(&seen->wrong, 1);
  for (size_t i = first; i < first + count; i++) atomic_fetch_add(&seen->counts[i], 1);
}

static void blocks_cover_every_row_once(void **state) {
  (void)state;
  static atomic_int counts[MOST];
  const size_t rows[] = {0, 1, 63, 64, 65, 999, MOST}, per_block[] = {1, 7, 64, 5000};
  for (size_t k = 0; k <= COUNTS; k++) {
    cpb_pool *pool = k < COUNTS ? new_pool(thread_counts[k]) : NULL;
    for (size_t j = 0; j < 28; j++) {
      seen_rows seen = {counts, per_block[j % 4], 0};
      cpb_blocks blocks = {rows[j / 4], per_block[j % 4], see, &seen};
      for (size_t i = 0; i < MOST; i++) atomic_store(&counts[i], 0);
      cpb_blocks_run(&blocks, cpb_pool_exec(pool));
      assert_int_equal(atomic_load(&seen.wrong), 0);
      assert_int_equal(cpb_blocks_count(&blocks), (rows[j / 4] + per_block[j % 4] - 1) / per_block[j % 4]);
      for (size_t i = 0; i < MOST; i++) assert_int_equal(atomic_load(&counts[i]), i < rows[j / 4] ? 1 : 0);
    }
    cpb_pool_free(pool);
  }
  assert_int_equal(cpb_blocks_rows(0) % 64, 0);
  assert_int_equal(cpb_blocks_rows(784), 64);
  assert_int_equal(cpb_blocks_rows((size_t)1 << 40), 64);
}

/* --- Faults ----------------------------------------------------------------------------------------- */

typedef struct faults {
  cpb_first_fault first;
  const unsigned char *of_row;
} faults;

static void meet(void *arg, size_t i) {
  faults *f = arg;
  size_t row = MOST - 1 - i; /* the last rows first */
  if (f->of_row[row] != 0) cpb_record_fault(&f->first, row, f->of_row[row]);
}

static void the_first_fault_is_the_lowest_row(void **state) {
  (void)state;
  test_rng rng = {9};
  cpb_error error;
  for (size_t k = 0; k < COUNTS; k++) {
    cpb_pool *pool = new_pool(thread_counts[k]);
    const cpb_exec *exec = cpb_pool_exec(pool);
    for (int round = 0; round < 50; round++) {
      unsigned char of_row[MOST] = {0};
      size_t lowest = MOST;
      for (int i = 0; i < round; i++)
        of_row[test_below(&rng, MOST)] = (unsigned char)(1 + test_below(&rng, 5));
      for (size_t i = MOST; i-- > 0;)
        if (of_row[i] != 0) lowest = i;
      faults f = {.of_row = of_row};
      exec->run(exec->pool, MOST, meet, &f);
      cpb_status status = cpb_first_fault_report(&f.first, "x", &error);
      assert_int_equal(status, lowest == MOST ? CPB_OK : CPB_EROW);
      if (status == CPB_OK) continue;
      char start[32];
      snprintf(start, sizeof start, "x row %zu ", lowest);
      assert_int_equal(error.row, lowest);
      assert_memory_equal(error.text, start, strlen(start));
    }
    cpb_pool_free(pool);
  }
}

static void each_fault_has_its_sentence(void **state) {
  (void)state;
  const char *const says[] = {"holds NaN", "holds inf", "pole -v", "is 0", "too large"};
  for (int i = 0; i < 5; i++) {
    cpb_first_fault first = {0};
    cpb_error error;
    cpb_record_fault(&first, 17, i + 1);
    cpb_record_fault(&first, 18, CPB_FAULT_NAN);
    assert_int_equal(cpb_first_fault_report(&first, "q", &error), CPB_EROW);
    assert_int_equal(cpb_first_fault_report(&first, "q", NULL), CPB_EROW);
    assert_non_null(strstr(error.text, "q row 17"));
    assert_non_null(strstr(error.text, says[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_task_runs_once),
      cmocka_unit_test(pools_nest),
      cmocka_unit_test(one_pool_nests),
      cmocka_unit_test(two_callers_share_a_pool),
      cmocka_unit_test(a_fork_has_workers_of_its_own),
      cmocka_unit_test(pools_of_odd_sizes),
      cmocka_unit_test(blocks_cover_every_row_once),
      cmocka_unit_test(the_first_fault_is_the_lowest_row),
      cmocka_unit_test(each_fault_has_its_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
