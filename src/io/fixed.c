/* Rows of a fixed number of bytes: the fast path, shared by the vecs, bin and npy families. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "io/file_fail.h"
#include "io/format.h"

enum {
  FIRST_READ = 1 << 18, /* of a stream, whose header may announce more than arrives */
  TILE = 16,            /* columns transposed at a time */
  GATHER = 1 << 16,     /* bytes of rows assembled at a time */
};

size_t cpb_block_count(const cpb_reader *reader, size_t max_rows) {
  size_t row_bytes = reader->cols * cpb_dtype_size(reader->dtype);
  size_t most = row_bytes < CPB_BLOCK_MAX ? CPB_BLOCK_MAX / row_bytes : 1;
  size_t count = max_rows < most ? max_rows : most;
  return reader->rows - reader->next_row < count ? (size_t)(reader->rows - reader->next_row) : count;
}

/* Sets dtype, cols and layout of a reader whose rows have a fixed size; EFORMAT for d < 1 or too many
 * bytes in a row. */
static cpb_status fixed_shape(cpb_reader *reader, cpb_dtype dtype, uint64_t cols, cpb_layout layout,
                              cpb_error *error) {
  if (cols < 1 || cols > INT32_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, reader->source.path,
                         "its rows have d = %llu, wanted 1 .. %d", (unsigned long long)cols, INT32_MAX);
  if (cpb_size_muladd((size_t)cols, cpb_dtype_size(dtype), layout.prefix) == SIZE_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_COLUMNS, reader->source.path,
                         "rows of d = %llu do not fit in memory", (unsigned long long)cols);
  reader->dtype = dtype;
  reader->cols = (size_t)cols;
  layout.element = cpb_dtype_size(dtype) / (layout.narrow == CPB_NOT_NARROW ? 1 : 2);
  layout.row_bytes = reader->cols * layout.element + layout.prefix;
  reader->layout = layout;
  return CPB_OK;
}

/* Sets rows; for files, checks that the size matches exactly. */
static cpb_status fixed_rows(cpb_reader *reader, uint64_t rows, cpb_error *error) {
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

size_t cpb_fixed_buffer_size(const cpb_reader *reader, size_t count) {
  size_t tile = reader->layout.by_columns ? TILE * reader->layout.element : 0;
  size_t wide = reader->layout.narrow != CPB_NOT_NARROW ? reader->layout.row_bytes : 0;
  return cpb_size_muladd(count, reader->layout.row_bytes + wide + tile, 64);
}

static cpb_view view_rows(const cpb_reader *reader, const void *rows, size_t count) {
  const cpb_layout *layout = &reader->layout;
  return (cpb_view){count == 0 ? NULL : (const char *)rows + layout->prefix, reader->dtype, count,
                    reader->cols, layout->row_bytes / layout->element};
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

/* "row 7 has d = 3, row 0 has 128" */
static cpb_status fail_row_columns(const cpb_reader *reader, uint64_t row, int32_t d, cpb_error *error) {
  return cpb_file_fail_row(error, CPB_WHY_FILE_ROW_COLUMNS, reader->source.path, row,
                           "row %llu has d = %d, row 0 has %zu", (unsigned long long)row, d, reader->cols);
}

static cpb_status check_prefixes(const cpb_reader *reader, const unsigned char *rows, uint64_t first,
                                 size_t count, cpb_error *error) {
  if (reader->layout.prefix == 0) return CPB_OK;
  for (size_t i = 0; i < count; i++) {
    int32_t d;
    memcpy(&d, rows + i * reader->layout.row_bytes, sizeof d);
    if (d != (int32_t)reader->cols) return fail_row_columns(reader, first + i, d, error);
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
  size_t element = reader->layout.element, cols = reader->cols, piece = count * element;
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

static cpb_status fixed_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer,
                           cpb_view *block, cpb_error *error) {
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

static cpb_status fixed_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan,
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

static cpb_status fixed_next(cpb_reader *reader, size_t max_rows, cpb_view *block, cpb_error *error) {
  uint64_t left = reader->rows == CPB_ROWS_UNKNOWN ? UINT64_MAX : reader->rows - reader->next_row;
  size_t count = left < max_rows ? (size_t)left : max_rows;
  *block = view_rows(reader, NULL, 0);
  if (count == 0)
    return reader->source.stream ? cpb_input_expect_end(&reader->source, "its last row", error) : CPB_OK;
  if (reader->source.stream) return next_of_stream(reader, count, block, error);
  cpb_status status = cpb_buffer_reserve(&reader->buffer, cpb_fixed_buffer_size(reader, count), 0, error);
  return status == CPB_OK ? fixed_at(reader, reader->next_row, count, reader->buffer.bytes, block, error)
                          : status;
}

static cpb_status fixed_begin(cpb_writer *writer, cpb_error *error) {
  char header[CPB_HEADER_ROOM];
  uint64_t rows = writer->rows == CPB_ROWS_UNKNOWN ? 0 : writer->rows;
  size_t start = 0, prefix = writer->format->header == NULL ? sizeof(int32_t) : 0;
  size_t row_bytes = cpb_size_muladd(writer->cols, cpb_dtype_size(writer->dtype), prefix);
  cpb_status status = prefix != 0 ? CPB_OK : writer->format->header(writer, rows, header, &start, error);
  if (status == CPB_OK) status = cpb_whole_write(&writer->whole, header, start, error);
  writer->layout = (cpb_layout){.start = start, .prefix = prefix, .row_bytes = row_bytes};
  if (status != CPB_OK || writer->whole.stream || writer->rows == CPB_ROWS_UNKNOWN) return status;
  if (rows > (UINT64_MAX - start) / row_bytes)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                         "%llu rows of d = %zu are more than a file can have", (unsigned long long)rows,
                         writer->cols);
  return cpb_whole_resize(&writer->whole, start + rows * row_bytes, error);
}

static cpb_status fixed_finish(cpb_writer *writer, cpb_error *error) {
  char header[CPB_HEADER_ROOM];
  size_t size;
  if (writer->format->header == NULL || writer->rows != CPB_ROWS_UNKNOWN) return CPB_OK;
  cpb_status status = writer->format->header(writer, writer->appended, header, &size, error);
  return status == CPB_OK ? cpb_whole_write_at(&writer->whole, 0, header, size, error) : status;
}

static cpb_status fixed_append(cpb_writer *writer, cpb_view rows, cpb_error *error) {
  size_t prefix = writer->layout.prefix, bytes = writer->layout.row_bytes - prefix;
  for (size_t i = 0; i < rows.rows && prefix != 0; i++) {
    int32_t d = (int32_t)writer->cols;
    cpb_text_put(&writer->out, (const char *)&d, prefix);
    cpb_text_put(&writer->out, (const char *)rows.data + i * bytes, bytes);
  }
  if (prefix == 0) cpb_text_put(&writer->out, rows.data, rows.rows * bytes);
  return cpb_writer_flush(writer, CPB_PIECE_BYTES, error);
}

/* Rows with gaps or prefixes are assembled in memory, as many as fit in the cache. */
static cpb_status place_gathered(cpb_writer *writer, uint64_t offset, cpb_view block, cpb_error *error) {
  const cpb_layout *layout = &writer->layout;
  size_t element = cpb_dtype_size(block.dtype);
  size_t at_once = layout->row_bytes < GATHER ? GATHER / layout->row_bytes : 1;
  int32_t d = (int32_t)writer->cols;
  unsigned char *gathered = malloc(at_once * layout->row_bytes);
  if (gathered == NULL) return cpb_fail_memory(error, "%zu rows", at_once);
  cpb_status status = CPB_OK;
  for (size_t first = 0; first < block.rows && status == CPB_OK; first += at_once) {
    size_t count = block.rows - first < at_once ? block.rows - first : at_once;
    for (size_t i = 0; i < count; i++) {
      unsigned char *row = gathered + i * layout->row_bytes;
      memcpy(row, &d, layout->prefix);
      memcpy(row + layout->prefix, (const char *)block.data + (first + i) * block.stride * element,
             block.cols * element);
    }
    status = cpb_whole_write_at(&writer->whole, offset + first * layout->row_bytes, gathered,
                                count * layout->row_bytes, error);
  }
  free(gathered);
  return status;
}

cpb_status cpb_fixed_place(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  const cpb_layout *layout = &writer->layout;
  uint64_t offset = layout->start + first * layout->row_bytes;
  if (layout->prefix != 0 || block.stride != block.cols) return place_gathered(writer, offset, block, error);
  return cpb_whole_write_at(&writer->whole, offset, block.data, block.rows * layout->row_bytes, error);
}

/* Formats without a description: .fvecs .bvecs .ivecs, where every row is an int32 d and d elements, and .fbin .u8bin
 * .i8bin .f16bin .ibin: uint32 n, uint32 d, then n*d elements. */

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
    if (d != (int32_t)reader->cols) return fail_row_columns(reader, row, d, error);
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
  status = fixed_shape(reader, (cpb_dtype)reader->format->variant, (uint64_t)d,
                       (cpb_layout){.prefix = sizeof d}, error);
  if (status != CPB_OK || reader->source.stream) return status;
  reader->rows = reader->source.size / reader->layout.row_bytes;
  return reader->source.size % reader->layout.row_bytes == 0 ? CPB_OK : blame(reader, error);
}

#define FIXED(word, kind, writes, opens, prints_header)                                                      \
  {                                                                                                          \
    .name = word, .extensions = "." word, .variant = kind, .dtypes = writes, .streams_in = true,             \
    .streams_out = true, .open = opens, .next = fixed_next, .at = fixed_at, .lend = fixed_lend,              \
    .header = prints_header, .begin = fixed_begin, .append = fixed_append, .finish = fixed_finish            \
  }
const cpb_format cpb_format_fvecs = FIXED("fvecs", CPB_F32, 1u << CPB_F32, vecs_open, NULL);
const cpb_format cpb_format_bvecs = FIXED("bvecs", CPB_U8, 1u << CPB_U8, vecs_open, NULL);
const cpb_format cpb_format_ivecs = FIXED("ivecs", CPB_I32, 1u << CPB_I32, vecs_open, NULL);

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
  status = fixed_shape(reader, (cpb_dtype)reader->format->variant, header.cols,
                       (cpb_layout){.start = sizeof header}, error);
  return status == CPB_OK ? fixed_rows(reader, header.rows, error) : status;
}

static cpb_status bin_header_of(const cpb_writer *writer, uint64_t rows, char *header, size_t *size,
                                cpb_error *error) {
  if (rows > UINT32_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_LIMIT, writer->whole.path,
                         "%llu rows are more than the header of %s can count, %u", (unsigned long long)rows,
                         writer->format->name, UINT32_MAX);
  bin_header counts = {(uint32_t)rows, (uint32_t)writer->cols};
  memcpy(header, &counts, *size = sizeof counts);
  return CPB_OK;
}

const cpb_format cpb_format_fbin = FIXED("fbin", CPB_F32, 1u << CPB_F32, bin_open, bin_header_of);
const cpb_format cpb_format_u8bin = FIXED("u8bin", CPB_U8, 1u << CPB_U8, bin_open, bin_header_of);
const cpb_format cpb_format_i8bin = FIXED("i8bin", CPB_I8, 1u << CPB_I8, bin_open, bin_header_of);
const cpb_format cpb_format_f16bin = FIXED("f16bin", CPB_F16, 1u << CPB_F16, bin_open, bin_header_of);
const cpb_format cpb_format_ibin = FIXED("ibin", CPB_I32, 1u << CPB_I32, bin_open, bin_header_of);

/* .npy, versions 1 to 3: a magic, a Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * and the elements. Written as version 1, C order, padded like NumPy's for the row count, so that the header has the
 * same length for any n. */

enum {
  MAGIC = 8, /* "\x93NUMPY", major, minor */
  HEADER_MAX = 1 << 16,
  ALIGNMENT = 64,
  COUNT_DIGITS = 21, /* space for the first axis */
  RANK_MAX = 2,
};
#define RECORDS "[..]" /* stands for the descr of a structured array */

typedef struct npy_header {
  char descr[32];
  bool fortran_order, has_descr, has_order, has_shape;
  size_t rank;
  uint64_t shape[RANK_MAX];
} npy_header;

typedef struct npy_code {
  const char *code;
  cpb_dtype dtype;
  cpb_narrow narrow;
} npy_code;

static const npy_code codes[] = {{"f4", CPB_F32, 0},
                                 {"f8", CPB_F64, 0},
                                 {"f2", CPB_F16, 0},
                                 {"u1", CPB_U8, 0},
                                 {"i1", CPB_I8, 0},
                                 {"i4", CPB_I32, 0},
                                 {"i8", CPB_I64, 0},
                                 /* from here on read only */
                                 {"b1", CPB_U8, 0},
                                 {"u2", CPB_I32, CPB_NARROW_U16},
                                 {"i2", CPB_I32, CPB_NARROW_I16},
                                 {"u4", CPB_I64, CPB_NARROW_U32}};
enum { CODES = sizeof codes / sizeof *codes };

/* Whether the dict continues with this text after blanks; both are skipped. */
static bool take(const char **p, const char *text) {
  *p += strspn(*p, " \t\n\r");
  size_t length = strlen(text);
  bool found = strncmp(*p, text, length) == 0;
  if (found) *p += length;
  return found;
}

static bool take_string(const char **p, char *to, size_t size) {
  const char *quote = take(p, "'") ? "'" : "\"";
  if (*quote == '"' && !take(p, quote)) return false;
  size_t length = strcspn(*p, quote);
  if (length >= size || (*p)[length] == 0) return false;
  memcpy(to, *p, length);
  to[length] = 0;
  *p += length + 1;
  return true;
}

static bool take_count(const char **p, uint64_t *value) {
  take(p, "");
  const char *first = *p;
  for (*value = 0; **p >= '0' && **p <= '9' && *value <= (UINT64_MAX - 9) / 10; ++*p)
    *value = 10 * *value + (uint64_t)(**p - '0');
  bool any = *p > first;
  if (**p == 'L') ++*p; /* Python 2 wrote 3L */
  return any;
}

static bool take_shape(const char **p, npy_header *header) {
  header->rank = 0;
  if (!take(p, "(")) return false;
  do {
    uint64_t length;
    if (take(p, ")")) return true;
    if (!take_count(p, &length)) return false;
    if (header->rank < RANK_MAX) header->shape[header->rank] = length;
    header->rank++;
  } while (take(p, ","));
  return take(p, ")");
}

/* The value of one key. A descr that is a list belongs to a structured array: its text is stored for the message, and
 * parsing ends there. */
static bool take_value(const char **p, const char *key, npy_header *header) {
  if (strcmp(key, "fortran_order") == 0) {
    header->has_order = true;
    header->fortran_order = take(p, "True");
    return header->fortran_order || take(p, "False");
  }
  if (strcmp(key, "shape") == 0) return header->has_shape = take_shape(p, header);
  if (strcmp(key, "descr") != 0) return false;
  header->has_descr = true;
  if (!take(p, "[")) return take_string(p, header->descr, sizeof header->descr);
  strcpy(header->descr, RECORDS);
  return false;
}

static bool take_members(const char **p, npy_header *header) {
  do {
    char key[32];
    if (take(p, "}")) return true;
    if (!take_string(p, key, sizeof key) || !take(p, ":") || !take_value(p, key, header)) return false;
  } while (take(p, ","));
  return take(p, "}");
}

static bool parse_header(const char *p, npy_header *header) {
  bool whole = take(&p, "{") && take_members(&p, header) && take(&p, "") && *p == 0;
  return whole && header->has_descr && header->has_order && header->has_shape;
}

static cpb_status find_code(const cpb_reader *reader, const char *descr, const npy_code **code,
                            cpb_error *error) {
  const char *path = reader->source.path;
  if (strcmp(descr, RECORDS) == 0)
    return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                         "its dtype is structured (records), not numbers");
  if (strchr(descr, 'O') != NULL)
    return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                         "its dtype is object (pickled Python), which is not read: it could run code");
  for (size_t i = 0; i < CODES && descr[0] != 0; i++) {
    if (strcmp(descr + 1, codes[i].code) != 0) continue;
    *code = &codes[i];
    if (strchr("<=|", descr[0]) != NULL || (descr[0] == '>' && descr[2] == '1')) return CPB_OK;
    if (descr[0] == '>')
      return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                           "its dtype %s is big-endian; only little-endian is read: x.astype('<%s')", descr,
                           descr + 1);
  }
  return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                       "its dtype \"%s\" is not one of f2 f4 f8 b1 u1 i1 u2 i2 u4 i4 i8; convert it with "
                       "x.astype('<f8') in NumPy",
                       descr);
}

static cpb_status set_shape(cpb_reader *reader, const npy_header *header, uint64_t start, cpb_error *error) {
  const npy_code *code = NULL;
  cpb_status status = find_code(reader, header->descr, &code, error);
  if (status != CPB_OK) return status;
  if (header->rank < 1 || header->rank > RANK_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_DIMENSIONS, reader->source.path,
                         "its array has %zu dimensions, wanted 2 (rows, columns) or 1 (one column)",
                         header->rank);
  uint64_t cols = header->rank == 2 ? header->shape[1] : 1;
  cpb_layout layout = {
      .start = start, .by_columns = header->fortran_order && cols > 1, .narrow = code->narrow};
  status = fixed_shape(reader, code->dtype, cols, layout, error);
  if (status != CPB_OK) return status;
  if (layout.by_columns && reader->source.stream)
    return cpb_file_fail(error, CPB_WHY_PIPE_FORMAT, reader->source.path,
                         "an array in Fortran order cannot be read from a pipe; save it to a file first");
  return fixed_rows(reader, header->shape[0], error);
}

static cpb_status fail_short(const cpb_reader *reader, cpb_error *error) {
  return cpb_file_fail(error, CPB_WHY_FILE_SHORT_HEADER, reader->source.path, "ends in its header");
}

/* Magic, version, and the length of the dict, which has 2 bytes in version 1 and 4 later. */
static cpb_status read_prelude(cpb_reader *reader, uint32_t *length, size_t *start, cpb_error *error) {
  unsigned char magic[MAGIC];
  size_t got, width = 2;
  cpb_status status = cpb_input_read(&reader->source, magic, MAGIC, &got, error);
  if (status != CPB_OK) return status;
  if (got < MAGIC || memcmp(magic, "\x93NUMPY", 6) != 0)
    return cpb_file_fail(error, CPB_WHY_FOREIGN, reader->source.path, "does not begin like an .npy file");
  if (magic[6] < 1 || magic[6] > 3)
    return cpb_file_fail(error, CPB_WHY_FILE_VERSION, reader->source.path,
                         "is .npy version %d, wanted 1, 2 or 3", magic[6]);
  if (magic[6] > 1) width = 4;
  *length = 0;
  *start = MAGIC + width;
  status = cpb_input_read(&reader->source, length, width, &got, error);
  if (status != CPB_OK) return status;
  if (got < width) return fail_short(reader, error);
  if (*length > HEADER_MAX)
    return cpb_file_fail(error, CPB_WHY_NPY_HEADER, reader->source.path,
                         "has a header of %u bytes, more than the %d that are read", *length, HEADER_MAX);
  return CPB_OK;
}

static cpb_status npy_open(cpb_reader *reader, cpb_error *error) {
  uint32_t length = 0;
  size_t start = 0, got = 0;
  cpb_status status = read_prelude(reader, &length, &start, error);
  if (status == CPB_OK) status = cpb_buffer_reserve(&reader->buffer, (size_t)length + 1, 0, error);
  if (status == CPB_OK) status = cpb_input_read(&reader->source, reader->buffer.bytes, length, &got, error);
  if (status != CPB_OK) return status;
  if (got < length) return fail_short(reader, error);
  npy_header header = {.rank = 0};
  reader->buffer.bytes[length] = 0;
  bool parsed = parse_header((const char *)reader->buffer.bytes, &header);
  if (!parsed && strcmp(header.descr, RECORDS) != 0)
    return cpb_file_fail(error, CPB_WHY_NPY_HEADER, reader->source.path,
                         "its header is not a dict of descr, fortran_order and shape");
  return set_shape(reader, &header, start + length, error);
}

/* A multiple of ALIGNMENT bytes; the same length for any number of rows. */
static cpb_status npy_header_of(const cpb_writer *writer, uint64_t rows, char *header, size_t *size,
                                cpb_error *error) {
  size_t i = 0;
  (void)error;
  while (codes[i].dtype != writer->dtype) i++;
  int digits = snprintf(NULL, 0, "%llu", (unsigned long long)rows);
  int length = snprintf(header + MAGIC + 2, CPB_HEADER_ROOM - MAGIC - 2,
                        "{'descr': '%c%s', 'fortran_order': False, 'shape': (%llu, %zu), }%*s",
                        cpb_dtype_size(writer->dtype) == 1 ? '|' : '<', codes[i].code,
                        (unsigned long long)rows, writer->cols, COUNT_DIGITS - digits, "");
  size_t used = MAGIC + 2 + (size_t)length + 1;
  *size = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memset(header + used - 1, ' ', *size - used);
  header[*size - 1] = '\n';
  uint16_t dict = (uint16_t)(*size - MAGIC - 2);
  memcpy(header, "\x93NUMPY\x01", MAGIC);
  memcpy(header + MAGIC, &dict, sizeof dict);
  return CPB_OK;
}

const cpb_format cpb_format_npy = FIXED("npy", 0, ~0u, npy_open, npy_header_of);
