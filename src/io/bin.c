/* .fbin .u8bin .i8bin .f16bin .ibin: uint32 n, uint32 d, then n*d elements. */
#include "io/file_fail.h"
#include "io/format.h"

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
