/* A sum as bytes:  u32 first digit  u32 digits, per digit  i64. */
#include <string.h>

#include "scale/exact_sum.h"

void cpb_put_sum(cpb_state_out *to, const cpb_exact_sum *of) {
  cpb_exact_sum sum = *of;
  cpb_exact_carry(&sum);
  cpb_put_number(to, (uint64_t)sum.first, 4);
  cpb_put_number(to, (uint64_t)(sum.end - sum.first), 4);
  for (int i = sum.first; i < sum.end; i++) cpb_put_number(to, (uint64_t)sum.digit[i], 8);
}

void cpb_get_sum(cpb_state_in *from, cpb_exact_sum *sum) {
  uint64_t first = cpb_get_number(from, 4), digits = cpb_get_number(from, 4);
  if (first > CPB_EXACT_DIGITS || digits > CPB_EXACT_DIGITS - first) {
    cpb_state_refuse(from, "a sum has digits where there are none");
    return;
  }
  cpb_exact_clear(sum);
  sum->first = (int)first;
  sum->end = (int)(first + digits);
  for (int i = sum->first; i < sum->end; i++) {
    uint64_t bits = cpb_get_number(from, 8);
    memcpy(&sum->digit[i], &bits, sizeof bits);
  }
  if (from->status == CPB_OK && !cpb_exact_is_carried(sum))
    cpb_state_refuse(from, "a sum has impossible digits");
}
