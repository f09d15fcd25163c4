/* The most fused multiply-adds in single precision this machine does on one thread. */
#ifndef CPB_BENCH_PEAK_H
#define CPB_BENCH_PEAK_H

/* Operations of one run, two per multiply-add and lane; 0 where there is no such unit. */
double peak_operations(void);

/* Nothing but multiply-adds on registers, for about ten milliseconds. `arg` is a float that takes the result,
 * so that nothing is left out. */
void peak_run(void *arg);

/* The same for about 60 microseconds, too short for the processor to change its clock: put between the tasks
 * of some work, it says what the registers do at the clock this work is given. */
double peak_burst_operations(void);
void peak_burst(float *result);

#endif
