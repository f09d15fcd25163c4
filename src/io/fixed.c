/* Rows of a fixed number of bytes: the fast path, shared by the vecs, bin and npy families. */
#include <string.h>

#include "io/file_fail.h"
#include "io/format.h"
#include "io/random_access.h"

enum {
  FIRST_READ = 1 << 18, /* of a stream, whose header may announce more than arrives */
  TILE = 16,            /* columns transposed at a time */
  GATHER = 1 << 16,     /* bytes of rows assembled on the stack */
};

cpb_status cpb_fixed_shape(cpb_reader *reader, cpb_dtype dtype, uint64_t cols, uint64_t start, size_t prefix,
                           cpb_error *error) {
  size_t element = cpb_dtype_size(dtype);
  if (cols < 1 || cols > INT32_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, reader->source.path,
                         "its rows have d = %llu, wanted 1 .. %d", (unsigned long long)cols, INT32_MAX);
  size_t row_bytes = cpb_size_muladd((size_t)cols, element, prefix);
  if (row_bytes == SIZE_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, reader->source.path,
                         "rows of d = %llu do not fit in memory", (unsigned long long)cols);
  reader->dtype = dtype;
  reader->cols = (size_t)cols;
  reader->layout = (cpb_layout){.start = start, .prefix = prefix, .row_bytes = row_bytes};
  return CPB_OK;
}

cpb_status cpb_fixed_shape_narrow(cpb_reader *reader, cpb_narrow narrow, uint64_t cols, uint64_t start,
                                  cpb_error *error) {
  cpb_dtype dtype = narrow == CPB_NARROW_U32 ? CPB_I64 : CPB_I32;
  cpb_status status = cpb_fixed_shape(reader, dtype, cols, start, 0, error);
  reader->layout.narrow = narrow;
  reader->layout.row_bytes /= 2;
  return status;
}

cpb_status cpb_fixed_rows(cpb_reader *reader, uint64_t rows, cpb_error *error) {
  const cpb_layout *layout = &reader->layout;
  uint64_t size = reader->source.size;
  reader->rows = rows;
  if (rows > (UINT64_MAX - layout->start) / layout->row_bytes)
    return cpb_file_fail(error, CPB_WHY_FILE_SIZE, reader->source.path,
                         "its header promises %llu row%s of d = %zu, more bytes than can be counted",
                         (unsigned long long)rows, cpb_s(rows), reader->cols);
  uint64_t promised = layout->start + rows * layout->row_bytes;
  if (reader->source.stream || size == promised) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_FILE_SIZE, reader->source.path,
                       "its header promises %llu row%s of d = %zu, %llu bytes in all, but it has %llu",
                       (unsigned long long)rows, cpb_s(rows), reader->cols, (unsigned long long)promised,
                       (unsigned long long)size);
}

/* Bytes of an element in the file. */
static size_t stored_size(const cpb_reader *reader) {
  return cpb_dtype_size(reader->dtype) / (reader->layout.narrow != CPB_NOT_NARROW ? 2 : 1);
}

size_t cpb_fixed_buffer_size(const cpb_reader *reader, size_t count) {
  size_t tile = reader->layout.by_columns ? TILE * stored_size(reader) : 0;
  size_t wide = reader->layout.narrow != CPB_NOT_NARROW ? reader->layout.row_bytes : 0;
  return cpb_size_muladd(count, reader->layout.row_bytes + wide + tile, 64);
}

static cpb_view view_rows(const cpb_reader *reader, const void *rows, size_t count) {
  const cpb_layout *layout = &reader->layout;
  cpb_view view = {count == 0 ? NULL : (const char *)rows + layout->prefix, reader->dtype, count,
                   reader->cols, layout->row_bytes / stored_size(reader)};
  return view;
}

static int64_t narrow_at(const void *elements, cpb_narrow narrow, size_t i) {
  uint16_t u16;
  int16_t i16;
  uint32_t u32;
  switch (narrow) {
  case CPB_NARROW_U16: memcpy(&u16, (const char *)elements + i * sizeof u16, sizeof u16); return u16;
  case CPB_NARROW_I16: memcpy(&i16, (const char *)elements + i * sizeof i16, sizeof i16); return i16;
  default: memcpy(&u32, (const char *)elements + i * sizeof u32, sizeof u32); return u32;
  }
}

/* In place, from the end: every element is written over bytes that have already been read. */
static void widen(const cpb_reader *reader, void *elements, size_t count) {
  cpb_narrow narrow = reader->layout.narrow;
  if (narrow == CPB_NOT_NARROW) return;
  for (size_t i = count; i-- > 0;) {
    int64_t value = narrow_at(elements, narrow, i);
    if (reader->dtype == CPB_I64)
      ((int64_t *)elements)[i] = value;
    else
      ((int32_t *)elements)[i] = (int32_t)value;
  }
}

cpb_status cpb_fail_row_columns(const cpb_reader *reader, uint64_t row, int32_t d, cpb_error *error) {
  return cpb_file_fail_row(error, CPB_WHY_FILE_ROW_COLUMNS, reader->source.path, row,
                           "row %llu has d = %d, row 0 has %zu", (unsigned long long)row, d, reader->cols);
}

static cpb_status check_prefixes(const cpb_reader *reader, const unsigned char *rows, uint64_t first,
                                 size_t count, cpb_error *error) {
  if (reader->layout.prefix == 0) return CPB_OK;
  for (size_t i = 0; i < count; i++) {
    int32_t d;
    memcpy(&d, rows + i * reader->layout.row_bytes, sizeof d);
    if (d != (int32_t)reader->cols) return cpb_fail_row_columns(reader, first + i, d, error);
  }
  return CPB_OK;
}

/* tile[j*count + i] -> rows[i*cols + j], for an element size known at compile time. */
static inline void turn(const unsigned char *tile, size_t columns, unsigned char *rows, size_t cols,
                        size_t count, size_t element) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < columns; j++)
      memcpy(rows + (i * cols + j) * element, tile + (j * count + i) * element, element);
}

static void turn_tile(const unsigned char *tile, size_t columns, unsigned char *rows, size_t cols,
                      size_t count, size_t element) {
  switch (element) {
  case 1: turn(tile, columns, rows, cols, count, 1); break;
  case 2: turn(tile, columns, rows, cols, count, 2); break;
  case 4: turn(tile, columns, rows, cols, count, 4); break;
  default: turn(tile, columns, rows, cols, count, 8); break;
  }
}

/* Fortran order: pieces of TILE columns are read behind the rows, then transposed into them. */
static cpb_status read_columns(const cpb_reader *reader, uint64_t first, size_t count, unsigned char *rows,
                               cpb_error *error) {
  size_t element = stored_size(reader), cols = reader->cols, piece = count * element;
  unsigned char *tile = rows + (count * reader->layout.row_bytes + 63) / 64 * 64;
  for (size_t column = 0; column < cols; column += TILE) {
    size_t columns = cols - column < TILE ? cols - column : TILE;
    for (size_t j = 0; j < columns; j++) {
      uint64_t offset = reader->layout.start + ((column + j) * reader->rows + first) * element;
      cpb_status status = cpb_input_read_at(&reader->source, offset, tile + j * piece, piece, error);
      if (status != CPB_OK) return status;
    }
    turn_tile(tile, columns, rows + column * element, cols, count, element);
  }
  return CPB_OK;
}

cpb_status cpb_fixed_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer, cpb_view *block,
                        cpb_error *error) {
  const cpb_layout *layout = &reader->layout;
  *block = view_rows(reader, buffer, count);
  if (count == 0) return CPB_OK;
  cpb_status status = layout->by_columns
                          ? read_columns(reader, first, count, buffer, error)
                          : cpb_input_read_at(&reader->source, layout->start + first * layout->row_bytes,
                                              buffer, count * layout->row_bytes, error);
  if (status == CPB_OK) status = check_prefixes(reader, buffer, first, count, error);
  if (status == CPB_OK) widen(reader, buffer, count * reader->cols);
  return status;
}

cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error) {
  bool lent = loan->bytes != 0;
  cpb_input_unmap(loan->memory, loan->bytes);
  *loan = (cpb_loan){NULL, 0};
  return lent ? cpb_input_check_size(&reader->source, error) : CPB_OK;
}

cpb_status cpb_fixed_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
                          cpb_view *block, cpb_error *error) {
  const cpb_layout *layout = &reader->layout;
  size_t element = cpb_dtype_size(reader->dtype);
  if (layout->by_columns || layout->narrow != CPB_NOT_NARROW ||
      (layout->start + layout->prefix) % element != 0 || layout->row_bytes % element != 0)
    return cpb_file_fail(error, CPB_WHY_RANDOM_ACCESS, reader->source.path,
                         "its rows are not stored in the layout of a view");
  *block = view_rows(reader, NULL, 0);
  if (count == 0) return CPB_OK;
  const unsigned char *rows;
  cpb_status status = cpb_input_map(&reader->source, layout->start + first * layout->row_bytes,
                                    count * layout->row_bytes, &loan->memory, &loan->bytes, &rows, error);
  if (status != CPB_OK) return status;
  *block = view_rows(reader, rows, count);
  status = check_prefixes(reader, rows, first, count, error);
  if (status != CPB_OK) cpb_reader_give_back(reader, loan, NULL);
  return status;
}

/* At most `wanted` bytes of a stream, in memory that grows as they arrive. */
static cpb_status read_stream(cpb_reader *reader, size_t wanted, size_t *got, cpb_error *error) {
  *got = 0;
  size_t room = wanted < FIRST_READ ? wanted : FIRST_READ;
  while (true) {
    size_t piece;
    cpb_status status = cpb_buffer_reserve(&reader->buffer, room, *got, error);
    if (status == CPB_OK)
      status = cpb_input_read(&reader->source, reader->buffer.bytes + *got, room - *got, &piece, error);
    if (status != CPB_OK) return status;
    *got += piece;
    if (*got < room || room == wanted) return CPB_OK;
    room = room < wanted / 2 ? 2 * room : wanted;
  }
}

static cpb_status next_of_stream(cpb_reader *reader, size_t count, cpb_view *block, cpb_error *error) {
  size_t row_bytes = reader->layout.row_bytes, got = 0;
  size_t most = (SIZE_MAX / 2 - 64) / row_bytes;
  cpb_status status = read_stream(reader, (count < most ? count : most) * row_bytes, &got, error);
  if (status != CPB_OK) return status;
  size_t rows = got / row_bytes;
  status = check_prefixes(reader, reader->buffer.bytes, reader->next_row, rows, error);
  if (status != CPB_OK) return status;
  uint64_t end = reader->next_row + rows;
  if (got % row_bytes != 0)
    return cpb_file_fail_row(error, CPB_WHY_FILE_ENDS_EARLY, reader->source.path, end,
                             "ends in the middle of row %llu, after %zu of %zu bytes",
                             (unsigned long long)end, got % row_bytes, row_bytes);
  if (rows < count && reader->rows != CPB_ROWS_UNKNOWN)
    return cpb_file_fail(error, CPB_WHY_FILE_ENDS_EARLY, reader->source.path,
                         "its header promises %llu row%s, but it ends after %llu",
                         (unsigned long long)reader->rows, cpb_s(reader->rows), (unsigned long long)end);
  if (rows == 0) reader->rows = end;
  if (reader->layout.narrow != CPB_NOT_NARROW)
    status = cpb_buffer_reserve(&reader->buffer, cpb_fixed_buffer_size(reader, rows), got, error);
  if (status != CPB_OK) return status;
  widen(reader, reader->buffer.bytes, rows * reader->cols);
  *block = view_rows(reader, reader->buffer.bytes, rows);
  return CPB_OK;
}

cpb_status cpb_fixed_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  uint64_t left = reader->rows == CPB_ROWS_UNKNOWN ? UINT64_MAX : reader->rows - reader->next_row;
  size_t count = left < max_rows ? (size_t)left : max_rows;
  *block = view_rows(reader, NULL, 0);
  if (count == 0)
    return reader->source.stream ? cpb_input_expect_end(&reader->source, "its last row", error) : CPB_OK;
  if (reader->source.stream) return next_of_stream(reader, count, block, error);
  cpb_status status = cpb_buffer_reserve(&reader->buffer, cpb_fixed_buffer_size(reader, count), 0, error);
  return status == CPB_OK ? cpb_fixed_at(reader, reader->next_row, count, reader->buffer.bytes, block, error)
                          : status;
}

cpb_status cpb_fixed_begin(cpb_writer *writer, const void *header, size_t start, size_t prefix,
                           cpb_error *error) {
  size_t row_bytes = cpb_size_muladd(writer->cols, cpb_dtype_size(writer->dtype), prefix);
  writer->layout = (cpb_layout){.start = start, .prefix = prefix, .row_bytes = row_bytes};
  cpb_status status = cpb_whole_write(&writer->whole, header, start, error);
  if (status != CPB_OK || writer->whole.stream || writer->rows == CPB_ROWS_UNKNOWN) return status;
  if (writer->rows > (UINT64_MAX - start) / row_bytes)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                         "%llu rows of d = %zu are more than a file can have",
                         (unsigned long long)writer->rows, writer->cols);
  return cpb_whole_resize(&writer->whole, start + writer->rows * row_bytes, error);
}

static void put_prefix(const cpb_writer *writer, unsigned char *row) {
  int32_t d = (int32_t)writer->cols;
  if (writer->layout.prefix != 0) memcpy(row, &d, sizeof d);
}

cpb_status cpb_fixed_append(cpb_writer *writer, cpb_view block, cpb_error *error) {
  for (size_t i = 0; i < block.rows; i++) {
    cpb_status status = cpb_writer_room(writer, writer->layout.row_bytes, error);
    if (status != CPB_OK) return status;
    unsigned char *row = writer->buffer.bytes + writer->used;
    put_prefix(writer, row);
    status = cpb_writer_convert(writer, block, i, row + writer->layout.prefix, error);
    if (status != CPB_OK) return status;
    writer->used += writer->layout.row_bytes;
  }
  return CPB_OK;
}

/* Rows with gaps or prefixes are assembled in the cache, as many as GATHER holds. */
static cpb_status place_gathered(cpb_writer *writer, uint64_t offset, cpb_view block, cpb_error *error) {
  unsigned char gathered[GATHER];
  const cpb_layout *layout = &writer->layout;
  size_t element = cpb_dtype_size(block.dtype), at_once = GATHER / layout->row_bytes;
  for (size_t first = 0; first < block.rows; first += at_once) {
    size_t count = block.rows - first < at_once ? block.rows - first : at_once;
    for (size_t i = 0; i < count; i++) {
      unsigned char *row = gathered + i * layout->row_bytes;
      put_prefix(writer, row);
      memcpy(row + layout->prefix, (const char *)block.data + (first + i) * block.stride * element,
             block.cols * element);
    }
    cpb_status status = cpb_whole_write_at(&writer->whole, offset + first * layout->row_bytes, gathered,
                                           count * layout->row_bytes, error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

/* Rows too long to assemble are written one at a time. */
static cpb_status place_long(cpb_writer *writer, uint64_t offset, cpb_view block, cpb_error *error) {
  unsigned char prefix[sizeof(int32_t)];
  const cpb_layout *layout = &writer->layout;
  size_t element = cpb_dtype_size(block.dtype);
  put_prefix(writer, prefix);
  for (size_t i = 0; i < block.rows; i++, offset += layout->row_bytes) {
    cpb_status status = cpb_whole_write_at(&writer->whole, offset, prefix, layout->prefix, error);
    if (status == CPB_OK)
      status = cpb_whole_write_at(&writer->whole, offset + layout->prefix,
                                  (const char *)block.data + i * block.stride * element, block.cols * element,
                                  error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

cpb_status cpb_fixed_place(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  const cpb_layout *layout = &writer->layout;
  uint64_t offset = layout->start + first * layout->row_bytes;
  if (layout->prefix == 0 && block.stride == block.cols)
    return cpb_whole_write_at(&writer->whole, offset, block.data, block.rows * layout->row_bytes, error);
  if (layout->row_bytes <= GATHER) return place_gathered(writer, offset, block, error);
  return place_long(writer, offset, block, error);
}
