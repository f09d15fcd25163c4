/* Calls of an index that must be refused: nothing changes, and the error names the argument or the file. */
#define _GNU_SOURCE
#include "support/check.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capball/index.h"
#include "capball/capball.h"
#include "support/scratch.h"

enum { D = 2 };

static const float point[D] = {3, 4};
static const cpb_view one = {point, CPB_F32, 1, D, D};

/* Instead of the C library's: reading fails from an offset on. */
static off_t bad_from = INT64_MAX;

static ssize_t read_from(int fd, void *bytes, size_t count, off_t offset) {
  if (offset < bad_from) return (ssize_t)syscall(SYS_pread64, fd, bytes, count, offset);
  errno = EIO;
  return -1;
}
ssize_t pread(int fd, void *bytes, size_t count, off_t offset) { return read_from(fd, bytes, count, offset); }
#if defined __GLIBC__ && defined __LP64__
ssize_t pread64(int fd, void *bytes, size_t count, off_t offset) {
  return read_from(fd, bytes, count, offset);
}
#endif

static cpb_index *empty(void) {
  cpb_index_options options;
  cpb_index *index;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  return index;
}

static uint64_t count_of(const cpb_index *index) {
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  return report.rows;
}

/* The largest id is reserved, and no id follows the one before it. */
static void ids_end(void **state) {
  (void)state;
  const uint64_t reserved = UINT64_MAX, last = UINT64_MAX - 1;
  cpb_error error;
  cpb_index *index = empty();
  assert_int_equal(cpb_index_add(index, one, &reserved, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_add(index, one, &last, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_add(index, one, NULL, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "no ids are left after 18446744073709551614"));
  assert_int_equal(cpb_index_add(index, one, &(uint64_t){7}, NULL, &error), CPB_OK);
  assert_true(count_of(index) == 2);
  cpb_index_free(index);
}

static void arguments_that_are_missing(void **state) {
  (void)state;
  cpb_error error;
  cpb_index *index = empty();
  assert_int_equal(cpb_index_add(index, one, NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_search(index, one, 1, NULL, NULL, NULL, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "hits"));
  assert_int_equal(cpb_index_rows(index, &(uint64_t){0}, 1, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "rows"));
  assert_int_equal(cpb_index_remove(index, NULL, 1, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_save(index, NULL, &error), CPB_EINVAL);
  assert_true(count_of(index) == 1);
  cpb_index_free(index);
}

static void a_closed_index(void **state) {
  (void)state;
  cpb_error error;
  cpb_hit hit;
  float row[D];
  const char *path = scratch_path("index");
  cpb_index *index = empty(), *writer, *next;
  assert_int_equal(cpb_index_add(index, one, NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_save(index, path, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &next, &error), CPB_EIO);
  assert_int_equal(cpb_index_add(writer, one, NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_close(writer, &error), CPB_OK);
  assert_int_equal(cpb_index_close(writer, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &next, &error), CPB_OK);
  assert_true(count_of(next) == 2 && count_of(writer) == 0);
  assert_int_equal(cpb_index_add(writer, one, NULL, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "the index is closed"));
  assert_int_equal(cpb_index_remove(writer, &(uint64_t){0}, 1, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_search(writer, one, 1, NULL, &hit, NULL, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_rows(writer, &(uint64_t){0}, 1, row, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_save(writer, path, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_compact(writer, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_check(writer, NULL, &error), CPB_EINVAL);
  cpb_index_free(index);
  cpb_index_free(writer);
  cpb_index_free(next);
}

/* A log that cannot be read has not ended: a writer must not cut it off. */
static void a_log_that_cannot_be_read(void **state) {
  (void)state;
  cpb_error error;
  const char *path = scratch_path("index");
  cpb_index *index = empty(), *writer;
  struct stat before, after;
  assert_int_equal(cpb_index_save(index, path, &error), CPB_OK);
  assert_int_equal(stat(path, &before), 0);
  assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_OK);
  for (int i = 0; i < 20; i++) assert_int_equal(cpb_index_add(writer, one, NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_save(writer, NULL, &error), CPB_OK);
  assert_int_equal(stat(path, &after), 0);
  for (off_t at = 0; at < after.st_size - before.st_size; at += 8) {
    bad_from = before.st_size + at;
    assert_int_equal(cpb_index_check(writer, NULL, &error), CPB_OK); /* what it wrote itself */
    assert_int_equal(cpb_index_close(writer, &error), CPB_OK);
    cpb_index_free(writer);
    assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_EIO);
    assert_int_equal(cpb_index_open(path, false, &writer, &error), CPB_EIO);
    bad_from = INT64_MAX;
    assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_OK);
    assert_true(count_of(writer) == 20);
  }
  cpb_index_free(writer);
  cpb_index_free(index);
}

/* ---- readers and writers ---- */

static void a_second_writer_is_told_of_the_first(void **state) {
  (void)state;
  char wanted[64];
  cpb_error error;
  const char *path = scratch_path("index");
  cpb_index *index = empty(), *writer, *second;
  assert_int_equal(cpb_index_save(index, path, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &second, &error), CPB_EIO);
  assert_non_null(strstr(error.text, "it is already open for writing"));
  snprintf(wanted, sizeof wanted, "by process %ld (", (long)getpid());
  if (access("/proc/locks", R_OK) == 0 && strstr(error.text, "by process") != NULL)
    assert_non_null(strstr(error.text, wanted)); /* a container may hide it */
  cpb_index_free(writer);
  cpb_index_free(index);
}

static void a_reader_follows(void **state) {
  (void)state;
  cpb_error error;
  bool changed;
  const char *path = scratch_path("index"), *away = scratch_path("away");
  cpb_index *index = empty(), *writer, *reader, *other;
  cpb_hit hit;
  assert_int_equal(cpb_index_follow(index, true, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_save(index, path, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, true, &writer, &error), CPB_OK);
  assert_int_equal(cpb_index_open(path, false, &reader, &error), CPB_OK);
  assert_int_equal(cpb_index_follow(writer, true, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_refresh(reader, &changed, &error), CPB_OK);
  assert_false(changed);
  assert_int_equal(cpb_index_add(writer, one, NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_search(reader, one, 1, NULL, &hit, NULL, NULL, &error), CPB_EINVAL);
  assert_int_equal(cpb_index_refresh(reader, &changed, &error), CPB_OK);
  assert_true(changed && count_of(reader) == 1);
  assert_int_equal(cpb_index_follow(reader, true, &error), CPB_OK);
  assert_int_equal(cpb_index_put(writer, one, &(uint64_t){9}, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_compact(writer, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_remove(writer, &(uint64_t){0}, 1, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_search(reader, one, 1, NULL, &hit, NULL, NULL, &error), CPB_OK);
  assert_true(hit.id == 9);

  /* Without a file, and with one of other rows, it says so and keeps its state. */
  assert_int_equal(rename(path, away), 0);
  assert_int_equal(cpb_index_search(reader, one, 1, NULL, &hit, NULL, NULL, &error), CPB_EIO);
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D + 1;
  assert_int_equal(cpb_index_new(&options, &other, NULL), CPB_OK);
  assert_int_equal(cpb_index_save(other, path, &error), CPB_OK);
  assert_int_equal(cpb_index_search(reader, one, 1, NULL, &hit, NULL, NULL, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "replaced by an index of other rows"));
  assert_int_equal(cpb_index_follow(reader, false, &error), CPB_OK);
  assert_int_equal(cpb_index_search(reader, one, 1, NULL, &hit, NULL, NULL, &error), CPB_OK);
  assert_true(hit.id == 9);
  cpb_index_free(other);
  cpb_index_free(reader);
  cpb_index_free(writer);
  cpb_index_free(index);
}

/* A quarter of the rows is removed: the index is smaller by itself, in memory and in its file. */
static void a_quarter_is_compacted(void **state) {
  (void)state;
  enum { ROWS = 8192 };
  static float x[ROWS * D];
  static uint64_t ids[ROWS];
  cpb_error error;
  const char *path = scratch_path("index");
  cpb_index *index = empty(), *reader;
  struct stat before, after;
  cpb_index_report report = {.size = sizeof report};
  for (uint64_t i = 0; i < ROWS; i++) x[2 * i] = (float)i, ids[i] = i;
  assert_int_equal(cpb_index_add(index, cpb_rows(x, CPB_F32, ROWS, D), NULL, NULL, &error), CPB_OK);
  assert_int_equal(cpb_index_save(index, path, &error), CPB_OK);
  for (int of_file = 0; of_file < 2; of_file++) {
    if (of_file) {
      cpb_index_free(index);
      assert_int_equal(cpb_index_open(path, true, &index, &error), CPB_OK);
      assert_int_equal(cpb_index_open(path, false, &reader, &error), CPB_OK);
      assert_int_equal(stat(path, &before), 0);
    }
    assert_int_equal(cpb_index_remove(index, ids, ROWS / 4 - 1, NULL, &error), CPB_OK);
    cpb_index_describe(index, &report);
    assert_int_equal(report.removed, ROWS / 4 - 1);
    assert_int_equal(cpb_index_remove(index, ids + ROWS - 1, 1, NULL, &error), CPB_OK);
    cpb_index_describe(index, &report);
    assert_true(report.removed == 0 && report.rows == ROWS / 4 * 3);
  }
  assert_int_equal(stat(path, &after), 0);
  assert_true(after.st_ino != before.st_ino);
  assert_true(count_of(reader) == ROWS);
  assert_int_equal(cpb_index_refresh(reader, NULL, &error), CPB_OK);
  assert_true(count_of(reader) == ROWS / 4 * 3);
  cpb_index_free(reader);

  /* Many small changes: the log does not grow without end. */
  for (int i = 0; i < 20000; i++)
    assert_int_equal(cpb_index_put(index, cpb_rows(x, CPB_F32, 1, D), &ids[5000 + i % 100], NULL, &error),
                     CPB_OK);
  assert_int_equal(stat(path, &after), 0);
  assert_true(after.st_size < 2 * before.st_size + (1 << 20));
  cpb_index_free(index);
}

/* ---- a disk that is full ---- */

enum { WIDE = 40, MOST = 25000, LARGER = 4 };

static const size_t sizes[][2] = {{5, 100}, {700, 2500}, {1000, 5000}, {3000, 20000}, {5000, 20000}};

static float wide[MOST * WIDE];

static cpb_view wide_rows(size_t first, size_t count) {
  return cpb_rows(wide + first * WIDE, CPB_F32, count, WIDE);
}

static void every_row_is_found(const cpb_index *index, size_t count) {
  cpb_hit *hits = malloc(count * sizeof *hits);
  for (size_t i = 0; i < count; i += 1 + count / 200) {
    assert_int_equal(cpb_index_search(index, wide_rows(i, 1), 1, NULL, hits, NULL, NULL, NULL), CPB_OK);
    assert_true(hits[0].id == i && hits[0].value == 0);
  }
  assert_int_equal(cpb_index_search(index, wide_rows(0, 1), count, NULL, hits, NULL, NULL, NULL), CPB_OK);
  for (size_t i = 0; i < count; i++) assert_true(hits[i].id < count);
  free(hits);
}

/* Rows that are added may change the codes of all others: they are as before if the log cannot be written. */
static void a_disk_that_is_full(void **state) {
  (void)state;
  const char *path = scratch_path("index");
  test_rng rng = {7};
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = WIDE;
  for (size_t i = 0; i < MOST * WIDE; i++)
    wide[i] = (float)(test_gauss(&rng) * (i < MOST * WIDE / 5 ? 1 : LARGER));
  signal(SIGXFSZ, SIG_IGN);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t few = sizes[i][0], more = sizes[i][1];
    cpb_index *index;
    struct stat seen;
    struct rlimit usual, full;
    assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
    assert_int_equal(cpb_index_save(index, path, NULL), CPB_OK);
    cpb_index_free(index);
    assert_int_equal(cpb_index_open(path, true, &index, NULL), CPB_OK);
    assert_int_equal(cpb_index_add(index, wide_rows(0, few), NULL, NULL, NULL), CPB_OK);
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    full = usual;
    full.rlim_cur = (rlim_t)seen.st_size + 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    assert_int_equal(cpb_index_add(index, wide_rows(few, more), NULL, NULL, NULL), CPB_EIO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_true(count_of(index) == few);
    every_row_is_found(index, few);
    assert_int_equal(cpb_index_add(index, wide_rows(few, more), NULL, NULL, NULL), CPB_OK);
    every_row_is_found(index, few + more);
    cpb_index_free(index);
  }
}

/* They are stored, and the index has a copy. */
static void names_of_columns(void **state) {
  (void)state;
  char first[] = "width", *names[D] = {first, ""};
  const char *path = scratch_path("index");
  cpb_index *index;
  cpb_index_options options;
  cpb_index_report report = {.size = sizeof report};
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  options.columns = (const char *const *)names;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  first[0] = 'x';
  assert_int_equal(cpb_index_add(index, one, NULL, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_index_save(index, path, NULL), CPB_OK);
  cpb_index_free(index);
  assert_int_equal(cpb_index_open(path, true, &index, NULL), CPB_OK);
  assert_int_equal(cpb_index_remove(index, &(uint64_t){0}, 1, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_index_compact(index, NULL, NULL), CPB_OK);
  cpb_index_describe(index, &report);
  assert_true(report.rows == 0);
  assert_string_equal(report.columns[0], "width");
  assert_string_equal(report.columns[1], "");
  cpb_index_free(index);
}

/* ---- folds in files ---- */

enum { LONG = 40, MANY = 300, ASKED = 5, NEAR = 3 };
static uint8_t long_rows[MANY * LONG];

static cpb_index *of_long_rows(size_t first, size_t second) {
  cpb_index_options options;
  cpb_index *index;
  test_rng rng = {31};
  for (size_t i = 0; i < MANY * LONG; i++) long_rows[i] = (uint8_t)test_below(&rng, 256);
  cpb_index_options_init(&options, sizeof options);
  options.cols = LONG;
  options.dtype = CPB_U8;
  options.levels[0] = first;
  options.levels[1] = second;
  assert_int_equal(cpb_index_new(&options, &index, NULL), CPB_OK);
  assert_int_equal(cpb_index_add(index, cpb_rows(long_rows, CPB_U8, MANY, LONG), NULL, NULL, NULL), CPB_OK);
  return index;
}

static void has_answers(const char *path, size_t first, size_t second) {
  cpb_hit hits[ASKED * NEAR], wanted[ASKED * NEAR];
  cpb_view rows = cpb_rows(long_rows, CPB_U8, MANY, LONG), asked = rows;
  cpb_index_report report = {.size = sizeof report};
  cpb_index *index;
  cpb_error error = {.text = ""};
  asked.rows = ASKED;
  test_status((int)cpb_index_open(path, true, &index, &error), CPB_OK, error.text);
  test_status((int)cpb_index_check(index, NULL, &error), CPB_OK, error.text);
  assert_int_equal(cpb_index_search(index, asked, NEAR, NULL, hits, NULL, NULL, NULL), CPB_OK);
  assert_int_equal(cpb_knn(rows, asked, NEAR, CPB_L2, wanted, NULL, NULL), CPB_OK);
  assert_memory_equal(hits, wanted, sizeof hits);
  cpb_index_describe(index, &report);
  assert_int_equal(report.levels[0], first);
  assert_int_equal(report.levels[1], second);
  assert_int_equal(report.levels[2], 0);
  cpb_index_free(index);
}

static void levels_are_kept(void **state) {
  (void)state;
  static const size_t wrong[][2] = {{64, 0}, {LONG, 0}, {SIZE_MAX - 1, 0}, {7, 7}, {7, LONG + 1}, {0, 7}};
  const char *path = scratch_path("folded.index");
  cpb_index *index = of_long_rows(7, LONG);
  assert_int_equal(cpb_index_save(index, path, NULL), CPB_OK);
  cpb_index_free(index);
  has_answers(path, 7, LONG);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cpb_index_options options;
    cpb_error error;
    cpb_index_options_init(&options, sizeof options);
    options.cols = LONG;
    memcpy(options.levels, wrong[i], sizeof wrong[i]);
    assert_int_equal(cpb_index_new(&options, &index, &error), CPB_EINVAL);
    assert_string_equal(error.argument, "levels");
  }
}

static uint64_t fnv(const unsigned char *bytes, size_t count) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
  return sum;
}

/* A file of version 1 lacks the levels in the header, and directions. */
static void files_of_version_1(void **state) {
  (void)state;
  enum { SIZE_AT = 16, HEAD_AT = 24, VERSION_AT = HEAD_AT + 8, NUMBERS = 16, LACKING = 64 };
  const char *path = scratch_path("plain.index");
  cpb_index *index = of_long_rows(CPB_INDEX_UNFOLDED, 0);
  size_t count;
  uint64_t head;
  assert_int_equal(cpb_index_save(index, path, NULL), CPB_OK);
  cpb_index_free(index);
  char *bytes = scratch_read(path, &count);
  size_t at = VERSION_AT + 4 + 8 * NUMBERS + 8 * LONG;
  memcpy(&head, bytes + SIZE_AT, sizeof head);
  memmove(bytes + at, bytes + at + LACKING, HEAD_AT + head - at - LACKING);
  head -= LACKING;
  memcpy(bytes + SIZE_AT, &head, sizeof head);
  bytes[VERSION_AT] = 1;
  uint64_t sum = fnv((const unsigned char *)bytes + HEAD_AT, head - 8);
  memcpy(bytes + HEAD_AT + head - 8, &sum, sizeof sum);
  memset(bytes + HEAD_AT + head, 0, LACKING);
  has_answers(scratch_write("old.index", bytes, count), 0, 0);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(levels_are_kept),
                                     cmocka_unit_test(files_of_version_1),
                                     cmocka_unit_test(ids_end),
                                     cmocka_unit_test(arguments_that_are_missing),
                                     cmocka_unit_test(a_closed_index),
                                     cmocka_unit_test(names_of_columns),
                                     cmocka_unit_test(a_log_that_cannot_be_read),
                                     cmocka_unit_test(a_second_writer_is_told_of_the_first),
                                     cmocka_unit_test(a_reader_follows),
                                     cmocka_unit_test(a_quarter_is_compacted),
                                     cmocka_unit_test(a_disk_that_is_full)};
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
