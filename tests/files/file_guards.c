/* Files that are inconsistent, truncated, or not what they claim to be: a status, a message that names the value,
 * and no more memory than the file justifies. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capball/file.h"
#include "files/reader.h"
#include "support/check.h"
#include "support/scratch.h"

/* Reads a file of these bytes to its end; returns the first failure. With random access, a read of everything at
 * once must fail or succeed likewise. */
static cpb_status read_bytes(const char *name, const void *bytes, size_t count, cpb_error *error) {
  cpb_reader *reader;
  cpb_view block = {.rows = 1};
  const char *path = scratch_write(name, bytes, count);
  cpb_status status = cpb_reader_open(path, NULL, &reader, error);
  if (status != CPB_OK) {
    assert_null(reader);
    return status;
  }
  while (status == CPB_OK && block.rows != 0) status = cpb_reader_next(reader, 2, &block, error);
  cpb_file_info info = cpb_reader_info(reader);
  if (info.random_access) {
    size_t size = cpb_reader_buffer_size(reader, (size_t)info.rows);
    void *buffer = aligned_alloc(64, (size + 63) / 64 * 64);
    assert_int_equal(cpb_reader_at(reader, 0, (size_t)info.rows, buffer, &block, NULL), status);
    free(buffer);
  }
  cpb_reader_free(reader);
  return status;
}

static void refused(const char *name, const void *bytes, size_t count, int64_t row, const char *words) {
  cpb_error error = {.row = -2, .text = ""};
  cpb_status status = read_bytes(name, bytes, count, &error);
  test_status((int)status, CPB_EFORMAT, error.text);
  if (strstr(error.text, words) == NULL) fail_msg("%s: no \"%s\" in: %s", name, words, error.text);
  assert_int_equal(error.row, row);
}

static void accepted(const char *name, const char *text) {
  cpb_error error;
  test_status((int)read_bytes(name, text, strlen(text), &error), CPB_OK, error.text);
}

static void refused_text(const char *name, const char *text, int64_t row, const char *words) {
  refused(name, text, strlen(text), row, words);
}

static void vecs_guards(void **state) {
  (void)state;
  int32_t rows[] = {2, 10, 11, 2, 20, 21, 2, 30, 31};
  refused("e.fvecs", rows, 0, -1, "is empty");
  refused("h.fvecs", rows, 3, -1, "d of row 0");
  refused("t.ivecs", rows, sizeof rows - 1, 2, "truncated");
  refused("t.ivecs", rows, 4 * 7, 2, "truncated");
  refused("s.ivecs", rows, 4 * 2, 0, "truncated");
  int32_t other[] = {2, 10, 11, 3, 20, 21, 22, 2, 30, 31};
  refused("o.ivecs", other, sizeof other, 1, "row 1 has d = 3, row 0 has 2");
  int32_t hidden[] = {2, 10, 11, 1, 20, 21}; /* the size fits, the d does not */
  refused("o.ivecs", hidden, sizeof hidden, 1, "row 1 has d = 1, row 0 has 2");
  int32_t negative[] = {-5, 0}, zero[] = {0, 0}, huge[] = {INT32_MAX, 0};
  refused("n.fvecs", negative, sizeof negative, 0, "d = -5");
  refused("z.fvecs", zero, sizeof zero, 0, "d = 0");
  refused("h.fvecs", huge, sizeof huge, 0, "truncated");
  unsigned char bytes[] = {3, 0, 0, 0, 1, 2, 3, 3, 0, 0, 0, 4, 5, 6, 2, 0, 0, 0, 7, 8, 9};
  refused("o.bvecs", bytes, sizeof bytes, 2, "row 2 has d = 2, row 0 has 3");
  refused("t.bvecs", bytes, sizeof bytes - 2, 2, "row 2 has d = 2");
}

static void bin_guards(void **state) {
  (void)state;
  uint32_t file[] = {2, 2, 1, 2, 3, 4, 5};
  refused("e.fbin", file, 0, -1, "has 0 bytes");
  refused("h.fbin", file, 7, -1, "has 7 bytes");
  refused("t.fbin", file, 4 * 6 - 1, -1, "promises 2 rows of d = 2, 24 bytes in all, but it has 23");
  refused("x.fbin", file, 4 * 7, -1, "but it has 28");
  uint32_t flat[] = {2, 0, 0}, many[] = {UINT32_MAX, UINT32_MAX, 0}, wide[] = {1, INT32_MAX, 0};
  refused("f.u8bin", flat, sizeof flat, -1, "d = 0");
  refused("m.fbin", many, sizeof many, -1, "d = 4294967295");
  refused("w.ibin", wide, sizeof wide, -1, "promises 1 row of");
  uint32_t lies[] = {UINT32_MAX, INT32_MAX, 0}; /* n*d*4 overflows 64 bits */
  refused("l.ibin", lies, sizeof lies, -1, "more bytes than can be counted");
}

/* An .npy of that version and dict, with `data` bytes of zeros behind. */
static size_t make_npy(char *to, int version, const char *dict, size_t data) {
  uint32_t length = (uint32_t)strlen(dict);
  size_t width = version == 1 ? 2 : 4;
  memcpy(to, "\x93NUMPY\x01", 8);
  to[6] = (char)version;
  memcpy(to + 8, &length, width);
  memcpy(to + 8 + width, dict, length);
  memset(to + 8 + width + length, 0, data);
  return 8 + width + length + data;
}

static void refused_npy(const char *dict, size_t data, const char *words) {
  char file[4096];
  refused("a.npy", file, make_npy(file, 1, dict, data), -1, words);
}

static void npy_guards(void **state) {
  (void)state;
  char file[4096];
  cpb_error error;
  const char *good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  for (int version = 1; version <= 3; version++) {
    size_t size = make_npy(file, version, good, 24);
    test_status((int)read_bytes("g.npy", file, size, &error), CPB_OK, error.text);
    for (size_t cut = 0; cut < size; cut++) { /* every truncation of it */
      cpb_status status = read_bytes("c.npy", file, cut, &error);
      test_status((int)status, CPB_EFORMAT, error.text);
    }
  }
  refused("v.npy", file, make_npy(file, 4, good, 24), -1, "version 4");
  refused("x.npy", file, make_npy(file, 1, good, 25), -1, "but it has");
  refused("n.npy", "not a npy file at all", 21, -1, "does not begin");
  refused("h.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, -1, "header of 4294967295 bytes");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", 24, "not a dict");
  refused_npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}", 24, "not a dict");
  refused_npy("{'descr': '<f4', 'shape': (2, 3)}", 24, "not a dict");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", 24, "not a dict");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", 24, "not a dict");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, "0 dimensions");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0)}", 0, "d = 0");
  refused_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}", 0,
              "not a dict");
  refused_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (4611686018427387904, 4)}", 0,
              "more bytes than can be counted");
  refused_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1000000000, 4)}", 8, "promises 1000000000");
  refused_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, "object");
  refused_npy("{'descr': '', 'fortran_order': False, 'shape': (1,)}", 8, "not one of");
  refused_npy("{'descr': '>i1', 'fortran_order': False, 'shape': (1,)}", 0, "promises 1 row of");
  size_t size = make_npy(file, 1, "{\"shape\":(2L,3L,),\n\"fortran_order\":True,\"descr\":\"=f4\"} ", 24);
  test_status((int)read_bytes("p.npy", file, size, &error), CPB_OK, error.text);
}

static void csv_guards(void **state) {
  (void)state;
  refused_text("e.csv", "", -1, "is empty");
  refused_text("b.csv", "\n\r\n  \n", -1, "is empty");
  refused_text("w.csv", "1,2,3\n4,5,6\n7,8\n", 2, "line 3 has 2 fields, the first line has 3");
  refused_text("w.csv", "1,2,3\n4,5,6,7\n", 1, "line 2 has 4 fields");
  refused_text("n.csv", "1,2\n3,four\n", 1, "line 2, column 2: \"four\" is not a number");
  accepted("n.csv", "a,b\n\n1,2\n3,\n");
  refused_text("n.csv", "1,2\n3,1e999\n", 1, "\"1e999\"");
  refused_text("n.csv", "1,2\n3,0x10\n", 1, "\"0x10\"");
  refused_text("n.csv", "1,2\n3,4 5\n", 1, "\"4 5\"");
  refused_text("q.csv", "1,2\n3,\"4\n5,6\n", 1, "quote is not closed");
  refused_text("q.csv", "1,2\n\"3\"x,4\n", 1, "quote is not closed before the separator");
  refused_text("t.tsv", "1\t2\n3,4\n", 1, "\"3,4\"");
  refused("z.csv", "1,2\n3,4\0005\n", 10, 1, "is binary, not text");
  accepted("o.csv", "nan,inf\n-inf,NaN\nInfinity,-1e-400\n");
  accepted("h.csv", "a,b\n");
  refused_text("f.csv", "1O,2\n3,4\n", 0,
               "line 1, column 1: \"1O\" is not a number that fits in a double, and");
  refused_text("f.csv", "1,2\n3,4O\n", 1, "line 2, column 2: \"4O\" is not a number that fits in a double");
  refused_text("f.csv", "2,1e999\n3,4\n", 0, "line 1, column 2: \"1e999\"");
  refused_text("f.csv", "\n0x10,1\n", 0, "line 2, column 1: \"0x10\"");
  accepted("f.csv", "a,,c\n1,2,3\n");
  accepted("f.csv", ",a,b\n1,2,3\n");
  refused_text("f.csv", "a,\"b\n1,2\n3,4\n", 0, "line 1, column 2: a quote is not closed");
  refused_text("f.csv", "\"a,b\n1,2\n3,4\n", 0, "line 1, column 1: a quote is not closed");
  refused_text("c.csv", "1,2\n\033[31mred\303\244\200\302\233,4\n", 1,
               "\"\\x1b[31mred\303\244\\x80\\xc2\\x9b\"");
  refused("h.csv", "\1\2\3bin,x\n", 9, 0, "is binary, not text");
  refused("h.csv", "\0\0\0\0", 4, 0, "is binary, not text");
  refused("h.csv", "a,b\x7f\n1,2\n", 9, 0, "line 1, column 2: \"b\\x7f\" is binary");
  refused("h.csv", "a,\"b\0\"\n", 8, 0, "is binary");
  accepted("s.csv", "1;2;3\n");
  accepted("s.csv", "1 2 3");
  accepted("s.csv", "-.5e3 2\n\n");
  accepted("s.tsv", "1,2\n");
  refused_text("s.csv", "1O,2O\n", -1, "begins with numbers");
  refused_text("s.csv", "a,1;2\n", 0, "\"a,1\" is not a number");
  accepted("s.csv", "25%,50%\n1,2\n");
  accepted("s.csv", "-,+.\n");
  accepted("s.csv", "gr\xf6\xdf"
                    "e,b\n");
  accepted("m.csv", "\"a\nb\",c\n1,2");
  accepted("c.csv", "1,2\r\n\r\n3,4");
}

static void libsvm_guards(void **state) {
  (void)state;
  refused_text("e.libsvm", "", -1, "0 rows");
  refused_text("e.libsvm", "# nothing\n1\n2\n", -1, "2 rows and no index:value");
  refused_text("h.libsvm", "1 1:2\n1 2000000000:1\n", 1, "index above 16777216");
  refused_text("h.libsvm", "1 99999999999999999999999:1\n", 0, "index above 16777216");
  refused_text("z.libsvm", "1 0:1\n", 0, "count from 1");
  refused_text("a.libsvm", "1 2:1 1:3\n", 0, "ascending");
  refused_text("a.libsvm", "1 2:1 2:3\n", 0, "ascending");
  refused_text("v.libsvm", "1 1:1\n1 1:x\n", 1, "\"x\" is not a number");
  refused_text("v.libsvm", "1 1:\n", 0, "\"\" is not a number");
  refused_text("c.libsvm", "1 1\n", 0, "\"1\" is not index:value");
  refused_text("c.libsvm", "1 -1:3\n", 0, "\"-1:3\" is not index:value");
  refused_text("l.libsvm", "1:3 2:4\n", 0, "is not a label");
  accepted("o.libsvm", "1,3 1:nan\r\n\t-1 2:-inf\t4:5 #\n0\n");
}

static void hdf5_guards(void **state) {
  (void)state;
  cpb_error error;
  cpb_status status = read_bytes("n.hdf5", "not HDF5", 8, &error);
  assert_int_equal(status, CPB_EFORMAT);
  if (strstr(error.text, "without HDF5") != NULL) skip();
  assert_non_null(strstr(error.text, "is not an HDF5 file"));
  refused("e.h5", "", 0, -1, "is not an HDF5 file");
  refused("s.h5", "\x89HDF\r\n\x1a\n", 8, -1, "HDF5");
}

static void opened(const char *path, const char *format, cpb_status wanted, const char *words) {
  cpb_error error;
  cpb_reader *reader;
  test_status((int)cpb_reader_open(path, format, &reader, &error), (int)wanted, error.text);
  if (strstr(error.text, words) == NULL) fail_msg("no \"%s\" in: %s", words, error.text);
  assert_null(reader);
  assert_int_equal(cpb_reader_open(path, format, &reader, NULL), wanted);
}

static void files_that_cannot_be_opened(void **state) {
  (void)state;
  opened(scratch_path("missing.fvecs"), NULL, CPB_EIO, "No such file");
  opened(scratch_path("missing.hdf5:train"), NULL, CPB_EIO, "missing.hdf5: cannot open");
  mkdir(scratch_path("dir.npy"), 0700);
  opened(scratch_path("dir.npy"), NULL, CPB_EIO, "Is a directory");
  opened(scratch_path("x.gz"), NULL, CPB_EINVAL,
         "no extension that determines its format; specify one of fvecs");
  opened("plain", NULL, CPB_EINVAL, "plain: has no extension");
  opened("-", NULL, CPB_EINVAL, "specify one of");
  opened("a.fvecs", "parquet", CPB_EINVAL, "no format \"parquet\"; there are fvecs");
  opened("-", "libsvm", CPB_EIO, "cannot be read from a pipe");
  opened("-", "hdf5", CPB_EIO, "cannot be read from a pipe");
  opened(NULL, NULL, CPB_EINVAL, "path");
  const char *path = scratch_write("locked.fvecs", "", 0);
  chmod(path, 0);
  if (access(path, R_OK) != 0) opened(path, NULL, CPB_EIO, "Permission denied");
}

static void rows_out_of_range(void **state) {
  (void)state;
  cpb_error error;
  cpb_reader *reader;
  cpb_view block;
  int32_t rows[] = {1, 7, 1, 8};
  test_status((int)cpb_reader_open(scratch_write("r.ivecs", rows, sizeof rows), NULL, &reader, &error),
              CPB_OK, error.text);
  assert_int_equal(cpb_reader_at(reader, 1, 2, rows, &block, &error), CPB_ESHAPE);
  assert_int_equal(cpb_reader_at(reader, UINT64_MAX, 1, rows, &block, &error), CPB_ESHAPE);
  assert_int_equal(cpb_reader_at(reader, 1, SIZE_MAX, rows, &block, &error), CPB_ESHAPE);
  assert_int_equal(cpb_reader_buffer_size(reader, SIZE_MAX), SIZE_MAX);
  assert_int_equal(cpb_reader_next(reader, 0, &block, &error), CPB_EINVAL);
  assert_int_equal(cpb_reader_next(reader, SIZE_MAX, &block, &error), CPB_OK);
  assert_int_equal(block.rows, 2);
  cpb_reader_free(reader);
  cpb_reader_free(NULL);
}

/* Files that shrink after they were opened. */
static void shrinking_files(void **state) {
  (void)state;
  static const char *const names[] = {"s.ivecs", "f.npy"};
  int32_t rows[] = {1, 7, 1, 8, 1, 9};
  char npy[256];
  size_t size = make_npy(npy, 1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", 16);
  scratch_write(names[0], rows, sizeof rows);
  scratch_write(names[1], npy, size);
  for (size_t i = 0; i < 2; i++) {
    cpb_error error;
    cpb_reader *reader;
    cpb_view block;
    test_status((int)cpb_reader_open(scratch_path(names[i]), NULL, &reader, &error), CPB_OK, error.text);
    assert_int_equal(truncate(scratch_path(names[i]), 10), 0);
    assert_int_equal(cpb_reader_next(reader, 9, &block, &error), CPB_EFORMAT);
    assert_non_null(strstr(error.text, "ends before byte "));
    cpb_reader_free(reader);
  }
}

/* Text truncated between two reads has lost rows. */
static void shrinking_text(void **state) {
  (void)state;
  static const char *const names[] = {"s.csv", "s.libsvm"};
  enum { LINES = 100000 };
  for (size_t i = 0; i < 2; i++) {
    cpb_error error;
    cpb_reader *reader;
    cpb_view block;
    FILE *file = fopen(scratch_path(names[i]), "w");
    for (int k = 0; k < LINES; k++) fputs(i == 0 ? "1,2,3\n" : "0 1:2 3:4\n", file);
    fclose(file);
    test_status((int)cpb_reader_open(scratch_path(names[i]), NULL, &reader, &error), CPB_OK, error.text);
    assert_int_equal(cpb_reader_next(reader, 9, &block, &error), CPB_OK);
    assert_int_equal(truncate(scratch_path(names[i]), 6 * 90000), 0);
    assert_int_equal(cpb_reader_next(reader, LINES, &block, &error), CPB_EFORMAT);
    if (strstr(error.text, "became shorter") == NULL) fail_msg("%s", error.text);
    cpb_reader_free(reader);
  }
}

/* Streams with a wrong length: memory grows with the bytes received, not with the length announced. */
static void lying_pipe(const char *format, const void *bytes, size_t count, const char *words) {
  int ends[2];
  char name[32];
  cpb_error error;
  cpb_reader *reader;
  cpb_view block;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], bytes, count), (ssize_t)count);
  close(ends[1]);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  cpb_status status = cpb_reader_open(name, format, &reader, &error);
  if (status == CPB_OK) {
    status = cpb_reader_next(reader, SIZE_MAX, &block, &error);
    if (status == CPB_OK) status = cpb_reader_next(reader, SIZE_MAX, &block, &error);
    cpb_reader_free(reader);
  }
  close(ends[0]);
  test_status((int)status, CPB_EFORMAT, error.text);
  if (strstr(error.text, words) == NULL) fail_msg("no \"%s\" in: %s", words, error.text);
}

static void lying_pipes(void **state) {
  (void)state;
  uint32_t wide[] = {1000000000, 2000000000, 1, 2}, few[] = {3, 1, 7, 8}, more[] = {1, 1, 7, 8};
  int32_t vecs[] = {2000000000, 1, 2};
  lying_pipe("fbin", wide, sizeof wide, "middle of row 0");
  lying_pipe("fbin", few, sizeof few, "promises 3 rows, but it ends after 2");
  lying_pipe("fbin", more, sizeof more, "continues after its last row");
  lying_pipe("fvecs", vecs, sizeof vecs, "middle of row 0");
  lying_pipe("fvecs", vecs, 0, "is empty");
  lying_pipe("npy", "\x93NUMPY\x01", 8, "ends in its header");
}

/* A Fortran-order file in a pipe is rejected with a message that names the remedy. */
static void fortran_pipe(void **state) {
  (void)state;
  char npy[256], name[32];
  int ends[2];
  cpb_error error;
  cpb_reader *reader;
  size_t size = make_npy(npy, 1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2), }", 16);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], npy, size), (ssize_t)size);
  close(ends[1]);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  assert_int_equal(cpb_reader_open(name, "npy", &reader, &error), CPB_EIO);
  assert_non_null(strstr(error.text, "Fortran order"));
  close(ends[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vecs_guards),       cmocka_unit_test(bin_guards),
      cmocka_unit_test(npy_guards),        cmocka_unit_test(csv_guards),
      cmocka_unit_test(libsvm_guards),     cmocka_unit_test(hdf5_guards),
      cmocka_unit_test(rows_out_of_range), cmocka_unit_test(files_that_cannot_be_opened),
      cmocka_unit_test(shrinking_files),   cmocka_unit_test(shrinking_text),
      cmocka_unit_test(lying_pipes),       cmocka_unit_test(fortran_pipe),
  };
  return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
