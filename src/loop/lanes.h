/* The lane header of the instruction set that was included before, or else of the one the file is compiled for. */
#ifndef CPB_LOOP_LANES_H
#define CPB_LOOP_LANES_H

#if defined(CPB_LOOP_LANES_AVX512_H) || defined(CPB_LOOP_LANES_AVX2_H) || defined(CPB_LOOP_LANES_V128_H)
/* chosen */
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "loop/lanes_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "loop/lanes_avx2.h"
#else
#include "loop/lanes_v128.h"
#endif

#endif
