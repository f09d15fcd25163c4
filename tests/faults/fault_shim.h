/* The shim's report, and how to drive it from inside a program. */
#ifndef FAULTS_FAULT_SHIM_H
#define FAULTS_FAULT_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct fault_report {
  _Atomic uint64_t allocations, calls, hits; /* hits: those that failed */
  _Atomic int64_t alive;                     /* allocations not yet freed */
} fault_report;

/* One change to the files, followed by `first` and `second` bytes of names, and of a write by its bytes. */
enum { FAULT_WRITE = 1, FAULT_RESIZE, FAULT_SYNC, FAULT_OPEN, FAULT_LINK, FAULT_RENAME, FAULT_UNLINK };
typedef struct fault_record {
  uint32_t operation, is_directory;
  uint64_t inode, offset, length;
  uint32_t first, second;
} fault_record;

fault_report *fault_current(void);

/* From here on the at-th allocation fails, or with `on` that one and all later ones; 0: none. */
void fault_set(bool allocations, uint64_t at, bool on);

#endif
