/* A file appears whole or not at all, whatever fails while writing it. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capball/advanced/flow.h"
#include "capball/file.h"
#include "files/reader.h"
#include "support/check.h"
#include "support/scratch.h"

static const float ones[64] = {1, 1, 1, 1};

static cpb_writer *open_writer(const char *name, cpb_dtype dtype, size_t cols, uint64_t rows) {
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = dtype;
  options.cols = cols;
  options.rows = rows;
  test_status((int)cpb_writer_open(scratch_path(name), &options, &writer, &error), CPB_OK, error.text);
  return writer;
}

static void expect_content(const char *name, const char *text) {
  size_t count;
  char *bytes = scratch_read(scratch_path(name), &count);
  assert_string_equal(bytes, text);
  free(bytes);
}

static int fresh(void **state) {
  (void)state;
  scratch_make();
  return 0;
}

static void nothing_without_commit(void **state) {
  (void)state;
  static const char *const names[] = {"a.fvecs", "a.fbin", "a.npy", "a.csv", "a.libsvm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    cpb_writer *writer = open_writer(names[i], CPB_F32, 4, CPB_ROWS_UNKNOWN);
    assert_int_equal(access(scratch_path(names[i]), F_OK), -1);
    assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 16, 4), NULL), CPB_OK);
    cpb_writer_free(writer);
    assert_int_equal(scratch_count(), 0);
  }
  cpb_writer_free(NULL);
}

static void old_file_stays_until_commit(void **state) {
  (void)state;
  scratch_write("a.csv", "old", 3);
  cpb_writer *writer = open_writer("a.csv", CPB_F32, 1, CPB_ROWS_UNKNOWN);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 2, 1), NULL), CPB_OK);
  expect_content("a.csv", "old");
  assert_int_equal(cpb_writer_commit(writer, NULL), CPB_OK);
  expect_content("a.csv", "1\n1\n");
  cpb_error error;
  assert_int_equal(cpb_writer_commit(writer, &error), CPB_EINVAL);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 2, 1), &error), CPB_EINVAL);
  cpb_writer_free(writer);
  assert_int_equal(scratch_count(), 1);
}

static void two_writers_leave_one_whole_file(void **state) {
  (void)state;
  float two[4] = {2, 2, 2, 2};
  cpb_writer *a = open_writer("a.csv", CPB_F32, 2, 2), *b = open_writer("a.csv", CPB_F32, 2, 2);
  assert_int_equal(cpb_writer_append(a, cpb_rows(ones, CPB_F32, 2, 2), NULL), CPB_OK);
  assert_int_equal(cpb_writer_append(b, cpb_rows(two, CPB_F32, 2, 2), NULL), CPB_OK);
  assert_int_equal(cpb_writer_commit(b, NULL), CPB_OK);
  assert_int_equal(cpb_writer_commit(a, NULL), CPB_OK);
  cpb_writer_free(a);
  cpb_writer_free(b);
  expect_content("a.csv", "1,1\n1,1\n");
  assert_int_equal(scratch_count(), 1);
}

static void links_and_permissions(void **state) {
  (void)state;
  struct stat status;
  scratch_write("real.csv", "old", 3);
  chmod(scratch_path("real.csv"), 0640);
  assert_int_equal(symlink("real.csv", scratch_path("link.csv")), 0);
  assert_int_equal(symlink("later.csv", scratch_path("dangling.csv")), 0);
  assert_int_equal(symlink("loop.csv", scratch_path("loop.csv")), 0);
  cpb_error error;
  test_status((int)cpb_write_whole(scratch_path("link.csv"), "new", 3, &error), CPB_OK, error.text);
  expect_content("real.csv", "new");
  assert_int_equal(lstat(scratch_path("link.csv"), &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  assert_int_equal(stat(scratch_path("real.csv"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);
  test_status((int)cpb_write_whole(scratch_path("dangling.csv"), "made", 4, &error), CPB_OK, error.text);
  expect_content("later.csv", "made");
  assert_int_equal(cpb_write_whole(scratch_path("loop.csv"), "x", 1, &error), CPB_EIO);
  mode_t mask = umask(027);
  test_status((int)cpb_write_whole(scratch_path("mask.csv"), "x", 1, &error), CPB_OK, error.text);
  umask(mask);
  assert_int_equal(stat(scratch_path("mask.csv"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);
  assert_int_equal(scratch_count(), 6);
}

static void places_that_cannot_be_written(void **state) {
  (void)state;
  cpb_error error;
  mkdir(scratch_path("dir.csv"), 0700);
  assert_int_equal(cpb_write_whole(scratch_path("dir.csv"), "x", 1, &error), CPB_EIO);
  assert_non_null(strstr(error.text, "Is a directory"));
  assert_int_equal(cpb_write_whole(scratch_path("nowhere/a.csv"), "x", 1, &error), CPB_EIO);
  assert_non_null(strstr(error.text, "No such file"));
  assert_int_equal(cpb_write_whole(NULL, "x", 1, &error), CPB_EINVAL);
  scratch_write("fixed.csv", "old", 3);
  chmod(scratch_path("fixed.csv"), 0444);
  if (access(scratch_path("fixed.csv"), W_OK) != 0) { /* root may write everything */
    assert_int_equal(cpb_write_whole(scratch_path("fixed.csv"), "x", 1, &error), CPB_EIO);
    assert_non_null(strstr(error.text, "cannot replace"));
  }
  assert_int_equal(scratch_count(), 2);
  assert_int_equal(cpb_write_whole("/dev/null", "x", 1, &error), CPB_OK);
  char name[300];
  memset(name, 'n', 250);
  snprintf(name + 250, sizeof name - 250, ".csv");
  test_status((int)cpb_write_whole(scratch_path(name), "x", 1, &error), CPB_OK, error.text);
}

/* Writes 1000 rows to a file limited to 4000 bytes; returns the status, and the message. */
static cpb_status write_limited(const char *name, cpb_dtype dtype, uint64_t rows, cpb_error *error) {
  float row[100] = {0.1f};
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = dtype;
  options.cols = 100;
  options.rows = rows;
  cpb_status status = cpb_writer_open(scratch_path(name), &options, &writer, error);
  for (size_t i = 0; i < 1000 && status == CPB_OK; i++)
    status = cpb_writer_append(writer, cpb_rows(row, CPB_F32, 1, 100), error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, error);
  cpb_writer_free(writer);
  return status;
}

/* In a child, because the limit cannot be raised again. It ends by exit(), not _exit(): libhdf5 does work there,
 * and must not crash. */
static int limited_child(const char *name, cpb_dtype dtype, uint64_t rows) {
  struct rlimit limit = {4000, 4000};
  cpb_error error;
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  cpb_status status = write_limited(name, dtype, rows, &error);
  if (status == CPB_EFORMAT && strstr(error.text, "without HDF5") != NULL) return 0;
  if (status != CPB_EIO) return 11;
  if (strstr(error.text, name) == NULL) return 12;
  return scratch_count() == 1 ? 0 : 13;
}

static void full_disk(void **state) {
  (void)state;
  static const struct {
    const char *name;
    cpb_dtype dtype;
  } files[] = {{"a.fvecs", CPB_F32},
               {"a.fbin", CPB_F32},
               {"a.npy", CPB_F64},
               {"a.csv", CPB_F32},
               {"a.libsvm", CPB_F64}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (int known = 0; known < 2; known++) {
      scratch_write(files[i].name, "old", 3);
      fflush(NULL);
      pid_t child = fork();
      if (child == 0) exit(limited_child(files[i].name, files[i].dtype, known ? 1000 : CPB_ROWS_UNKNOWN));
      int status = -1;
      assert_int_equal(waitpid(child, &status, 0), child);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s, rows %s: child ended with %d", files[i].name, known ? "known" : "unknown", status);
      expect_content(files[i].name, "old");
      unlink(scratch_path(files[i].name));
    }
}

static void promised_rows(void **state) {
  (void)state;
  cpb_error error;
  cpb_writer *writer = open_writer("a.fbin", CPB_F32, 2, 3);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 2, 2), &error), CPB_OK);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 2, 2), &error), CPB_ESHAPE);
  assert_non_null(strstr(error.text, "beyond the 3 rows promised"));
  assert_int_equal(cpb_writer_commit(writer, &error), CPB_ESHAPE);
  assert_non_null(strstr(error.text, "3 rows were promised, 2 written"));
  cpb_writer_free(writer);
  writer = open_writer("a.fbin", CPB_F32, 2, 3);
  assert_int_equal(cpb_writer_at(writer, 2, cpb_rows(ones, CPB_F32, 2, 2), &error), CPB_ESHAPE);
  assert_int_equal(cpb_writer_at(writer, 0, cpb_rows(ones, CPB_F32, 1, 3), &error), CPB_ESHAPE);
  assert_int_equal(cpb_writer_at(writer, 0, cpb_rows(ones, CPB_U8, 1, 2), &error), CPB_EDTYPE);
  assert_int_equal(cpb_writer_at(writer, 1, cpb_rows(ones, CPB_F32, 2, 2), &error), CPB_OK);
  assert_int_equal(cpb_writer_commit(writer, &error), CPB_ESHAPE);
  cpb_writer_free(writer);
  writer = open_writer("a.csv", CPB_F32, 2, 3);
  assert_false(cpb_writer_random_access(writer));
  assert_int_equal(cpb_writer_at(writer, 0, cpb_rows(ones, CPB_F32, 1, 2), &error), CPB_EINVAL);
  cpb_writer_free(writer);
  assert_int_equal(scratch_count(), 0);
}

static void refused_value(const char *name, cpb_dtype dtype, double value, const char *words) {
  cpb_error error;
  double rows[4] = {1, 2, 3, value};
  cpb_writer *writer = open_writer(name, dtype, 1, CPB_ROWS_UNKNOWN);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(rows, CPB_F64, 2, 1), &error), CPB_OK);
  assert_int_equal(cpb_writer_append(writer, cpb_rows(rows + 2, CPB_F64, 2, 1), &error), CPB_EROW);
  assert_int_equal(error.row, 3);
  if (strstr(error.text, words) == NULL) fail_msg("no \"%s\" in: %s", words, error.text);
  assert_int_equal(cpb_writer_commit(writer, &error), CPB_EIO);
  cpb_writer_free(writer);
  assert_int_equal(scratch_count(), 0);
}

static void values_that_do_not_fit(void **state) {
  (void)state;
  refused_value("a.u8bin", CPB_U8, 256, "row 3, column 0: 256 does not fit in u8");
  refused_value("a.u8bin", CPB_U8, -1, "-1 does not fit");
  refused_value("a.bvecs", CPB_U8, 1.5, "1.5 does not fit");
  refused_value("a.i8bin", CPB_I8, 128, "128 does not fit in i8");
  refused_value("a.ibin", CPB_I32, NAN, "nan does not fit in i32");
  refused_value("a.ivecs", CPB_I32, 2147483648.0, "2147483648 does not fit");
  refused_value("a.npy", CPB_I64, 0x1p63, "does not fit in i64");
  refused_value("a.npy", CPB_I64, INFINITY, "inf does not fit in i64");
  refused_value("a.f16bin", CPB_F16, 65520, "65520 does not fit in f16");
  refused_value("a.fbin", CPB_F32, -1e39, "does not fit in f32");
  refused_value("a.csv", CPB_I32, 0.5, "0.5 does not fit in i32");
}

static void options_that_are_wrong(void **state) {
  (void)state;
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  assert_int_equal(cpb_writer_open(scratch_path("a.npy"), &options, &writer, &error),
                   CPB_EINVAL); /* cols 0 */
  assert_null(writer);
  options.cols = 3;
  options.dtype = CPB_F64;
  assert_int_equal(cpb_writer_open(scratch_path("a.fvecs"), &options, &writer, &error), CPB_EDTYPE);
  assert_non_null(strstr(error.text, "fvecs files cannot hold f64"));
  options.dtype = (cpb_dtype)99;
  assert_int_equal(cpb_writer_open(scratch_path("a.npy"), &options, &writer, &error), CPB_EDTYPE);
  options.dtype = CPB_F32;
  options.rows = 1ull << 32;
  assert_int_equal(cpb_writer_open(scratch_path("a.fbin"), &options, &writer, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "more than the header of fbin can count"));
  options.rows = UINT64_MAX / 8;
  assert_int_equal(cpb_writer_open(scratch_path("a.npy"), &options, &writer, &error), CPB_EINVAL);
  options.size = 8;
  assert_int_equal(cpb_writer_open(scratch_path("a.npy"), &options, &writer, &error), CPB_EINVAL);
  assert_int_equal(scratch_count(), 0);
  writer = open_writer("a.npy", CPB_F32, 3, CPB_ROWS_UNKNOWN);
  cpb_view bad = cpb_rows(ones, CPB_F32, 1, 3);
  bad.stride = 2;
  assert_int_equal(cpb_writer_append(writer, bad, &error), CPB_ESHAPE);
  bad = cpb_rows(NULL, CPB_F32, 1, 3);
  assert_int_equal(cpb_writer_append(writer, bad, &error), CPB_EINVAL);
  cpb_writer_free(writer);
}

/* The leftovers of a killed process are removed by the next writer of the name, and nothing else is: neither files
 * whose lock another writer holds, nor files that only have a similar name. */
static void litter(void **state) {
  (void)state;
  static const char *const names[] = {".a.csv.capball-unfinished-0", ".a.csv.capball-unfinished-31"};
  cpb_error error;
  for (size_t i = 0; i < 2; i++) scratch_write(names[i], "half", 4);
  scratch_write(".b.csv.capball-unfinished-0", "half", 4);
  scratch_write(".a.csv.capball-unfinished-32", "not ours", 8);
  scratch_write("precious", "x", 1);
  assert_int_equal(symlink("precious", scratch_path(".a.csv.capball-unfinished-2")), 0);
  assert_int_equal(mkdir(scratch_path(".a.csv.capball-unfinished-3"), 0700), 0);
  int held = open(scratch_write(".a.csv.capball-unfinished-1", "held", 4), O_RDWR);
  assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
  test_status((int)cpb_write_whole(scratch_path("a.csv"), "whole", 5, &error), CPB_OK, error.text);
  expect_content("a.csv", "whole");
  for (size_t i = 0; i < 2; i++) assert_int_equal(access(scratch_path(names[i]), F_OK), -1);
  expect_content(".a.csv.capball-unfinished-1", "held");
  expect_content(".b.csv.capball-unfinished-0", "half");
  expect_content("precious", "x");
  assert_int_equal(scratch_count(), 7);
  close(held);
  test_status((int)cpb_write_whole(scratch_path("a.csv"), "again", 5, &error), CPB_OK, error.text);
  assert_int_equal(scratch_count(), 6);
}

/* A writer killed at any point leaves the old file, and nothing that the next one does not remove. */
static void killed_writers(void **state) {
  (void)state;
  cpb_error error;
  scratch_write("a.csv", "old", 3);
  for (int i = 0; i < 3; i++) {
    pid_t child = fork();
    if (child == 0) {
      cpb_writer *writer = open_writer("a.csv", CPB_F32, 4, CPB_ROWS_UNKNOWN);
      if (cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 16, 4), NULL) != CPB_OK) _exit(1);
      int number = i == 0 ? SIGKILL : i == 1 ? SIGQUIT : SIGBUS;
      signal(number, SIG_DFL);
      kill(getpid(), number);
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_content("a.csv", "old");
  }
  test_status((int)cpb_write_whole(scratch_path("a.csv"), "new", 3, &error), CPB_OK, error.text);
  assert_int_equal(scratch_count(), 1);
}

/* A data set added to an HDF5 file leaves the others; without a name the file is replaced. */
static void hdf5_data_sets(void **state) {
  (void)state;
  static const char *const names[] = {"a.hdf5:train", "a.hdf5:test", "a.hdf5:train", "a.hdf5"};
  cpb_error error;
  cpb_writer *writer;
  cpb_reader *reader;
  for (size_t i = 0; i < 4; i++) {
    cpb_writer_options options;
    cpb_writer_options_init(&options, sizeof options);
    options.cols = i + 1;
    cpb_status status = cpb_writer_open(scratch_path(names[i]), &options, &writer, &error);
    if (status != CPB_OK && strstr(error.text, "without HDF5") != NULL) skip();
    test_status((int)status, CPB_OK, error.text);
    assert_int_equal(cpb_writer_append(writer, cpb_rows(ones, CPB_F32, 2, i + 1), &error), CPB_OK);
    test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
    cpb_writer_free(writer);
    test_status((int)cpb_reader_open(scratch_path(names[i]), NULL, &reader, &error), CPB_OK, error.text);
    assert_int_equal(cpb_reader_info(reader).cols, i + 1);
    cpb_reader_free(reader);
    cpb_status other = cpb_reader_open(scratch_path("a.hdf5:test"), NULL, &reader, &error);
    assert_int_equal(other, i == 1 || i == 2 ? CPB_OK : CPB_EFORMAT);
    cpb_reader_free(reader);
    assert_int_equal(scratch_count(), 1);
  }
  scratch_write("b.h5", "text", 4);
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 1;
  assert_int_equal(cpb_writer_open(scratch_path("b.h5:x"), &options, &writer, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "not an HDF5 file"));
  assert_int_equal(scratch_count(), 2);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, fresh, scratch_teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      FRESH(nothing_without_commit),
      FRESH(old_file_stays_until_commit),
      FRESH(links_and_permissions),
      FRESH(two_writers_leave_one_whole_file),
      FRESH(places_that_cannot_be_written),
      FRESH(full_disk),
      FRESH(promised_rows),
      FRESH(values_that_do_not_fit),
      FRESH(options_that_are_wrong),
      FRESH(hdf5_data_sets),
      FRESH(litter),
      FRESH(killed_writers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
