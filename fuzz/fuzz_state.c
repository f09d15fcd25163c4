/* Arbitrary bytes as a state of statistics; what is read is written again, bit for bit, and used: finished, merged,
 * updated. The checksum at the end is corrected, so that the fuzzer gets past it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/statistics.h"

enum { CHECKSUM = 8 };

static void mend_checksum(unsigned char *bytes, size_t count) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < count - CHECKSUM; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  for (size_t i = 0; i < CHECKSUM; i++) bytes[count - CHECKSUM + i] = (unsigned char)(hash >> 8 * i);
}

static void round_trip(cpb_statistics *s, const unsigned char *bytes, size_t count) {
  void *again;
  size_t length;
  if (cpb_statistics_serialize(s, &again, &length, NULL) != CPB_OK) abort();
  bool older = bytes[8] != ((unsigned char *)again)[8]; /* an older version is rewritten as the current one */
  if (!older && (length != count || memcmp(bytes, again, count) != 0)) abort();
  free(again);
}

static volatile cpb_status last;

static void use(cpb_statistics *s) {
  cpb_statistics_result result = {.size = sizeof result};
  cpb_statistics_options options = {.size = sizeof options};
  cpb_statistics_describe(s, &options);
  cpb_statistics *empty;
  if (cpb_statistics_finish(s, &result, NULL) != CPB_OK) abort();
  if (cpb_statistics_new(&options, &empty, NULL) != CPB_OK) return;
  if (cpb_statistics_restart(empty, s, NULL) != CPB_OK || cpb_statistics_merge(s, empty, NULL) != CPB_OK)
    abort();
  /* a state with arbitrary sums may reject each of these, but none may crash */
  last = cpb_statistics_update(s, result.sample, UINT64_MAX / 2, NULL);
  if (!result.norms && result.rows > 0) last = cpb_statistics_begin_norms(s, NULL);
  last = cpb_statistics_finish(s, &result, NULL);
  cpb_statistics_free(empty);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t count) {
  cpb_statistics *s;
  cpb_error error;
  unsigned char *copy = malloc(count + 1);
  if (copy == NULL) return 0;
  memcpy(copy, bytes, count);
  if (cpb_statistics_deserialize(copy, count, "bytes", &s, &error) != CPB_OK && count > CHECKSUM) {
    mend_checksum(copy, count);
    if (cpb_statistics_deserialize(copy, count, "bytes", &s, &error) != CPB_OK && s != NULL) abort();
  }
  if (s != NULL) {
    round_trip(s, copy, count);
    use(s);
    cpb_statistics_free(s);
  }
  free(copy);
  return 0;
}
