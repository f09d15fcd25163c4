/* Every format and dtype there and back, by blocks of every size, in order and at random, through files
 * and through pipes.
 *
 * With arguments the program is a converter, for the scripts that compare with NumPy and h5py:
 *   round_trip FROM TO [dtype [from-format [to-format]]] */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "capball/file.h"
#include "base/rows.h"
#include "files/reader.h"
#include "support/check.h"
#include "support/scratch.h"

static const struct {
  const char *name, *extension;
  unsigned dtypes;
  bool keeps_dtype, streams_in;
} formats[] = {
    {"fvecs", ".fvecs", 1u << CPB_F32, true, true},
    {"bvecs", ".bvecs", 1u << CPB_U8, true, true},
    {"ivecs", ".ivecs", 1u << CPB_I32, true, true},
    {"fbin", ".fbin", 1u << CPB_F32, true, true},
    {"u8bin", ".u8bin", 1u << CPB_U8, true, true},
    {"i8bin", ".i8bin", 1u << CPB_I8, true, true},
    {"f16bin", ".f16bin", 1u << CPB_F16, true, true},
    {"ibin", ".ibin", 1u << CPB_I32, true, true},
    {"npy", ".npy", 127, true, true},
    {"hdf5", ".hdf5", 127, true, false},
    {"csv", ".csv", 127, false, true},
    {"tsv", ".tsv", 127, false, true},
    {"libsvm", ".libsvm", 127, false, false},
};
enum { FORMATS = sizeof formats / sizeof *formats, DTYPES = 7 };

/* False when the library was built without HDF5. */
static bool can_write(const char *path) {
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 1;
  cpb_status status = cpb_writer_open(path, &options, &writer, &error);
  cpb_writer_free(writer);
  return status == CPB_OK || strstr(error.text, "without HDF5") == NULL;
}

static cpb_status copy_rows(cpb_reader *reader, cpb_writer *writer, size_t max_rows, cpb_error *error) {
  while (true) {
    cpb_view block;
    cpb_status status = cpb_reader_next(reader, max_rows, &block, error);
    if (status != CPB_OK || block.rows == 0) return status;
    status = cpb_writer_append(writer, block, error);
    if (status != CPB_OK) return status;
  }
}

/* dtype < 0: the reader's. */
static cpb_status convert(const char *from, const char *from_format, const char *to, const char *to_format,
                          int dtype, size_t max_rows, cpb_error *error) {
  cpb_reader *reader = NULL;
  cpb_writer *writer = NULL;
  cpb_status status = cpb_reader_open(from, from_format, &reader, error);
  if (status != CPB_OK) return status;
  cpb_file_info info = cpb_reader_info(reader);
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = to_format;
  options.dtype = dtype < 0 ? info.dtype : (cpb_dtype)dtype;
  options.cols = info.cols;
  options.rows = info.rows;
  status = cpb_writer_open(to, &options, &writer, error);
  if (status == CPB_OK) status = copy_rows(reader, writer, max_rows, error);
  if (status == CPB_OK) status = cpb_writer_commit(writer, error);
  cpb_writer_free(writer);
  cpb_reader_free(reader);
  return status;
}

static void must_convert(const char *from, const char *to, int dtype, size_t max_rows) {
  cpb_error error;
  test_status((int)convert(from, NULL, to, NULL, dtype, max_rows, &error), CPB_OK, error.text);
}

enum { ROWS = 23, COLS = 5 };

/* Numbers with all bits of the dtype in use, the special ones first. */
static void *make_rows(cpb_dtype dtype, size_t count, uint64_t seed) {
  static const double special[] = {0,   -0.0, 1,     -1,    INFINITY, -INFINITY,
                                   NAN, 0.1,  1e-30, -1e30, 5e-324,   1e300};
  static const uint16_t half_special[] = {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 1, 0x7bff, 0x3555};
  test_rng rng = {seed};
  size_t element = cpb_dtype_size(dtype);
  unsigned char *bytes = calloc(count, element);
  for (size_t i = 0; i < count * element; i++) bytes[i] = (unsigned char)test_bits(&rng);
  for (size_t i = 0; i < count; i++) {
    double value = i < 12 ? special[i] : test_gauss(&rng) * exp(20 * test_gauss(&rng));
    if (dtype == CPB_F64) ((double *)(void *)bytes)[i] = value;
    if (dtype == CPB_F32) ((float *)(void *)bytes)[i] = (float)value;
    uint16_t *half = (uint16_t *)(void *)bytes + i;
    if (dtype == CPB_F16 && i < 9) *half = half_special[i];
    if (dtype == CPB_F16 && i >= 9 && (*half & 0x7c00) == 0x7c00) *half = 0x3555;
  }
  return bytes;
}

static void write_rows(const char *path, cpb_view rows, uint64_t promised) {
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = rows.dtype;
  options.cols = rows.cols;
  options.rows = promised;
  test_status((int)cpb_writer_open(path, &options, &writer, &error), CPB_OK, error.text);
  for (size_t i = 0; i < rows.rows; i += 7) {
    size_t count = rows.rows - i < 7 ? rows.rows - i : 7;
    test_status((int)cpb_writer_append(writer, cpb_view_slice(rows, i, count), &error), CPB_OK, error.text);
  }
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
}

/* The bits of an element; for NaN only that it is one. */
static bool same_element(cpb_view a, cpb_view b, size_t row, size_t column) {
  double x = cpb_view_at(a, row, column), y = cpb_view_at(b, row, column);
  return isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0;
}

/* What a text of f32 digits gives back is a double that rounds to the float. */
static bool same_rounded(cpb_view a, cpb_view b, size_t row, size_t column) {
  double x = cpb_view_at(a, row, column), y = cpb_view_at(b, row, column);
  if (isnan(x)) return isnan(y);
  if (a.dtype == CPB_F16) return fabs(x - y) <= fabs(x) * 0x1p-14 || x == y;
  float narrow = (float)y;
  return a.dtype == CPB_F32 ? (double)narrow == x && !signbit(x) == !signbit(y) : x == y;
}

static void expect_rows(cpb_view got, cpb_view wanted, size_t first, const char *what) {
  for (size_t i = 0; i < got.rows; i++)
    for (size_t j = 0; j < got.cols; j++) {
      cpb_view here = cpb_view_slice(wanted, first + i, 1);
      cpb_view there = cpb_view_slice(got, i, 1);
      bool same =
          got.dtype == wanted.dtype ? same_element(here, there, 0, j) : same_rounded(here, there, 0, j);
      if (!same)
        fail_msg("%s: row %zu column %zu: %.17g instead of %.17g", what, first + i, j, cpb_view_at(got, i, j),
                 cpb_view_at(wanted, first + i, j));
    }
}

static void read_in_order(cpb_reader *reader, cpb_view wanted, size_t max_rows, const char *what) {
  cpb_error error;
  cpb_view block;
  size_t row = 0;
  while (true) {
    test_status((int)cpb_reader_next(reader, max_rows, &block, &error), CPB_OK, error.text);
    if (block.rows == 0) break;
    assert_true(block.rows <= max_rows && row + block.rows <= wanted.rows);
    assert_int_equal(block.cols, wanted.cols);
    expect_rows(block, wanted, row, what);
    row += block.rows;
  }
  assert_int_equal(row, wanted.rows);
  assert_int_equal(cpb_reader_info(reader).rows, wanted.rows);
}

static void read_at_random(const cpb_reader *reader, cpb_view wanted, const char *what) {
  cpb_error error;
  size_t step = 1 + wanted.rows / 50;
  for (size_t first = 0; first <= wanted.rows; first += step)
    for (size_t count = 0; first + count <= wanted.rows; count += 1 + count) {
      size_t size = (cpb_reader_buffer_size(reader, count) + 63) / 64 * 64;
      void *buffer = aligned_alloc(64, size);
      cpb_view block;
      test_status((int)cpb_reader_at(reader, first, count, buffer, &block, &error), CPB_OK, error.text);
      assert_int_equal(block.rows, count);
      expect_rows(block, wanted, first, what);
      free(buffer);
    }
}

static void check_file(const char *path, cpb_view wanted, bool keeps_dtype) {
  cpb_error error;
  cpb_reader *reader;
  test_status((int)cpb_reader_open(path, NULL, &reader, &error), CPB_OK, error.text);
  cpb_file_info info = cpb_reader_info(reader);
  assert_string_equal(info.path, path);
  assert_int_equal(info.cols, wanted.cols);
  assert_int_equal(info.dtype, keeps_dtype ? wanted.dtype : CPB_F64);
  const size_t blocks[] = {1, 3, 1000};
  for (size_t i = 0; i < 3; i++) {
    read_in_order(reader, wanted, blocks[i], path);
    test_status((int)cpb_reader_rewind(reader, &error), CPB_OK, error.text);
  }
  if (info.random_access) read_at_random(reader, wanted, path);
  cpb_reader_free(reader);
}

static void every_format_and_dtype(void **state) {
  (void)state;
  for (size_t f = 0; f < FORMATS; f++)
    for (int dtype = 0; dtype < DTYPES; dtype++) {
      char name[32];
      snprintf(name, sizeof name, "every%s", formats[f].extension);
      const char *path = scratch_path(name);
      if ((formats[f].dtypes & 1u << dtype) == 0 || !can_write(path)) continue;
      void *data = make_rows((cpb_dtype)dtype, ROWS * COLS, 7);
      if (!formats[f].keeps_dtype && dtype == CPB_I64) /* read as f64 */
        for (size_t i = 0; i < ROWS * COLS; i++) ((int64_t *)data)[i] >>= 11;
      cpb_view rows = cpb_rows(data, (cpb_dtype)dtype, ROWS, COLS);
      write_rows(path, rows, ROWS);
      check_file(path, rows, formats[f].keeps_dtype);
      size_t known, unknown;
      char *bytes = scratch_read(path, &known);
      write_rows(path, rows, CPB_ROWS_UNKNOWN);
      check_file(path, rows, formats[f].keeps_dtype);
      char *again = scratch_read(path, &unknown);
      if (strcmp(formats[f].name, "hdf5") != 0) { /* which stores the two differently */
        assert_int_equal(known, unknown);
        assert_memory_equal(bytes, again, known);
      }
      free(bytes);
      free(again);
      free(data);
    }
}

/* f32 through every format that holds it and back to .fvecs gives the same file, byte for byte. */
static void chains_of_formats(void **state) {
  (void)state;
  static const char *const way[] = {"a.npy", "a.fbin", "a.csv", "a.tsv", "a.libsvm", "a.h5:x/y", "b.fvecs"};
  void *data = make_rows(CPB_F32, ROWS * COLS, 11);
  float *numbers = data;
  for (size_t i = 0; i < ROWS * COLS; i++)
    if (isnan(numbers[i])) numbers[i] = 3; /* text does not keep the payload of a NaN */
  write_rows(scratch_path("a.fvecs"), cpb_rows(data, CPB_F32, ROWS, COLS), ROWS);
  const char *from = "a.fvecs";
  for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
    if (!can_write(scratch_path(way[i]))) continue;
    must_convert(scratch_path(from), scratch_path(way[i]), CPB_F32, 4);
    from = way[i];
  }
  size_t before, after;
  char *first = scratch_read(scratch_path("a.fvecs"), &before);
  char *last = scratch_read(scratch_path("b.fvecs"), &after);
  assert_int_equal(before, after);
  assert_memory_equal(first, last, before);
  free(first);
  free(last);
  free(data);
}

/* A column of zeros at the end, which libsvm would lose, and rows of nothing but zeros. */
static void libsvm_keeps_d(void **state) {
  (void)state;
  double zeros[3 * 4] = {0, 0, 0, 0, 0, 0, 0, 0, 0, -0.0, 2, 0};
  write_rows(scratch_path("zeros.libsvm"), cpb_rows(zeros, CPB_F64, 3, 4), 3);
  check_file(scratch_path("zeros.libsvm"), cpb_rows(zeros, CPB_F64, 3, 4), true);
}

static void no_rows(void **state) {
  (void)state;
  static const char *const names[] = {"none.fbin", "none.npy", "none.hdf5"};
  float nothing = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!can_write(scratch_path(names[i]))) continue;
    write_rows(scratch_path(names[i]), cpb_rows(&nothing, CPB_F32, 0, 9), 0);
    check_file(scratch_path(names[i]), cpb_rows(&nothing, CPB_F32, 0, 9), true);
    write_rows(scratch_path(names[i]), cpb_rows(&nothing, CPB_F32, 0, 9), CPB_ROWS_UNKNOWN);
    check_file(scratch_path(names[i]), cpb_rows(&nothing, CPB_F32, 0, 9), true);
  }
}

/* ---- random access from several threads ---- */

typedef struct share {
  const cpb_reader *reader;
  cpb_writer *writer;
  size_t first, step, rows;
  cpb_status status;
} share;

static void *copy_share(void *arg) {
  enum { BLOCK = 64 };
  share *mine = arg;
  void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(mine->reader, BLOCK) + 63) / 64 * 64);
  for (size_t i = mine->first * BLOCK; i < mine->rows && mine->status == CPB_OK; i += mine->step * BLOCK) {
    size_t count = mine->rows - i < BLOCK ? mine->rows - i : BLOCK;
    cpb_view block;
    mine->status = cpb_reader_at(mine->reader, i, count, buffer, &block, NULL);
    if (mine->status == CPB_OK) mine->status = cpb_writer_at(mine->writer, i, block, NULL);
  }
  free(buffer);
  return NULL;
}

static void copy_by_threads(const char *from, const char *to, uint64_t rows) {
  cpb_error error;
  cpb_reader *reader;
  cpb_writer *writer;
  test_status((int)cpb_reader_open(from, NULL, &reader, &error), CPB_OK, error.text);
  cpb_file_info info = cpb_reader_info(reader);
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = info.dtype;
  options.cols = info.cols;
  options.rows = rows;
  test_status((int)cpb_writer_open(to, &options, &writer, &error), CPB_OK, error.text);
  assert_true(cpb_writer_random_access(writer));
  pthread_t threads[3];
  share shares[3];
  for (size_t i = 0; i < 3; i++) {
    shares[i] = (share){reader, writer, i, 3, (size_t)rows, CPB_OK};
    assert_int_equal(pthread_create(&threads[i], NULL, copy_share, &shares[i]), 0);
  }
  for (size_t i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(shares[i].status, CPB_OK);
  }
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
  cpb_reader_free(reader);
}

static void threads_copy(void **state) {
  (void)state;
  static const size_t cols[] = {1, 100, 20000}; /* the last has rows longer than the gathering buffer */
  for (size_t k = 0; k < 3; k++) {
    size_t rows = (cols[k] > 1000 ? 70 : 1000) / (TEST_SANITIZED ? 4 : 1);
    void *data = make_rows(CPB_F32, rows * cols[k], 5);
    write_rows(scratch_path("t.fvecs"), cpb_rows(data, CPB_F32, rows, cols[k]), rows);
    copy_by_threads(scratch_path("t.fvecs"), scratch_path("t.npy"), rows);
    check_file(scratch_path("t.npy"), cpb_rows(data, CPB_F32, rows, cols[k]), true);
    copy_by_threads(scratch_path("t.npy"), scratch_path("u.fvecs"), rows);
    size_t a, b;
    char *first = scratch_read(scratch_path("t.fvecs"), &a),
         *second = scratch_read(scratch_path("u.fvecs"), &b);
    assert_int_equal(a, b);
    assert_memory_equal(first, second, a);
    free(first);
    free(second);
    free(data);
  }
}

/* ---- pipes ---- */

typedef struct feed {
  int fd;
  const char *bytes;
  size_t count;
} feed;

/* Uneven small pieces: a reader may not rely on whole rows arriving together. */
static void *feed_pipe(void *arg) {
  feed *f = arg;
  for (size_t done = 0; done < f->count;) {
    size_t piece = 1 + done % 61;
    ssize_t n = write(f->fd, f->bytes + done, piece < f->count - done ? piece : f->count - done);
    if (n <= 0) break;
    done += (size_t)n;
  }
  close(f->fd);
  return NULL;
}

static void read_pipe(const char *path, const char *format, cpb_view wanted) {
  int ends[2];
  size_t count;
  char *bytes = scratch_read(path, &count), name[32];
  assert_int_equal(pipe(ends), 0);
  feed f = {ends[1], bytes, count};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &f), 0);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  cpb_error error;
  cpb_reader *reader;
  test_status((int)cpb_reader_open(name, format, &reader, &error), CPB_OK, error.text);
  assert_false(cpb_reader_info(reader).random_access);
  read_in_order(reader, wanted, 4, format);
  assert_int_equal(cpb_reader_rewind(reader, &error), CPB_EIO);
  cpb_reader_free(reader);
  pthread_join(thread, NULL);
  close(ends[0]);
  free(bytes);
}

static void pipes(void **state) {
  (void)state;
  for (size_t f = 0; f < FORMATS; f++)
    for (int dtype = 0; dtype < DTYPES; dtype++) {
      if ((formats[f].dtypes & 1u << dtype) == 0 || !formats[f].streams_in || dtype == CPB_I64) continue;
      void *data = make_rows((cpb_dtype)dtype, ROWS * COLS, 3);
      cpb_view rows = cpb_rows(data, (cpb_dtype)dtype, ROWS, COLS);
      char name[32];
      snprintf(name, sizeof name, "pipe%s", formats[f].extension);
      write_rows(scratch_path(name), rows, ROWS);
      read_pipe(scratch_path(name), formats[f].name, rows);
      free(data);
    }
}

/* A device or pipe is written as it comes: nothing is renamed over it. */
static void pipe_out(void **state) {
  (void)state;
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  int ends[2];
  char name[32], got[64];
  assert_int_equal(pipe(ends), 0);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 3;
  options.format = "fbin";
  assert_int_equal(cpb_writer_open(name, &options, &writer, &error), CPB_EINVAL);
  assert_non_null(strstr(error.text, "must be known"));
  options.rows = 2;
  test_status((int)cpb_writer_open(name, &options, &writer, &error), CPB_OK, error.text);
  assert_false(cpb_writer_random_access(writer));
  test_status((int)cpb_writer_append(writer, cpb_rows(numbers, CPB_F32, 2, 3), &error), CPB_OK, error.text);
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
  assert_int_equal(read(ends[0], got, sizeof got), 8 + 24);
  assert_memory_equal(got + 8, numbers, 24);
  close(ends[0]);
  close(ends[1]);
}

static int convert_arguments(int count, char **arguments) {
  int dtype = -1;
  for (int k = 0; k < DTYPES && count > 3; k++)
    if (strcmp(arguments[3], cpb_dtype_name((cpb_dtype)k)) == 0) dtype = k;
  cpb_error error;
  cpb_status status = convert(arguments[1], count > 4 ? arguments[4] : NULL, arguments[2],
                              count > 5 ? arguments[5] : NULL, dtype, 1000, &error);
  if (status != CPB_OK) fprintf(stderr, "%s: %s\n", cpb_status_name(status), error.text);
  return status == CPB_OK ? 0 : 1;
}

int main(int count, char **arguments) {
  if (count > 2) return convert_arguments(count, arguments);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_and_dtype),
      cmocka_unit_test(chains_of_formats),
      cmocka_unit_test(libsvm_keeps_d),
      cmocka_unit_test(no_rows),
      cmocka_unit_test(threads_copy),
      cmocka_unit_test(pipes),
      cmocka_unit_test(pipe_out),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
