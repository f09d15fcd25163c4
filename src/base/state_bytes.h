/* Serialised states: little-endian numbers, doubles as their bits, between an 8-letter magic string with a version
 * and a checksum.
 *
 * One function serves both directions: every cpb_state_* call writes its argument, or reads into it. The members of
 * structs are described by tables. */
#ifndef CPB_BASE_STATE_BYTES_H
#define CPB_BASE_STATE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/status.h"

/* FNV-1a, 64 bits. */
uint64_t cpb_checksum(const void *bytes, size_t count);
/* Continues from the checksum of what comes before. */
uint64_t cpb_checksum_on(uint64_t checksum, const void *bytes, size_t count);
/* The same for a whole state, which ends with the checksum of the bytes before it: continues from that checksum. */
uint64_t cpb_state_checksum(const void *state, size_t count);

/* Reading: the first failure is remembered, and everything after it reads as 0. Writing does not fail. */
typedef struct cpb_state {
  bool reading;
  const unsigned char *from; /* reading: the next byte */
  size_t left;               /* reading: number of bytes left */
  unsigned char *to;         /* writing; NULL while measuring the size */
  size_t used;
  const char *name;
  cpb_status status;
  cpb_error *error;
  uint64_t version; /* set by cpb_state_begin */
} cpb_state;

typedef struct cpb_state_kind {
  char mark[9];
  uint64_t version;
  const char *what; /* "statistics": these are not statistics of capball */
  uint64_t oldest;  /* oldest version that can be read; 0: only the current one */
} cpb_state_kind;

/* Reads or writes *object; reading starts with *object = NULL and creates it. */
typedef void cpb_state_serialize(cpb_state *s, void **object);

/* Runs `serialize` twice, first to measure the size; the caller frees *bytes. */
cpb_status cpb_state_write(cpb_state_serialize *serialize, void *object, void **bytes, size_t *count,
                           cpb_error *error);
/* to: where the pointer to the object is stored, whatever its type; NULL after a failure, and a partial object is
 * released. what: the name of that argument; name: the name of the bytes. */
cpb_status cpb_state_read(cpb_state_serialize *serialize, void (*release)(void *object), const char *what,
                          const void *bytes, size_t count, const char *name, void *to, cpb_error *error);

/* Magic string and version; reading checks both and the checksum. */
void cpb_state_begin(cpb_state *s, const cpb_state_kind *kind);
/* The checksum; reading fails if anything follows it. */
void cpb_state_end(cpb_state *s);

void cpb_state_refuse(cpb_state *s, const char *what);
/* While reading: fails with the message `otherwise` unless `holds`. */
void cpb_state_require(cpb_state *s, bool holds, const char *otherwise);
void cpb_state_no_memory(cpb_state *s, const char *what, size_t count);

/* Returns the number that was written or read. */
uint64_t cpb_state_number(cpb_state *s, uint64_t number, size_t bytes);
/* Eight bytes; fails for more than size_t can hold. */
size_t cpb_state_size(cpb_state *s, size_t size);
/* A count of items of `bytes_each` bytes; fails if fewer bytes are left. 0 after a failure. */
size_t cpb_state_count(cpb_state *s, size_t count, size_t bytes_each);
double cpb_state_double(cpb_state *s, double x);
float cpb_state_float(cpb_state *s, float x);
/* Fails for a number that is not finite. */
void cpb_state_doubles(cpb_state *s, double *x, size_t n);

/* ---- tables ---- */

typedef enum cpb_state_type {
  CPB_STATE_U32,   /* 4 bytes: an enum or uint32_t */
  CPB_STATE_FLAG,  /* 4 bytes: bool */
  CPB_STATE_I32,   /* 4 bytes: int32_t */
  CPB_STATE_U64,   /* 8 bytes: uint64_t */
  CPB_STATE_SIZE,  /* 8 bytes: size_t */
  CPB_STATE_F64,   /* double */
  CPB_STATE_FINITE /* double, must be finite */
} cpb_state_type;

/* The values are in the struct, or in an array that it points to: one (of 8 bytes) or n (doubles) per record. */
typedef enum cpb_state_place { CPB_STATE_HERE, CPB_STATE_EACH, CPB_STATE_ROWS } cpb_state_place;

typedef struct cpb_state_member {
  cpb_state_type type;
  cpb_state_place place;
  size_t offset;
} cpb_state_member;

#define CPB_MEMBER(type, object, name)                                                                       \
  { CPB_STATE_##type, CPB_STATE_HERE, offsetof(object, name) }
#define CPB_MEMBER_EACH(type, object, name)                                                                  \
  { CPB_STATE_##type, CPB_STATE_EACH, offsetof(object, name) }
#define CPB_MEMBER_ROWS(object, name)                                                                        \
  { CPB_STATE_FINITE, CPB_STATE_ROWS, offsetof(object, name) }

/* Record i: all members in the order of the table. */
void cpb_state_serialize_record(cpb_state *s, void *object, const cpb_state_member *table, size_t members,
                                size_t n, size_t i);
/* Records 0 .. records-1; stops at a failure. */
void cpb_state_serialize_records(cpb_state *s, void *object, const cpb_state_member *table, size_t members,
                                 size_t n, size_t records);
/* A struct whose arrays have one record. */
static inline void cpb_state_serialize_members(cpb_state *s, void *object, const cpb_state_member *table,
                                               size_t members, size_t n) {
  cpb_state_serialize_record(s, object, table, members, n, 0);
}

#define CPB_STATE_TABLE(table) table, sizeof(table) / sizeof *(table)

#endif
