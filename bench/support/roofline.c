#include "support/roofline.h"

#include <string.h>

enum { LINE = 64, STREAMS = 4, AHEAD = 4096, BLOCK = 4 << 20 };

static void join_plain(const char *from, const char *also, char *to, size_t stream_bytes) {
  for (size_t i = 0; i < STREAMS * stream_bytes; i++) to[i] = (char)(from[i] ^ also[i]);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static void copy_avx512(const char *from, char *to, size_t stream_bytes) {
  for (size_t i = 0; i < stream_bytes; i += LINE)
    for (size_t k = 0; k < STREAMS; k++) {
      _mm_prefetch(from + k * stream_bytes + i + AHEAD, _MM_HINT_T0);
      _mm512_stream_si512((void *)(to + k * stream_bytes + i),
                          _mm512_load_si512(from + k * stream_bytes + i));
    }
  _mm_sfence();
}

__attribute__((target("avx512f"))) static void join_avx512(const char *from, const char *also, char *to,
                                                           size_t stream_bytes) {
  for (size_t i = 0; i < stream_bytes; i += LINE)
    for (size_t k = 0; k < STREAMS; k++) {
      size_t at = k * stream_bytes + i;
      _mm_prefetch(from + at + AHEAD / 4, _MM_HINT_T0);
      _mm_prefetch(also + at + AHEAD / 4, _MM_HINT_T0);
      _mm512_stream_si512((void *)(to + at),
                          _mm512_xor_si512(_mm512_load_si512(from + at), _mm512_load_si512(also + at)));
    }
  _mm_sfence();
}

__attribute__((target("avx2"))) static void copy_avx2(const char *from, char *to, size_t stream_bytes) {
  for (size_t i = 0; i < stream_bytes; i += LINE)
    for (size_t k = 0; k < STREAMS; k++) {
      const __m256i *source = (const void *)(from + k * stream_bytes + i);
      __m256i *target = (void *)(to + k * stream_bytes + i);
      _mm_prefetch((const char *)source + AHEAD, _MM_HINT_T0);
      _mm256_stream_si256(target, _mm256_load_si256(source));
      _mm256_stream_si256(target + 1, _mm256_load_si256(source + 1));
    }
  _mm_sfence();
}

static void copy_streams(const char *from, char *to, size_t stream_bytes) {
  if (__builtin_cpu_supports("avx512f"))
    copy_avx512(from, to, stream_bytes);
  else if (__builtin_cpu_supports("avx2"))
    copy_avx2(from, to, stream_bytes);
  else
    memcpy(to, from, STREAMS * stream_bytes);
}

static void join_streams(const char *from, const char *also, char *to, size_t stream_bytes) {
  if (__builtin_cpu_supports("avx512f"))
    join_avx512(from, also, to, stream_bytes);
  else
    join_plain(from, also, to, stream_bytes);
}
#else
static void copy_streams(const char *from, char *to, size_t stream_bytes) {
  memcpy(to, from, STREAMS * stream_bytes);
}

static void join_streams(const char *from, const char *also, char *to, size_t stream_bytes) {
  join_plain(from, also, to, stream_bytes);
}
#endif

static void copy_block(void *arg, size_t block) {
  const roofline_copy *copy = arg;
  size_t first = block * BLOCK, bytes = copy->bytes - first < BLOCK ? copy->bytes - first : BLOCK;
  size_t stream_bytes = bytes / LINE / STREAMS * LINE;
  const char *from = (const char *)copy->from + first;
  if (copy->also != NULL)
    join_streams(from, (const char *)copy->also + first, (char *)copy->to + first, stream_bytes);
  else
    copy_streams(from, (char *)copy->to + first, stream_bytes);
}

void roofline_run(void *roofline) {
  const roofline_copy *copy = roofline;
  size_t blocks = (copy->bytes + BLOCK - 1) / BLOCK;
  if (copy->exec != NULL)
    copy->exec->run(copy->exec->pool, blocks, copy_block, roofline);
  else
    for (size_t i = 0; i < blocks; i++) copy_block(roofline, i);
}
