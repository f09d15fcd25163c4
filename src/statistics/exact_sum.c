#include "statistics/exact_sum.h"

#include <math.h>
#include <string.h>

static const int64_t low_bits = 0xffffffff;

void cpb_exact_clear(cpb_exact_sum *sum) { memset(sum, 0, sizeof *sum); }

/* t 2^(32 at): the low 32 bits here, the rest (rounded down) one digit up. */
static void put(cpb_exact_sum *sum, int at, int64_t t) {
  sum->digit[at] += t & low_bits;
  sum->digit[at + 1] += (t - (t & low_bits)) / (low_bits + 1);
}

static void widen_range(cpb_exact_sum *sum, int first, int end) {
  if (sum->first == sum->end) {
    sum->first = first;
    sum->end = end;
    return;
  }
  if (first < sum->first) sum->first = first;
  if (end > sum->end) sum->end = end;
}

void cpb_exact_deposit(cpb_exact_sum *sum, int64_t whole, int exponent) {
  enum { MOST = 1 << 28 }; /* a digit can add up 2^30 numbers of 33 bits */
  if (whole == 0) return;
  int place = exponent - CPB_EXACT_LOWEST, at = place / 32, shift = place % 32;
  int64_t low = whole & low_bits, high = (whole - low) / (low_bits + 1), factor = (int64_t)1 << shift;
  /* low < 2^32 and factor <= 2^31: the product fits */
  put(sum, at, low * factor);
  put(sum, at + 1, high * factor);
  widen_range(sum, at, at + 3);
  if (++sum->deposits >= MOST) cpb_exact_carry(sum);
}

void cpb_exact_add(cpb_exact_sum *sum, double x) {
  int exponent;
  double mantissa = frexp(x, &exponent);
  if (exponent < -1021) { /* subnormal: fewer bits above 2^-1074 */
    cpb_exact_deposit(sum, (int64_t)ldexp(x, 1074), -1074);
    return;
  }
  cpb_exact_deposit(sum, (int64_t)ldexp(mantissa, 53), exponent - 53);
}

/* Brings every digit into 0 .. 2^32-1; returns the remaining carry, 0 or the sign -1. */
static int64_t carry_digits(cpb_exact_sum *sum) {
  int64_t carry = 0;
  for (int j = sum->first; j < CPB_EXACT_DIGITS && (j < sum->end || (carry != 0 && carry != -1)); j++) {
    int64_t t = sum->digit[j] + carry, kept = t & low_bits;
    sum->digit[j] = kept;
    carry = (t - kept) / (low_bits + 1);
    if (j >= sum->end) sum->end = j + 1;
  }
  return carry;
}

/* Moves a sign -1 above the digits into the highest one, and further down past digits 2^32-1. */
static void place_sign(cpb_exact_sum *sum) {
  if (sum->first == sum->end) {
    sum->digit[sum->end++] = -1;
    return;
  }
  sum->digit[sum->end - 1] -= low_bits + 1;
  while (sum->end - 1 > sum->first && sum->digit[sum->end - 1] == -1) {
    sum->digit[--sum->end] = 0;
    sum->digit[sum->end - 1] -= low_bits + 1;
  }
}

void cpb_exact_carry(cpb_exact_sum *sum) {
  sum->deposits = 0;
  int64_t sign = carry_digits(sum);
  while (sum->first < sum->end && sum->digit[sum->first] == 0) sum->first++;
  while (sign == 0 && sum->first < sum->end && sum->digit[sum->end - 1] == 0) sum->end--;
  if (sign != 0) place_sign(sum);
  if (sum->first == sum->end) sum->first = sum->end = 0;
}

bool cpb_exact_is_carried(const cpb_exact_sum *sum) {
  if (sum->first == sum->end) return sum->first == 0;
  int64_t top = sum->digit[sum->end - 1];
  for (int j = sum->first; j < sum->end - 1; j++)
    if (sum->digit[j] < 0 || sum->digit[j] > low_bits) return false;
  if ((sum->digit[sum->first] & low_bits) == 0 || top == 0) return false;
  if (sum->end - sum->first > 1 && top == -1) return false; /* shorter: the digit below, minus 2^32 */
  return top >= -low_bits - 1 && top <= low_bits;
}

void cpb_exact_merge(cpb_exact_sum *sum, const cpb_exact_sum *other) {
  cpb_exact_sum carried = *other;
  cpb_exact_carry(sum);
  cpb_exact_carry(&carried);
  if (carried.first == carried.end) return;
  for (int j = carried.first; j < carried.end; j++) sum->digit[j] += carried.digit[j];
  widen_range(sum, carried.first, carried.end);
  cpb_exact_carry(sum);
}

/* The sum divided by 2^shift. */
static double value_shifted(const cpb_exact_sum *sum, int shift) {
  enum { USED = 4 }; /* at least 64 bits behind the first */
  double value = 0;
  int from = sum->end - USED > sum->first ? sum->end - USED : sum->first;
  for (int j = from; j < sum->end; j++) /* lowest digit first: each step rounds once */
    value = value * 0x1p-32 + (double)sum->digit[j];
  return sum->end == sum->first ? 0 : ldexp(value, 32 * (sum->end - 1) + CPB_EXACT_LOWEST - shift);
}

/* Whether sum / count is a double in units of the highest digit: the mean of equal rows is the row itself, which
 * dividing the rounded sum need not give. */
static bool divides(const cpb_exact_sum *sum, double count, double *quotient) {
  enum { HELD = 4 };
  double high = 0, low = 0;
  if (sum->end - sum->first > HELD || sum->end == sum->first) return false;
  for (int j = sum->end; j-- > sum->first;) { /* digits of 32 bits: the two doubles hold them all */
    double digit = ldexp((double)sum->digit[j], 32 * (j - sum->end + 1)), before = high;
    high += digit;
    low += digit - (high - before);
  }
  double first = high / count;
  *quotient = first + (fma(-first, count, high) + low) / count;
  return fma(-*quotient, count, high) + low == 0;
}

double cpb_exact_mean(cpb_exact_sum *sum, uint64_t count) {
  double quotient;
  cpb_exact_carry(sum);
  if (count < (uint64_t)1 << 53 && divides(sum, (double)count, &quotient))
    return ldexp(quotient, 32 * (sum->end - 1) + CPB_EXACT_LOWEST);
  /* the sum of doubles may overflow where their mean does not */
  int shift = 32 * sum->end + CPB_EXACT_LOWEST > 900 ? 128 : 0;
  return ldexp(value_shifted(sum, shift) / (double)count, shift);
}

void cpb_state_sum(cpb_state *s, cpb_exact_sum *of) {
  cpb_exact_sum sum = *of;
  if (s->reading)
    cpb_exact_clear(&sum);
  else
    cpb_exact_carry(&sum);
  uint64_t first = cpb_state_number(s, (uint64_t)sum.first, 4);
  uint64_t digits = cpb_state_number(s, (uint64_t)(sum.end - sum.first), 4);
  if (first > CPB_EXACT_DIGITS || digits > CPB_EXACT_DIGITS - first) {
    cpb_state_refuse(s, "a sum has digits out of range");
    return;
  }
  sum.first = (int)first;
  sum.end = (int)(first + digits);
  for (int i = sum.first; i < sum.end; i++)
    sum.digit[i] = (int64_t)cpb_state_number(s, (uint64_t)sum.digit[i], 8);
  if (s->status == CPB_OK) cpb_state_require(s, cpb_exact_is_carried(&sum), "a sum has impossible digits");
  if (s->reading) *of = sum;
}
