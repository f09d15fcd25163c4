/* A sum of doubles held in two: what rounding drops from the first is added to the second. For numbers of one sign
 * it is accurate to a few units in the last place, however many there are. */
#ifndef CPB_LEARN_TWOFOLD_H
#define CPB_LEARN_TWOFOLD_H

typedef struct cpb_twofold {
  double sum, rest;
} cpb_twofold;

static inline void cpb_twofold_add(cpb_twofold *to, double x) {
  double sum = to->sum + x, back = sum - to->sum;
  to->rest += (to->sum - (sum - back)) + (x - back);
  to->sum = sum;
}

static inline double cpb_twofold_value(cpb_twofold of) { return of.sum + of.rest; }

#endif
