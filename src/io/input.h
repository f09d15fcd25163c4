/* Bytes to read: a regular file with a size and offsets, or a stream that passes once. */
#ifndef CPB_IO_INPUT_H
#define CPB_IO_INPUT_H

#include <stdbool.h>

#include "capball/status.h"
#include "io/buffer.h"
#include "io/unpack.h"

typedef struct cpb_input {
  const char *path; /* what sentences call it; borrowed */
  int fd;
  bool owned;               /* to be closed; standard input is not */
  bool stream;              /* a pipe, a terminal, a device, packed: no size, no offsets .. */
  cpb_unpack *unpack;       /* .. and one pass, unless it is a packed file; NULL: not packed */
  uint64_t size;            /* bytes; UINT64_MAX for a stream */
  unsigned char unread[16]; /* looked at and given back */
  size_t unread_count;
} cpb_input;

/* "-" is standard input, always a stream. */
cpb_status cpb_input_open(const char *path, cpb_input *source, cpb_error *error);
void cpb_input_close(cpb_input *source);

/* What has arrived, at most count bytes; *got = 0 only at the end. EFORMAT when a file ends before the size
 * it was opened with. */
cpb_status cpb_input_read_some(cpb_input *source, void *bytes, size_t count, size_t *got, cpb_error *error);

/* count bytes; *got < count only at the end. */
cpb_status cpb_input_read(cpb_input *source, void *bytes, size_t count, size_t *got, cpb_error *error);

/* Gives back the last count <= 16 bytes read; they are read again. */
void cpb_input_unread(cpb_input *source, const void *bytes, size_t count);

/* count bytes at an offset; EFORMAT when the file ends before. Thread-safe; not for streams. */
cpb_status cpb_input_read_at(const cpb_input *source, uint64_t offset, void *bytes, size_t count,
                             cpb_error *error);

/* count >= 1 bytes at an offset, as they lie in the file's pages: *bytes is inside the mapping *memory of
 * *size bytes. EFORMAT when the file ends before. Thread-safe; not for streams. */
cpb_status cpb_input_map(const cpb_input *source, uint64_t offset, size_t count, void **memory, size_t *size,
                         const unsigned char **bytes, cpb_error *error);
void cpb_input_unmap(void *memory, size_t size);

/* EFORMAT when a file is shorter than it was when it was opened: of its last page, mapped, the bytes behind
 * the new end read as zeros. */
cpb_status cpb_input_check_size(const cpb_input *source, cpb_error *error);

/* All bytes of a file, in memory that grows with what arrives; *name is what sentences call it. The caller
 * frees the buffer, also after a failure. */
cpb_status cpb_read_whole(const char *path, cpb_buffer *buffer, size_t *length, const char **name,
                          cpb_error *error);

/* True for pipes and the like: what was read is gone. */
static inline bool cpb_input_passes_once(const cpb_input *source) {
  return source->stream && source->unpack == NULL;
}

/* Sequential reading starts at the first byte again; EIO for what passes once. */
cpb_status cpb_input_rewind(cpb_input *source, cpb_error *error);

/* EFORMAT unless the end has come: `what` is what a well-formed file ends after. */
cpb_status cpb_input_expect_end(cpb_input *source, const char *what, cpb_error *error);

#endif
