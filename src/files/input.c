#include "files/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef CPB_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef CPB_HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/fail.h"
#include "base/letters.h"
#include "base/system.h"
#include "base/system_file.h"

/* PIECE: the most that is unpacked at once. */
enum { PACKED_BYTES = 1 << 16, PIECE = 1 << 30 };

/* ---- decompression while reading ---- */

typedef struct codec {
  const char *extension, *name, *library;
  bool (*open)(cpb_unpack *unpack); /* NULL: not built in */
  /* Decompresses packed bytes into at most count bytes, of one member or frame. */
  bool (*step)(cpb_unpack *unpack, void *bytes, size_t count, size_t *got);
  void (*close)(cpb_unpack *unpack);
} codec;

struct cpb_unpack {
  const codec *codec;
  const cpb_file_call *of;
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

static bool refuse(const cpb_unpack *unpack, const char *why) {
  return cpb_refuse(unpack->of, CPB_WHY_UNPACK, "cannot decompress it with %s: %s", unpack->codec->name, why);
}

#ifdef CPB_HAVE_ZLIB
static bool open_gzip(cpb_unpack *unpack) {
  enum { AUTOMATIC_GZIP = 16 + 15 }; /* zlib: gzip header, any window size */
  return inflateInit2(&unpack->gzip, AUTOMATIC_GZIP) == Z_OK;
}

static bool step_gzip(cpb_unpack *unpack, void *bytes, size_t count, size_t *got) {
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
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return true;
  return refuse(unpack, z->msg != NULL ? z->msg : "it is damaged");
}

static void close_gzip(cpb_unpack *unpack) { inflateEnd(&unpack->gzip); }

#define GZIP_CALLS open_gzip, step_gzip, close_gzip
#else
#define GZIP_CALLS NULL, NULL, NULL
#endif

#ifdef CPB_HAVE_ZSTD
static bool open_zstd(cpb_unpack *unpack) { return (unpack->zstd = ZSTD_createDStream()) != NULL; }

static bool step_zstd(cpb_unpack *unpack, void *bytes, size_t count, size_t *got) {
  ZSTD_inBuffer in = {unpack->packed + unpack->begin, unpack->end - unpack->begin, 0};
  ZSTD_outBuffer out = {bytes, count, 0};
  if (!unpack->inside) ZSTD_DCtx_reset(unpack->zstd, ZSTD_reset_session_only);
  size_t result = ZSTD_decompressStream(unpack->zstd, &out, &in);
  if (ZSTD_isError(result)) return refuse(unpack, ZSTD_getErrorName(result));
  unpack->begin += in.pos;
  unpack->inside = result != 0;
  *got = out.pos;
  return true;
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
    if (length > ending && cpb_same_letters(path + *stem, codecs[i].extension)) return &codecs[i];
  }
  *stem = length;
  return NULL;
}

size_t cpb_unpacked_length(const char *path) {
  size_t stem;
  codec_of(path, &stem);
  return stem;
}

bool cpb_is_regular(const char *path) {
  cpb_file_facts facts;
  return cpb_sys_facts(path, &facts) && facts.kind == CPB_FILE_REGULAR;
}

/* EFORMAT if the library for it was not built in. */
static bool unpack_new(const codec *packing, cpb_input *source) {
  if (packing->open == NULL)
    return cpb_refuse(&source->of, CPB_WHY_BUILT_WITHOUT, "this capball was built without %s",
                      packing->library);
  cpb_unpack *unpack = source->unpack = calloc(1, sizeof *unpack);
  if (unpack == NULL) return cpb_fail_memory(source->of.error, "%zu bytes", sizeof *unpack) == CPB_OK;
  unpack->codec = packing;
  unpack->of = &source->of;
  unpack->opened = packing->open(unpack);
  return unpack->opened || cpb_fail_memory(source->of.error, "unpacking %s", source->of.path) == CPB_OK;
}

/* At most count decompressed bytes of `fd`; *got = 0 only at the end. EFORMAT if the data are damaged or truncated. */
static bool unpack_read(cpb_unpack *unpack, int fd, void *bytes, size_t count, size_t *got) {
  *got = 0;
  while (*got == 0 && count != 0) {
    if (unpack->begin == unpack->end) {
      int64_t n = cpb_sys_read(fd, unpack->packed, PACKED_BYTES);
      if (n < 0) return cpb_refuse_errno(unpack->of, "read");
      unpack->begin = 0;
      unpack->end = (size_t)n;
    }
    bool at_end = unpack->begin == unpack->end;
    if (at_end && !unpack->inside) return true;
    if (!unpack->codec->step(unpack, bytes, count, got)) return false;
    if (at_end && *got == 0) return refuse(unpack, "the file ends in the middle of it");
  }
  return true;
}

bool cpb_buffer_reserve(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  if (size <= buffer->size) return true;
  size_t rounded = size > SIZE_MAX / 2 ? 0 : (size + 63) / 64 * 64;
  unsigned char *bytes = rounded == 0 ? NULL : cpb_sys_aligned(64, rounded);
  if (bytes == NULL) return cpb_fail_memory(error, "%zu bytes", size) == CPB_OK;
  if (keep != 0) memcpy(bytes, buffer->bytes, keep);
  free(buffer->bytes);
  *buffer = (cpb_buffer){bytes, rounded};
  return true;
}

bool cpb_buffer_grow(cpb_buffer *buffer, size_t size, size_t keep, cpb_error *error) {
  if (size <= buffer->size) return true;
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

static bool examine(cpb_input *source) {
  cpb_file_facts facts;
  if (!cpb_sys_facts_of(source->fd, &facts)) return cpb_refuse_errno(&source->of, "look at");
  if (facts.kind == CPB_FILE_FOLDER) {
    errno = EISDIR;
    return cpb_refuse_errno(&source->of, "read");
  }
  size_t stem;
  bool regular = facts.kind == CPB_FILE_REGULAR;
  const codec *packed = regular ? codec_of(source->of.path, &stem) : NULL;
  source->stream = !regular || packed != NULL;
  source->size = source->stream ? UINT64_MAX : facts.size;
  return packed == NULL || unpack_new(packed, source);
}

bool cpb_input_open(cpb_input *source, const char *path, cpb_error *error) {
  bool standard_input = strcmp(path, "-") == 0;
  *source = (cpb_input){.of = {standard_input ? "standard input" : path, error},
                        .fd = CPB_STDIN,
                        .stream = true,
                        .size = UINT64_MAX};
  if (standard_input) return true;
  source->fd = cpb_sys_open(path, CPB_OPEN_READ, 0);
  source->owned = source->fd >= 0;
  if (!source->owned) return cpb_refuse_errno(&source->of, "open");
  if (examine(source)) return true;
  cpb_input_close(source);
  return false;
}

void cpb_input_close(cpb_input *source) {
  if (source->owned) cpb_sys_close(source->fd);
  if (source->unpack != NULL && source->unpack->opened) source->unpack->codec->close(source->unpack);
  free(source->unpack);
  source->owned = false;
  source->unpack = NULL;
}

/* A file must not have become shorter since it was opened. */
static bool check_end(const cpb_input *source, uint64_t end, cpb_error *error) {
  if (end >= source->size) return true;
  return cpb_refuse(&(cpb_file_call){source->of.path, error}, CPB_WHY_FILE_CHANGED,
                    "became shorter while it was being read: %" PRIu64 " bytes are left of %" PRIu64, end,
                    source->size);
}

bool cpb_input_check_size(const cpb_input *source, cpb_error *error) {
  cpb_file_facts now;
  if (source->stream) return true;
  if (cpb_sys_facts_of(source->fd, &now)) return check_end(source, now.size, error);
  return cpb_refuse_errno(&(cpb_file_call){source->of.path, error}, "look at");
}

bool cpb_input_read_some(cpb_input *source, void *bytes, size_t count, size_t *got) {
  *got = 0;
  if (count == 0) return true;
  if (source->unpack != NULL) return unpack_read(source->unpack, source->fd, bytes, count, got);
  int64_t n = cpb_sys_read(source->fd, bytes, count);
  if (n < 0) return cpb_refuse_errno(&source->of, "read");
  *got = (size_t)n;
  int64_t end = n > 0 || source->stream ? -1 : cpb_sys_position(source->fd);
  return end < 0 || check_end(source, (uint64_t)end, source->of.error);
}

bool cpb_input_read(cpb_input *source, void *bytes, size_t count, size_t *got) {
  size_t some = 1;
  for (*got = 0; *got < count && some != 0; *got += some)
    if (!cpb_input_read_some(source, (unsigned char *)bytes + *got, count - *got, &some)) return false;
  return true;
}

cpb_status cpb_read_whole(const char *path, cpb_buffer *buffer, size_t *length, const char **name,
                          cpb_error *error) {
  enum { FIRST_READ = 1 << 16 };
  cpb_error unused;
  cpb_input source;
  if (error == NULL) error = &unused;
  if (!cpb_input_open(&source, path, error)) return error->status;
  size_t got = 1;
  bool done = true;
  for (*length = 0; done && got != 0; *length += got)
    done = cpb_buffer_grow(buffer, *length + FIRST_READ, *length, error) &&
           cpb_input_read_some(&source, buffer->bytes + *length, buffer->size - *length, &got);
  *name = source.of.path;
  cpb_input_close(&source);
  return done ? CPB_OK : error->status;
}

static bool refuse_end(const cpb_file_call *of, uint64_t at, size_t missing) {
  return cpb_refuse(of, CPB_WHY_FILE_ENDS_EARLY,
                    "ends before byte %" PRIu64 ", where %zu more bytes should be", at, missing);
}

bool cpb_input_read_at(const cpb_input *source, uint64_t offset, void *bytes, size_t count,
                       cpb_error *error) {
  const cpb_file_call of = {source->of.path, error};
  for (size_t done = 0; done < count;) {
    size_t left = count - done;
    int64_t n = cpb_sys_read_at(source->fd, offset + done, (unsigned char *)bytes + done, left);
    if (n < 0) return cpb_refuse_errno(&of, "read");
    if (n == 0) return refuse_end(&of, offset + done, left);
    done += (size_t)n;
  }
  return true;
}

bool cpb_input_map(const cpb_input *source, uint64_t offset, size_t count, void **memory, size_t *size,
                   const unsigned char **bytes, cpb_error *error) {
  const cpb_file_call of = {source->of.path, error};
  cpb_file_facts now;
  if (!cpb_sys_facts_of(source->fd, &now)) return cpb_refuse_errno(&of, "look at");
  if (now.size < offset + count) return refuse_end(&of, now.size, count);
  size_t before = (size_t)(offset % cpb_sys_map_unit());
  *size = before + count;
  *memory = cpb_sys_map(source->fd, offset - before, *size, true);
  if (*memory == NULL) return cpb_refuse_errno(&of, "map");
  *bytes = (const unsigned char *)*memory + before;
  return true;
}

bool cpb_input_rewind(cpb_input *source) {
  if (cpb_input_passes_once(source))
    return cpb_refuse(&source->of, CPB_WHY_PIPE_TWICE, "a pipe can be read only once");
  if (!cpb_sys_rewind(source->fd)) return cpb_refuse_errno(&source->of, "rewind");
  if (source->unpack == NULL) return true;
  source->unpack->begin = source->unpack->end = 0;
  source->unpack->inside = false;
  return true;
}
