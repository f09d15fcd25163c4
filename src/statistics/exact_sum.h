/* Exact sums of doubles: a fixed-point number of 69 digits of 32 bits that covers every double. Digits are carried
 * lazily; after a carry, equal sums have equal digits, whatever the order of addition. */
#ifndef CPB_STATISTICS_EXACT_SUM_H
#define CPB_STATISTICS_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/state_bytes.h"

enum { CPB_EXACT_DIGITS = 69, CPB_EXACT_LOWEST = -1088 }; /* digit j counts 2^(32 j - 1088) */

typedef struct cpb_exact_sum {
  int64_t digit[CPB_EXACT_DIGITS];
  int first, end;    /* digits outside [first, end) are 0 */
  uint32_t deposits; /* since the last carry */
} cpb_exact_sum;

void cpb_exact_clear(cpb_exact_sum *sum);

/* Adds whole 2^exponent, |whole| < 2^53, -1088 <= exponent <= 1024. */
void cpb_exact_deposit(cpb_exact_sum *sum, int64_t whole, int exponent);

/* Adds a finite double. */
void cpb_exact_add(cpb_exact_sum *sum, double x);

void cpb_exact_merge(cpb_exact_sum *sum, const cpb_exact_sum *other);

/* Carries: digits [first, end) are then 0 .. 2^32-1, the last signed, the outer ones not 0; none for the sum 0. */
void cpb_exact_carry(cpb_exact_sum *sum);

/* Whether the digits are as cpb_exact_carry leaves them. */
bool cpb_exact_is_carried(const cpb_exact_sum *sum);

/* sum/count, count > 0, within 1 ulp. */
double cpb_exact_mean(cpb_exact_sum *sum, uint64_t count);

/* Serialised as  u32 first digit  u32 digits, per digit  i64. */
void cpb_state_sum(cpb_state *s, cpb_exact_sum *sum);

#endif
