/* The reference loop, and the choice of the one to use. */
#include "sketch/nibble_scan.h"

#include <stdbool.h>
#include <string.h>

#include "loop/table.h"

static unsigned sum_of(const cpb_nibble_scan *s, const uint8_t *codes, const uint8_t *tables, size_t row) {
  unsigned sum = 0;
  codes += cpb_scan_lane(row);
  for (size_t j = 0; j < s->bytes; j++, tables += 32) {
    unsigned byte = codes[j * CPB_SCAN_ROWS];
    sum += (unsigned)tables[byte & 15] + tables[16 + (byte >> 4)];
  }
  return sum;
}

static void scan_plain(cpb_nibble_scan *s) {
  for (size_t block = 0; block < s->blocks; block++) {
    const uint8_t *codes = s->codes + block * s->bytes * CPB_SCAN_ROWS;
    const float *size2 = s->factors + block * 2 * CPB_SCAN_ROWS, *f = size2 + CPB_SCAN_ROWS;
    for (size_t q = 0; q < s->queries; q++) {
      cpb_scan_query *query = &s->query[q];
      float estimates[CPB_SCAN_ROWS];
      uint64_t below = 0;
      for (size_t i = 0; i < CPB_SCAN_ROWS; i++) {
        float along = query->scale * (float)sum_of(s, codes, query->tables, i) + query->start;
        estimates[i] = size2[i] - f[i] * along;
        below |= (uint64_t)(estimates[i] <= query->limit) << i;
      }
      if (below != 0) query->limit = s->found(s->context, q, block, below, estimates);
    }
  }
}

void cpb_nibbles_avx2(cpb_nibble_scan *scan);
void cpb_nibbles_avx512(cpb_nibble_scan *scan);
void cpb_nibbles_v128(cpb_nibble_scan *scan);

cpb_nibble_loop *cpb_nibble_loop_here(void) {
  const char *name = cpb_loops_here()->name;
  if (strcmp(name, "plain") == 0) return scan_plain;
#if defined(__x86_64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_AVX)
  if (strcmp(name, "avx2") == 0) return cpb_nibbles_avx2;
  if (strncmp(name, "avx512", 6) == 0 || strcmp(name, "amx") == 0) return cpb_nibbles_avx512;
#endif
#if defined(__aarch64__) && !defined(CPB_PLAIN_LOOPS) && !defined(CPB_NO_V128)
  return cpb_nibbles_v128;
#else
  return scan_plain;
#endif
}
