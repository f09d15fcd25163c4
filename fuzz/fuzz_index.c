/* An index file with some bytes changed: it is rejected with a message, or every call returns. The first byte of the input says
 * how the file is changed, see `way`, and the second which functions are called. Then follow offsets of three bytes, each with
 * a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/index.h"
#include "base/state_bytes.h"
#include "fuzz_bytes.h"

enum { D = 33, ROWS_MOST = 1100, K = 3, HEAD_SIZE_AT = 16, HEAD_AT = 24 };

/* Bits of the first byte. */
enum way {
  CORRECT = 1,     /* the checksum of the header is corrected, so that the fuzzer gets past it; .. */
  CUT = 2,         /* .. and the file ends at the last byte changed */
  TWO_BLOCKS = 60, /* all of them: a file of two blocks, which takes ten times as long as one of few rows */
  HEADER = 64,     /* all changes are in the first bytes, .. */
  LOG = 128        /* .. or in the last */
};

typedef struct sample {
  size_t rows, size;
  unsigned char *bytes;
} sample;

static char directory[40], path[64];
static sample samples[2] = {{.rows = 70}, {.rows = ROWS_MOST}};

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

static void make_file(size_t count) {
  static float rows[ROWS_MOST * D];
  static uint64_t ids[ROWS_MOST];
  const char *names[D];
  cpb_index_options options;
  cpb_index *index;
  for (size_t i = 0; i < count * D; i++) rows[i] = (float)(i * 2654435761u % 1000) / 250 - 2;
  for (size_t i = 0; i < count; i++) ids[i] = 3 * i;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  for (size_t k = 0; k < D; k++) names[k] = k % 4 == 0 ? "" : "column";
  if (count == samples[0].rows) options.columns = names;
  must(cpb_index_new(&options, &index, NULL));
  must(cpb_index_add(index, cpb_rows(rows, CPB_F32, count, D), ids, NULL, NULL));
  must(cpb_index_save(index, path, NULL));
  cpb_index_free(index);
  must(cpb_index_open(path, true, &index, NULL));
  must(cpb_index_add(index, cpb_rows(rows, CPB_F32, 5, D), NULL, NULL, NULL));
  must(cpb_index_remove(index, ids, 3, NULL, NULL));
  cpb_index_free(index);
}

static void make_sample(sample *made) {
  make_file(made->rows);
  FILE *from = fopen(path, "rb");
  made->bytes = malloc(1 << 20);
  if (from == NULL || made->bytes == NULL) abort();
  made->size = fread(made->bytes, 1, 1 << 20, from);
  fclose(from);
  unlink(path);
}

/* Most of the file is rows and codes; the header and the log are at its ends. */
static size_t offset_of(size_t at, unsigned first, size_t file_size) {
  enum { END = 2048 };
  if (first & HEADER) return at % END;
  return first & LOG ? file_size - 1 - at % END : at % file_size;
}

/* In memory where the system has a directory for that. */
static void begin(void) {
  if (samples[0].bytes != NULL) return;
  snprintf(directory, sizeof directory, "%s/fuzz-index-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(directory) == NULL) abort();
  snprintf(path, sizeof path, "%s/index", directory);
  atexit(remove_files);
  for (size_t i = 0; i < 2; i++) make_sample(&samples[i]);
}

static void write_changed(fuzz_bytes *from, unsigned first) {
  const sample *of = &samples[(first & TWO_BLOCKS) == TWO_BLOCKS];
  size_t file_size = of->size, size = file_size;
  unsigned char *changed = malloc(file_size);
  if (changed == NULL) abort();
  memcpy(changed, of->bytes, file_size);
  while (from->left > 3) {
    size_t at = fuzz_byte(from);
    at = at << 8 | fuzz_byte(from);
    at = offset_of(at << 8 | fuzz_byte(from), first, file_size);
    changed[at] = (unsigned char)fuzz_byte(from);
    if ((first & CORRECT) && (first & CUT)) size = at;
  }
  uint64_t head;
  memcpy(&head, changed + HEAD_SIZE_AT, sizeof head);
  if ((first & CORRECT) && head >= 8 && head < file_size - HEAD_AT) {
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

static void use(cpb_index *index, unsigned calls) {
  cpb_index_report report = {.size = sizeof report};
  cpb_index_describe(index, &report);
  float *query = calloc(report.cols, sizeof *query);
  cpb_hit hits[K];
  double limit = 5;
  uint64_t id = 9;
  if (query == NULL) abort();
  query[0] = 1;
  cpb_view asked = cpb_rows(query, CPB_F32, 1, report.cols);
  if (calls & 1) (void)!cpb_index_range(index, asked, &limit, NULL, take, NULL, NULL, NULL);
  if (calls & 2) (void)!cpb_index_check(index, NULL, NULL);
  if (calls & 4) (void)!cpb_index_remove(index, &id, 1, NULL, NULL);
  if ((calls & 8) && report.dtype == CPB_F32) (void)!cpb_index_add(index, asked, NULL, NULL, NULL);
  if ((calls & 48) == 48) (void)!cpb_index_compact(index, NULL, NULL);
  (void)!cpb_index_search(index, asked, K, NULL, hits, NULL, NULL, NULL);
  free(query);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  fuzz_bytes from = {data, size};
  cpb_index *index;
  cpb_error error = {0};
  begin();
  unsigned first = fuzz_byte(&from), calls = fuzz_byte(&from);
  write_changed(&from, first);
  if (cpb_index_open(path, true, &index, &error) != CPB_OK) {
    if (error.text[0] == '\0') abort();
    return 0;
  }
  use(index, calls);
  cpb_index_free(index);
  return 0;
}
