/* Formats without a description: .fvecs .bvecs .ivecs, where every row is an int32 d and d elements, and .fbin .u8bin
 * .i8bin .f16bin .ibin: uint32 n, uint32 d, then n*d elements. */
#include "io/file_fail.h"
#include "io/format.h"

/* Rows examined to find the one that broke a file; a million would take seconds. */
enum { SEARCHED = 1 << 16 };

/* The size is not a multiple of the row size: names the row at fault if it can be found. */
static cpb_status blame(const cpb_reader *reader, cpb_error *error) {
  size_t row_bytes = reader->layout.row_bytes;
  uint64_t rows = reader->source.size / row_bytes;
  for (uint64_t row = 1; row <= rows && row < SEARCHED; row++) {
    int32_t d;
    if (reader->source.size - row * row_bytes < sizeof d) break;
    cpb_status status = cpb_input_read_at(&reader->source, row * row_bytes, &d, sizeof d, error);
    if (status != CPB_OK) return status;
    if (d != (int32_t)reader->cols) return cpb_fail_row_columns(reader, row, d, error);
  }
  return cpb_file_fail_row(error, CPB_WHY_FILE_ENDS_EARLY, reader->source.path, rows,
                           "%llu bytes are %llu row%s of d = %zu and %llu bytes of a truncated row",
                           (unsigned long long)reader->source.size, (unsigned long long)rows, cpb_s(rows),
                           reader->cols, (unsigned long long)(reader->source.size % row_bytes));
}

static cpb_status vecs_open(cpb_reader *reader, cpb_error *error) {
  int32_t d;
  size_t got;
  cpb_status status = cpb_input_read(&reader->source, &d, sizeof d, &got, error);
  if (status != CPB_OK) return status;
  if (got == 0)
    return cpb_file_fail(error, CPB_WHY_FILE_EMPTY, reader->source.path,
                         "is empty: without a row there is no d");
  if (got < sizeof d)
    return cpb_file_fail(error, CPB_WHY_FILE_SHORT_HEADER, reader->source.path,
                         "ends after %zu bytes, in the d of row 0", got);
  if (d < 1)
    return cpb_file_fail_row(error, CPB_WHY_FILE_COLUMNS, reader->source.path, 0,
                             "row 0 has d = %d, wanted d >= 1", d);
  cpb_input_unread(&reader->source, &d, sizeof d);
  status = cpb_fixed_shape(reader, (cpb_dtype)reader->format->variant, (uint64_t)d, 0, sizeof d, error);
  if (status != CPB_OK || reader->source.stream) return status;
  reader->rows = reader->source.size / reader->layout.row_bytes;
  return reader->source.size % reader->layout.row_bytes == 0 ? CPB_OK : blame(reader, error);
}

static cpb_status vecs_begin(cpb_writer *writer, cpb_error *error) {
  return cpb_fixed_begin(writer, "", 0, sizeof(int32_t), error);
}

#define VECS(letter, dtype)                                                                                  \
  {                                                                                                          \
    .name = letter "vecs", .extensions = "." letter "vecs", .variant = dtype, .dtypes = 1u << dtype,         \
    .streams_in = true, .streams_out = true, .open = vecs_open, .next = cpb_fixed_next, .at = cpb_fixed_at,  \
    .lend = cpb_fixed_lend, .begin = vecs_begin, .append = cpb_fixed_append                                  \
  }
const cpb_format cpb_format_fvecs = VECS("f", CPB_F32);
const cpb_format cpb_format_bvecs = VECS("b", CPB_U8);
const cpb_format cpb_format_ivecs = VECS("i", CPB_I32);

/* ---- .fbin and similar ---- */

typedef struct bin_header {
  uint32_t rows, cols;
} bin_header;

static cpb_status bin_open(cpb_reader *reader, cpb_error *error) {
  bin_header header;
  size_t got;
  cpb_status status = cpb_input_read(&reader->source, &header, sizeof header, &got, error);
  if (status != CPB_OK) return status;
  if (got < sizeof header)
    return cpb_file_fail(error, CPB_WHY_FILE_SHORT_HEADER, reader->source.path,
                         "has %zu bytes, its header alone has %zu", got, sizeof header);
  status = cpb_fixed_shape(reader, (cpb_dtype)reader->format->variant, header.cols, sizeof header, 0, error);
  return status == CPB_OK ? cpb_fixed_rows(reader, header.rows, error) : status;
}

static cpb_status make_header(const cpb_writer *writer, uint64_t rows, bin_header *header, cpb_error *error) {
  if (rows > UINT32_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                         "%llu rows are more than the header of %s can count, %u", (unsigned long long)rows,
                         writer->format->name, UINT32_MAX);
  *header = (bin_header){(uint32_t)rows, (uint32_t)writer->cols};
  return CPB_OK;
}

static cpb_status bin_begin(cpb_writer *writer, cpb_error *error) {
  bin_header header;
  uint64_t rows = writer->rows == CPB_ROWS_UNKNOWN ? 0 : writer->rows;
  cpb_status status = make_header(writer, rows, &header, error);
  return status == CPB_OK ? cpb_fixed_begin(writer, &header, sizeof header, 0, error) : status;
}

static cpb_status bin_finish(cpb_writer *writer, cpb_error *error) {
  bin_header header;
  if (writer->rows != CPB_ROWS_UNKNOWN) return CPB_OK;
  cpb_status status = make_header(writer, writer->appended, &header, error);
  return status == CPB_OK ? cpb_whole_write_at(&writer->whole, 0, &header, sizeof header, error) : status;
}

#define BIN(word, kind)                                                                                      \
  {                                                                                                          \
    .name = word, .extensions = "." word, .variant = kind, .dtypes = 1u << kind, .streams_in = true,         \
    .streams_out = true, .header_counts_rows = true, .open = bin_open, .next = cpb_fixed_next,               \
    .at = cpb_fixed_at, .lend = cpb_fixed_lend, .begin = bin_begin, .append = cpb_fixed_append,              \
    .finish = bin_finish                                                                                     \
  }
const cpb_format cpb_format_fbin = BIN("fbin", CPB_F32);
const cpb_format cpb_format_u8bin = BIN("u8bin", CPB_U8);
const cpb_format cpb_format_i8bin = BIN("i8bin", CPB_I8);
const cpb_format cpb_format_f16bin = BIN("f16bin", CPB_F16);
const cpb_format cpb_format_ibin = BIN("ibin", CPB_I32);
