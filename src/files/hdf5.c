/* .hdf5 .h5 in the layout of ann-benchmarks: data sets of one or two dimensions, "file.hdf5:train".
 * libhdf5 is not thread-safe and prints errors; the printing is suppressed here. */
#define _POSIX_C_SOURCE 200809L
#include "files/formats.h"

#include "base/fail.h"
#include "base/system_file.h"
#include "files/hdf5_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SET "train"

#ifdef CPB_HAVE_HDF5

#include <stdio.h>

/* ---- a virtual file driver: HDF5 over a file that this library has opened ----
 *
 * Reading: HDF5 opens no file itself, so that exactly the opened file is read, and no name inside it can lead to
 * another one. Writing: a write that fails inside libhdf5 leaves it with a file it can neither flush nor close,
 * and the process crashes on exit; so the driver records the first failure and reports success to libhdf5. */

typedef struct driver_bytes {
  const cpb_input *source; /* the input, or NULL: .. */
  cpb_whole *whole;        /* .. the output, which is also read back */
  uint64_t size;           /* of the file */
  bool failed;
  cpb_error error; /* the reason if `failed` */
} driver_bytes;

/* HDF5's handle of an open file; base belongs to HDF5 and must come first. */
typedef struct driver_file {
  H5FD_t base;
  driver_bytes *bytes;
  haddr_t allocated;
} driver_file;

static driver_file *of(const H5FD_t *file) { return (driver_file *)(uintptr_t)file; }

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t largest) {
  (void)name, (void)flags, (void)largest;
  driver_bytes *const *bytes = cpb_h5()->H5Pget_driver_info(access);
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
  return of(file)->allocated;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
  (void)type;
  of(file)->allocated = end;
  return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type) {
  (void)type;
  return of(file)->bytes->size;
}

/* Bytes that were never written, or could not be, are read as zeros. */
static bool read_again(const cpb_whole *whole, uint64_t offset, char *to, size_t count, cpb_error *error) {
  for (size_t done = 0; done < count;) {
    int64_t n = cpb_sys_read_at(whole->fd, offset + done, to + done, count - done);
    if (n < 0) return cpb_refuse_errno(&(cpb_file_call){whole->path, error}, "read again");
    if (n == 0) memset(to + done, 0, count - done);
    done += n == 0 ? count - done : (size_t)n;
  }
  return true;
}

/* HDF5 may read beyond the end of the file: zeros. */
static bool read_source(const cpb_input *source, uint64_t offset, char *to, size_t count, cpb_error *error) {
  uint64_t left = offset < source->size ? source->size - offset : 0;
  size_t there = left < count ? (size_t)left : count;
  memset(to + there, 0, count - there);
  return cpb_input_read_at(source, offset, to, there, error);
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                          void *to) {
  (void)type, (void)transfer;
  driver_bytes *b = of(file)->bytes;
  cpb_error error;
  if (b->source != NULL ? read_source(b->source, offset, to, count, &error)
                        : read_again(b->whole, offset, to, count, &error))
    return 0;
  if (!b->failed) b->error = error;
  b->failed = true;
  return -1;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t count,
                           const void *from) {
  (void)type, (void)transfer;
  driver_bytes *b = of(file)->bytes;
  if (b->whole == NULL) return -1;
  if (offset + count > b->size) b->size = offset + count;
  if (!b->failed) b->failed = cpb_whole_write_at(b->whole, offset, from, count, &b->error) != CPB_OK;
  return 0;
}

static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing) {
  (void)transfer, (void)closing;
  driver_bytes *b = of(file)->bytes;
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
    .fapl_size = sizeof(driver_bytes *),
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

/* Closes a space, type, attribute, object or list of properties, if it is open. */
static void release(hid_t id) {
  if (id >= 0) cpb_h5()->H5Idec_ref(id);
}

typedef enum mode { READ, CREATE, ADD } mode;

/* The bytes must live until the file is closed; so does the driver, whose references HDF5 counts. */
static hid_t driver_open_file(driver_bytes *bytes, mode how) {
  hid_t ours = cpb_h5()->H5FDregister(&driver), access = cpb_h5()->H5Pcreate(H5P_FILE_ACCESS), file = -1;
  if (ours >= 0 && access >= 0 && cpb_h5()->H5Pset_driver(access, ours, &bytes) >= 0)
    file = how == CREATE ? cpb_h5()->H5Fcreate("capball", H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : cpb_h5()->H5Fopen("capball", how == READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access);
  release(access);
  if (ours >= 0) cpb_h5()->H5FDunregister(ours);
  return file;
}

/* Whether the file has the signature of HDF5, possibly after a block of 512, 1024, 2048 .. bytes. */
static bool find_signature(const cpb_input *source, bool *found, cpb_error *error) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char bytes[sizeof signature];
  *found = false;
  for (uint64_t at = 0; !*found && source->size >= sizeof bytes && at <= source->size - sizeof bytes;
       at = at == 0 ? 512 : 2 * at) {
    if (!cpb_input_read_at(source, at, bytes, sizeof bytes, error)) return false;
    *found = memcmp(bytes, signature, sizeof signature) == 0;
  }
  return true;
}

/* ---- reading ---- */

enum { RANK_MAX = 2, COPY_BYTES = 1 << 16 };

typedef struct hdf5_state {
  const cpb_file_call *of;
  hid_t file, set, type; /* type: of the elements in memory; each < 0 if not open */
  hid_t access;          /* a list of properties that prevents following links to other files */
  bool left;             /* such a link was met */
  hsize_t rows;
  int rank;
  driver_bytes bytes; /* of the file */
} hdf5_state;

static const char *or_default(const char *set) { return set == NULL ? DEFAULT_SET : set; }

/* The automatic printing of errors, turned off and restored. */
typedef struct silenced_errors {
  H5E_auto2_t function;
  void *data;
} silenced_errors;

static silenced_errors silence_errors(void) {
  silenced_errors saved = {NULL, NULL};
  cpb_h5()->H5Eget_auto2(H5E_DEFAULT, &saved.function, &saved.data);
  cpb_h5()->H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return saved;
}

static void end_silence(silenced_errors saved) {
  cpb_h5()->H5Eclear2(H5E_DEFAULT);
  cpb_h5()->H5Eset_auto2(H5E_DEFAULT, saved.function, saved.data);
}

/* External links inside a file can lead to other files. HDF5 calls this before following one; failure prevents it. */
static herr_t stay_inside(const char *parent_file, const char *parent_group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *left) {
  (void)parent_file, (void)parent_group, (void)file, (void)object, (void)flags, (void)access;
  *(bool *)left = true;
  return -1;
}

/* True if everything could be closed, so that all data are in the file. */
static bool state_close(hdf5_state *state) {
  release(state->type);
  bool closed = state->set < 0 || cpb_h5()->H5Dclose(state->set) >= 0;
  if (state->file >= 0) closed = cpb_h5()->H5Fclose(state->file) >= 0 && closed;
  state->type = state->set = state->file = -1;
  return closed;
}

static void state_free(hdf5_state *state) {
  if (state == NULL) return;
  silenced_errors quiet = silence_errors();
  state_close(state);
  release(state->access);
  end_silence(quiet);
  free(state);
}

/* NULL after a failure. If the library failed to initialise, no other function of it may be called. */
static hdf5_state *state_new(const cpb_file_call *of) {
  if (!cpb_hdf5_load(of)) return NULL;
  hdf5_state *state = H5open() < 0 ? NULL : malloc(sizeof *state);
  if (state == NULL) {
    cpb_fail_memory(of->error, "%zu bytes", sizeof *state);
    return NULL;
  }
  *state = (hdf5_state){.of = of, .file = -1, .set = -1, .type = -1};
  silenced_errors quiet = silence_errors();
  state->access = cpb_h5()->H5Pcreate(H5P_DATASET_ACCESS);
  bool done = state->access >= 0 && cpb_h5()->H5Pset_elink_cb(state->access, stay_inside, &state->left) >= 0;
  end_silence(quiet);
  if (done) return state;
  cpb_fail_memory(of->error, "a list of HDF5 properties");
  state_free(state);
  return NULL;
}

/* IEEE binary16, for which HDF5 1.10 has no name: 1 sign bit, 5 of exponent, 10 of mantissa. */
static hid_t make_half(void) {
  hid_t type = cpb_h5()->H5Tcopy(H5T_IEEE_F32LE);
  if (cpb_h5()->H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && cpb_h5()->H5Tset_size(type, 2) >= 0 &&
      cpb_h5()->H5Tset_ebias(type, 15) >= 0)
    return type;
  release(type);
  return -1;
}

static bool set_type(hdf5_state *state, cpb_dtype dtype) {
  const hid_t types[] = {[CPB_F32] = H5T_IEEE_F32LE, [CPB_F64] = H5T_IEEE_F64LE, [CPB_U8] = H5T_STD_U8LE,
                         [CPB_I8] = H5T_STD_I8LE,    [CPB_I32] = H5T_STD_I32LE,  [CPB_I64] = H5T_STD_I64LE};
  state->type = dtype == CPB_F16 ? make_half() : cpb_h5()->H5Tcopy(types[dtype]);
  return state->type >= 0 || cpb_fail_memory(state->of->error, "%zu bytes", sizeof dtype) == CPB_OK;
}

/* The smallest dtype that can represent the file's type; HDF5 converts, including the byte order. */
static bool find_dtype(hid_t type, cpb_dtype *dtype) {
  H5T_class_t class = cpb_h5()->H5Tget_class(type);
  size_t size = cpb_h5()->H5Tget_size(type);
  if (class == H5T_FLOAT) {
    *dtype = size == 2 ? CPB_F16 : size == 4 ? CPB_F32 : CPB_F64;
    return size == 2 || size == 4 || size == 8;
  }
  if (class != H5T_INTEGER) return false;
  bool is_signed = cpb_h5()->H5Tget_sign(type) != H5T_SGN_NONE;
  *dtype = size == 1                               ? (is_signed ? CPB_I8 : CPB_U8)
           : size == 2 || (size == 4 && is_signed) ? CPB_I32
                                                   : CPB_I64;
  return size == 1 || size == 2 || size == 4 || (size == 8 && is_signed);
}

static bool read_shape(cpb_reader *reader, hdf5_state *state, const char *name) {
  hsize_t lengths[RANK_MAX] = {0, 1};
  hid_t space = cpb_h5()->H5Dget_space(state->set);
  state->rank = space < 0 ? -1 : cpb_h5()->H5Sget_simple_extent_ndims(space);
  bool fits = state->rank == 1 || state->rank == RANK_MAX;
  if (fits) cpb_h5()->H5Sget_simple_extent_dims(space, lengths, NULL);
  release(space);
  if (!fits)
    return cpb_refuse(state->of, CPB_WHY_FILE_DIMENSIONS,
                      "data set \"%s\" has %d dimensions, wanted 2 (rows, columns) or 1 (one column)", name,
                      state->rank);
  if (lengths[1] < 1 || lengths[1] > CPB_COLS_MAX)
    return cpb_refuse(state->of, CPB_WHY_FILE_COLUMNS, "data set \"%s\" has d = %llu, wanted 1 .. %d", name,
                      (unsigned long long)lengths[1], CPB_COLS_MAX);
  reader->rows = lengths[0];
  reader->cols = (size_t)lengths[1];
  return true;
}

typedef struct listing {
  char text[160];
  size_t used;
  hid_t access;
} listing;

/* Adds one data set; stops when the buffer is full. */
static herr_t list_set(hid_t group, const char *name, const H5L_info_t *info, void *arg) {
  listing *list = arg;
  hid_t object = info->type == H5L_TYPE_EXTERNAL ? -1 : cpb_h5()->H5Oopen(group, name, list->access);
  bool is_set = object >= 0 && cpb_h5()->H5Iget_type(object) == H5I_DATASET;
  release(object);
  if (!is_set) return 0;
  size_t room = sizeof list->text - list->used;
  int length = snprintf(list->text + list->used, room, "%s%s", list->used == 0 ? "" : ", ", name);
  if (length >= 0 && (size_t)length < room - sizeof ", ..") {
    list->used += (size_t)length;
    return 0;
  }
  snprintf(list->text + list->used, room, "%s", list->used == 0 ? ".." : ", ..");
  return 1;
}

static bool refuse_set(const hdf5_state *state, const char *name) {
  listing list = {.used = 0, .access = state->access};
  cpb_h5()->H5Lvisit(state->file, H5_INDEX_NAME, H5_ITER_INC, list_set, &list);
  return cpb_refuse(state->of, CPB_WHY_HDF5_NO_SET, "has no data set \"%.80s\"; it has %s", name,
                    list.text[0] != 0 ? list.text : "none");
}

/* False for the first failure of the file below HDF5, about which HDF5 reports less or nothing. */
static bool check_bytes(const hdf5_state *state, cpb_error *error) {
  return !state->bytes.failed || cpb_fail_again(error, &state->bytes.error) == CPB_OK;
}

static bool refuse_outside(const hdf5_state *state, const char *name, const char *what) {
  return cpb_refuse(state->of, CPB_WHY_HDF5_OUTSIDE,
                    "data set \"%.80s\" %s: other files are read only on request (--follow-external)", name,
                    what);
}

/* Checks where the numbers of a set are stored, before any other query about them, which would open those files. */
static bool check_inside(const hdf5_state *state, const char *name) {
  hid_t creation = cpb_h5()->H5Dget_create_plist(state->set);
  bool is_virtual = creation >= 0 && cpb_h5()->H5Pget_layout(creation) == H5D_VIRTUAL;
  int pieces = creation < 0 || is_virtual ? 0 : cpb_h5()->H5Pget_external_count(creation);
  release(creation);
  if (creation < 0 || pieces < 0)
    return cpb_refuse(state->of, CPB_WHY_HDF5_OPEN, "HDF5 cannot tell how \"%.80s\" is stored", name);
  if (is_virtual) return refuse_outside(state, name, "consists of sets of other files");
  return pieces == 0 || refuse_outside(state, name, "has its numbers in other files");
}

static bool open_named(hdf5_state *state, const char *name, bool anywhere) {
  state->set = cpb_h5()->H5Dopen2(state->file, name, anywhere ? H5P_DEFAULT : state->access);
  if (!check_bytes(state, state->of->error)) return false;
  if (state->left) return refuse_outside(state, name, "is a link to another file");
  if (state->set < 0) return refuse_set(state, name);
  return anywhere || check_inside(state, name);
}

/* HDF5 opens the file itself only if it may open other files too, which it finds relative to it. */
static bool open_file(cpb_reader *reader, hdf5_state *state) {
  bool is_signed;
  if (!find_signature(&reader->source, &is_signed, state->of->error)) return false;
  if (!is_signed) return cpb_refuse(state->of, CPB_WHY_FOREIGN, "is not an HDF5 file");
  state->bytes.source = &reader->source;
  state->bytes.size = reader->source.size;
  state->file = reader->o.follow_external ? cpb_h5()->H5Fopen(reader->file, H5F_ACC_RDONLY, H5P_DEFAULT)
                                          : driver_open_file(&state->bytes, READ);
  return state->file >= 0 || (check_bytes(state, state->of->error) &&
                              cpb_refuse(state->of, CPB_WHY_HDF5_OPEN, "HDF5 cannot open it"));
}

static bool read_type(cpb_reader *reader, hdf5_state *state, const char *name) {
  hid_t stored = cpb_h5()->H5Dget_type(state->set);
  bool known = stored >= 0 && find_dtype(stored, &reader->dtype);
  release(stored);
  if (known) return set_type(state, reader->dtype);
  return cpb_refuse(state->of, CPB_WHY_FILE_ELEMENTS,
                    "data set \"%.80s\" does not hold integers up to i64 or floats up to f64", name);
}

static bool hdf5_open(cpb_reader *reader) {
  const char *name = or_default(reader->set);
  hdf5_state *state = reader->state = state_new(reader->of);
  if (state == NULL) return false;
  silenced_errors quiet = silence_errors();
  bool done = open_file(reader, state) && open_named(state, name, reader->o.follow_external) &&
              read_type(reader, state, name) && read_shape(reader, state, name);
  end_silence(quiet);
  return done;
}

static void hdf5_close(cpb_reader *reader) { state_free(reader->state); }

static bool move_rows(const hdf5_state *state, uint64_t first, size_t count, size_t cols, void *rows,
                      bool writes) {
  hsize_t start[RANK_MAX] = {first, 0}, length[RANK_MAX] = {count, cols};
  hid_t in_memory = cpb_h5()->H5Screate_simple(state->rank, length, NULL);
  hid_t in_file = cpb_h5()->H5Dget_space(state->set);
  bool done = in_memory >= 0 && in_file >= 0 &&
              cpb_h5()->H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start, NULL, length, NULL) >= 0;
  if (done && writes)
    done = cpb_h5()->H5Dwrite(state->set, state->type, in_memory, in_file, H5P_DEFAULT, rows) >= 0;
  else if (done)
    done = cpb_h5()->H5Dread(state->set, state->type, in_memory, in_file, H5P_DEFAULT, rows) >= 0;
  release(in_file);
  release(in_memory);
  return done;
}

static bool hdf5_next(cpb_reader *reader, size_t max_rows, cpb_view *block) {
  size_t count = cpb_block_count(reader, max_rows), row_bytes = reader->cols * cpb_dtype_size(reader->dtype);
  if (!cpb_buffer_reserve(&reader->buffer, count * row_bytes, 0, reader->of->error)) return false;
  *block = cpb_rows(reader->buffer.bytes, reader->dtype, count, reader->cols);
  if (count == 0) return true;
  silenced_errors quiet = silence_errors();
  bool done = move_rows(reader->state, reader->next_row, count, reader->cols, reader->buffer.bytes, false);
  end_silence(quiet);
  if (done || !check_bytes(reader->state, reader->of->error)) return done;
  return cpb_refuse_row(reader->of, reader->next_row, CPB_WHY_HDF5_OPEN,
                        "HDF5 cannot read %zu rows from row %" PRIu64 " on", count, reader->next_row);
}

/* ---- writing ---- */

/* An existing file keeps its other data sets: its bytes are the beginning of the new file. */
static bool take_kept(cpb_writer *writer, hdf5_state *state) {
  cpb_input kept = {.of = writer->of, .fd = writer->whole.kept, .size = writer->whole.seen.size};
  unsigned char bytes[COPY_BYTES];
  bool is_signed;
  if (!find_signature(&kept, &is_signed, writer->of.error)) return false;
  if (!is_signed)
    return cpb_refuse(&writer->of, CPB_WHY_FOREIGN,
                      "exists and is not an HDF5 file: a data set cannot be added");
  state->bytes.size = kept.size;
  for (uint64_t offset = 0; offset < kept.size; offset += sizeof bytes) {
    size_t count = kept.size - offset < sizeof bytes ? (size_t)(kept.size - offset) : sizeof bytes;
    if (!cpb_input_read_at(&kept, offset, bytes, count, writer->of.error) ||
        cpb_whole_write(&writer->whole, bytes, count, writer->of.error) != CPB_OK)
      return false;
  }
  return true;
}

/* Removes a set of numbers or a dangling link that has the name of the new set, but not a group with its contents. */
static bool make_way(const cpb_writer *writer, const hdf5_state *state) {
  if (cpb_h5()->H5Lexists(state->file, writer->set, state->access) <= 0) return true;
  hid_t object = cpb_h5()->H5Oopen(state->file, writer->set, state->access);
  H5I_type_t kind = object < 0 ? H5I_DATASET : cpb_h5()->H5Iget_type(object);
  release(object);
  if (kind != H5I_DATASET)
    return cpb_refuse(&writer->of, CPB_WHY_HDF5_NO_SET,
                      "\"%.80s\" is a %s, not a data set: it was not replaced", writer->set,
                      kind == H5I_GROUP ? "group" : "named type");
  return cpb_h5()->H5Ldelete(state->file, writer->set, state->access) >= 0 ||
         cpb_refuse(&writer->of, CPB_WHY_HDF5_WRITE, "HDF5 cannot replace data set \"%.80s\"", writer->set);
}

static bool open_for_writing(cpb_writer *writer, hdf5_state *state) {
  if (writer->set != NULL && cpb_whole_keep(&writer->whole, writer->of.error) != CPB_OK) return false;
  bool keep = writer->whole.kept >= 0;
  state->bytes.whole = &writer->whole;
  if (keep && !take_kept(writer, state)) return false;
  state->file = driver_open_file(&state->bytes, keep ? ADD : CREATE);
  return check_bytes(state, writer->of.error) &&
         (state->file >= 0 ||
          cpb_refuse(&writer->of, CPB_WHY_HDF5_OPEN, "HDF5 cannot %s it", keep ? "open" : "create"));
}

/* In extensible chunks if the number of rows is unknown; without time stamps: the same numbers give the same bytes. */
static hid_t make_set(const cpb_writer *writer, const hdf5_state *state) {
  bool known = writer->o.rows != CPB_ROWS_UNKNOWN;
  hsize_t length[RANK_MAX] = {known ? writer->o.rows : 0, writer->o.cols};
  hsize_t most[RANK_MAX] = {known ? writer->o.rows : H5S_UNLIMITED, writer->o.cols};
  hid_t space = cpb_h5()->H5Screate_simple(RANK_MAX, length, most), set = -1;
  hid_t creation = cpb_h5()->H5Pcreate(H5P_DATASET_CREATE), links = cpb_h5()->H5Pcreate(H5P_LINK_CREATE);
  size_t row_bytes = writer->o.cols * cpb_dtype_size(writer->o.dtype);
  hsize_t chunk[RANK_MAX] = {row_bytes < CPB_PIECE_BYTES ? CPB_PIECE_BYTES / row_bytes : 1, writer->o.cols};
  if (space >= 0 && creation >= 0 && cpb_h5()->H5Pset_obj_track_times(creation, false) >= 0 &&
      (known || cpb_h5()->H5Pset_chunk(creation, RANK_MAX, chunk) >= 0) && links >= 0 &&
      cpb_h5()->H5Pset_create_intermediate_group(links, 1) >= 0)
    set = cpb_h5()->H5Dcreate2(state->file, or_default(writer->set), state->type, space, links, creation,
                               state->access);
  release(links);
  release(creation);
  release(space);
  return set;
}

static bool replace_set(const cpb_writer *writer, hdf5_state *state) {
  if (writer->whole.kept >= 0 && !make_way(writer, state)) return false;
  state->set = make_set(writer, state);
  return check_bytes(state, writer->of.error) &&
         (state->set >= 0 ||
          cpb_refuse(&writer->of, CPB_WHY_HDF5_WRITE, "HDF5 cannot create data set \"%.80s\"%s",
                     or_default(writer->set), state->left ? ": its name leads to another file" : ""));
}

static bool hdf5_begin(cpb_writer *writer) {
  if (writer->o.cols > CPB_COLS_MAX)
    return cpb_refuse(&writer->of, CPB_WHY_FILE_LIMIT, "data sets have at most %d columns, got %zu",
                      CPB_COLS_MAX, writer->o.cols);
  hdf5_state *state = writer->state = state_new(&writer->of);
  if (state == NULL) return false;
  state->rank = RANK_MAX;
  silenced_errors quiet = silence_errors();
  bool done =
      open_for_writing(writer, state) && set_type(state, writer->o.dtype) && replace_set(writer, state);
  end_silence(quiet);
  return done;
}

static bool hdf5_append(cpb_writer *writer, cpb_view rows) {
  hdf5_state *state = writer->state;
  hsize_t first = state->rows, length[RANK_MAX] = {state->rows += rows.rows, writer->o.cols};
  silenced_errors quiet = silence_errors();
  bool done = (writer->o.rows != CPB_ROWS_UNKNOWN || cpb_h5()->H5Dset_extent(state->set, length) >= 0) &&
              move_rows(state, first, rows.rows, writer->o.cols, (void *)(uintptr_t)rows.data, true);
  end_silence(quiet);
  if (done) return check_bytes(state, writer->of.error);
  return cpb_refuse(&writer->of, CPB_WHY_HDF5_WRITE, "HDF5 cannot write rows from %" PRIu64 " on",
                    writer->appended);
}

/* ---- the seal, an attribute of the set ---- */

static bool put_seal(hid_t set, const char *text) {
  hid_t type = cpb_h5()->H5Tcopy(H5T_C_S1), space = cpb_h5()->H5Screate(H5S_SCALAR), attribute = -1;
  if (type >= 0 && space >= 0 && cpb_h5()->H5Tset_size(type, strlen(text)) >= 0 &&
      cpb_h5()->H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
      (cpb_h5()->H5Aexists(set, CPB_SEAL_ATTRIBUTE) <= 0 ||
       cpb_h5()->H5Adelete(set, CPB_SEAL_ATTRIBUTE) >= 0))
    attribute = cpb_h5()->H5Acreate2(set, CPB_SEAL_ATTRIBUTE, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool done = attribute >= 0 && cpb_h5()->H5Awrite(attribute, type, text) >= 0;
  if (attribute >= 0) done = cpb_h5()->H5Aclose(attribute) >= 0 && done;
  release(space);
  release(type);
  return done;
}

/* The attribute if it is a text of at most this length; others of that name are ignored. */
static bool hdf5_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, cpb_error *error) {
  enum { SEAL_MOST = 1 << 12 };
  const hdf5_state *state = reader->state;
  silenced_errors quiet = silence_errors();
  bool there = cpb_h5()->H5Aexists(state->set, CPB_SEAL_ATTRIBUTE) > 0;
  hid_t attribute = there ? cpb_h5()->H5Aopen(state->set, CPB_SEAL_ATTRIBUTE, H5P_DEFAULT) : -1;
  hid_t type = attribute < 0 ? -1 : cpb_h5()->H5Aget_type(attribute);
  hid_t space = attribute < 0 ? -1 : cpb_h5()->H5Aget_space(attribute);
  size_t size = type < 0 ? 0 : cpb_h5()->H5Tget_size(type);
  bool plain = size > 0 && size <= SEAL_MOST && space >= 0 &&
               cpb_h5()->H5Sget_simple_extent_npoints(space) == 1 &&
               cpb_h5()->H5Tget_class(type) == H5T_STRING && cpb_h5()->H5Tis_variable_str(type) == 0;
  bool room = !plain || cpb_buffer_reserve(text, size, 0, error);
  if (plain && room && cpb_h5()->H5Aread(attribute, type, text->bytes) >= 0) *length = size;
  release(space);
  release(type);
  release(attribute);
  end_silence(quiet);
  return room && check_bytes(state, error);
}

static bool refuse_seal(const cpb_writer *writer) {
  return cpb_refuse(&writer->of, CPB_WHY_HDF5_WRITE, "HDF5 cannot write the seal of data set \"%.80s\"",
                    or_default(writer->set));
}

/* Writes a copy of the file with the seal, which then replaces the file atomically. */
static bool hdf5_store_seal(const char *file, const char *set, const char *text, cpb_error *error) {
  cpb_writer writer = {.set = set, .of = {file, error}};
  bool opened = cpb_whole_open(file, &writer.whole, error) == CPB_OK;
  hdf5_state *state = opened ? state_new(&writer.of) : NULL;
  bool done = state != NULL;
  if (done && !writer.whole.stream) {
    silenced_errors quiet = silence_errors();
    done = open_for_writing(&writer, state);
    if (done) state->set = cpb_h5()->H5Dopen2(state->file, set, state->access);
    bool put = done && state->set >= 0 && put_seal(state->set, text);
    put = state_close(state) && put;
    done = done && check_bytes(state, error) && (put || refuse_seal(&writer));
    end_silence(quiet);
  }
  state_free(state);
  done = done && cpb_whole_commit(&writer.whole, error) == CPB_OK;
  cpb_whole_close(&writer.whole);
  return done;
}

static bool hdf5_finish(cpb_writer *writer) {
  hdf5_state *state = writer->state;
  silenced_errors quiet = silence_errors();
  bool sealed = writer->seal_text == NULL || put_seal(state->set, writer->seal_text);
  bool closed = state_close(state);
  end_silence(quiet);
  if (!sealed && !state->bytes.failed) return refuse_seal(writer);
  if (!closed) return cpb_refuse(&writer->of, CPB_WHY_HDF5_WRITE, "HDF5 cannot complete it");
  return check_bytes(state, writer->of.error);
}

static void hdf5_abandon(cpb_writer *writer) { state_free(writer->state); }

/* The address of the object that a name refers to; false if there is none. */
static bool find_object(hid_t file, const char *name, hid_t access, H5O_info_t *info) {
#if H5_VERSION_GE(1, 12, 0)
  return cpb_h5()->H5Oget_info_by_name(file, name, info, H5O_INFO_BASIC, access) >= 0;
#else
  return cpb_h5()->H5Oget_info_by_name(file, name, info, access) >= 0;
#endif
}

static bool is_same_object(hid_t file, const char *name, const char *other, hid_t access) {
  H5O_info_t one, two;
  if (!find_object(file, name, access, &one) || !find_object(file, other, access, &two)) return false;
#if H5_VERSION_GE(1, 12, 0)
  int order = 1;
  return cpb_h5()->H5Otoken_cmp(file, &one.token, &two.token, &order) >= 0 && order == 0;
#else
  return one.addr == two.addr;
#endif
}

static bool is_linked(const char *path, const char *name, const char *other) {
  cpb_input source = {.stream = true};
  hdf5_state *state = state_new(&(cpb_file_call){path, NULL});
  bool same = false;
  if (state != NULL && cpb_input_open(&source, path, NULL) && !source.stream) {
    silenced_errors quiet = silence_errors();
    state->bytes = (driver_bytes){.source = &source, .size = source.size};
    state->file = driver_open_file(&state->bytes, READ);
    same = state->file >= 0 && is_same_object(state->file, name, other, state->access);
    end_silence(quiet);
  }
  state_free(state);
  cpb_input_close(&source);
  return same;
}

#else

static bool hdf5_open(cpb_reader *reader) { return cpb_hdf5_load(reader->of); }

static bool hdf5_begin(cpb_writer *writer) { return cpb_hdf5_load(&writer->of); }

static bool is_linked(const char *path, const char *name, const char *other) {
  (void)path, (void)name, (void)other;
  return false;
}

#endif

/* The next part of a name between slashes, skipping empty parts and '.'; *length = 0 at the end. */
static const char *next_part(const char *p, size_t *length) {
  while (*p == '/' || (p[0] == '.' && (p[1] == '/' || p[1] == 0))) p++;
  *length = strcspn(p, "/");
  return p;
}

static bool is_same_name(const char *a, const char *b) {
  size_t of_a, of_b;
  do {
    a = next_part(a, &of_a);
    b = next_part(b, &of_b);
    if (of_a != of_b || strncmp(a, b, of_a) != 0) return false;
    a += of_a;
    b += of_b;
  } while (of_a != 0);
  return true;
}

static bool hdf5_same_set(const char *file, const char *set, const char *other) {
  return is_same_name(set, other) || is_linked(file, set, other);
}

const cpb_format cpb_format_hdf5 = {
    .name = "hdf5",
    .extensions = ".hdf5 .h5",
    .dtypes = ~0u,
    .default_set = DEFAULT_SET,
    .same_set = hdf5_same_set,
    .open = hdf5_open,
    .begin = hdf5_begin,
#ifdef CPB_HAVE_HDF5
    .next = hdf5_next,
    .close = hdf5_close,
    .seal = hdf5_seal,
    .store_seal = hdf5_store_seal,
    .append = hdf5_append,
    .finish = hdf5_finish,
    .abandon = hdf5_abandon,
#endif
};
