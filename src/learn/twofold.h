/* A sum of doubles in two: what is rounded away is kept. Of numbers of one sign it is right to some units of
 * the last place, however many they are. */
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
