/* Inline: results have the same bits everywhere because every operation is rounded once, as IEEE 754 requires. This header
 * rejects compiler flags and machines that do otherwise; every module includes it. */
#ifndef CPB_BASE_ARITHMETIC_H
#define CPB_BASE_ARITHMETIC_H

#include <float.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||               \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error                                                                                                       \
    "capball must be compiled without -ffast-math (or its parts): sums in another order have other bits, and NaN must be seen"
#endif

#if FLT_EVAL_METHOD != 0
#error                                                                                                       \
    "capball needs doubles that are rounded after every operation: on x86 of 32 bits compile with -msse2 -mfpmath=sse"
#endif

#if FLT_RADIX != 2 || DBL_MANT_DIG != 53 || FLT_MANT_DIG != 24
#error "capball needs the float and double of IEEE 754"
#endif

#endif
