/* An index file with some bytes changed: it is rejected with a message, or every call returns. If the first byte of the input
 * is odd, the checksum of the header is corrected, so that the fuzzer gets past it. Then follow offsets of three bytes, each
 * with a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/advanced/index.h"
#include "core/state_bytes.h"
#include "fuzz_bytes.h"

enum { D = 33, ROWS = 1100, K = 3, HEAD_SIZE_AT = 16, HEAD_AT = 24 };

static char directory[] = "/tmp/fuzz-index-XXXXXX", path[64];
static unsigned char *file;
static size_t file_size;

/* Nothing waits for a disk. */
int fsync(int fd) { return fd < 0 ? -1 : 0; }
int fdatasync(int fd) { return fsync(fd); }

static void remove_files(void) {
  unlink(path);
  rmdir(directory);
}

static void must(cpb_status status) {
  if (status != CPB_OK) abort();
}

static void make_file(void) {
  static float rows[ROWS * D];
  static uint64_t ids[ROWS];
  cpb_index_options options;
  cpb_index *index;
  for (size_t i = 0; i < ROWS * D; i++) rows[i] = (float)(i * 2654435761u % 1000) / 250 - 2;
  for (size_t i = 0; i < ROWS; i++) ids[i] = 3 * i;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  must(cpb_index_new(&options, &index, NULL));
  must(cpb_index_add(index, cpb_rows(rows, CPB_F32, ROWS, D), ids, NULL, NULL));
  must(cpb_index_save(index, path, NULL));
  cpb_index_free(index);
  must(cpb_index_open(path, true, &index, NULL));
  must(cpb_index_add(index, cpb_rows(rows, CPB_F32, 5, D), NULL, NULL, NULL));
  must(cpb_index_remove(index, ids, 3, NULL));
  cpb_index_free(index);
}

static void begin(void) {
  if (file != NULL) return;
  if (mkdtemp(directory) == NULL) abort();
  snprintf(path, sizeof path, "%s/index", directory);
  atexit(remove_files);
  make_file();
  FILE *from = fopen(path, "rb");
  file = malloc(1 << 20);
  if (from == NULL || file == NULL) abort();
  file_size = fread(file, 1, 1 << 20, from);
  fclose(from);
}

static void write_changed(fuzz_bytes *from) {
  unsigned char *changed = malloc(file_size);
  if (changed == NULL) abort();
  memcpy(changed, file, file_size);
  unsigned first = fuzz_byte(from);
  size_t size = file_size;
  while (from->left > 3) {
    size_t at = fuzz_byte(from);
    at = at << 8 | fuzz_byte(from);
    at = (at << 8 | fuzz_byte(from)) % file_size;
    changed[at] = (unsigned char)fuzz_byte(from);
    if (first % 4 == 3) size = at;
  }
  uint64_t head;
  memcpy(&head, changed + HEAD_SIZE_AT, sizeof head);
  if (first % 2 == 1 && head >= 8 && head < file_size - HEAD_AT) {
    uint64_t sum = cpb_checksum(changed + HEAD_AT, (size_t)head - 8);
    memcpy(changed + HEAD_AT + head - 8, &sum, sizeof sum);
  }
  FILE *to = fopen(path, "wb");
  if (to == NULL || fwrite(changed, 1, size, to) != size) abort();
  fclose(to);
  free(changed);
}

static cpb_status take(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  (void)context, (void)query, (void)hits, (void)count, (void)error;
  return CPB_OK;
}

static void use(cpb_index *index) {
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  float *query = calloc(report.cols, sizeof *query);
  cpb_hit hits[K];
  double limit = 5;
  uint64_t id = 9;
  if (query == NULL) abort();
  query[0] = 1;
  cpb_view asked = cpb_rows(query, CPB_F32, 1, report.cols);
  (void)!cpb_index_search(index, asked, K, NULL, hits, NULL, NULL, NULL);
  (void)!cpb_index_range(index, asked, &limit, NULL, take, NULL, NULL, NULL);
  (void)!cpb_index_check(index, NULL, NULL);
  (void)!cpb_index_remove(index, &id, 1, NULL);
  if (report.dtype == CPB_F32) (void)!cpb_index_add(index, asked, NULL, NULL, NULL);
  (void)!cpb_index_compact(index, NULL, NULL);
  (void)!cpb_index_search(index, asked, K, NULL, hits, NULL, NULL, NULL);
  free(query);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  fuzz_bytes from = {data, size};
  cpb_index *index;
  cpb_error error = {0};
  begin();
  write_changed(&from);
  if (cpb_index_open(path, true, &index, &error) != CPB_OK) {
    if (error.text[0] == '\0') abort();
    return 0;
  }
  use(index);
  cpb_index_free(index);
  return 0;
}
