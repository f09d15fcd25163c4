/* Files written by NumPy, h5py and struct (tests/golden/make_golden.py) read back to their original values, and
 * our own files have the same bytes. */
#include "capball/file.h"
#include "base/rows.h"
#include "support/check.h"
#include "support/scratch.h"

/* The golden files are next to the directory of this source. */
static const char *golden(const char *name) {
  static char path[1024];
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s/../golden/%s", (int)(slash - __FILE__), __FILE__, name);
  return path;
}

/* make_golden.py's table: 4i+j-2, bytes 2 more, and the last element 0.5 where there are fractions. */
static double element(cpb_dtype dtype, size_t i, size_t j) {
  if (i == 2 && j == 3 && dtype <= CPB_F16) return 0.5;
  return (double)(4 * i + j) - (dtype == CPB_U8 ? 0 : 2);
}

static void expect_table(const char *name, cpb_dtype dtype, size_t first_column) {
  cpb_error error;
  cpb_reader *reader;
  cpb_view block;
  test_status((int)cpb_reader_open(golden(name), NULL, &reader, &error), CPB_OK, error.text);
  cpb_file_info info = cpb_reader_info(reader);
  assert_int_equal(info.dtype, dtype);
  assert_int_equal(info.cols, 4 - first_column);
  assert_true(info.rows == 3 || info.rows == CPB_ROWS_UNKNOWN);
  for (size_t i = 0; i < 3; i++) {
    test_status((int)cpb_reader_next(reader, 1, &block, &error), CPB_OK, error.text);
    assert_int_equal(block.rows, 1);
    for (size_t j = 0; j < block.cols; j++)
      assert_true(cpb_view_at(block, 0, j) == element(dtype, i, j + first_column));
  }
  test_status((int)cpb_reader_next(reader, 1, &block, &error), CPB_OK, error.text);
  assert_int_equal(block.rows, 0);
  cpb_reader_free(reader);
}

static void expect_refusal(const char *name, const char *words) {
  cpb_error error;
  cpb_reader *reader;
  assert_int_equal(cpb_reader_open(golden(name), NULL, &reader, &error), CPB_EFORMAT);
  assert_null(reader);
  if (strstr(error.text, words) == NULL) fail_msg("%s: no \"%s\" in: %s", name, words, error.text);
}

/* Our file of the same table has the same bytes. */
static void expect_same_bytes(const char *name, cpb_dtype dtype) {
  double table[12];
  for (size_t k = 0; k < 12; k++) table[k] = element(dtype, k / 4, k % 4);
  cpb_error error;
  cpb_writer *writer;
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.dtype = dtype;
  options.cols = 4;
  test_status((int)cpb_writer_open(scratch_path(name), &options, &writer, &error), CPB_OK, error.text);
  test_status((int)cpb_writer_append(writer, cpb_rows(table, CPB_F64, 3, 4), &error), CPB_OK, error.text);
  test_status((int)cpb_writer_commit(writer, &error), CPB_OK, error.text);
  cpb_writer_free(writer);
  size_t a, b;
  char *ours = scratch_read(scratch_path(name), &a), *theirs = scratch_read(golden(name), &b);
  assert_int_equal(a, b);
  assert_memory_equal(ours, theirs, a);
  free(ours);
  free(theirs);
}

static const struct {
  const char *name;
  cpb_dtype dtype;
} binary[] = {
    {"table.fvecs", CPB_F32}, {"table.bvecs", CPB_U8}, {"table.ivecs", CPB_I32},  {"table.fbin", CPB_F32},
    {"table.u8bin", CPB_U8},  {"table.i8bin", CPB_I8}, {"table.f16bin", CPB_F16}, {"table.ibin", CPB_I32},
    {"c_f2.npy", CPB_F16},    {"c_f4.npy", CPB_F32},   {"c_f8.npy", CPB_F64},     {"c_u1.npy", CPB_U8},
    {"c_i1.npy", CPB_I8},     {"c_i4.npy", CPB_I32},   {"c_i8.npy", CPB_I64},     {"bare.csv", CPB_F64},
};

static void binary_files(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
    expect_table(binary[i].name, binary[i].dtype, 0);
    expect_same_bytes(binary[i].name, binary[i].dtype);
  }
}

static void npy_orders_and_versions(void **state) {
  (void)state;
  expect_table("fortran_f2.npy", CPB_F16, 0);
  expect_table("fortran_f4.npy", CPB_F32, 0);
  expect_table("fortran_f8.npy", CPB_F64, 0);
  expect_table("fortran_u1.npy", CPB_U8, 0);
  expect_table("fortran_i1.npy", CPB_I8, 0);
  expect_table("fortran_i4.npy", CPB_I32, 0);
  expect_table("fortran_i8.npy", CPB_I64, 0);
  expect_table("version2.npy", CPB_F32, 0);
  expect_table("version3.npy", CPB_F32, 0);
  expect_table("vector.npy", CPB_F32, 3);
}

static void npy_refusals(void **state) {
  (void)state;
  expect_refusal("object.npy", "object");
  expect_refusal("big_endian.npy", "big-endian");
  expect_refusal("records.npy", "structured");
  expect_refusal("cube.npy", "3 dimensions");
  expect_refusal("complex.npy", "<c8");
}

static void text_files(void **state) {
  (void)state;
  expect_table("table.csv", CPB_F64, 0);
  expect_table("table.tsv", CPB_F64, 0);
  expect_table("table.libsvm", CPB_F64, 0);
}

static void hdf5_files(void **state) {
  (void)state;
  cpb_error error;
  cpb_reader *reader;
  cpb_status status = cpb_reader_open(golden("table.hdf5"), NULL, &reader, &error);
  cpb_reader_free(reader);
  if (status != CPB_OK && strstr(error.text, "without HDF5") != NULL) skip();
  expect_table("table.hdf5", CPB_F32, 0);
  expect_table("table.hdf5:train", CPB_F32, 0);
  expect_table("table.hdf5:group/test", CPB_F16, 0);
  expect_table("table.hdf5:big", CPB_F64, 0);
  expect_table("table.hdf5:neighbors", CPB_I64, 0);
  expect_table("table.hdf5:vector", CPB_F32, 3);
  expect_refusal("table.hdf5:words", "does not hold");
  expect_refusal("table.hdf5:nothing",
                 "no data set \"nothing\"; it has big, group/test, neighbors, train, vector, words");
  expect_refusal("table.hdf5:group", "no data set \"group\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(binary_files), cmocka_unit_test(npy_orders_and_versions),
      cmocka_unit_test(npy_refusals), cmocka_unit_test(text_files),
      cmocka_unit_test(hdf5_files),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
