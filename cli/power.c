#include <math.h>

#include "cli.h"

double cli_power(double base, double share) {
  double power = 1;
  for (; share >= 1; share--) power *= base;
  while (share > 0) { /* digit by digit of the binary fraction */
    base = sqrt(base);
    share *= 2;
    if (share >= 1) {
      power *= base;
      share -= 1;
    }
  }
  return power;
}
