#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* MAP_POPULATE */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CPB_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef CPB_HAVE_ZSTD
#include <zstd.h>
#endif

#include "core/fail.h"
#include "io/file_fail.h"

/* PIECE: the largest piece per system call; Linux limits a read to about 2 GiB anyway. */
enum { PACKED_BYTES = 1 << 16, PIECE = 1 << 30 };

static ssize_t read_piece(int fd, void *bytes, size_t count) {
  ssize_t n;
  do n = read(fd, bytes, count < PIECE ? count : PIECE);
  while (n < 0 && errno == EINTR);
  return n;
}

/* ---- decompression while reading ---- */

typedef struct codec {
  const char *extension, *name, *library;
  bool (*open)(cpb_unpack *unpack); /* NULL: not built in */
  /* Decompresses packed bytes into at most count bytes, of one member or frame. */
  cpb_status (*step)(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error);
  void (*close)(cpb_unpack *unpack);
} codec;

struct cpb_unpack {
  const codec *codec;
  const char *path; /* borrowed */
  bool opened;
  bool inside; /* a member or frame that has not ended */
  size_t begin, end;
  unsigned char packed[PACKED_BYTES];
#ifdef CPB_HAVE_ZLIB
  z_stream gzip;
#endif
#ifdef CPB_HAVE_ZSTD
  ZSTD_DStream *zstd;
#endif
};

static cpb_status refuse(const cpb_unpack *unpack, const char *why, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_UNPACK, unpack->path, "cannot decompress it with %s: %s",
                       unpack->codec->name, why);
}

#ifdef CPB_HAVE_ZLIB
static bool open_gzip(cpb_unpack *unpack) {
  enum { AUTOMATIC_GZIP = 16 + 15 }; /* zlib: gzip header, any window size */
  return inflateInit2(&unpack->gzip, AUTOMATIC_GZIP) == Z_OK;
}

static cpb_status step_gzip(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error) {
  z_stream *z = &unpack->gzip;
  if (!unpack->inside) inflateReset(z);
  unpack->inside = true;
  z->next_in = unpack->packed + unpack->begin;
  z->avail_in = (uInt)(unpack->end - unpack->begin);
  z->next_out = bytes;
  z->avail_out = (uInt)(count < PIECE ? count : PIECE);
  uInt room = z->avail_out;
  int result = inflate(z, Z_NO_FLUSH);
  unpack->begin = unpack->end - z->avail_in;
  *got = room - z->avail_out;
  if (result == Z_STREAM_END) unpack->inside = false;
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return CPB_OK;
  return refuse(unpack, z->msg != NULL ? z->msg : "it is damaged", error);
}

static void close_gzip(cpb_unpack *unpack) { inflateEnd(&unpack->gzip); }

#define GZIP_CALLS open_gzip, step_gzip, close_gzip
#else
#define GZIP_CALLS NULL, NULL, NULL
#endif

#ifdef CPB_HAVE_ZSTD
static bool open_zstd(cpb_unpack *unpack) { return (unpack->zstd = ZSTD_createDStream()) != NULL; }

static cpb_status step_zstd(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error) {
  ZSTD_inBuffer in = {unpack->packed + unpack->begin, unpack->end - unpack->begin, 0};
  ZSTD_outBuffer out = {bytes, count, 0};
  if (!unpack->inside) ZSTD_DCtx_reset(unpack->zstd, ZSTD_reset_session_only);
  size_t result = ZSTD_decompressStream(unpack->zstd, &out, &in);
  if (ZSTD_isError(result)) return refuse(unpack, ZSTD_getErrorName(result), error);
  unpack->begin += in.pos;
  unpack->inside = result != 0;
  *got = out.pos;
  return CPB_OK;
}

static void close_zstd(cpb_unpack *unpack) { ZSTD_freeDStream(unpack->zstd); }

#define ZSTD_CALLS open_zstd, step_zstd, close_zstd
#else
#define ZSTD_CALLS NULL, NULL, NULL
#endif

static const codec codecs[] = {{".gz", "gzip", "zlib", GZIP_CALLS}, {".zst", "zstd", "libzstd", ZSTD_CALLS}};

/* By the extension; NULL: not compressed. */
static const codec *codec_of(const char *path, size_t *stem) {
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    size_t ending = strlen(codecs[i].extension);
    *stem = length - ending;
    if (length > ending && strcasecmp(path + *stem, codecs[i].extension) == 0) return &codecs[i];
  }
  *stem = length;
  return NULL;
}

size_t cpb_unpacked_length(const char *path) {
  size_t stem;
  codec_of(path, &stem);
  return stem;
}

static void unpack_free(cpb_unpack *unpack) {
  if (unpack != NULL && unpack->opened) unpack->codec->close(unpack);
  free(unpack);
}

/* Gives *unpack to the caller, also after a failure. EFORMAT if the library for it was not built in. */
static cpb_status unpack_new(const codec *packing, const char *path, cpb_unpack **unpack, cpb_error *error) {
  if (packing->open == NULL)
    return cpb_file_fail(error, CPB_WHY_BUILT_WITHOUT, path, "this capball was built without %s",
                         packing->library);
  *unpack = calloc(1, sizeof **unpack);
  if (*unpack == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof **unpack);
  (*unpack)->codec = packing;
  (*unpack)->path = path;
  (*unpack)->opened = packing->open(*unpack);
  return (*unpack)->opened ? CPB_OK : cpb_fail_memory(error, "unpacking %s", path);
}

static cpb_status refill(cpb_unpack *unpack, int fd, cpb_error *error) {
  ssize_t n = read_piece(fd, unpack->packed, PACKED_BYTES);
  if (n < 0) return cpb_file_fail_errno(error, unpack->path, "read");
  unpack->begin = 0;
  unpack->end = (size_t)n;
  return CPB_OK;
}

/* At most count decompressed bytes of `fd`; *got = 0 only at the end. EFORMAT if the data are damaged or truncated. */
static cpb_status unpack_read(cpb_unpack *unpack, int fd, void *bytes, size_t count, size_t *got,
                              cpb_error *error) {
  *got = 0;
  while (*got == 0 && count != 0) {
    cpb_status status = unpack->begin < unpack->end ? CPB_OK : refill(unpack, fd, error);
    if (status != CPB_OK) return status;
    bool at_end = unpack->begin == unpack->end;
    if (at_end && !unpack->inside) return CPB_OK;
    status = unpack->codec->step(unpack, bytes, count, got, error);
    if (status != CPB_OK) return status;
    if (at_end && *got == 0) return refuse(unpack, "the file ends in the middle of it", error);
  }
  return CPB_OK;
}

cpb_status cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  if (size <= buffer->size) return CPB_OK;
  if (size > SIZE_MAX / 2) return cpb_fail_memory(error, "%zu bytes", size);
  size_t rounded = (size + 63) / 64 * 64;
  unsigned char *bytes = aligned_alloc(64, rounded);
  if (bytes == NULL) return cpb_fail_memory(error, "%zu bytes", size);
  if (keep != 0) memcpy(bytes, buffer->bytes, keep);
  free(buffer->bytes);
  buffer->bytes = bytes;
  buffer->size = rounded;
  return CPB_OK;
}

cpb_status cpb_buffer_grow(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  if (size <= buffer->size) return CPB_OK;
  return cpb_buffer_reserve(buffer, size > SIZE_MAX / 2 ? size : 2 * size, keep, error);
}

void cpb_buffer_free(cpb_buffer *buffer) {
  free(buffer->bytes);
  *buffer = (cpb_buffer){NULL, 0};
}

size_t cpb_size_muladd(size_t a, size_t b, size_t c) {
  if (b != 0 && a > (SIZE_MAX - c) / b) return SIZE_MAX;
  return a * b + c;
}

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

static cpb_status examine(cpb_input *source, cpb_error *error) {
  struct stat status;
  if (fstat(source->fd, &status) != 0) return cpb_file_fail_errno(error, source->path, "look at");
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return cpb_file_fail_errno(error, source->path, "read");
  }
  size_t stem;
  const codec *packed = S_ISREG(status.st_mode) ? codec_of(source->path, &stem) : NULL;
  source->stream = !S_ISREG(status.st_mode) || packed != NULL;
  source->size = source->stream ? UINT64_MAX : (uint64_t)status.st_size;
  return packed == NULL ? CPB_OK : unpack_new(packed, source->path, &source->unpack, error);
}

cpb_status cpb_input_open(const char *path, cpb_input *source, cpb_error *error) {
  bool standard_input = strcmp(path, "-") == 0;
  *source = (cpb_input){.path = standard_input ? "standard input" : path,
                        .fd = STDIN_FILENO,
                        .stream = true,
                        .size = UINT64_MAX};
  if (standard_input) return CPB_OK;
  source->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (source->fd < 0) return cpb_file_fail_errno(error, path, "open");
  source->owned = true;
  cpb_status status = examine(source, error);
  if (status != CPB_OK) cpb_input_close(source);
  return status;
}

void cpb_input_close(cpb_input *source) {
  if (source->owned) close(source->fd);
  source->owned = false;
  unpack_free(source->unpack);
  source->unpack = NULL;
}

static size_t take_unread(cpb_input *source, void *bytes, size_t count) {
  size_t taken = count < source->unread_count ? count : source->unread_count;
  memcpy(bytes, source->unread, taken);
  source->unread_count -= taken;
  memmove(source->unread, source->unread + taken, source->unread_count);
  return taken;
}

static cpb_status refuse_shorter(const cpb_input *source, uint64_t size, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_FILE_CHANGED, source->path,
                       "became shorter while it was being read: %llu bytes are left of %llu",
                       (unsigned long long)size, (unsigned long long)source->size);
}

/* The file must not have become shorter since it was opened. */
static cpb_status check_end(const cpb_input *source, cpb_error *error) {
  off_t end = source->stream ? -1 : lseek(source->fd, 0, SEEK_CUR);
  return end >= 0 && (uint64_t)end < source->size ? refuse_shorter(source, (uint64_t)end, error) : CPB_OK;
}

cpb_status cpb_input_check_size(const cpb_input *source, cpb_error *error) {
  struct stat now;
  if (source->stream) return CPB_OK;
  if (fstat(source->fd, &now) != 0) return cpb_file_fail_errno(error, source->path, "look at");
  uint64_t size = (uint64_t)now.st_size;
  return size < source->size ? refuse_shorter(source, size, error) : CPB_OK;
}

cpb_status cpb_input_read_some(cpb_input *source, void *bytes, size_t count, size_t *got, cpb_error *error) {
  *got = take_unread(source, bytes, count);
  if (*got != 0 || count == 0) return CPB_OK;
  if (source->unpack != NULL) return unpack_read(source->unpack, source->fd, bytes, count, got, error);
  ssize_t n = read_piece(source->fd, bytes, count);
  if (n < 0) return cpb_file_fail_errno(error, source->path, "read");
  *got = (size_t)n;
  return n == 0 ? check_end(source, error) : CPB_OK;
}

cpb_status cpb_input_read(cpb_input *source, void *bytes, size_t count, size_t *got, cpb_error *error) {
  *got = 0;
  while (*got < count) {
    size_t some;
    cpb_status status =
        cpb_input_read_some(source, (unsigned char *)bytes + *got, count - *got, &some, error);
    if (status != CPB_OK) return status;
    if (some == 0) break;
    *got += some;
  }
  return CPB_OK;
}

cpb_status cpb_read_whole(const char *path, cpb_buffer *buffer, size_t *length, const char **name,
                          cpb_error *error) {
  enum { FIRST_READ = 1 << 16 };
  cpb_input source;
  cpb_status status = cpb_input_open(path, &source, error);
  if (status != CPB_OK) return status;
  size_t got = 1;
  for (*length = 0; status == CPB_OK && got != 0; *length += got) {
    status = cpb_buffer_grow(buffer, *length + FIRST_READ, *length, error);
    if (status == CPB_OK)
      status = cpb_input_read_some(&source, buffer->bytes + *length, buffer->size - *length, &got, error);
  }
  *name = source.path;
  cpb_input_close(&source);
  return status;
}

void cpb_input_unread(cpb_input *source, const void *bytes, size_t count) {
  memcpy(source->unread, bytes, count);
  source->unread_count = count;
}

static cpb_status fail_end(const cpb_input *source, uint64_t at, size_t missing, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_FILE_ENDS_EARLY, source->path,
                       "ends before byte %llu, where %zu more bytes should be", (unsigned long long)at,
                       missing);
}

cpb_status cpb_input_read_at(const cpb_input *source, uint64_t offset, void *bytes, size_t count,
                             cpb_error *error) {
  for (size_t done = 0; done < count;) {
    size_t left = count - done;
    ssize_t n =
        pread(source->fd, (unsigned char *)bytes + done, left < PIECE ? left : PIECE, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cpb_file_fail_errno(error, source->path, "read");
    if (n == 0) return fail_end(source, (uint64_t)(offset + done), left, error);
    done += (size_t)n;
  }
  return CPB_OK;
}

cpb_status cpb_input_map(const cpb_input *source, uint64_t offset, size_t count, void **memory, size_t *size,
                         const unsigned char **bytes, cpb_error *error) {
  struct stat now;
  if (fstat(source->fd, &now) != 0) return cpb_file_fail_errno(error, source->path, "look at");
  if ((uint64_t)now.st_size < offset + count) return fail_end(source, (uint64_t)now.st_size, count, error);
  size_t before = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
  *size = before + count;
  *memory = mmap(NULL, *size, PROT_READ, MAP_SHARED | MAP_POPULATE, source->fd, (off_t)(offset - before));
  if (*memory == MAP_FAILED) return cpb_file_fail_errno(error, source->path, "map");
  *bytes = (const unsigned char *)*memory + before;
  return CPB_OK;
}

void cpb_input_unmap(void *memory, size_t size) {
  if (size != 0) munmap(memory, size);
}

cpb_status cpb_input_rewind(cpb_input *source, cpb_error *error) {
  if (cpb_input_passes_once(source))
    return cpb_file_fail(error, CPB_WHY_PIPE_TWICE, source->path, "a pipe can be read only once");
  if (lseek(source->fd, 0, SEEK_SET) != 0) return cpb_file_fail_errno(error, source->path, "rewind");
  source->unread_count = 0;
  if (source->unpack == NULL) return CPB_OK;
  source->unpack->begin = source->unpack->end = 0;
  source->unpack->inside = false;
  return CPB_OK;
}

cpb_status cpb_input_expect_end(cpb_input *source, const char *what, cpb_error *error) {
  unsigned char byte;
  size_t got;
  cpb_status status = cpb_input_read(source, &byte, 1, &got, error);
  if (status != CPB_OK || got == 0) return status;
  return cpb_file_fail(error, CPB_WHY_FILE_SIZE, source->path, "continues after %s", what);
}
