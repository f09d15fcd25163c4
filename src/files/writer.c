#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/system_file.h"
#include "files/formats.h"

/* ---- seals ---- */

/* TARGET.capball, or TARGET:SET.capball with % for each / of the set, which was used before 0.3 for a set of an HDF5
 * file. The caller frees it; NULL: out of memory. */
static char *name_seal(const char *target, const char *set, cpb_error *error) {
  const char *colon = set == NULL ? "" : ":";
  set = set == NULL ? "" : set + strspn(set, "/");
  size_t room = strlen(target) + strlen(set) + sizeof ":.capball";
  char *name = malloc(room);
  if (name == NULL) {
    cpb_fail_memory(error, "a name");
    return NULL;
  }
  snprintf(name, room, "%s%s%s.capball", target, colon, set);
  for (char *at = name + strlen(target); (at = strchr(at, '/')) != NULL;) *at = '%';
  return name;
}

/* The seal of the file after following all links; *name is NULL if the file cannot have a seal. */
static cpb_status find_beside(const char *file, char **name, cpb_error *error) {
  errno = 0;
  *name = NULL;
  char *real = cpb_is_regular(file) ? cpb_sys_resolve(file) : NULL;
  if (real == NULL) return errno == ENOMEM ? cpb_fail_memory(error, "a name") : CPB_OK;
  *name = name_seal(real, NULL, error);
  free(real);
  return *name == NULL ? CPB_ENOMEM : CPB_OK;
}

cpb_status cpb_reader_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, char **name,
                           cpb_error *error) {
  *length = 0;
  *name = NULL;
  cpb_error unused;
  if (error == NULL) error = &unused;
  if (cpb_input_passes_once(&reader->source)) return CPB_OK;
  if (reader->format->seal == NULL) {
    const char *called;
    cpb_status status = find_beside(reader->file, name, error);
    bool there = status == CPB_OK && *name != NULL && cpb_is_regular(*name);
    return there ? cpb_read_whole(*name, text, length, &called, error) : status;
  }
  *name = strdup(reader->path);
  if (*name == NULL) return cpb_fail_memory(error, "a name");
  return reader->format->seal(reader, text, length, error) ? CPB_OK : error->status;
}

static cpb_status store_beside(const char *file, const char *text, cpb_error *error) {
  char *name;
  cpb_status status = find_beside(file, &name, error);
  if (status != CPB_OK || name == NULL) return status;
  int lock = cpb_whole_lock(name);
  status = cpb_write_whole(name, text, strlen(text), error);
  cpb_sys_unlock_names(lock);
  free(name);
  return status;
}

cpb_status cpb_seal_store(const char *path, const char *text, cpb_error *error) {
  const cpb_format *format;
  char *file = NULL;
  const char *set;
  cpb_error unused;
  if (error == NULL) error = &unused;
  cpb_status status = cpb_format_find(path, NULL, &format, &file, &set, error);
  if (status == CPB_OK && format->store_seal == NULL) status = store_beside(file, text, error);
  if (status == CPB_OK && format->store_seal != NULL &&
      !format->store_seal(file, set == NULL ? format->default_set : set, text, error))
    status = error->status;
  free(file);
  return status;
}

CPB_DEFAULTS(cpb_writer_options, .size = sizeof(cpb_writer_options), .dtype = CPB_F32,
             .rows = CPB_ROWS_UNKNOWN)

static bool check_dtype(const cpb_writer *writer) {
  if (cpb_dtype_size(writer->o.dtype) == 0)
    return cpb_fail_unknown_dtype(writer->of.error, "file", writer->o.dtype) == CPB_OK;
  return (writer->format->dtypes & 1u << writer->o.dtype) != 0 ||
         cpb_refuse(&writer->of, CPB_WHY_FILE_DTYPE, "%s files cannot hold %s", writer->format->name,
                    cpb_dtype_name(writer->o.dtype));
}

static bool check_stream(const cpb_writer *writer) {
  if (!writer->format->streams_out)
    return cpb_refuse(&writer->of, CPB_WHY_PIPE_FORMAT, "%s cannot be written to a pipe",
                      writer->format->name);
  return writer->format->header == NULL || writer->o.rows != CPB_ROWS_UNKNOWN ||
         cpb_refuse(&writer->of, CPB_WHY_PIPE_COUNT,
                    "the header of %s counts the rows: in a pipe their number must be known first",
                    writer->format->name);
}

/* The seal of a pipe could not be found again. */
static bool begin_seal(cpb_writer *writer) {
  if (writer->whole.stream) writer->o.seal = NULL;
  if (writer->o.seal == NULL) return true;
  bool text = writer->format->print != NULL;
  cpb_dtype read = text ? CPB_F64 : writer->o.dtype;
  cpb_error *error = writer->of.error;
  return (!text || cpb_buffer_reserve(&writer->parsed, writer->o.cols * sizeof(double), 0, error)) &&
         writer->o.seal->begin(writer->o.seal, read, writer->o.dtype, writer->o.cols, error) == CPB_OK;
}

static bool open_file(cpb_writer *writer, const char *path, const char *format) {
  cpb_error *error = writer->of.error;
  if (cpb_format_find(path, format, &writer->format, &writer->file, &writer->set, error) != CPB_OK)
    return false;
  writer->of.path = writer->file;
  if (cpb_unpacked_length(writer->file) < strlen(writer->file))
    return cpb_refuse(&writer->of, CPB_WHY_PACKED_OUT,
                      "compressed files can only be read; write to a pipe and compress its output");
  cpb_whole_look(writer->file, &writer->whole);
  writer->of.path = writer->whole.path;
  return check_dtype(writer) && (!writer->whole.stream || check_stream(writer)) &&
         cpb_whole_open(writer->file, &writer->whole, error) == CPB_OK && begin_seal(writer) &&
         (writer->format->begin == NULL || writer->format->begin(writer));
}

/* Begins a call that may fail; its status is that of the error returned. */
static cpb_error *begin(cpb_writer *writer, cpb_error *error) {
  return writer->of.error = error != NULL ? error : &writer->unwanted;
}

static const cpb_reader *with_ids(const cpb_reader *reader) {
  return reader != NULL && cpb_reader_info(reader).ids ? reader : NULL;
}

cpb_status cpb_writer_open(const char *path, const cpb_writer_options *given, cpb_writer **writer,
                           cpb_error *error) {
  if (path == NULL || writer == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "writer");
  *writer = NULL;
  cpb_writer_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_writer_options", error);
  if (status != CPB_OK) return status;
  if (options->cols < 1 || options->cols > INT32_MAX)
    return cpb_fail_count(error, "cols", options->cols, "cols must be 1 .. %d", INT32_MAX);
  cpb_writer *opened = calloc(1, sizeof *opened);
  if (opened == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *opened);
  begin(opened, error);
  opened->o = *options;
  opened->o.rows_of = with_ids(options->rows_of);
  opened->o.cells_of = with_ids(options->cells_of);
  opened->whole.fd = opened->whole.kept = -1;
  if (open_file(opened, path, options->format)) {
    *writer = opened;
    return CPB_OK;
  }
  status = opened->of.error->status;
  cpb_writer_free(opened);
  return status;
}

static bool check_block(const cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  return cpb_check_layout(block, "block", writer->o.cols, error) == CPB_OK &&
         ((first <= writer->o.rows && block.rows <= writer->o.rows - first) ||
          cpb_refuse(&(cpb_file_call){writer->of.path, error}, CPB_WHY_ROWS_BEYOND,
                     "rows %" PRIu64 " .. +%zu reach beyond the %" PRIu64 " rows promised", first, block.rows,
                     writer->o.rows));
}

/* ---- elements ---- */

/* Elements are converted through doubles, in pieces that fit in the L1 cache. Only i64 -> f32 would be rounded twice
 * that way; it has a loop of its own. */
enum { PIECE = 256 };

/* Rounds to nearest even; the caller rejects a finite x of 65520 or more. */
static uint16_t half_from_double(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(x);
  if (isnan(x)) return sign | 0x7e00;
  if (isinf(x)) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | (uint16_t)rint(size * 0x1p24);
  int exponent;
  double mantissa = rint(ldexp(frexp(size, &exponent), 11)); /* 1024 .. 2048; the carry is correct */
  return sign | (uint16_t)(((exponent + 14) << 10) + (int)mantissa - 1024);
}

static size_t narrow_float(const double *from, size_t count, void *to, cpb_dtype dtype) {
  /* halfway from the largest number of the type to the next: from here on rounding overflows */
  double limit = dtype == CPB_F16 ? 65520 : dtype == CPB_F32 ? (double)FLT_MAX + 0x1p103 : INFINITY;
  size_t fit = 0;
  while (fit < count && !(fabs(from[fit]) >= limit && !isinf(from[fit]))) fit++;
  if (dtype == CPB_F16)
    for (size_t i = 0; i < fit; i++) ((uint16_t *)to)[i] = half_from_double(from[i]);
  else if (dtype == CPB_F32)
    for (size_t i = 0; i < fit; i++) ((float *)to)[i] = (float)from[i];
  else
    memcpy(to, from, fit * sizeof *from);
  return fit;
}

static size_t narrow_integer(const double *from, size_t count, void *to, cpb_dtype dtype) {
  double low = dtype == CPB_U8 ? 0 : dtype == CPB_I8 ? -0x1p7 : dtype == CPB_I32 ? -0x1p31 : -0x1p63;
  double end = dtype == CPB_U8 ? 0x1p8 : -low;
  size_t fit = 0;
  while (fit < count && from[fit] >= low && from[fit] < end && from[fit] == trunc(from[fit])) fit++;
  switch (dtype) {
  case CPB_U8:
    for (size_t i = 0; i < fit; i++) ((uint8_t *)to)[i] = (uint8_t)from[i];
    break;
  case CPB_I8:
    for (size_t i = 0; i < fit; i++) ((int8_t *)to)[i] = (int8_t)from[i];
    break;
  case CPB_I32:
    for (size_t i = 0; i < fit; i++) ((int32_t *)to)[i] = (int32_t)from[i];
    break;
  default:
    for (size_t i = 0; i < fit; i++) ((int64_t *)to)[i] = (int64_t)from[i];
    break;
  }
  return fit;
}

size_t cpb_convert(const void *from, cpb_dtype from_dtype, void *to, cpb_dtype to_dtype, size_t count) {
  size_t from_size = cpb_dtype_size(from_dtype), to_size = cpb_dtype_size(to_dtype);
  if (from_dtype == to_dtype) {
    memcpy(to, from, count * to_size);
    return count;
  }
  if (from_dtype == CPB_I64 && to_dtype == CPB_F32) {
    for (size_t i = 0; i < count; i++) ((float *)to)[i] = (float)((const int64_t *)from)[i];
    return count;
  }
  for (size_t done = 0; done < count;) {
    double wide[PIECE];
    size_t piece = count - done < PIECE ? count - done : PIECE;
    cpb_view_widen(cpb_rows((const char *)from + done * from_size, from_dtype, 1, piece), wide);
    size_t fit = (to_dtype <= CPB_F16 ? narrow_float : narrow_integer)(wide, piece,
                                                                       (char *)to + done * to_size, to_dtype);
    done += fit;
    if (fit < piece) return done;
  }
  return count;
}

/* ---- rows ---- */

/* Writes the pending bytes if there are at least this many. ENOMEM if there is no memory for more. */
static bool flush(cpb_writer *writer, size_t least) {
  if (writer->out.failure != CPB_JSON_WHOLE)
    return cpb_fail_memory(writer->of.error, "%zu bytes", writer->out.used) == CPB_OK;
  if (writer->out.used < least) return true;
  size_t used = writer->out.used;
  writer->out.used = 0;
  return cpb_whole_write(&writer->whole, writer->out.bytes, used, writer->of.error) == CPB_OK;
}

static bool show(const cpb_writer *writer, uint64_t first, cpb_view rows, cpb_error *error) {
  return writer->o.seal == NULL || writer->o.seal->rows(writer->o.seal, first, rows) ||
         cpb_refuse(&(cpb_file_call){writer->of.path, error}, CPB_WHY_DOMAIN,
                    "rows %" PRIu64 " .. +%zu: blocks of rows with a seal begin at multiples of 1024 rows",
                    first, rows.rows);
}

/* Prints each row and passes it to the seal as it will be read back. */
static bool print_rows(cpb_writer *writer, cpb_view rows) {
  cpb_view parsed = cpb_rows(writer->parsed.bytes, CPB_F64, 1, rows.cols);
  for (size_t i = 0; i < rows.rows; i++) {
    uint64_t number = writer->appended + i;
    writer->format->print(writer, cpb_view_slice(rows, i, 1).data, number == 0);
    if (!show(writer, number, parsed, writer->of.error) || !flush(writer, CPB_PIECE_BYTES)) return false;
  }
  return true;
}

/* The rows in the type of the file, one after the other. */
static bool convert(cpb_writer *writer, cpb_view *rows) {
  size_t row_bytes = writer->o.cols * cpb_dtype_size(writer->o.dtype);
  if (rows->dtype == writer->o.dtype && rows->stride == rows->cols) return true;
  if (!cpb_buffer_reserve(&writer->converted, rows->rows * row_bytes, 0, writer->of.error)) return false;
  for (size_t i = 0; i < rows->rows; i++) {
    cpb_view row = cpb_view_slice(*rows, i, 1);
    unsigned char *to = writer->converted.bytes + i * row_bytes;
    size_t fit = cpb_convert(row.data, row.dtype, to, writer->o.dtype, row.cols);
    uint64_t number = writer->appended + i;
    if (fit < row.cols)
      return cpb_refuse_row(&writer->of, number, CPB_WHY_ROW_RANGE,
                            "row %" PRIu64 ", column %zu: %.17g does not fit in %s", number, fit,
                            cpb_view_at(row, 0, fit), cpb_dtype_name(writer->o.dtype));
  }
  *rows = cpb_rows(writer->converted.bytes, writer->o.dtype, rows->rows, rows->cols);
  return true;
}

static bool append_piece(cpb_writer *writer, cpb_view rows) {
  bool text = writer->format->print != NULL;
  if (!convert(writer, &rows) || !(text || show(writer, writer->appended, rows, writer->of.error)) ||
      !(text ? print_rows : writer->format->append)(writer, rows) || !flush(writer, CPB_PIECE_BYTES))
    return false;
  writer->appended += rows.rows;
  return true;
}

cpb_status cpb_writer_append(cpb_writer *writer, cpb_view block, cpb_error *error) {
  if (writer == NULL) return cpb_fail_missing(error, "writer");
  error = begin(writer, error);
  if (writer->committed || writer->broken)
    return cpb_file_fail(error, CPB_WHY_CALL_ORDER, writer->whole.path,
                         writer->broken ? "a write before this one failed" : "is committed already");
  if (!check_block(writer, writer->appended, block, error)) return error->status;
  size_t row_bytes = writer->o.cols * cpb_dtype_size(writer->o.dtype);
  size_t most = row_bytes < CPB_PIECE_BYTES ? CPB_PIECE_BYTES / row_bytes : 1;
  for (size_t first = 0; first < block.rows && !writer->broken; first += most) {
    size_t count = block.rows - first < most ? block.rows - first : most;
    writer->broken = !append_piece(writer, cpb_view_slice(block, first, count));
  }
  return writer->broken ? error->status : CPB_OK;
}

bool cpb_writer_random_access(const cpb_writer *writer) {
  return writer->format->fixed && !writer->whole.stream && writer->o.rows != CPB_ROWS_UNKNOWN;
}

cpb_status cpb_writer_at(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  if (!cpb_writer_random_access(writer))
    return cpb_fail_random_access(writer->whole.path, writer->format, error);
  if (block.dtype != writer->o.dtype)
    return cpb_file_fail(error, CPB_WHY_DTYPE_OTHER, writer->whole.path, "block is %s, the file is %s",
                         cpb_dtype_name(block.dtype), cpb_dtype_name(writer->o.dtype));
  cpb_error unused;
  if (error == NULL) error = &unused;
  if (!check_block(writer, first, block, error) || !show(writer, first, block, error) ||
      (block.rows != 0 && cpb_fixed_place(writer, first, block, error) != CPB_OK))
    return error->status;
  atomic_fetch_add(&writer->placed, block.rows);
  return CPB_OK;
}

/* Writes the new seal to an unnamed file. */
static bool prepare_seal(const cpb_writer *writer, const char *name, cpb_whole *seal) {
  cpb_error *error = writer->of.error;
  const char *text = writer->seal_text;
  *seal = (cpb_whole){.fd = -1, .kept = -1};
  return text == NULL || writer->format->seal != NULL ||
         (cpb_whole_open(name, seal, error) == CPB_OK &&
          cpb_whole_write(seal, text, strlen(text), error) == CPB_OK &&
          cpb_whole_sync(seal, error) == CPB_OK);
}

/* In this order, one writer at a time: however the process ends, no seal is next to rows that it does not describe. The
 * directory preserves the order, so it is synced once. */
static bool exchange(cpb_writer *writer, const char *old_seal, cpb_whole *seal) {
  cpb_error *error = writer->of.error;
  int lock = cpb_whole_lock(writer->whole.target);
  bool sealed = seal->target != NULL;
  bool removed = cpb_sys_remove(old_seal) || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG ||
                 cpb_refuse_errno(&(cpb_file_call){old_seal, error}, "remove");
  bool done = removed && (sealed ? cpb_whole_name : cpb_whole_place)(&writer->whole, error) == CPB_OK &&
              (!sealed || cpb_whole_place(seal, error) == CPB_OK);
  cpb_sys_unlock_names(lock);
  return done;
}

static bool publish(cpb_writer *writer) {
  cpb_whole seal;
  if (writer->whole.stream) return true;
  /* a set of an HDF5 file may have a separate seal of an older version, which is removed with its rows */
  const char *set = writer->set == NULL ? writer->format->default_set : writer->set;
  char *name = name_seal(writer->whole.target, writer->format->seal == NULL ? NULL : set, writer->of.error);
  if (name == NULL) return false;
  bool done = prepare_seal(writer, name, &seal) &&
              cpb_whole_sync(&writer->whole, writer->of.error) == CPB_OK && exchange(writer, name, &seal);
  cpb_whole_close(&seal);
  free(name);
  return done;
}

static bool complete(cpb_writer *writer) {
  uint64_t written = writer->appended + atomic_load(&writer->placed);
  if (writer->broken) return cpb_refuse(&writer->of, CPB_WHY_WRITER_BROKEN, "a write before failed");
  if (writer->o.rows != CPB_ROWS_UNKNOWN && written != writer->o.rows)
    return cpb_refuse(&writer->of, CPB_WHY_ROWS_BEYOND, "%" PRIu64 " row%s promised, %" PRIu64 " written",
                      writer->o.rows, writer->o.rows == 1 ? " was" : "s were", written);
  return flush(writer, 1) &&
         (writer->o.seal == NULL ||
          writer->o.seal->text(writer->o.seal, written, &writer->seal_text, writer->of.error) == CPB_OK) &&
         (writer->format->finish == NULL || writer->format->finish(writer)) && publish(writer);
}

cpb_status cpb_writer_commit(cpb_writer *writer, cpb_error *error) {
  if (writer == NULL) return cpb_fail_missing(error, "writer");
  error = begin(writer, error);
  if (writer->committed)
    return cpb_file_fail(error, CPB_WHY_CALL_ORDER, writer->whole.path, "is committed already");
  writer->committed = complete(writer);
  writer->broken = !writer->committed;
  return writer->committed ? CPB_OK : error->status;
}

void cpb_writer_free(cpb_writer *writer) {
  if (writer == NULL) return;
  if (writer->format != NULL && writer->format->abandon != NULL) writer->format->abandon(writer);
  cpb_whole_close(&writer->whole);
  free(writer->out.bytes);
  cpb_buffer_free(&writer->converted);
  cpb_buffer_free(&writer->parsed);
  free(writer->seal_text);
  free(writer->file);
  free(writer);
}
