/* What all digest loops share. A digest tells rows that were changed from those that were not, by accident or by another
 * program; it is no protection against somebody who looks for two sets of rows with one digest.
 *
 * Eight sums of 64 bits run over stripes of 64 bytes. Of a word w in lane i under the key k of its lane and stripe
 *   sums[i] += low32(w^k) high32(w^k),  sums[i^1] += w
 * and after every DIGEST_ROUND stripes each sum is folded, keyed and multiplied, so that what came before counts
 * otherwise than what comes next. The rest of the bytes, with zeros behind them, is one more stripe. */
#ifndef CPB_LOOP_DIGEST_KEYS_H
#define CPB_LOOP_DIGEST_KEYS_H

#include <string.h>

#include "loop/table.h"

enum { DIGEST_ROUND = 16 };
#define DIGEST_STEP 0x9e3779b97f4a7c15u /* what a key grows by from one stripe to the next */
#define DIGEST_FACTOR 0x9e3779b1u       /* of 32 bits, odd */

/* splitmix64 of 1, 2, .. */
static const uint64_t digest_keys[CPB_DIGEST_LANES] = {
    0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e, 0x71c18690ee42c90b,
    0x71bb54d8d101b5b9, 0xc34d0bff90150280, 0xe099ec6cd7363ca5, 0x85e7bb0f12278575};
static const uint64_t digest_start[CPB_DIGEST_LANES] = {
    0x491718de357e3da8, 0xcb435c8e74616796, 0x6775dc7701564f61, 0x9afcd44d14cf8bfe,
    0x7476cf8a4baa5dc0, 0x87b341d690d7a28a, 0x6f9b6dae6f4c57a8, 0x2ac2ce17a5794a3b};

static inline void digest_tail(const unsigned char *from, size_t count,
                               unsigned char tail[CPB_DIGEST_STRIPE]) {
  memset(tail, 0, CPB_DIGEST_STRIPE);
  if (count > 0) memcpy(tail, from, count);
}

#endif
