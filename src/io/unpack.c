#define _POSIX_C_SOURCE 200809L
#include "io/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifdef CPB_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef CPB_HAVE_ZSTD
#include <zstd.h>
#endif

#include "core/fail.h"
#include "io/file_fail.h"

enum { PACKED_BYTES = 1 << 16 };

struct cpb_unpack {
  cpb_packing packing;
  const char *path; /* borrowed */
  bool inside;      /* a member or frame that has not ended */
  size_t begin, end;
  unsigned char packed[PACKED_BYTES];
#ifdef CPB_HAVE_ZLIB
  z_stream gzip;
  bool gzip_open;
#endif
#ifdef CPB_HAVE_ZSTD
  ZSTD_DStream *zstd;
#endif
};

cpb_packing cpb_packing_of(const char *path, size_t *stem) {
  size_t length = strlen(path);
  bool gzip = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
  bool zstd = length > 4 && strcasecmp(path + length - 4, ".zst") == 0;
  *stem = length - (gzip ? 3 : zstd ? 4 : 0);
  return gzip ? CPB_GZIP : zstd ? CPB_ZSTD : CPB_NOT_PACKED;
}

static cpb_status refuse(const cpb_unpack *unpack, const char *why, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_UNPACK, unpack->path, "cannot decompress it with %s: %s",
                       unpack->packing == CPB_GZIP ? "gzip" : "zstd", why);
}

/* ---- gzip: one member after the other ---- */

#ifdef CPB_HAVE_ZLIB
enum { AUTOMATIC_GZIP = 16 + 15 }; /* zlib: gzip header, any window size */

static bool open_gzip(cpb_unpack *unpack) {
  unpack->gzip_open = inflateInit2(&unpack->gzip, AUTOMATIC_GZIP) == Z_OK;
  return unpack->gzip_open;
}

static cpb_status step_gzip(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error) {
  z_stream *z = &unpack->gzip;
  if (!unpack->inside) inflateReset(z);
  unpack->inside = true;
  z->next_in = unpack->packed + unpack->begin;
  z->avail_in = (uInt)(unpack->end - unpack->begin);
  z->next_out = bytes;
  z->avail_out = (uInt)(count < 1u << 30 ? count : 1u << 30);
  uInt room = z->avail_out;
  int result = inflate(z, Z_NO_FLUSH);
  unpack->begin = unpack->end - z->avail_in;
  *got = room - z->avail_out;
  if (result == Z_STREAM_END) unpack->inside = false;
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return CPB_OK;
  return refuse(unpack, z->msg != NULL ? z->msg : "it is damaged", error);
}
#endif

/* ---- zstd: one frame after the other ---- */

#ifdef CPB_HAVE_ZSTD
static bool open_zstd(cpb_unpack *unpack) { return (unpack->zstd = ZSTD_createDStream()) != NULL; }

static cpb_status step_zstd(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error) {
  ZSTD_inBuffer in = {unpack->packed + unpack->begin, unpack->end - unpack->begin, 0};
  ZSTD_outBuffer out = {bytes, count, 0};
  size_t result = ZSTD_decompressStream(unpack->zstd, &out, &in);
  if (ZSTD_isError(result)) return refuse(unpack, ZSTD_getErrorName(result), error);
  unpack->begin += in.pos;
  unpack->inside = result != 0;
  *got = out.pos;
  return CPB_OK;
}
#endif

/* ---- both ---- */

static cpb_status open_library(cpb_unpack *unpack, cpb_error *error) {
  bool known = false, opened = false;
#ifdef CPB_HAVE_ZLIB
  if (unpack->packing == CPB_GZIP) known = true, opened = open_gzip(unpack);
#endif
#ifdef CPB_HAVE_ZSTD
  if (unpack->packing == CPB_ZSTD) known = true, opened = open_zstd(unpack);
#endif
  if (!known)
    return cpb_file_fail(error, CPB_WHY_BUILT_WITHOUT, unpack->path, "this capball was built without %s",
                         unpack->packing == CPB_GZIP ? "zlib" : "libzstd");
  return opened ? CPB_OK : cpb_fail_memory(error, "unpacking %s", unpack->path);
}

cpb_status cpb_unpack_new(cpb_packing packing, const char *path, cpb_unpack **unpack, cpb_error *error) {
  *unpack = calloc(1, sizeof **unpack);
  if (*unpack == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof **unpack);
  (*unpack)->packing = packing;
  (*unpack)->path = path;
  cpb_status status = open_library(*unpack, error);
  if (status == CPB_OK) return CPB_OK;
  cpb_unpack_free(*unpack);
  *unpack = NULL;
  return status;
}

void cpb_unpack_free(cpb_unpack *unpack) {
  if (unpack == NULL) return;
#ifdef CPB_HAVE_ZLIB
  if (unpack->gzip_open) inflateEnd(&unpack->gzip);
#endif
#ifdef CPB_HAVE_ZSTD
  ZSTD_freeDStream(unpack->zstd);
#endif
  free(unpack);
}

void cpb_unpack_restart(cpb_unpack *unpack) {
  unpack->begin = unpack->end = 0;
  unpack->inside = false;
#ifdef CPB_HAVE_ZSTD
  if (unpack->zstd != NULL) ZSTD_DCtx_reset(unpack->zstd, ZSTD_reset_session_only);
#endif
}

static cpb_status step(cpb_unpack *unpack, void *bytes, size_t count, size_t *got, cpb_error *error) {
#ifdef CPB_HAVE_ZLIB
  if (unpack->packing == CPB_GZIP) return step_gzip(unpack, bytes, count, got, error);
#endif
#ifdef CPB_HAVE_ZSTD
  if (unpack->packing == CPB_ZSTD) return step_zstd(unpack, bytes, count, got, error);
#endif
  (void)bytes, (void)count, (void)got;
  return refuse(unpack, "not supported by this build", error);
}

static cpb_status refill(cpb_unpack *unpack, int fd, cpb_error *error) {
  ssize_t n;
  do n = read(fd, unpack->packed, PACKED_BYTES);
  while (n < 0 && errno == EINTR);
  if (n < 0) return cpb_file_fail_errno(error, unpack->path, "read");
  unpack->begin = 0;
  unpack->end = (size_t)n;
  return CPB_OK;
}

cpb_status cpb_unpack_read(cpb_unpack *unpack, int fd, void *bytes, size_t count, size_t *got,
                           cpb_error *error) {
  *got = 0;
  while (*got == 0 && count != 0) {
    cpb_status status = unpack->begin < unpack->end ? CPB_OK : refill(unpack, fd, error);
    if (status != CPB_OK) return status;
    bool at_end = unpack->begin == unpack->end;
    if (at_end && !unpack->inside) return CPB_OK;
    status = step(unpack, bytes, count, got, error);
    if (status != CPB_OK) return status;
    if (at_end && *got == 0) return refuse(unpack, "the file ends in the middle of it", error);
  }
  return CPB_OK;
}
