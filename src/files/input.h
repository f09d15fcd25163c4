/* Input bytes: a regular file with a size and offsets, or a stream that can be read once. */
#ifndef CPB_FILES_INPUT_H
#define CPB_FILES_INPUT_H

#include <stdbool.h>

#include "files/file_fail.h"

typedef struct cpb_unpack cpb_unpack;

/* The length of a path without the extension of a compressed file, .gz or .zst. */
size_t cpb_unpacked_length(const char *path);

/* Whether it is a regular file, or a link to one. */
bool cpb_is_regular(const char *path);

/* ---- Growable memory, aligned to 64 bytes. ---- */

typedef struct cpb_buffer {
  unsigned char *bytes;
  size_t size;
} cpb_buffer;

/* Makes room for at least `size` bytes; the first `keep` bytes are preserved. */
bool cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error);
/* The same with room for more to come, for a buffer that grows step by step. */
bool cpb_buffer_grow(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error);
void cpb_buffer_free(cpb_buffer *buffer);

/* a*b+c, or SIZE_MAX on overflow, a size that cannot be allocated. */
size_t cpb_size_muladd(size_t a, size_t b, size_t c);

typedef struct cpb_input {
  cpb_file_call of; /* its error is that of the call in progress */
  int fd;
  bool owned;         /* to be closed; standard input is not */
  bool stream;        /* a pipe, terminal, device or compressed file: no size, no offsets .. */
  cpb_unpack *unpack; /* .. and one pass, unless it is a compressed file; NULL: not compressed */
  uint64_t size;      /* bytes; UINT64_MAX for a stream */
} cpb_input;

/* These return false after a failure, which is in source->of.error. */

/* "-" is standard input, always a stream. */
bool cpb_input_open(cpb_input *source, const char *path, cpb_error *error);
void cpb_input_close(cpb_input *source);

/* The bytes available, at most count; *got = 0 only at the end. EFORMAT if a file has become shorter. */
bool cpb_input_read_some(cpb_input *source, void *bytes, size_t count, size_t *got);

/* count bytes; *got < count only at the end. */
bool cpb_input_read(cpb_input *source, void *bytes, size_t count, size_t *got);

/* count bytes at an offset; EFORMAT if the file ends before. Thread-safe; not for streams. */
bool cpb_input_read_at(const cpb_input *source, uint64_t offset, void *bytes, size_t count, cpb_error *error);

/* Maps count >= 1 bytes at an offset of the file: *bytes is inside the mapping *memory of *size bytes. EFORMAT if the
 * file ends before. Thread-safe; not for streams. */
bool cpb_input_map(const cpb_input *source, uint64_t offset, size_t count, void **memory, size_t *size,
                   const unsigned char **bytes, cpb_error *error);

/* EFORMAT if a file has become shorter: in its last mapped page, bytes behind the new end read as zeros. */
bool cpb_input_check_size(const cpb_input *source, cpb_error *error);

/* All bytes of a file; *name is its name in messages. The caller frees the buffer, also after a failure. */
cpb_status cpb_read_whole(const char *path, cpb_buffer *buffer, size_t *length, const char **name,
                          cpb_error *error);

/* True for pipes and other input that cannot be read again. */
static inline bool cpb_input_passes_once(const cpb_input *source) {
  return source->stream && source->unpack == NULL;
}

/* Sequential reading starts at the first byte again; EIO for input that can be read only once. */
bool cpb_input_rewind(cpb_input *source);

#endif
