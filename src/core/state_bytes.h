/* States as bytes: little-endian numbers, doubles as their bits, between a mark of 8 letters with a version
 * and a checksum. */
#ifndef CPB_CORE_STATE_BYTES_H
#define CPB_CORE_STATE_BYTES_H

#include <stdbool.h>

#include "capball/status.h"

/* Where it is, numbers in memory are written as they are. */
#define CPB_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* FNV-1a, 64 bits. */
uint64_t cpb_checksum(const void *bytes, size_t count);
/* The same of a whole state, which ends with the checksum of all before: that is where it goes on. */
uint64_t cpb_state_checksum(const void *state, size_t count);

/* Writing: once to measure (bytes = NULL), once to write. */
typedef struct cpb_state_out {
  unsigned char *bytes;
  size_t used;
} cpb_state_out;

void cpb_put_bytes(cpb_state_out *to, const void *bytes, size_t count);
void cpb_put_number(cpb_state_out *to, uint64_t number, size_t bytes);
void cpb_put_double(cpb_state_out *to, double x);
void cpb_put_doubles(cpb_state_out *to, const double *x, size_t n);
void cpb_put_checksum(cpb_state_out *to); /* of all before */

/* Runs `put` twice; gives *bytes to the caller. */
cpb_status cpb_state_write(void (*put)(cpb_state_out *to, void *object), void *object, void **bytes,
                           size_t *count, cpb_error *error);

/* Reading: the first failure stays, and everything after it reads 0. */
typedef struct cpb_state_in {
  const unsigned char *bytes;
  size_t left;
  const char *name;
  cpb_status status;
  cpb_error *error;
  uint64_t version; /* of the state, set by cpb_state_begin */
} cpb_state_in;

typedef struct cpb_state_kind {
  char mark[9];
  uint64_t version;
  const char *what; /* "statistics": these are not statistics of capball */
  uint64_t oldest;  /* version that is read, too; 0: only this one */
} cpb_state_kind;

/* Checks the mark, the version and the checksum and steps behind the version. */
void cpb_state_begin(cpb_state_in *from, const cpb_state_kind *kind);
/* Steps over the checksum; refuses what follows it. */
void cpb_state_end(cpb_state_in *from);

void cpb_state_refuse(cpb_state_in *from, const char *what);
const unsigned char *cpb_get_bytes(cpb_state_in *from, size_t count); /* NULL after a failure */
uint64_t cpb_get_number(cpb_state_in *from, size_t bytes);
/* Eight bytes; refuses more than this machine can count. */
size_t cpb_get_size(cpb_state_in *from);
/* A size that counts things of so many bytes each; refuses more than are left. 0 after a failure. */
size_t cpb_get_count(cpb_state_in *from, size_t bytes_each);
double cpb_get_double(cpb_state_in *from);
/* Refuses what is not finite. */
void cpb_get_doubles(cpb_state_in *from, double *x, size_t n);

#endif
