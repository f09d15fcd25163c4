#define _POSIX_C_SOURCE 200809L
#include "io/hdf5_sink.h"

#ifdef CPB_HAVE_HDF5

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* What HDF5 holds for an open file; base is its own part and comes first. */
typedef struct sink_file {
  H5FD_t base;
  cpb_hdf5_sink *sink;
  haddr_t allocated;
} sink_file;

static sink_file *of(H5FD_t *file) { return (sink_file *)(void *)file; }
static const sink_file *of_const(const H5FD_t *file) { return (const sink_file *)(const void *)file; }

static H5FD_t *sink_open(const char *name, unsigned flags, hid_t access, haddr_t largest) {
  (void)name;
  (void)flags;
  (void)largest;
  cpb_hdf5_sink *const *sink = H5Pget_driver_info(access);
  sink_file *file = sink == NULL ? NULL : calloc(1, sizeof *file);
  if (file == NULL) return NULL;
  file->sink = *sink;
  return &file->base;
}

static herr_t sink_close(H5FD_t *file) {
  free(of(file));
  return 0;
}

static herr_t sink_query(const H5FD_t *file, unsigned long *flags) {
  (void)file;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

static haddr_t sink_get_eoa(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return of_const(file)->allocated;
}

static herr_t sink_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  of(file)->allocated = end;
  return 0;
}

static haddr_t sink_get_eof(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return of_const(file)->sink->size;
}

/* What was never written, or could not be, reads as zeros. */
static herr_t sink_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                        void *bytes) {
  (void)type;
  (void)transfer;
  for (size_t done = 0; done < count;) {
    char *to = (char *)bytes + done;
    ssize_t n = pread(of(file)->sink->whole->fd, to, count - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) memset(to, 0, count - done);
    done += n == 0 ? count - done : (size_t)n;
  }
  return 0;
}

static herr_t sink_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                         const void *bytes) {
  (void)type;
  (void)transfer;
  cpb_hdf5_sink *sink = of(file)->sink;
  if (offset + count > sink->size) sink->size = offset + count;
  if (!sink->failed)
    sink->failed = cpb_whole_write_at(sink->whole, offset, bytes, count, &sink->error) != CPB_OK;
  return 0;
}

static herr_t sink_truncate(H5FD_t *file, hid_t transfer, hbool_t closing) {
  (void)transfer;
  (void)closing;
  cpb_hdf5_sink *sink = of(file)->sink;
  sink->size = of(file)->allocated;
  if (!sink->failed) sink->failed = cpb_whole_resize(sink->whole, sink->size, &sink->error) != CPB_OK;
  return 0;
}

static const H5FD_class_t sink_driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)513, /* of the numbers left to everybody */
#endif
    .name = "capball",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(cpb_hdf5_sink *),
    .open = sink_open,
    .close = sink_close,
    .query = sink_query,
    .get_eoa = sink_get_eoa,
    .set_eoa = sink_set_eoa,
    .get_eof = sink_get_eof,
    .read = sink_read,
    .write = sink_write,
    .truncate = sink_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* HDF5 counts who uses the driver: it stays until the file is closed. */
hid_t cpb_hdf5_sink_open(cpb_hdf5_sink *sink, bool existing) {
  hid_t driver = H5FDregister(&sink_driver), access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
  if (driver >= 0 && access >= 0 && H5Pset_driver(access, driver, &sink) >= 0)
    file = existing ? H5Fopen("capball", H5F_ACC_RDWR, access)
                    : H5Fcreate("capball", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (access >= 0) H5Pclose(access);
  if (driver >= 0) H5FDunregister(driver);
  return file;
}

#endif
