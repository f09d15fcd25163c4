#include "support/roofline.h"

#include <string.h>

enum { LINE = 64, STREAMS = 4, AHEAD = 2048, BLOCK = 4 << 20 };

/* A block: so many lines of every stream, which lie one after the other. */
typedef struct lines {
  const char *from;
  char *to;
  size_t read, written;
} lines;

/* Of the larger number a line each step, of the smaller one when its turn comes. */
#define COPY_LINES(vector, zero, load, join, store)                                                          \
  size_t steps = x.read > x.written ? x.read : x.written, read_due = 0, write_due = 0;                       \
  const char *from = x.from;                                                                                 \
  char *to = x.to;                                                                                           \
  vector line[STREAMS] = {zero, zero, zero, zero};                                                           \
  for (size_t i = 0; i < steps; i++) {                                                                       \
    if ((read_due += x.read) >= steps) {                                                                     \
      read_due -= steps;                                                                                     \
      for (size_t k = 0; k < STREAMS; k++) {                                                                 \
        const char *p = from + k * x.read * LINE;                                                            \
        __builtin_prefetch(p + AHEAD, 0, 3);                                                                 \
        line[k] = x.read > x.written ? join(line[k], load(p)) : load(p);                                     \
      }                                                                                                      \
      from += LINE;                                                                                          \
    }                                                                                                        \
    if ((write_due += x.written) >= steps) {                                                                 \
      write_due -= steps;                                                                                    \
      for (size_t k = 0; k < STREAMS; k++) store(to + k * x.written * LINE, line[k]);                        \
      to += LINE;                                                                                            \
    }                                                                                                        \
  }

#if defined(__x86_64__)
#include <immintrin.h>

#define LOAD_512(p) _mm512_load_si512(p)
#define STREAM_512(p, v) _mm512_stream_si512((void *)(p), v)
__attribute__((target("avx512f"))) static void copy_avx512(lines x) {
  COPY_LINES(__m512i, _mm512_setzero_si512(), LOAD_512, _mm512_xor_si512, STREAM_512)
  _mm_sfence();
}

typedef struct two_halves {
  __m256i first, second;
} two_halves;

__attribute__((target("avx2"), always_inline)) static inline two_halves load_halves(const char *p) {
  return (two_halves){_mm256_load_si256((const void *)p), _mm256_load_si256((const void *)(p + LINE / 2))};
}
__attribute__((target("avx2"), always_inline)) static inline two_halves join_halves(two_halves a,
                                                                                    two_halves b) {
  return (two_halves){_mm256_xor_si256(a.first, b.first), _mm256_xor_si256(a.second, b.second)};
}
__attribute__((target("avx2"), always_inline)) static inline void stream_halves(char *p, two_halves x) {
  _mm256_stream_si256((void *)p, x.first);
  _mm256_stream_si256((void *)(p + LINE / 2), x.second);
}
__attribute__((target("avx2"))) static void copy_avx2(lines x) {
  two_halves none = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  COPY_LINES(two_halves, none, load_halves, join_halves, stream_halves)
  _mm_sfence();
}
#endif

typedef struct any_line {
  char byte[LINE];
} any_line;

static any_line load_any(const char *p) {
  any_line line;
  memcpy(&line, p, LINE);
  return line;
}
static any_line join_any(any_line a, any_line b) {
  for (size_t i = 0; i < LINE; i++) a.byte[i] ^= b.byte[i];
  return a;
}
static void store_any(char *p, any_line line) { memcpy(p, &line, LINE); }

static void copy_plain(lines x) {
  any_line none = {{0}};
  COPY_LINES(any_line, none, load_any, join_any, store_any)
}

static void copy_lines(lines x) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    copy_avx512(x);
    return;
  }
  if (__builtin_cpu_supports("avx2")) {
    copy_avx2(x);
    return;
  }
#endif
  copy_plain(x);
}

static size_t blocks_of(const roofline_copy *copy) {
  return (copy->read + copy->written + 2 * BLOCK - 1) / (2 * BLOCK);
}

static void copy_block(void *arg, size_t block) {
  const roofline_copy *copy = arg;
  size_t blocks = blocks_of(copy), streams = blocks * STREAMS * LINE;
  lines x = {.read = copy->read / streams, .written = copy->written / streams};
  x.from = (const char *)copy->from + block * STREAMS * LINE * x.read;
  x.to = (char *)copy->to + block * STREAMS * LINE * x.written;
  copy_lines(x);
}

void roofline_run(void *roofline) {
  const roofline_copy *copy = roofline;
  if (copy->exec != NULL)
    copy->exec->run(copy->exec->pool, blocks_of(copy), copy_block, roofline);
  else
    for (size_t i = 0; i < blocks_of(copy); i++) copy_block(roofline, i);
}
