/* Rows lent from a file's own pages equal the rows that are read; a file that cannot lend them says so. */
#define _POSIX_C_SOURCE 200809L
#include "files/reader.h"
#include "support/check.h"
#include "support/scratch.h"

#include <unistd.h>

#include "capball/file.h"

enum { ROWS = 5000, COLS = 7 };

static void write_rows(const char *path, const char *format, cpb_dtype dtype) {
  static double x[ROWS * COLS];
  for (size_t i = 0; i < ROWS * COLS; i++) x[i] = (double)(i % 101);
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = format;
  options.dtype = dtype;
  options.cols = COLS;
  options.rows = ROWS;
  cpb_writer *writer;
  cpb_error error = {.row = -1};
  test_status((int)cpb_writer_open(path, &options, &writer, &error), CPB_OK, error.text);
  test_status((int)cpb_writer_append(writer, cpb_rows(x, CPB_F64, ROWS, COLS), &error), CPB_OK, error.text);
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
}

static cpb_reader *open_rows(const char *path, const char *format) {
  cpb_reader *reader;
  cpb_error error = {.row = -1};
  test_status((int)cpb_reader_open(path, format, &reader, &error), CPB_OK, error.text);
  return reader;
}

static void same_rows(cpb_view a, cpb_view b) {
  assert_int_equal(a.dtype, b.dtype);
  assert_int_equal(a.rows, b.rows);
  assert_int_equal(a.cols, b.cols);
  size_t size = cpb_dtype_size(a.dtype);
  for (size_t i = 0; i < a.rows; i++)
    assert_memory_equal((const char *)a.data + i * a.stride * size,
                        (const char *)b.data + i * b.stride * size, a.cols * size);
}

static void lent_rows_are_the_rows(void **state) {
  (void)state;
  static const struct {
    const char *format;
    cpb_dtype dtype;
  } kinds[] = {{"fbin", CPB_F32},  {"u8bin", CPB_U8}, {"f16bin", CPB_F16},
               {"fvecs", CPB_F32}, {"bvecs", CPB_U8}, {"npy", CPB_F64}};
  static const size_t pieces[][2] = {{0, 1}, {0, ROWS}, {1234, 3000}, {ROWS - 1, 1}, {ROWS, 0}, {17, 0}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const char *path = scratch_path("rows");
    write_rows(path, kinds[k].format, kinds[k].dtype);
    cpb_reader *reader = open_rows(path, kinds[k].format);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
      size_t first = pieces[i][0], count = pieces[i][1];
      void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(reader, count) + 64) / 64 * 64);
      cpb_view read, lent;
      cpb_loan loan;
      cpb_error error = {.row = -1};
      test_status((int)cpb_reader_at(reader, first, count, buffer, &read, &error), CPB_OK, error.text);
      test_status((int)cpb_reader_lend(reader, first, count, &loan, &lent, &error), CPB_OK, error.text);
      same_rows(read, lent);
      cpb_reader_give_back(reader, &loan, &error);
      cpb_reader_give_back(reader, &loan, &error);
      free(buffer);
    }
    cpb_reader_free(reader);
    unlink(path);
  }
}

static void what_cannot_be_lent(void **state) {
  (void)state;
  cpb_error error = {.row = -1};
  cpb_loan loan;
  cpb_view block;
  const char *path = scratch_path("rows");
  write_rows(path, "csv", CPB_F64);
  cpb_reader *reader = open_rows(path, "csv");
  assert_int_equal(cpb_reader_lend(reader, 0, 1, &loan, &block, &error), CPB_EINVAL);
  cpb_reader_free(reader);
  write_rows(path, "fbin", CPB_F32);
  reader = open_rows(path, "fbin");
  assert_int_equal(cpb_reader_lend(reader, ROWS - 1, 2, &loan, &block, &error), CPB_ESHAPE);
  assert_int_equal(truncate(path, 8 + 100 * COLS * 4), 0);
  assert_int_equal(cpb_reader_lend(reader, 99, 1, &loan, &block, &error), CPB_OK);
  assert_int_equal(cpb_reader_give_back(reader, &loan, &error), CPB_EFORMAT); /* it is shorter than before */
  assert_int_equal(cpb_reader_lend(reader, 100, 1, &loan, &block, &error), CPB_EFORMAT);
  assert_non_null(strstr(error.text, "ends before byte"));
  assert_null(loan.memory);
  cpb_reader_free(reader);
  unlink(path);
}

/* A file truncated within its last page reads as zeros there, and the reader reports it. */
static void rows_that_shrink(void **state) {
  (void)state;
  cpb_error error = {.row = -1};
  cpb_loan loan;
  cpb_view block;
  const char *path = scratch_path("rows");
  size_t whole = 8 + ROWS * COLS * 4;
  for (size_t cut = 1; cut < 40; cut += 13) {
    write_rows(path, "fbin", CPB_F32);
    cpb_reader *reader = open_rows(path, "fbin");
    assert_int_equal(cpb_reader_lend(reader, ROWS - 10, 10, &loan, &block, &error), CPB_OK);
    assert_int_equal(truncate(path, (off_t)(whole - cut)), 0);
    assert_int_equal(cpb_reader_give_back(reader, &loan, &error), CPB_EFORMAT);
    assert_non_null(strstr(error.text, "became shorter while it was being read"));
    assert_int_equal(cpb_reader_give_back(reader, &loan, &error), CPB_OK);
    assert_int_equal(truncate(path, (off_t)whole), 0);
    cpb_reader_free(reader);
  }
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lent_rows_are_the_rows),
                                     cmocka_unit_test(what_cannot_be_lent),
                                     cmocka_unit_test(rows_that_shrink)};
  return cmocka_run_group_tests_name("lend_rows", tests, scratch_setup, scratch_teardown);
}
