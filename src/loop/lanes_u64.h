/* Words of codes, as lanes.h has numbers. */
#ifndef CPB_LOOP_LANES_U64_H
#define CPB_LOOP_LANES_U64_H

#if defined(CPB_LOOP_LANES_U64_AVX512_H) || defined(CPB_LOOP_LANES_U64_AVX2_H) ||                            \
    defined(CPB_LOOP_LANES_V128_H)
/* chosen */
#elif defined(__AVX512F__) && defined(__AVX512BW__)
#include "loop/lanes_u64_avx512.h"
#elif defined(__AVX2__)
#include "loop/lanes_u64_avx2.h"
#else
#include "loop/lanes_v128.h"
#endif

#endif
