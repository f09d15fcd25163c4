/* The most fused multiply-adds in single precision this machine does on one thread. */
#ifndef CPB_BENCH_PEAK_H
#define CPB_BENCH_PEAK_H

/* Operations of one run of either, two per multiply-add and lane; 0 where there is no such unit. */
double peak_operations(void);

/* Nothing but multiply-adds on registers. `arg` is a float that takes the result, so that nothing is left
 * out. */
void peak_run(void *arg);

/* Multiply-adds whose operands come from the first cache, ten loads for twenty-four, as a product of matrices
 * needs at least. */
void peak_loaded_run(void *arg);

#endif
