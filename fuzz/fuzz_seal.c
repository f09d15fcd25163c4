/* Arbitrary bytes as the seal of a file of rows; what is read is within the limits of a seal, and only the seal of the
 * rows matches them. If only the checksum of a seal is wrong, it is corrected, so that the fuzzer gets past it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capball/advanced/candidates.h"
#include "capball/advanced/fitting.h"
#include "capball/advanced/flow.h"
#include "capball/advanced/seal.h"
#include "capball/capball.h"
#include "mend_checksum.h"

static char directory[] = "/tmp/fuzz-seal-XXXXXX", rows_path[64], seal_path[80];
static cpb_seal_facts right = {.size = sizeof right};

static void remove_files(void) {
  unlink(seal_path);
  unlink(rows_path);
  rmdir(directory);
}

static void must(cpb_status status) {
  if (status != CPB_OK) abort();
}

static cpb_transform *make_transform(void) {
  cpb_map_options options;
  cpb_map *map;
  cpb_transform *transform;
  cpb_map_options_init(&options, sizeof options);
  options.d = 1;
  options.s = 1;
  must(cpb_map_new(&options, &map, NULL));
  must(cpb_transform_of_map(map, &transform, NULL));
  cpb_map_free(map);
  return transform;
}

static cpb_status read_facts(cpb_seal_facts *facts, bool *fits, cpb_error *error) {
  cpb_reader *reader;
  cpb_seal_watch *watch;
  must(cpb_reader_open(rows_path, NULL, &reader, NULL));
  cpb_status status = cpb_seal_read(reader, facts, error);
  cpb_source rows = cpb_reader_source(reader, false);
  must(cpb_seal_watch_new(&rows, &watch, NULL));
  must(cpb_seal_watch_all(watch, NULL));
  *fits = cpb_seal_watch_fits(watch, facts);
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
  return status;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const float y[4] = {0.6f, 0.8f, 0, 1};
  (void)argc, (void)argv;
  cpb_writer_options options;
  cpb_writer *writer;
  cpb_seal *seal;
  bool fits;
  cpb_writer_options_init(&options, sizeof options);
  options.cols = 2;
  cpb_transform *transform = make_transform();
  if (mkdtemp(directory) == NULL) abort();
  snprintf(rows_path, sizeof rows_path, "%s/rows.fbin", directory);
  snprintf(seal_path, sizeof seal_path, "%s.capball", rows_path);
  atexit(remove_files);
  must(cpb_seal_new(transform, CPB_ROLE_BASE, 0, &seal, NULL));
  options.seal = seal;
  must(cpb_writer_open(rows_path, &options, &writer, NULL));
  must(cpb_writer_append(writer, cpb_rows(y, CPB_F32, 2, 2), NULL));
  must(cpb_writer_commit(writer, NULL));
  cpb_writer_free(writer);
  cpb_seal_free(seal);
  cpb_transform_free(transform);
  must(read_facts(&right, &fits, NULL));
  if (!fits) abort();
  return 0;
}

static void write_seal(const char *text, size_t count) {
  FILE *file = fopen(seal_path, "wb");
  if (file == NULL || fwrite(text, 1, count, file) != count || fclose(file) != 0) abort();
}

static void judge(const cpb_seal_facts *facts, bool fits) {
  if (!facts->found && fits) abort();
  if (!facts->found) return;
  if (facts->precision > CPB_F16 || (unsigned)facts->role > CPB_ROLE_QUERY || facts->cols == 0) abort();
  if (!(facts->radius >= 0 && facts->radius < INFINITY)) abort();
  bool same = facts->rows == right.rows && facts->cols == right.cols && facts->hash[0] == right.hash[0] &&
              facts->hash[1] == right.hash[1];
  if (fits != same) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  cpb_seal_facts facts = {.size = sizeof facts};
  cpb_error error = {.text = ""};
  bool fits;
  char *text = calloc(count + 1, 1);
  if (text == NULL) return 0;
  if (count > 0) memcpy(text, bytes, count);
  write_seal(text, count);
  cpb_status status = read_facts(&facts, &fits, &error);
  if (status == CPB_EFORMAT && mend_checksum(text, &error)) {
    write_seal(text, count);
    status = read_facts(&facts, &fits, &error);
  }
  if (status != CPB_OK && (facts.found || error.text[0] == 0)) abort();
  judge(&facts, fits);
  free(text);
  return 0;
}
