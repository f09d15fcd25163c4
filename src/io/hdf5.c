/* .hdf5 .h5 in the layout of ann-benchmarks: data sets of one or two dimensions, "file.hdf5:train".
 * libhdf5 is not thread-safe and prints errors; the printing is suppressed here. */
#include "io/format.h"

#include "core/fail.h"
#include "io/file_fail.h"
#include "io/hdf5_driver.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SET "train"

static cpb_status need_library(const char *path, cpb_error *error) {
  char why[256];
  return cpb_hdf5_load(why, sizeof why) ? CPB_OK
                                        : cpb_file_fail(error, CPB_WHY_BUILT_WITHOUT, path, "%s", why);
}

static const char *or_default(const char *set) { return set == NULL ? DEFAULT_SET : set; }

#ifdef CPB_HAVE_HDF5

#include <stdio.h>

enum { RANK_MAX = 2, COPY_BYTES = 1 << 16 };

typedef struct hdf5_state {
  hid_t file, set, type; /* type: of the elements in memory; each < 0 if not open */
  hid_t access;          /* a list of properties that prevents following links to other files */
  bool left;             /* such a link was met */
  hsize_t rows;
  int rank;
  cpb_hdf5_bytes bytes; /* of the file */
} hdf5_state;

/* The automatic printing of errors, turned off and restored. */
typedef struct hush {
  H5E_auto2_t function;
  void *data;
} hush;

static hush hush_begin(void) {
  hush saved = {NULL, NULL};
  cpb_h5()->H5Eget_auto2(H5E_DEFAULT, &saved.function, &saved.data);
  cpb_h5()->H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return saved;
}

static void hush_end(hush saved) {
  cpb_h5()->H5Eclear2(H5E_DEFAULT);
  cpb_h5()->H5Eset_auto2(H5E_DEFAULT, saved.function, saved.data);
}

/* Closes a space, type, attribute, object or list of properties, if it is open. */
static void release(hid_t id) {
  if (id >= 0) cpb_h5()->H5Idec_ref(id);
}

/* External links inside a file can lead to other files. HDF5 calls this before following one; failure prevents it. */
static herr_t stay_inside(const char *parent_file, const char *parent_group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *left) {
  (void)parent_file, (void)parent_group, (void)file, (void)object, (void)flags, (void)access;
  *(bool *)left = true;
  return -1;
}

/* If the library failed to initialise, no other function of it may be called. */
static cpb_status state_new(const char *path, hdf5_state **state, cpb_error *error) {
  cpb_status status = need_library(path, error);
  if (status != CPB_OK) return status;
  hdf5_state *made = *state = H5open() < 0 ? NULL : malloc(sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *made);
  *made = (hdf5_state){.file = -1, .set = -1, .type = -1};
  hush quiet = hush_begin();
  made->access = cpb_h5()->H5Pcreate(H5P_DATASET_ACCESS);
  bool done = made->access >= 0 && cpb_h5()->H5Pset_elink_cb(made->access, stay_inside, &made->left) >= 0;
  hush_end(quiet);
  return done ? CPB_OK : cpb_fail_memory(error, "a list of HDF5 properties");
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
  hush quiet = hush_begin();
  state_close(state);
  release(state->access);
  hush_end(quiet);
  free(state);
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

/* A copy of the element type; the caller closes it. */
static hid_t make_type(cpb_dtype dtype) {
  switch (dtype) {
  case CPB_F32: return cpb_h5()->H5Tcopy(H5T_IEEE_F32LE);
  case CPB_F64: return cpb_h5()->H5Tcopy(H5T_IEEE_F64LE);
  case CPB_F16: return make_half();
  case CPB_U8: return cpb_h5()->H5Tcopy(H5T_STD_U8LE);
  case CPB_I8: return cpb_h5()->H5Tcopy(H5T_STD_I8LE);
  case CPB_I32: return cpb_h5()->H5Tcopy(H5T_STD_I32LE);
  case CPB_I64: return cpb_h5()->H5Tcopy(H5T_STD_I64LE);
  }
  return -1;
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

static cpb_status read_shape(cpb_reader *reader, hdf5_state *state, const char *name, cpb_error *error) {
  hsize_t lengths[RANK_MAX] = {0, 1};
  hid_t space = cpb_h5()->H5Dget_space(state->set);
  state->rank = space < 0 ? -1 : cpb_h5()->H5Sget_simple_extent_ndims(space);
  if (state->rank == 1 || state->rank == 2) cpb_h5()->H5Sget_simple_extent_dims(space, lengths, NULL);
  release(space);
  if (state->rank < 1 || state->rank > RANK_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_DIMENSIONS, reader->source.path,
                         "data set \"%s\" has %d dimensions, wanted 2 (rows, columns) or 1 (one column)",
                         name, state->rank);
  if (lengths[1] < 1 || lengths[1] > CPB_COLS_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, reader->source.path,
                         "data set \"%s\" has d = %llu, wanted 1 .. %d", name, (unsigned long long)lengths[1],
                         CPB_COLS_MAX);
  reader->rows = lengths[0];
  reader->cols = (size_t)lengths[1];
  return CPB_OK;
}

/* A list of names for a message. */
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

static cpb_status refuse_set(const cpb_reader *reader, const hdf5_state *state, const char *name,
                             cpb_error *error) {
  listing list = {.used = 0, .access = state->access};
  cpb_h5()->H5Lvisit(state->file, H5_INDEX_NAME, H5_ITER_INC, list_set, &list);
  return cpb_file_fail(error, CPB_WHY_HDF5_NO_SET, reader->source.path,
                       "has no data set \"%.80s\"; it has %s", name, list.text[0] != 0 ? list.text : "none");
}

/* The first failure of the file below HDF5, about which HDF5 reports less or nothing. */
static cpb_status check_bytes(const hdf5_state *state, cpb_error *error) {
  return state->bytes.failed ? cpb_fail_again(error, &state->bytes.error) : CPB_OK;
}

static cpb_status refuse_outside(const cpb_reader *reader, const char *name, const char *what,
                                 cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_HDF5_OUTSIDE, reader->source.path,
                       "data set \"%.80s\" %s: other files are read only on request (--follow-external)",
                       name, what);
}

/* Checks where the numbers of a set are stored, before any other query about them, which would open those files. */
static cpb_status check_inside(const cpb_reader *reader, const hdf5_state *state, const char *name,
                               cpb_error *error) {
  hid_t creation = cpb_h5()->H5Dget_create_plist(state->set);
  bool is_virtual = creation >= 0 && cpb_h5()->H5Pget_layout(creation) == H5D_VIRTUAL;
  int pieces = creation < 0 || is_virtual ? 0 : cpb_h5()->H5Pget_external_count(creation);
  release(creation);
  if (creation < 0 || pieces < 0)
    return cpb_file_fail(error, CPB_WHY_HDF5_OPEN, reader->source.path,
                         "HDF5 cannot tell how \"%.80s\" is stored", name);
  if (is_virtual) return refuse_outside(reader, name, "consists of sets of other files", error);
  return pieces > 0 ? refuse_outside(reader, name, "has its numbers in other files", error) : CPB_OK;
}

static cpb_status open_named(cpb_reader *reader, hdf5_state *state, const char *name, cpb_error *error) {
  state->set = cpb_h5()->H5Dopen2(state->file, name, reader->o.follow_external ? H5P_DEFAULT : state->access);
  cpb_status status = check_bytes(state, error);
  if (status != CPB_OK) return status;
  if (state->left) return refuse_outside(reader, name, "is a link to another file", error);
  if (state->set < 0) return refuse_set(reader, state, name, error);
  return reader->o.follow_external ? CPB_OK : check_inside(reader, state, name, error);
}

/* HDF5 opens the file itself only if it may open other files too, which it finds relative to it. */
static cpb_status open_hdf5(cpb_reader *reader, hdf5_state *state, cpb_error *error) {
  bool is_signed;
  cpb_status status = cpb_hdf5_is_signed(&reader->source, &is_signed, error);
  if (status != CPB_OK) return status;
  if (!is_signed) return cpb_file_fail(error, CPB_WHY_FOREIGN, reader->source.path, "is not an HDF5 file");
  state->bytes.source = &reader->source;
  state->bytes.size = reader->source.size;
  state->file = reader->o.follow_external ? cpb_h5()->H5Fopen(reader->file, H5F_ACC_RDONLY, H5P_DEFAULT)
                                          : cpb_hdf5_driver_open(&state->bytes, CPB_HDF5_READ);
  if (state->file >= 0) return CPB_OK;
  status = check_bytes(state, error);
  return status != CPB_OK
             ? status
             : cpb_file_fail(error, CPB_WHY_HDF5_OPEN, reader->source.path, "HDF5 cannot open it");
}

static cpb_status read_type(cpb_reader *reader, hdf5_state *state, const char *name, cpb_error *error) {
  hid_t stored = cpb_h5()->H5Dget_type(state->set);
  bool known = stored >= 0 && find_dtype(stored, &reader->dtype);
  release(stored);
  if (!known)
    return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, reader->source.path,
                         "data set \"%.80s\" does not hold integers up to i64 or floats up to f64", name);
  state->type = make_type(reader->dtype);
  return state->type >= 0 ? CPB_OK : cpb_fail_memory(error, "%zu bytes", sizeof reader->dtype);
}

static cpb_status open_set(cpb_reader *reader, hdf5_state *state, cpb_error *error) {
  const char *name = or_default(reader->set);
  cpb_status status = open_hdf5(reader, state, error);
  if (status == CPB_OK) status = open_named(reader, state, name, error);
  if (status == CPB_OK) status = read_type(reader, state, name, error);
  return status == CPB_OK ? read_shape(reader, state, name, error) : status;
}

static cpb_status hdf5_open(cpb_reader *reader, cpb_error *error) {
  hdf5_state *state = NULL;
  cpb_status status = state_new(reader->source.path, &state, error);
  reader->state = state;
  if (status != CPB_OK) return status;
  hush quiet = hush_begin();
  status = open_set(reader, state, error);
  hush_end(quiet);
  return status;
}

static void hdf5_close(cpb_reader *reader) { state_free(reader->state); }

/* Reads the rows [first, first+count) of the data set, or writes them. */
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

static cpb_status hdf5_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  size_t count = cpb_block_count(reader, max_rows), row_bytes = reader->cols * cpb_dtype_size(reader->dtype);
  cpb_status status = cpb_buffer_reserve(&reader->buffer, count * row_bytes, 0, error);
  if (status != CPB_OK) return status;
  *block = cpb_rows(reader->buffer.bytes, reader->dtype, count, reader->cols);
  if (count == 0) return CPB_OK;
  hush quiet = hush_begin();
  bool done = move_rows(reader->state, reader->next_row, count, reader->cols, reader->buffer.bytes, false);
  if (!done) status = check_bytes(reader->state, error);
  if (!done && status == CPB_OK)
    status = cpb_file_fail_row(error, CPB_WHY_HDF5_OPEN, reader->source.path, reader->next_row,
                               "HDF5 cannot read %zu rows from row %llu on", count,
                               (unsigned long long)reader->next_row);
  hush_end(quiet);
  return status;
}

/* An existing file keeps its other data sets: its bytes are the beginning of the new file. */
static cpb_status copy_kept(cpb_writer *writer, const cpb_input *from, cpb_error *error) {
  unsigned char bytes[COPY_BYTES];
  for (uint64_t offset = 0; offset < from->size; offset += sizeof bytes) {
    size_t count = from->size - offset < sizeof bytes ? (size_t)(from->size - offset) : sizeof bytes;
    cpb_status status = cpb_input_read_at(from, offset, bytes, count, error);
    if (status == CPB_OK) status = cpb_whole_write(&writer->whole, bytes, count, error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

static cpb_status take_kept(cpb_writer *writer, hdf5_state *state, cpb_error *error) {
  cpb_input kept = {
      .path = writer->whole.path, .fd = writer->whole.kept, .size = (uint64_t)writer->whole.seen.st_size};
  bool is_signed;
  cpb_status status = cpb_hdf5_is_signed(&kept, &is_signed, error);
  if (status != CPB_OK) return status;
  if (!is_signed)
    return cpb_file_fail(error, CPB_WHY_FOREIGN, writer->whole.path,
                         "exists and is not an HDF5 file: a data set cannot be added");
  state->bytes.size = kept.size;
  return copy_kept(writer, &kept, error);
}

/* Removes what has the name of the new set: a set of numbers or a dangling link may be replaced, a group with its
 * contents may not. */
static cpb_status make_way(const cpb_writer *writer, const hdf5_state *state, cpb_error *error) {
  if (cpb_h5()->H5Lexists(state->file, writer->set, state->access) <= 0) return CPB_OK;
  hid_t object = cpb_h5()->H5Oopen(state->file, writer->set, state->access);
  H5I_type_t kind = object < 0 ? H5I_DATASET : cpb_h5()->H5Iget_type(object);
  release(object);
  if (kind != H5I_DATASET)
    return cpb_file_fail(error, CPB_WHY_HDF5_NO_SET, writer->whole.path,
                         "\"%.80s\" is a %s, not a data set: it was not replaced", writer->set,
                         kind == H5I_GROUP ? "group" : "named type");
  if (cpb_h5()->H5Ldelete(state->file, writer->set, state->access) >= 0) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_HDF5_WRITE, writer->whole.path,
                       "HDF5 cannot replace data set \"%.80s\"", writer->set);
}

static cpb_status open_for_writing(cpb_writer *writer, hdf5_state *state, cpb_error *error) {
  cpb_status status = writer->set == NULL ? CPB_OK : cpb_whole_keep(&writer->whole, error);
  bool keep = writer->whole.kept >= 0;
  state->bytes.whole = &writer->whole;
  if (status == CPB_OK && keep) status = take_kept(writer, state, error);
  if (status != CPB_OK) return status;
  state->file = cpb_hdf5_driver_open(&state->bytes, keep ? CPB_HDF5_ADD : CPB_HDF5_CREATE);
  status = check_bytes(state, error);
  if (status != CPB_OK || state->file >= 0) return status;
  return cpb_file_fail(error, CPB_WHY_HDF5_OPEN, writer->whole.path, "HDF5 cannot %s it",
                       keep ? "open" : "create");
}

/* Contiguous if the number of rows is known, extensible chunks if not; without time stamps, so that the same numbers
 * give the same bytes. */
static bool set_creation(const cpb_writer *writer, hid_t creation) {
  size_t row_bytes = writer->cols * cpb_dtype_size(writer->dtype);
  hsize_t chunk[RANK_MAX] = {row_bytes < CPB_PIECE_BYTES ? CPB_PIECE_BYTES / row_bytes : 1, writer->cols};
  return creation >= 0 && cpb_h5()->H5Pset_obj_track_times(creation, false) >= 0 &&
         (writer->rows != CPB_ROWS_UNKNOWN || cpb_h5()->H5Pset_chunk(creation, RANK_MAX, chunk) >= 0);
}

static hid_t make_set(const cpb_writer *writer, const hdf5_state *state) {
  bool known = writer->rows != CPB_ROWS_UNKNOWN;
  hsize_t length[RANK_MAX] = {known ? writer->rows : 0, writer->cols};
  hsize_t most[RANK_MAX] = {known ? writer->rows : H5S_UNLIMITED, writer->cols};
  hid_t space = cpb_h5()->H5Screate_simple(RANK_MAX, length, most), set = -1;
  hid_t creation = cpb_h5()->H5Pcreate(H5P_DATASET_CREATE), links = cpb_h5()->H5Pcreate(H5P_LINK_CREATE);
  if (space >= 0 && set_creation(writer, creation) && links >= 0 &&
      cpb_h5()->H5Pset_create_intermediate_group(links, 1) >= 0)
    set = cpb_h5()->H5Dcreate2(state->file, or_default(writer->set), state->type, space, links, creation,
                               state->access);
  release(links);
  release(creation);
  release(space);
  return set;
}

static cpb_status replace_set(cpb_writer *writer, hdf5_state *state, cpb_error *error) {
  cpb_status status = writer->whole.kept >= 0 ? make_way(writer, state, error) : CPB_OK;
  if (status == CPB_OK) state->set = make_set(writer, state);
  if (status == CPB_OK) status = check_bytes(state, error);
  if (status != CPB_OK || state->set >= 0) return status;
  return cpb_file_fail(error, CPB_WHY_HDF5_WRITE, writer->whole.path,
                       "HDF5 cannot create data set \"%.80s\"%s", or_default(writer->set),
                       state->left ? ": its name leads to another file" : "");
}

static cpb_status begin_quietly(cpb_writer *writer, hdf5_state *state, cpb_error *error) {
  cpb_status status = open_for_writing(writer, state, error);
  if (status != CPB_OK) return status;
  state->type = make_type(writer->dtype);
  state->rank = RANK_MAX;
  return state->type >= 0 ? replace_set(writer, state, error)
                          : cpb_fail_memory(error, "%zu bytes", sizeof state->type);
}

static cpb_status hdf5_begin(cpb_writer *writer, cpb_error *error) {
  if (writer->cols > CPB_COLS_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                         "data sets have at most %d columns, got %zu", CPB_COLS_MAX, writer->cols);
  hdf5_state *state = NULL;
  cpb_status status = state_new(writer->whole.path, &state, error);
  writer->state = state;
  if (status != CPB_OK) return status;
  hush quiet = hush_begin();
  status = begin_quietly(writer, state, error);
  hush_end(quiet);
  return status;
}

static bool append_rows(const cpb_writer *writer, hdf5_state *state, cpb_view rows) {
  hsize_t first = state->rows, length[RANK_MAX] = {state->rows += rows.rows, writer->cols};
  return (writer->rows != CPB_ROWS_UNKNOWN || cpb_h5()->H5Dset_extent(state->set, length) >= 0) &&
         move_rows(state, first, rows.rows, writer->cols, (void *)(uintptr_t)rows.data, true);
}

static cpb_status hdf5_append(cpb_writer *writer, cpb_view rows, cpb_error *error) {
  hush quiet = hush_begin();
  bool done = append_rows(writer, writer->state, rows);
  hush_end(quiet);
  if (done) return check_bytes(writer->state, error);
  return cpb_file_fail(error, CPB_WHY_HDF5_WRITE, writer->whole.path, "HDF5 cannot write rows from %llu on",
                       (unsigned long long)writer->appended);
}

/* ---- the seal, an attribute of the set ---- */

static bool put_attribute(hid_t set, hid_t type, const char *text) {
  hid_t space = cpb_h5()->H5Screate(H5S_SCALAR);
  hid_t attribute =
      space < 0 ? -1 : cpb_h5()->H5Acreate2(set, CPB_SEAL_ATTRIBUTE, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool done = attribute >= 0 && cpb_h5()->H5Awrite(attribute, type, text) >= 0;
  if (attribute >= 0) done = cpb_h5()->H5Aclose(attribute) >= 0 && done;
  release(space);
  return done;
}

/* Replaces an existing seal. */
static bool put_seal(hid_t set, const char *text) {
  hid_t type = cpb_h5()->H5Tcopy(H5T_C_S1);
  bool done = type >= 0 && cpb_h5()->H5Tset_size(type, strlen(text)) >= 0 &&
              cpb_h5()->H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
  if (done && cpb_h5()->H5Aexists(set, CPB_SEAL_ATTRIBUTE) > 0)
    done = cpb_h5()->H5Adelete(set, CPB_SEAL_ATTRIBUTE) >= 0;
  done = done && put_attribute(set, type, text);
  release(type);
  return done;
}

/* Its value if it is a text of at most this length; other attributes of that name are ignored. */
static cpb_status read_attribute(hid_t attribute, hid_t type, cpb_buffer *text, size_t *length,
                                 cpb_error *error) {
  enum { SEAL_MOST = 1 << 12 };
  size_t size = cpb_h5()->H5Tget_size(type);
  hid_t space = cpb_h5()->H5Aget_space(attribute);
  bool plain = space >= 0 && cpb_h5()->H5Sget_simple_extent_npoints(space) == 1 &&
               cpb_h5()->H5Tget_class(type) == H5T_STRING && cpb_h5()->H5Tis_variable_str(type) == 0 &&
               size > 0 && size <= SEAL_MOST;
  release(space);
  cpb_status status = plain ? cpb_buffer_reserve(text, size, 0, error) : CPB_OK;
  if (plain && status == CPB_OK && cpb_h5()->H5Aread(attribute, type, text->bytes) >= 0) *length = size;
  return status;
}

static cpb_status read_seal(hid_t set, cpb_buffer *text, size_t *length, cpb_error *error) {
  if (cpb_h5()->H5Aexists(set, CPB_SEAL_ATTRIBUTE) <= 0) return CPB_OK;
  hid_t attribute = cpb_h5()->H5Aopen(set, CPB_SEAL_ATTRIBUTE, H5P_DEFAULT);
  hid_t type = attribute < 0 ? -1 : cpb_h5()->H5Aget_type(attribute);
  cpb_status status = type < 0 ? CPB_OK : read_attribute(attribute, type, text, length, error);
  release(type);
  release(attribute);
  return status;
}

static cpb_status hdf5_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, cpb_error *error) {
  const hdf5_state *state = reader->state;
  hush quiet = hush_begin();
  cpb_status status = read_seal(state->set, text, length, error);
  hush_end(quiet);
  return status == CPB_OK ? check_bytes(state, error) : status;
}

static cpb_status refuse_seal(const cpb_writer *writer, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_HDF5_WRITE, writer->whole.path,
                       "HDF5 cannot write the seal of data set \"%.80s\"", or_default(writer->set));
}

static cpb_status add_seal(cpb_writer *writer, hdf5_state *state, const char *text, cpb_error *error) {
  cpb_status status = open_for_writing(writer, state, error);
  if (status != CPB_OK) return status;
  state->set = cpb_h5()->H5Dopen2(state->file, writer->set, state->access);
  bool done = state->set >= 0 && put_seal(state->set, text);
  done = state_close(state) && done;
  status = check_bytes(state, error);
  return status != CPB_OK || done ? status : refuse_seal(writer, error);
}

/* Writes a copy of the file with the seal, which then replaces the file atomically. */
static cpb_status hdf5_store_seal(const char *file, const char *set, const char *text, cpb_error *error) {
  cpb_writer writer = {.set = set};
  hdf5_state *state = NULL;
  cpb_status status = cpb_whole_open(file, &writer.whole, error);
  if (status == CPB_OK) status = state_new(file, &state, error);
  if (status == CPB_OK && !writer.whole.stream) {
    hush quiet = hush_begin();
    status = add_seal(&writer, state, text, error);
    hush_end(quiet);
  }
  state_free(state);
  if (status == CPB_OK) status = cpb_whole_commit(&writer.whole, error);
  cpb_whole_close(&writer.whole);
  return status;
}

static cpb_status hdf5_finish(cpb_writer *writer, cpb_error *error) {
  hdf5_state *state = writer->state;
  hush quiet = hush_begin();
  bool sealed = writer->seal_text == NULL || put_seal(state->set, writer->seal_text);
  bool closed = state_close(state);
  hush_end(quiet);
  if (!sealed && !state->bytes.failed) return refuse_seal(writer, error);
  if (!closed) return cpb_file_fail(error, CPB_WHY_HDF5_WRITE, writer->whole.path, "HDF5 cannot complete it");
  return check_bytes(writer->state, error);
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
  cpb_input source;
  hdf5_state *state = NULL;
  if (cpb_input_open(path, &source, NULL) != CPB_OK) return false;
  bool same = false, opens = !source.stream && state_new(path, &state, NULL) == CPB_OK;
  if (opens) {
    hush quiet = hush_begin();
    state->bytes = (cpb_hdf5_bytes){.source = &source, .size = source.size};
    state->file = cpb_hdf5_driver_open(&state->bytes, CPB_HDF5_READ);
    same = state->file >= 0 && is_same_object(state->file, name, other, state->access);
    hush_end(quiet);
  }
  state_free(state);
  cpb_input_close(&source);
  return same;
}

#else

static cpb_status hdf5_open(cpb_reader *reader, cpb_error *error) {
  return need_library(reader->source.path, error);
}

static cpb_status hdf5_begin(cpb_writer *writer, cpb_error *error) {
  return need_library(writer->whole.path, error);
}

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
