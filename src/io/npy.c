/* .npy, versions 1 to 3: a magic, a Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * and the elements. Written as version 1, C order, padded like NumPy's for the row count, so that the header has the
 * same length for any n. */
#include <stdio.h>
#include <string.h>

#include "io/file_fail.h"
#include "io/format.h"

enum {
  MAGIC = 8, /* "\x93NUMPY", major, minor */
  HEADER_MAX = 1 << 16,
  ALIGNMENT = 64,
  COUNT_DIGITS = 21, /* space for the first axis */
  RANK_MAX = 2,
};

typedef struct npy_header {
  char descr[32];
  bool fortran_order, has_descr, has_order, has_shape;
  size_t rank;
  uint64_t shape[RANK_MAX];
} npy_header;

static const struct {
  const char *code;
  cpb_dtype dtype;
  cpb_narrow narrow;
} codes[] = {{"f4", CPB_F32, 0},
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

/* A position in the text of the dict; NULL after an error. */
typedef const char *cursor;

static cursor skip_blanks(cursor p) {
  while (p != NULL && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
  return p;
}

static cursor expect(cursor p, char c) {
  p = skip_blanks(p);
  return p != NULL && *p == c ? p + 1 : NULL;
}

static bool comes(cursor p, char c) {
  p = skip_blanks(p);
  return p != NULL && *p == c;
}

static cursor parse_string(cursor p, char *to, size_t size) {
  p = skip_blanks(p);
  if (p == NULL || (*p != '\'' && *p != '"')) return NULL;
  const char *end = strchr(p + 1, *p);
  size_t length = end == NULL ? size : (size_t)(end - p - 1);
  if (length >= size) return NULL;
  memcpy(to, p + 1, length);
  to[length] = 0;
  return end + 1;
}

static cursor parse_bool(cursor p, bool *value) {
  p = skip_blanks(p);
  if (p == NULL) return NULL;
  *value = strncmp(p, "True", 4) == 0;
  if (*value) return p + 4;
  return strncmp(p, "False", 5) == 0 ? p + 5 : NULL;
}

static cursor parse_count(cursor p, uint64_t *value) {
  p = skip_blanks(p);
  if (p == NULL || *p < '0' || *p > '9') return NULL;
  for (*value = 0; *p >= '0' && *p <= '9'; p++) {
    if (*value > (UINT64_MAX - 9) / 10) return NULL;
    *value = 10 * *value + (uint64_t)(*p - '0');
  }
  return *p == 'L' ? p + 1 : p; /* Python 2 wrote 3L */
}

static cursor parse_shape(cursor p, npy_header *header) {
  p = expect(p, '(');
  while (p != NULL && !comes(p, ')')) {
    uint64_t length = 0;
    p = parse_count(p, &length);
    if (header->rank < RANK_MAX) header->shape[header->rank] = length;
    header->rank++;
    if (!comes(p, ',')) break;
    p = expect(p, ',');
  }
  return expect(p, ')');
}

/* The value of one key. A descr that is a list belongs to a structured array: its text is stored for the message, and
 * parsing ends there. */
static cursor parse_value(cursor p, const char *key, npy_header *header) {
  if (strcmp(key, "fortran_order") == 0) {
    header->has_order = true;
    return parse_bool(p, &header->fortran_order);
  }
  if (strcmp(key, "shape") == 0) {
    header->has_shape = true;
    header->rank = 0;
    return parse_shape(p, header);
  }
  if (strcmp(key, "descr") != 0) return NULL;
  header->has_descr = true;
  if (!comes(p, '[')) return parse_string(p, header->descr, sizeof header->descr);
  snprintf(header->descr, sizeof header->descr, "[..]");
  return NULL;
}

static bool parse_header(const char *text, npy_header *header) {
  cursor p = expect(text, '{');
  while (p != NULL && !comes(p, '}')) {
    char key[32];
    p = expect(parse_string(p, key, sizeof key), ':');
    p = parse_value(p, key, header);
    if (!comes(p, ',')) break;
    p = expect(p, ',');
  }
  p = skip_blanks(expect(p, '}'));
  return p != NULL && *p == 0 && header->has_descr && header->has_order && header->has_shape;
}

/* The index of the dtype in `codes`. */
static cpb_status find_code(const cpb_reader *reader, const char *descr, size_t *code, cpb_error *error) {
  const char *path = reader->source.path;
  if (strcmp(descr, "[..]") == 0)
    return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                         "its dtype is structured (records), not numbers");
  if (strchr(descr, 'O') != NULL)
    return cpb_file_fail(error, CPB_WHY_FILE_ELEMENTS, path,
                         "its dtype is object (pickled Python), which is not read: it could run code");
  for (size_t i = 0; i < CODES && descr[0] != 0; i++) {
    if (strcmp(descr + 1, codes[i].code) != 0) continue;
    *code = i;
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
  size_t code = 0;
  cpb_status status = find_code(reader, header->descr, &code, error);
  if (status != CPB_OK) return status;
  if (header->rank < 1 || header->rank > RANK_MAX)
    return cpb_file_fail(error, CPB_WHY_FILE_DIMENSIONS, reader->source.path,
                         "its array has %zu dimensions, wanted 2 (rows, columns) or 1 (one column)",
                         header->rank);
  uint64_t cols = header->rank == 2 ? header->shape[1] : 1;
  status = codes[code].narrow != CPB_NOT_NARROW
               ? cpb_fixed_shape_narrow(reader, codes[code].narrow, cols, start, error)
               : cpb_fixed_shape(reader, codes[code].dtype, cols, start, 0, error);
  if (status != CPB_OK) return status;
  reader->layout.by_columns = header->fortran_order && cols > 1;
  if (reader->layout.by_columns && reader->source.stream)
    return cpb_file_fail(error, CPB_WHY_PIPE_FORMAT, reader->source.path,
                         "an array in Fortran order cannot be read from a pipe; save it to a file first");
  return cpb_fixed_rows(reader, header->shape[0], error);
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
  if (!parsed && strcmp(header.descr, "[..]") != 0)
    return cpb_file_fail(error, CPB_WHY_NPY_HEADER, reader->source.path,
                         "its header is not a dict of descr, fortran_order and shape");
  return set_shape(reader, &header, start + length, error);
}

/* The whole header, a multiple of ALIGNMENT bytes; the same length for any number of rows. */
static size_t make_header(const cpb_writer *writer, uint64_t rows, char header[256]) {
  size_t i = 0;
  while (codes[i].dtype != writer->dtype) i++;
  int digits = snprintf(NULL, 0, "%llu", (unsigned long long)rows);
  int length = snprintf(header + MAGIC + 2, 256 - MAGIC - 2,
                        "{'descr': '%c%s', 'fortran_order': False, 'shape': (%llu, %zu), }%*s",
                        cpb_dtype_size(writer->dtype) == 1 ? '|' : '<', codes[i].code,
                        (unsigned long long)rows, writer->cols, COUNT_DIGITS - digits, "");
  size_t used = MAGIC + 2 + (size_t)length + 1;
  size_t size = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memset(header + used - 1, ' ', size - used);
  header[size - 1] = '\n';
  uint16_t dict = (uint16_t)(size - MAGIC - 2);
  memcpy(header, "\x93NUMPY\x01", MAGIC);
  memcpy(header + MAGIC, &dict, sizeof dict);
  return size;
}

static cpb_status npy_begin(cpb_writer *writer, cpb_error *error) {
  char header[256];
  size_t size = make_header(writer, writer->rows == CPB_ROWS_UNKNOWN ? 0 : writer->rows, header);
  return cpb_fixed_begin(writer, header, size, 0, error);
}

static cpb_status npy_finish(cpb_writer *writer, cpb_error *error) {
  char header[256];
  if (writer->rows != CPB_ROWS_UNKNOWN) return CPB_OK;
  size_t size = make_header(writer, writer->appended, header);
  return cpb_whole_write_at(&writer->whole, 0, header, size, error);
}

const cpb_format cpb_format_npy = {
    .name = "npy",
    .extensions = ".npy",
    .dtypes = ~0u,
    .streams_in = true,
    .streams_out = true,
    .header_counts_rows = true,
    .open = npy_open,
    .next = cpb_fixed_next,
    .at = cpb_fixed_at,
    .lend = cpb_fixed_lend,
    .begin = npy_begin,
    .append = cpb_fixed_append,
    .finish = npy_finish,
};
