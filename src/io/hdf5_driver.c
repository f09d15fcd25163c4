#define _POSIX_C_SOURCE 200809L
#include "io/hdf5_driver.h"

#ifdef CPB_HAVE_HDF5

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file_fail.h"

/* HDF5's handle of an open file; base belongs to HDF5 and must come first. */
typedef struct driver_file {
  H5FD_t base;
  cpb_hdf5_bytes *bytes;
  haddr_t allocated;
} driver_file;

static driver_file *of(H5FD_t *file) { return (driver_file *)(void *)file; }
static const driver_file *of_const(const H5FD_t *file) { return (const driver_file *)(const void *)file; }

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t largest) {
  (void)name, (void)flags, (void)largest;
  cpb_hdf5_bytes *const *bytes = cpb_h5()->H5Pget_driver_info(access);
  driver_file *file = bytes == NULL ? NULL : calloc(1, sizeof *file);
  if (file == NULL) return NULL;
  file->bytes = *bytes;
  return &file->base;
}

static herr_t driver_close(H5FD_t *file) {
  free(of(file));
  return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags) {
  (void)file;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return of_const(file)->allocated;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  of(file)->allocated = end;
  return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return of_const(file)->bytes->size;
}

/* Bytes that were never written, or could not be, are read as zeros. */
static cpb_status read_again(const cpb_whole *whole, uint64_t offset, char *to, size_t count,
                             cpb_error *error) {
  for (size_t done = 0; done < count;) {
    ssize_t n = pread(whole->fd, to + done, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cpb_file_fail_errno(error, whole->path, "read again");
    if (n == 0) memset(to + done, 0, count - done);
    done += n == 0 ? count - done : (size_t)n;
  }
  return CPB_OK;
}

/* HDF5 may read beyond the end of the file: zeros. */
static cpb_status read_source(const cpb_input *source, uint64_t offset, char *to, size_t count,
                              cpb_error *error) {
  uint64_t left = offset < source->size ? source->size - offset : 0;
  size_t there = left < count ? (size_t)left : count;
  memset(to + there, 0, count - there);
  return cpb_input_read_at(source, offset, to, there, error);
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                          void *to) {
  (void)type, (void)transfer;
  cpb_hdf5_bytes *b = of(file)->bytes;
  cpb_error error;
  cpb_status status = b->source != NULL ? read_source(b->source, offset, to, count, &error)
                                        : read_again(b->whole, offset, to, count, &error);
  if (status == CPB_OK) return 0;
  if (!b->failed) b->error = error;
  b->failed = true;
  return -1;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                           const void *from) {
  (void)type, (void)transfer;
  cpb_hdf5_bytes *b = of(file)->bytes;
  if (b->whole == NULL) return -1;
  if (offset + count > b->size) b->size = offset + count;
  if (!b->failed) b->failed = cpb_whole_write_at(b->whole, offset, from, count, &b->error) != CPB_OK;
  return 0;
}

static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing) {
  (void)transfer, (void)closing;
  cpb_hdf5_bytes *b = of(file)->bytes;
  if (b->whole == NULL) return 0;
  b->size = of(file)->allocated;
  if (!b->failed) b->failed = cpb_whole_resize(b->whole, b->size, &b->error) != CPB_OK;
  return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)513, /* in the range for unregistered drivers */
#endif
    .name = "capball",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(cpb_hdf5_bytes *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* HDF5 counts references to the driver: it exists until the file is closed. */
hid_t cpb_hdf5_driver_open(cpb_hdf5_bytes *bytes, cpb_hdf5_mode mode) {
  hid_t ours = cpb_h5()->H5FDregister(&driver), access = cpb_h5()->H5Pcreate(H5P_FILE_ACCESS), file = -1;
  if (ours >= 0 && access >= 0 && cpb_h5()->H5Pset_driver(access, ours, &bytes) >= 0)
    file = mode == CPB_HDF5_CREATE
               ? cpb_h5()->H5Fcreate("capball", H5F_ACC_TRUNC, H5P_DEFAULT, access)
               : cpb_h5()->H5Fopen("capball", mode == CPB_HDF5_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access);
  if (access >= 0) cpb_h5()->H5Idec_ref(access);
  if (ours >= 0) cpb_h5()->H5FDunregister(ours);
  return file;
}

cpb_status cpb_hdf5_is_signed(const cpb_input *source, bool *is_signed, cpb_error *error) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char found[sizeof signature];
  *is_signed = false;
  for (uint64_t at = 0; !*is_signed && source->size >= sizeof found && at <= source->size - sizeof found;
       at = at == 0 ? 512 : 2 * at) {
    cpb_status status = cpb_input_read_at(source, at, found, sizeof found, error);
    if (status != CPB_OK) return status;
    *is_signed = memcmp(found, signature, sizeof signature) == 0;
  }
  return CPB_OK;
}

#endif
