/* A writer with any options and blocks: what it commits is read back with the same number of rows and the same numbers;
 * what it rejects leaves nothing. Blocks may be invalid: no data, a stride below the columns, types that do not exist,
 * more rows than memory can hold. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capball/file.h"
#include "fuzz_bytes.h"

enum { COLS = 9, BLOCK = 6, NUMBERS = 256 };

static const char *const formats[] = {"fvecs",  "bvecs", "ivecs", "fbin", "u8bin", "i8bin",
                                      "f16bin", "ibin",  "npy",   "csv",  "tsv",   "libsvm"};
enum { FORMATS = sizeof formats / sizeof *formats };

static char path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  snprintf(path, sizeof path, "%s/capball-fuzz-writer-%d",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
  return 0;
}

/* A view of the numbers, valid or not; true if it is valid. */
static bool take_block(fuzz_bytes *from, const double *numbers, size_t cols, cpb_view *block) {
  size_t rows = fuzz_below(from, BLOCK);
  *block = cpb_rows(numbers, CPB_F64, rows, cols);
  switch (fuzz_below(from, 24)) {
  case 0: block->data = NULL; return rows == 0;
  case 1: block->stride = cols - 1; return false;
  case 2: block->dtype = (cpb_dtype)fuzz_below(from, 256); return block->dtype == CPB_F64;
  case 3: block->rows = SIZE_MAX / (1 + fuzz_below(from, 4)); return false;
  case 4: block->cols = fuzz_below(from, 2 * COLS); return block->cols == cols && block->stride == cols;
  case 5: block->data = (const char *)numbers + 1; return rows == 0;
  case 6: block->stride = SIZE_MAX; return rows == 0;
  default: return true;
  }
}

/* Whether a file of that type must represent the number exactly. */
static bool holds(cpb_dtype dtype) { return dtype == CPB_F64; }

static void read_back(const char *format, const double *numbers, const uint64_t *starts, uint64_t rows,
                      size_t cols, cpb_dtype dtype) {
  cpb_reader *reader;
  cpb_error error;
  cpb_view block;
  uint64_t found = 0;
  if (cpb_reader_open(path, format, &reader, &error) != CPB_OK) {
    if (rows != 0) abort();
    return; /* without rows some formats have no d */
  }
  while (cpb_reader_next(reader, 5, &block, &error) == CPB_OK && block.rows != 0) {
    if (block.cols != cols || found + block.rows > rows) abort();
    for (size_t i = 0; i < block.rows && block.dtype == CPB_F64 && holds(dtype); i++)
      for (size_t k = 0; k < cols; k++) {
        double a = ((const double *)block.data)[i * block.stride + k], b = numbers[starts[found + i] + k];
        if (!(a == b || (isnan(a) && isnan(b)))) abort();
      }
    found += block.rows;
  }
  if (found != rows) abort();
  cpb_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  static double numbers[NUMBERS];
  uint64_t starts[4096], rows = 0;
  fuzz_bytes from = {bytes, count};
  cpb_writer_options options;
  cpb_writer_options_init(&options, sizeof options);
  options.format = formats[fuzz_below(&from, FORMATS)];
  options.dtype = (cpb_dtype)fuzz_below(&from, 9);
  options.cols = fuzz_below(&from, COLS + 1);
  if (fuzz_below(&from, 3) == 0) options.rows = fuzz_below(&from, 20);
  if (fuzz_below(&from, 40) == 0) options.size = fuzz_below(&from, 200);
  if (fuzz_below(&from, 40) == 0) options.cols = SIZE_MAX / (1 + fuzz_below(&from, 9));
  if (fuzz_below(&from, 40) == 0) options.rows = UINT64_MAX / (1 + fuzz_below(&from, 9));
  fuzz_numbers(&from, numbers, NUMBERS);
  cpb_writer *writer;
  cpb_error error = {.text = ""};
  if (cpb_writer_open(path, &options, &writer, &error) != CPB_OK) {
    if (writer != NULL || error.text[0] == 0 || access(path, F_OK) == 0) abort();
    return 0;
  }
  bool fine = true;
  while (from.left > 0 && rows < 4000) {
    cpb_view block;
    size_t at = fuzz_below(&from, NUMBERS - BLOCK * COLS);
    bool truth = take_block(&from, numbers + at, options.cols, &block);
    cpb_status status = cpb_writer_append(writer, block, &error);
    if (status == CPB_OK && !truth && block.rows != 0 && block.dtype == CPB_F64) abort();
    if (status != CPB_OK && error.text[0] == 0) abort();
    fine = fine && (status == CPB_OK || status == CPB_ESHAPE || status == CPB_EDTYPE || status == CPB_EINVAL);
    for (size_t i = 0; status == CPB_OK && i < block.rows; i++) starts[rows++] = at + i * options.cols;
    if (status == CPB_OK && block.dtype != CPB_F64) fine = false;
  }
  bool committed = cpb_writer_commit(writer, &error) == CPB_OK;
  cpb_writer_free(writer);
  if (committed != (access(path, F_OK) == 0)) abort();
  if (committed && fine) read_back(options.format, numbers, starts, rows, options.cols, options.dtype);
  unlink(path);
  return 0;
}
