/* Arbitrary bytes as a file of any format: read in order, from the start again, at random, and as a stream. The first
 * byte chooses the format and whether the bytes come from a file or a pipe; the environment variable CPB_FUZZ_READER
 * restricts it to the formats of one reader. HDF5 is excluded: bugs in libhdf5 are out of scope here. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capball/file.h"
#include "files/reader.h"

static const struct {
  const char *reader, *format;
} formats[] = {{"vecs", "fvecs"}, {"vecs", "bvecs"}, {"vecs", "ivecs"}, {"bin", "fbin"},
               {"bin", "u8bin"},  {"bin", "i8bin"},  {"bin", "f16bin"}, {"bin", "ibin"},
               {"npy", "npy"},    {"text", "csv"},   {"text", "tsv"},   {"libsvm", "libsvm"}};
enum { FORMATS = sizeof formats / sizeof *formats, PIPE_ROOM = 60000, WIDE = 1 << 16 };

/* Reads the rows from end to end, so that the sanitizer checks every view; in long rows not every byte. */
static volatile unsigned char seen;
static void read_all(cpb_view block) {
  size_t element = cpb_dtype_size(block.dtype), bytes = block.cols * element, step = 1 + bytes / 4096;
  for (size_t i = 0; i < block.rows; i++) {
    const unsigned char *row = (const unsigned char *)block.data + i * block.stride * element;
    for (size_t j = 0; j < bytes; j += step) seen = (unsigned char)(seen ^ row[j]);
    seen = (unsigned char)(seen ^ row[bytes - 1]);
  }
}

static uint64_t read_in_order(cpb_reader *reader, size_t max_rows, cpb_status *status) {
  uint64_t rows = 0;
  cpb_error error;
  cpb_view block;
  while ((*status = cpb_reader_next(reader, max_rows, &block, &error)) == CPB_OK && block.rows != 0) {
    read_all(block);
    rows += block.rows;
  }
  return rows;
}

static void read_at(const cpb_reader *reader, uint64_t rows) {
  size_t count = rows < 5 ? (size_t)rows : 5;
  void *buffer = aligned_alloc(64, (cpb_reader_buffer_size(reader, count) + 63) / 64 * 64);
  for (uint64_t first = 0; first + count <= rows && count != 0 && buffer != NULL; first += count) {
    cpb_view block;
    cpb_error error;
    if (cpb_reader_at(reader, first, count, buffer, &block, &error) == CPB_OK) read_all(block);
  }
  free(buffer);
}

static void read_file(const char *path, const char *format) {
  cpb_error error;
  cpb_reader *reader;
  cpb_status first, second;
  if (cpb_reader_open(path, format, &reader, &error) != CPB_OK) return;
  cpb_file_info info = cpb_reader_info(reader);
  if (info.cols > WIDE && info.rows != CPB_ROWS_UNKNOWN) { /* sparse: would take seconds for zeros only */
    cpb_reader_free(reader);
    return;
  }
  uint64_t rows = read_in_order(reader, 3, &first);
  if (cpb_reader_rewind(reader, &error) == CPB_OK) {
    uint64_t again = read_in_order(reader, SIZE_MAX, &second);
    if (first != second || (first == CPB_OK && rows != again)) abort();
  }
  if (first == CPB_OK && cpb_reader_info(reader).rows != rows) abort();
  if (info.random_access) read_at(reader, info.rows);
  cpb_reader_free(reader);
}

static void by_file(const unsigned char *bytes, size_t count, const char *format) {
  char path[64];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes, count) != (ssize_t)count) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  read_file(path, format);
  close(fd);
}

static void by_pipe(const unsigned char *bytes, size_t count, const char *format) {
  char path[64];
  int ends[2];
  if (count > PIPE_ROOM) return;
  if (pipe(ends) != 0 || write(ends[1], bytes, count) != (ssize_t)count) abort();
  close(ends[1]);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  read_file(path, format);
  close(ends[0]);
}

/* The format of that number, or with `only` one of this reader's formats. */
static const char *choose_format(size_t number, const char *only) {
  size_t at = number % FORMATS;
  while (only != NULL && strcmp(only, formats[at].reader) != 0) at = (at + 1) % FORMATS;
  return formats[at].format;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  if (count == 0) return 0;
  const char *format = choose_format(bytes[0] % 16, getenv("CPB_FUZZ_READER"));
  bool piped = bytes[0] >= 128;
  if (piped)
    by_pipe(bytes + 1, count - 1, format);
  else
    by_file(bytes + 1, count - 1, format);
  return 0;
}
