/* Rows of a fixed number of bytes: the fast path, shared by the vecs, bin and npy families. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/system_file.h"
#include "files/formats.h"

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

/* Sets dtype, cols and layout; EFORMAT for d < 1 or too many bytes in a row. */
static bool set_shape(cpb_reader *reader, cpb_dtype dtype, uint64_t cols, cpb_layout layout) {
  if (cols < 1 || cols > INT32_MAX)
    return cpb_refuse(reader->of, CPB_WHY_FILE_COLUMNS, "its rows have d = %" PRIu64 ", wanted 1 .. %d", cols,
                      INT32_MAX);
  if (cpb_size_muladd((size_t)cols, cpb_dtype_size(dtype), layout.prefix) == SIZE_MAX)
    return cpb_refuse(reader->of, CPB_WHY_FILE_COLUMNS, "rows of d = %" PRIu64 " do not fit in memory", cols);
  reader->dtype = dtype;
  reader->cols = (size_t)cols;
  layout.element = cpb_dtype_size(dtype) / (layout.narrow == CPB_NOT_NARROW ? 1 : 2);
  layout.row_bytes = reader->cols * layout.element + layout.prefix;
  reader->layout = layout;
  return true;
}

/* Sets rows; for files, checks that the size matches exactly. */
static bool set_rows(cpb_reader *reader, uint64_t rows) {
  const cpb_layout *layout = &reader->layout;
  uint64_t size = reader->source.size;
  reader->rows = rows;
  if (rows > (UINT64_MAX - layout->start) / layout->row_bytes)
    return cpb_refuse(reader->of, CPB_WHY_FILE_SIZE,
                      "its header promises %" PRIu64 " row%s of d = %zu, more bytes than can be counted",
                      rows, cpb_s(rows), reader->cols);
  uint64_t promised = layout->start + rows * layout->row_bytes;
  if (reader->source.stream || size == promised) return true;
  return cpb_refuse(reader->of, CPB_WHY_FILE_SIZE,
                    "its header promises %" PRIu64 " row%s of d = %zu, %" PRIu64
                    " bytes in all, but it has %" PRIu64,
                    rows, cpb_s(rows), reader->cols, promised, size);
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

/* In place, from the end: every element is written over bytes that have already been read. */
static void widen(const cpb_reader *reader, void *elements, size_t count) {
  cpb_narrow narrow = reader->layout.narrow;
  for (size_t i = count; narrow != CPB_NOT_NARROW && i-- > 0;) {
    if (narrow == CPB_NARROW_U32) {
      uint32_t u32;
      memcpy(&u32, (const char *)elements + i * sizeof u32, sizeof u32);
      ((int64_t *)elements)[i] = u32;
    } else {
      uint16_t u16;
      memcpy(&u16, (const char *)elements + i * sizeof u16, sizeof u16);
      ((int32_t *)elements)[i] = narrow == CPB_NARROW_I16 ? (int16_t)u16 : u16;
    }
  }
}

static bool check_prefix(const cpb_reader *reader, const void *prefix, uint64_t row, cpb_error *error) {
  int32_t d;
  memcpy(&d, prefix, sizeof d);
  return d == (int32_t)reader->cols ||
         cpb_refuse_row(&(cpb_file_call){reader->of->path, error}, row, CPB_WHY_FILE_ROW_COLUMNS,
                        "row %" PRIu64 " has d = %d, row 0 has %zu", row, d, reader->cols);
}

static bool check_prefixes(const cpb_reader *reader, const unsigned char *rows, uint64_t first, size_t count,
                           cpb_error *error) {
  for (size_t i = 0; i < count && reader->layout.prefix != 0; i++)
    if (!check_prefix(reader, rows + i * reader->layout.row_bytes, first + i, error)) return false;
  return true;
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
static bool read_columns(const cpb_reader *reader, uint64_t first, size_t count, unsigned char *rows,
                         cpb_error *error) {
  size_t element = reader->layout.element, cols = reader->cols, piece = count * element;
  unsigned char *tile = rows + (count * reader->layout.row_bytes + 63) / 64 * 64;
  for (size_t column = 0; column < cols; column += TILE) {
    size_t columns = cols - column < TILE ? cols - column : TILE;
    for (size_t j = 0; j < columns; j++) {
      uint64_t offset = reader->layout.start + ((column + j) * reader->rows + first) * element;
      if (!cpb_input_read_at(&reader->source, offset, tile + j * piece, piece, error)) return false;
    }
    turn_tile(tile, columns, rows + column * element, cols, count, element);
  }
  return true;
}

bool cpb_fixed_at(const cpb_reader *reader, uint64_t first, size_t count, void *buffer, cpb_view *block,
                  cpb_error *error) {
  const cpb_layout *layout = &reader->layout;
  *block = view_rows(reader, buffer, count);
  if (count == 0) return true;
  bool got = layout->by_columns
                 ? read_columns(reader, first, count, buffer, error)
                 : cpb_input_read_at(&reader->source, layout->start + first * layout->row_bytes, buffer,
                                     count * layout->row_bytes, error);
  if (!got || !check_prefixes(reader, buffer, first, count, error)) return false;
  widen(reader, buffer, count * reader->cols);
  return true;
}

cpb_status cpb_reader_give_back(const cpb_reader *reader, cpb_loan *loan, cpb_error *error) {
  bool lent = loan->bytes != 0;
  cpb_error unused;
  if (error == NULL) error = &unused;
  if (lent) cpb_sys_unmap(loan->memory, loan->bytes);
  *loan = (cpb_loan){NULL, 0};
  return !lent || cpb_input_check_size(&reader->source, error) ? CPB_OK : error->status;
}

bool cpb_fixed_lend(const cpb_reader *reader, uint64_t first, size_t count, cpb_loan *loan, cpb_view *block,
                    cpb_error *error) {
  const cpb_layout *layout = &reader->layout;
  size_t element = cpb_dtype_size(reader->dtype);
  if (layout->by_columns || layout->narrow != CPB_NOT_NARROW ||
      (layout->start + layout->prefix) % element != 0 || layout->row_bytes % element != 0)
    return cpb_refuse(&(cpb_file_call){reader->of->path, error}, CPB_WHY_RANDOM_ACCESS,
                      "its rows are not stored in the layout of a view");
  *block = view_rows(reader, NULL, 0);
  if (count == 0) return true;
  const unsigned char *rows;
  if (!cpb_input_map(&reader->source, layout->start + first * layout->row_bytes, count * layout->row_bytes,
                     &loan->memory, &loan->bytes, &rows, error))
    return false;
  *block = view_rows(reader, rows, count);
  if (check_prefixes(reader, rows, first, count, error)) return true;
  cpb_reader_give_back(reader, loan, NULL);
  return false;
}

/* At most `wanted` bytes of a stream, in memory that grows as they arrive. */
static bool read_stream(cpb_reader *reader, size_t wanted, size_t *got) {
  size_t piece, room = wanted < FIRST_READ ? wanted : FIRST_READ;
  *got = reader->ahead;
  reader->ahead = 0;
  for (;; room = room < wanted / 2 ? 2 * room : wanted) {
    if (!cpb_buffer_reserve(&reader->buffer, room, *got, reader->of->error) ||
        !cpb_input_read(&reader->source, reader->buffer.bytes + *got, room - *got, &piece))
      return false;
    *got += piece;
    if (*got < room || room == wanted) return true;
  }
}

static bool next_of_stream(cpb_reader *reader, size_t count, cpb_view *block) {
  size_t row_bytes = reader->layout.row_bytes, got, most = (SIZE_MAX / 2 - 64) / row_bytes;
  if (!read_stream(reader, (count < most ? count : most) * row_bytes, &got)) return false;
  size_t rows = got / row_bytes;
  if (!check_prefixes(reader, reader->buffer.bytes, reader->next_row, rows, reader->of->error)) return false;
  uint64_t end = reader->next_row + rows;
  if (got % row_bytes != 0)
    return cpb_refuse_row(reader->of, end, CPB_WHY_FILE_ENDS_EARLY,
                          "ends in the middle of row %" PRIu64 ", after %zu of %zu bytes", end,
                          got % row_bytes, row_bytes);
  if (rows < count && reader->rows != CPB_ROWS_UNKNOWN)
    return cpb_refuse(reader->of, CPB_WHY_FILE_ENDS_EARLY,
                      "its header promises %" PRIu64 " row%s, but it ends after %" PRIu64, reader->rows,
                      cpb_s(reader->rows), end);
  if (rows == 0) reader->rows = end;
  if (reader->layout.narrow != CPB_NOT_NARROW &&
      !cpb_buffer_reserve(&reader->buffer, cpb_fixed_buffer_size(reader, rows), got, reader->of->error))
    return false;
  widen(reader, reader->buffer.bytes, rows * reader->cols);
  *block = view_rows(reader, reader->buffer.bytes, rows);
  return true;
}

static bool check_end(cpb_reader *reader) {
  unsigned char byte;
  size_t got;
  if (!cpb_input_read(&reader->source, &byte, 1, &got)) return false;
  return got == 0 || cpb_refuse(reader->of, CPB_WHY_FILE_SIZE, "continues after its last row");
}

static bool fixed_next(cpb_reader *reader, size_t max_rows, cpb_view *block) {
  cpb_error *error = reader->of->error;
  uint64_t left = reader->rows == CPB_ROWS_UNKNOWN ? UINT64_MAX : reader->rows - reader->next_row;
  size_t count = left < max_rows ? (size_t)left : max_rows;
  *block = view_rows(reader, NULL, 0);
  if (count == 0) return !reader->source.stream || check_end(reader);
  if (reader->source.stream) return next_of_stream(reader, count, block);
  return cpb_buffer_reserve(&reader->buffer, cpb_fixed_buffer_size(reader, count), 0, error) &&
         cpb_fixed_at(reader, reader->next_row, count, reader->buffer.bytes, block, error);
}

static bool fixed_begin(cpb_writer *writer) {
  char header[CPB_HEADER_ROOM];
  uint64_t rows = writer->o.rows == CPB_ROWS_UNKNOWN ? 0 : writer->o.rows;
  size_t start = 0, prefix = writer->format->header == NULL ? sizeof(int32_t) : 0;
  size_t row_bytes = cpb_size_muladd(writer->o.cols, cpb_dtype_size(writer->o.dtype), prefix);
  if ((prefix == 0 && !writer->format->header(writer, rows, header, &start)) ||
      cpb_whole_write(&writer->whole, header, start, writer->of.error) != CPB_OK)
    return false;
  writer->layout = (cpb_layout){.start = start, .prefix = prefix, .row_bytes = row_bytes};
  if (writer->whole.stream || writer->o.rows == CPB_ROWS_UNKNOWN) return true;
  if (rows > (UINT64_MAX - start) / row_bytes)
    return cpb_refuse(&writer->of, CPB_WHY_FILE_LIMIT,
                      "%" PRIu64 " rows of d = %zu are more than a file can have", rows, writer->o.cols);
  return cpb_whole_resize(&writer->whole, start + rows * row_bytes, writer->of.error) == CPB_OK;
}

static bool fixed_finish(cpb_writer *writer) {
  char header[CPB_HEADER_ROOM];
  size_t size;
  if (writer->format->header == NULL || writer->o.rows != CPB_ROWS_UNKNOWN) return true;
  return writer->format->header(writer, writer->appended, header, &size) &&
         cpb_whole_write_at(&writer->whole, 0, header, size, writer->of.error) == CPB_OK;
}

/* The bytes of the rows in the file. */
static void gather(const cpb_writer *writer, cpb_view rows, char *to) {
  size_t prefix = writer->layout.prefix, row_bytes = writer->layout.row_bytes;
  int32_t d = (int32_t)writer->o.cols;
  if (prefix == 0 && rows.stride == rows.cols) {
    memcpy(to, rows.data, rows.rows * row_bytes);
    return;
  }
  for (size_t i = 0; i < rows.rows; i++, to += row_bytes) {
    memcpy(to, &d, prefix);
    memcpy(to + prefix, cpb_view_slice(rows, i, 1).data, row_bytes - prefix);
  }
}

static bool fixed_append(cpb_writer *writer, cpb_view rows) {
  char *to = cpb_text_extend(&writer->out, rows.rows * writer->layout.row_bytes);
  if (to != NULL) gather(writer, rows, to);
  return true; /* out of memory: the writer will notice */
}

/* Rows with gaps or prefixes are assembled in memory, as many as fit in the cache. */
cpb_status cpb_fixed_place(cpb_writer *writer, uint64_t first, cpb_view block, cpb_error *error) {
  size_t row_bytes = writer->layout.row_bytes, most = row_bytes < GATHER ? GATHER / row_bytes : 1;
  uint64_t offset = writer->layout.start + first * row_bytes;
  if (writer->layout.prefix == 0 && block.stride == block.cols)
    return cpb_whole_write_at(&writer->whole, offset, block.data, block.rows * row_bytes, error);
  char *gathered = malloc(most * row_bytes);
  if (gathered == NULL) return cpb_fail_memory(error, "%zu rows", most);
  cpb_status status = CPB_OK;
  for (size_t done = 0; done < block.rows && status == CPB_OK; done += most) {
    size_t count = block.rows - done < most ? block.rows - done : most;
    gather(writer, cpb_view_slice(block, done, count), gathered);
    status =
        cpb_whole_write_at(&writer->whole, offset + done * row_bytes, gathered, count * row_bytes, error);
  }
  free(gathered);
  return status;
}

/* Formats without a description: .fvecs .bvecs .ivecs, where every row is an int32 d and d elements, and .fbin .u8bin
 * .i8bin .f16bin .ibin: uint32 n, uint32 d, then n*d elements. */

/* The size is not a multiple of the row size: names the row at fault if it is among the first. */
static bool blame(const cpb_reader *reader) {
  enum { SEARCHED = 1 << 16 };
  size_t row_bytes = reader->layout.row_bytes;
  uint64_t size = reader->source.size, rows = size / row_bytes;
  for (uint64_t row = 1; row <= rows && row < SEARCHED; row++) {
    int32_t d;
    if (size - row * row_bytes < sizeof d) break;
    if (!cpb_input_read_at(&reader->source, row * row_bytes, &d, sizeof d, reader->of->error) ||
        !check_prefix(reader, &d, row, reader->of->error))
      return false;
  }
  return cpb_refuse_row(reader->of, rows, CPB_WHY_FILE_ENDS_EARLY,
                        "%" PRIu64 " bytes are %" PRIu64 " row%s of d = %zu and %" PRIu64
                        " bytes of a truncated row",
                        size, rows, cpb_s(rows), reader->cols, size % row_bytes);
}

static bool vecs_open(cpb_reader *reader) {
  int32_t d;
  size_t got;
  if (!cpb_buffer_reserve(&reader->buffer, sizeof d, 0, reader->of->error) ||
      !cpb_input_read(&reader->source, reader->buffer.bytes, sizeof d, &got))
    return false;
  if (got == 0) return cpb_refuse(reader->of, CPB_WHY_FILE_EMPTY, "is empty: without a row there is no d");
  if (got < sizeof d)
    return cpb_refuse(reader->of, CPB_WHY_FILE_SHORT_HEADER, "ends after %zu bytes, in the d of row 0", got);
  memcpy(&d, reader->buffer.bytes, sizeof d);
  if (d < 1) return cpb_refuse_row(reader->of, 0, CPB_WHY_FILE_COLUMNS, "row 0 has d = %d, wanted d >= 1", d);
  reader->ahead = sizeof d;
  cpb_dtype dtype = (cpb_dtype)reader->format->variant;
  if (!set_shape(reader, dtype, (uint64_t)d, (cpb_layout){.prefix = sizeof d})) return false;
  if (reader->source.stream) return true;
  reader->rows = reader->source.size / reader->layout.row_bytes;
  return reader->source.size % reader->layout.row_bytes == 0 || blame(reader);
}

#define FIXED(word, kind, writes, opens, prints_header)                                                      \
  {                                                                                                          \
    .name = word, .extensions = "." word, .variant = kind, .dtypes = writes, .streams_in = true,             \
    .streams_out = true, .fixed = true, .open = opens, .next = fixed_next, .header = prints_header,          \
    .begin = fixed_begin, .append = fixed_append, .finish = fixed_finish                                     \
  }
const cpb_format cpb_format_fvecs = FIXED("fvecs", CPB_F32, 1u << CPB_F32, vecs_open, NULL);
const cpb_format cpb_format_bvecs = FIXED("bvecs", CPB_U8, 1u << CPB_U8, vecs_open, NULL);
const cpb_format cpb_format_ivecs = FIXED("ivecs", CPB_I32, 1u << CPB_I32, vecs_open, NULL);

typedef struct bin_header {
  uint32_t rows, cols;
} bin_header;

static bool bin_open(cpb_reader *reader) {
  bin_header header;
  size_t got;
  if (!cpb_input_read(&reader->source, &header, sizeof header, &got)) return false;
  if (got < sizeof header)
    return cpb_refuse(reader->of, CPB_WHY_FILE_SHORT_HEADER, "has %zu bytes, its header alone has %zu", got,
                      sizeof header);
  cpb_dtype dtype = (cpb_dtype)reader->format->variant;
  return set_shape(reader, dtype, header.cols, (cpb_layout){.start = sizeof header}) &&
         set_rows(reader, header.rows);
}

static bool bin_header_of(const cpb_writer *writer, uint64_t rows, char *header, size_t *size) {
  if (rows > UINT32_MAX)
    return cpb_refuse(&writer->of, CPB_WHY_FILE_LIMIT,
                      "%" PRIu64 " rows are more than the header of %s can count, %u", rows,
                      writer->format->name, UINT32_MAX);
  bin_header counts = {(uint32_t)rows, (uint32_t)writer->o.cols};
  memcpy(header, &counts, *size = sizeof counts);
  return true;
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

/* The first seven are also written. */
static const npy_code codes[] = {{"f4", CPB_F32, 0},
                                 {"f8", CPB_F64, 0},
                                 {"f2", CPB_F16, 0},
                                 {"u1", CPB_U8, 0},
                                 {"i1", CPB_I8, 0},
                                 {"i4", CPB_I32, 0},
                                 {"i8", CPB_I64, 0},
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

/* The value of one key. A descr that is a list belongs to a structured array: parsing ends there. */
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

static bool find_code(const cpb_reader *reader, const char *descr, const npy_code **code) {
  if (strcmp(descr, RECORDS) == 0)
    return cpb_refuse(reader->of, CPB_WHY_FILE_ELEMENTS, "its dtype is structured (records), not numbers");
  if (strchr(descr, 'O') != NULL)
    return cpb_refuse(reader->of, CPB_WHY_FILE_ELEMENTS,
                      "its dtype is object (pickled Python), which is not read: it could run code");
  for (size_t i = 0; i < CODES && descr[0] != 0; i++) {
    if (strcmp(descr + 1, codes[i].code) != 0) continue;
    *code = &codes[i];
    if (strchr("<=|", descr[0]) != NULL || (descr[0] == '>' && descr[2] == '1')) return true;
    if (descr[0] == '>')
      return cpb_refuse(reader->of, CPB_WHY_FILE_ELEMENTS,
                        "its dtype %s is big-endian; only little-endian is read: x.astype('<%s')", descr,
                        descr + 1);
  }
  return cpb_refuse(reader->of, CPB_WHY_FILE_ELEMENTS,
                    "its dtype \"%s\" is not one of f2 f4 f8 b1 u1 i1 u2 i2 u4 i4 i8; convert it with "
                    "x.astype('<f8') in NumPy",
                    descr);
}

static bool use_header(cpb_reader *reader, const npy_header *header, uint64_t start) {
  const npy_code *code = NULL;
  if (!find_code(reader, header->descr, &code)) return false;
  if (header->rank < 1 || header->rank > RANK_MAX)
    return cpb_refuse(reader->of, CPB_WHY_FILE_DIMENSIONS,
                      "its array has %zu dimensions, wanted 2 (rows, columns) or 1 (one column)",
                      header->rank);
  uint64_t cols = header->rank == 2 ? header->shape[1] : 1;
  cpb_layout layout = {
      .start = start, .by_columns = header->fortran_order && cols > 1, .narrow = code->narrow};
  if (!set_shape(reader, code->dtype, cols, layout)) return false;
  if (layout.by_columns && reader->source.stream)
    return cpb_refuse(reader->of, CPB_WHY_PIPE_FORMAT,
                      "an array in Fortran order cannot be read from a pipe; save it to a file first");
  return set_rows(reader, header->shape[0]);
}

static bool read_part(cpb_reader *reader, void *part, size_t length) {
  size_t got;
  if (!cpb_input_read(&reader->source, part, length, &got)) return false;
  return got == length || cpb_refuse(reader->of, CPB_WHY_FILE_SHORT_HEADER, "ends in its header");
}

/* Magic, version, and the length of the dict, which has 2 bytes in version 1 and 4 later. */
static bool read_prelude(cpb_reader *reader, uint32_t *length, size_t *start) {
  unsigned char magic[MAGIC];
  size_t got;
  if (!cpb_input_read(&reader->source, magic, MAGIC, &got)) return false;
  if (got < MAGIC || memcmp(magic, "\x93NUMPY", 6) != 0)
    return cpb_refuse(reader->of, CPB_WHY_FOREIGN, "does not begin like an .npy file");
  if (magic[6] < 1 || magic[6] > 3)
    return cpb_refuse(reader->of, CPB_WHY_FILE_VERSION, "is .npy version %d, wanted 1, 2 or 3", magic[6]);
  size_t width = magic[6] > 1 ? 4 : 2;
  *length = 0;
  *start = MAGIC + width;
  if (!read_part(reader, length, width)) return false;
  return *length <= HEADER_MAX ||
         cpb_refuse(reader->of, CPB_WHY_NPY_HEADER,
                    "has a header of %u bytes, more than the %d that are read", *length, HEADER_MAX);
}

static bool npy_open(cpb_reader *reader) {
  uint32_t length = 0;
  size_t start = 0;
  if (!read_prelude(reader, &length, &start) ||
      !cpb_buffer_reserve(&reader->buffer, (size_t)length + 1, 0, reader->of->error) ||
      !read_part(reader, reader->buffer.bytes, length))
    return false;
  npy_header header = {.rank = 0};
  reader->buffer.bytes[length] = 0;
  const char *p = (const char *)reader->buffer.bytes;
  bool parsed = take(&p, "{") && take_members(&p, &header) && take(&p, "") && *p == 0 && header.has_descr &&
                header.has_order && header.has_shape;
  if (!parsed && strcmp(header.descr, RECORDS) != 0)
    return cpb_refuse(reader->of, CPB_WHY_NPY_HEADER,
                      "its header is not a dict of descr, fortran_order and shape");
  return use_header(reader, &header, start + length);
}

/* A multiple of ALIGNMENT bytes; the same length for any number of rows. */
static bool npy_header_of(const cpb_writer *writer, uint64_t rows, char *header, size_t *size) {
  size_t i = 0;
  while (codes[i].dtype != writer->o.dtype) i++;
  int digits = snprintf(NULL, 0, "%" PRIu64, rows);
  int length = snprintf(header + MAGIC + 2, CPB_HEADER_ROOM - MAGIC - 2,
                        "{'descr': '%c%s', 'fortran_order': False, 'shape': (%" PRIu64 ", %zu), }%*s",
                        cpb_dtype_size(writer->o.dtype) == 1 ? '|' : '<', codes[i].code, rows, writer->o.cols,
                        COUNT_DIGITS - digits, "");
  size_t used = MAGIC + 2 + (size_t)length + 1;
  *size = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memset(header + used - 1, ' ', *size - used);
  header[*size - 1] = '\n';
  uint16_t dict = (uint16_t)(*size - MAGIC - 2);
  memcpy(header, "\x93NUMPY\x01", MAGIC);
  memcpy(header + MAGIC, &dict, sizeof dict);
  return true;
}

const cpb_format cpb_format_npy = FIXED("npy", 0, ~0u, npy_open, npy_header_of);
