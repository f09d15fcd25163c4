#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* MAP_POPULATE */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file_fail.h"

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

/* The largest piece per system call; Linux limits a read to about 2 GiB anyway. */
enum { PIECE = 1 << 30 };

static cpb_status examine(cpb_input *source, cpb_error *error) {
  struct stat status;
  if (fstat(source->fd, &status) != 0) return cpb_file_fail_errno(error, source->path, "look at");
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return cpb_file_fail_errno(error, source->path, "read");
  }
  size_t stem;
  cpb_packing packing = S_ISREG(status.st_mode) ? cpb_packing_of(source->path, &stem) : CPB_NOT_PACKED;
  source->stream = !S_ISREG(status.st_mode) || packing != CPB_NOT_PACKED;
  source->size = source->stream ? UINT64_MAX : (uint64_t)status.st_size;
  return packing == CPB_NOT_PACKED ? CPB_OK : cpb_unpack_new(packing, source->path, &source->unpack, error);
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
  cpb_unpack_free(source->unpack);
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
  if (source->unpack != NULL) return cpb_unpack_read(source->unpack, source->fd, bytes, count, got, error);
  ssize_t n;
  do n = read(source->fd, bytes, count < PIECE ? count : PIECE);
  while (n < 0 && errno == EINTR);
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
    size_t room = *length + FIRST_READ;
    status = cpb_buffer_reserve(buffer, room <= buffer->size ? room : 2 * room, *length, error);
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
  if (source->unpack != NULL) cpb_unpack_restart(source->unpack);
  return CPB_OK;
}

cpb_status cpb_input_expect_end(cpb_input *source, const char *what, cpb_error *error) {
  unsigned char byte;
  size_t got;
  cpb_status status = cpb_input_read(source, &byte, 1, &got, error);
  if (status != CPB_OK || got == 0) return status;
  return cpb_file_fail(error, CPB_WHY_FILE_SIZE, source->path, "continues after %s", what);
}
