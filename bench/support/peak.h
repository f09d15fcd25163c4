/* The most multiply-adds this machine does on one thread, in single precision and of bytes. */
#ifndef CPB_BENCH_PEAK_H
#define CPB_BENCH_PEAK_H

/* Operations of one run, two per multiply-add and lane; 0 where there is no such unit. */
double peak_operations(void);

/* Nothing but multiply-adds on registers, for about ten milliseconds. `arg` is a float that takes the result,
 * so that nothing is left out. */
void peak_run(void *arg);

/* The same of bytes, summed in 32 bits: by tiles (AMX) or four at once (VNNI), whichever the library would take;
 * no operations where it takes neither. */
double peak_bytes_operations(void);
void peak_bytes_run(void *arg);
const char *peak_bytes_unit(void);

#endif
