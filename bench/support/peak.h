/* The most fused multiply-adds in single precision this machine does on one thread. */
#ifndef CPB_BENCH_PEAK_H
#define CPB_BENCH_PEAK_H

/* Operations of one run, two per multiply-add and lane; 0 where there is no such unit. */
double peak_operations(void);

/* A bench_rival's run; `arg` is a float that takes the result, so that nothing is left out. */
void peak_run(void *arg);

#endif
