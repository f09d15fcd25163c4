#include "face.h"

#include <string.h>

static PyObject *as_rows;  /* capball._arrays.rows: an array the library can read, or TypeError */
static PyObject *as_ids;   /* capball._arrays.ids: int64, or TypeError */
static PyObject *masked;   /* numpy.ma.MaskedArray, whose buffer does not show what is masked */
static PyObject *empty;    /* numpy.empty */
static PyObject *types[7]; /* by cpb_dtype: numpy's */

static const char *const type_names[7] = {"float32", "float64", "float16", "uint8", "int8", "int32", "int64"};

int face_begin(void) {
  if (empty != NULL) return 0;
  PyObject *arrays = PyImport_ImportModule("capball._arrays");
  PyObject *numpy = arrays != NULL ? PyImport_ImportModule("numpy") : NULL;
  PyObject *ma = numpy != NULL ? PyImport_ImportModule("numpy.ma") : NULL;
  if (ma != NULL) {
    as_rows = PyObject_GetAttrString(arrays, "rows");
    as_ids = PyObject_GetAttrString(arrays, "ids");
    masked = PyObject_GetAttrString(ma, "MaskedArray");
    for (int i = 0; i < 7; i++) {
      PyObject *name = PyUnicode_FromString(type_names[i]);
      types[i] = name != NULL ? PyObject_CallMethod(numpy, "dtype", "O", name) : NULL;
      Py_DecRef(name);
    }
    empty = PyObject_GetAttrString(numpy, "empty");
  }
  Py_DecRef(arrays);
  Py_DecRef(numpy);
  Py_DecRef(ma);
  for (int i = 0; i < 7; i++)
    if (types[i] == NULL) return -1;
  return as_rows != NULL && as_ids != NULL && masked != NULL && empty != NULL ? 0 : -1;
}

static int dtype_of(const Py_buffer *buffer, cpb_dtype *dtype) {
  const char *format = buffer->format != NULL ? buffer->format : "B";
  if (*format == '@' || *format == '=' || *format == '<') format++;
  if (format[0] == 0 || format[1] != 0) return -1;
  switch (*format) {
  case 'f': *dtype = CPB_F32; return 0;
  case 'd': *dtype = CPB_F64; return 0;
  case 'e': *dtype = CPB_F16; return 0;
  case 'B': *dtype = CPB_U8; return 0;
  case 'b': *dtype = CPB_I8; return 0;
  case 'i': *dtype = CPB_I32; return 0;
  case 'l':
  case 'q': *dtype = CPB_I64; return buffer->itemsize == 8 ? 0 : -1;
  default: return -1;
  }
}

/* Rows of one or two dimensions whose numbers lie side by side and whose rows do not run backwards. */
static bool lies_well(const Py_buffer *buffer) {
  if (buffer->ndim != 1 && buffer->ndim != 2) return false;
  Py_ssize_t size = buffer->itemsize, last = buffer->ndim - 1, cols = buffer->shape[last];
  if ((uintptr_t)buffer->buf % (uintptr_t)size != 0) return false;
  if (cols > 1 && buffer->strides[last] != size) return false;
  if (buffer->ndim == 1 || buffer->shape[0] <= 1) return true;
  return buffer->strides[0] % size == 0 && buffer->strides[0] >= cols * size;
}

static void shape_of(const Py_buffer *buffer, size_t *rows, size_t *cols, size_t *stride) {
  bool flat = buffer->ndim == 1;
  *rows = flat ? 1 : (size_t)buffer->shape[0];
  *cols = (size_t)buffer->shape[flat ? 0 : 1];
  *stride = flat || *rows <= 1 ? *cols : (size_t)(buffer->strides[0] / buffer->itemsize);
}

static bool try_buffer(face_rows *rows, PyObject *object) {
  if (PyObject_GetBuffer(object, &rows->buffer, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
    PyErr_Clear();
    return false;
  }
  cpb_view *view = &rows->view;
  if (!lies_well(&rows->buffer) || dtype_of(&rows->buffer, &view->dtype) < 0 || view->dtype > CPB_I8) {
    PyBuffer_Release(&rows->buffer);
    return false;
  }
  view->data = rows->buffer.buf;
  shape_of(&rows->buffer, &view->rows, &view->cols, &view->stride);
  rows->single = rows->buffer.ndim == 1;
  return true;
}

static int by_conversion(face_rows *rows, PyObject *object, const char *name) {
  PyObject *array = PyObject_CallFunction(as_rows, "Os", object, name);
  if (array == NULL) return -1;
  bool taken = try_buffer(rows, array);
  Py_DecRef(array);
  if (!taken)
    PyErr_Format(PyExc_TypeError, "%s: rows of numbers are wanted, got %R", name,
                 (PyObject *)Py_TYPE(object));
  return taken ? 0 : -1;
}

int face_rows_take(face_rows *rows, PyObject *object, const char *name, size_t cols) {
  memset(rows, 0, sizeof *rows);
  int hides = PyObject_IsInstance(object, masked);
  if (hides < 0) return -1;
  if ((hides || !try_buffer(rows, object)) && by_conversion(rows, object, name) < 0) return -1;
  if (cols == 0 || rows->view.cols == cols) return 0;
  PyErr_Format(PyExc_ValueError, "%s has %zu columns, wanted %zu", name, rows->view.cols, cols);
  face_rows_drop(rows);
  return -1;
}

void face_rows_drop(face_rows *rows) {
  if (rows->buffer.obj != NULL) PyBuffer_Release(&rows->buffer);
}

static double number_at(const cpb_view *view, size_t i) {
  switch (view->dtype) {
  case CPB_F32: return ((const float *)view->data)[i];
  case CPB_F64: return ((const double *)view->data)[i];
  case CPB_U8: return ((const uint8_t *)view->data)[i];
  default: return ((const int8_t *)view->data)[i];
  }
}

int face_doubles(PyObject *object, const char *name, size_t *count, double **numbers) {
  *numbers = NULL;
  if (object == NULL) return 0;
  face_rows rows;
  if (face_rows_take(&rows, object, name, 0) < 0) return -1;
  cpb_view view = rows.view;
  size_t got = view.rows * view.cols;
  int result = -1;
  if (view.dtype == CPB_F16 || view.stride != view.cols)
    PyErr_Format(PyExc_TypeError, "%s must be an array of doubles", name);
  else if (*count != 0 && got != *count)
    PyErr_Format(PyExc_ValueError, "%s has %zu numbers, wanted %zu", name, got, *count);
  else if ((*numbers = PyMem_Malloc((got != 0 ? got : 1) * sizeof **numbers)) == NULL)
    PyErr_NoMemory();
  else {
    for (size_t i = 0; i < got; i++) (*numbers)[i] = number_at(&view, i);
    *count = got;
    result = 0;
  }
  face_rows_drop(&rows);
  return result;
}

int face_ids(PyObject *object, const char *name, int dimensions, size_t rows, Py_buffer *buffer) {
  PyObject *array = PyObject_CallFunction(as_ids, "Os", object, name);
  if (array == NULL) return -1;
  int got = PyObject_GetBuffer(array, buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  Py_DecRef(array); /* the buffer has a reference of its own */
  if (got < 0) return -1;
  if (buffer->ndim == dimensions && (size_t)buffer->shape[0] == rows) return 0;
  if (dimensions == 1)
    PyErr_Format(PyExc_TypeError, "%s must be %zu numbers in one dimension", name, rows);
  else
    PyErr_Format(PyExc_TypeError, "%s must be a row of candidates for each of %zu queries", name, rows);
  PyBuffer_Release(buffer);
  return -1;
}

static PyObject *new_array(cpb_dtype dtype, size_t rows, size_t cols, face_shape shape) {
  return shape == FACE_ROWS
             ? PyObject_CallFunction(empty, "(nn)O", (Py_ssize_t)rows, (Py_ssize_t)cols, types[dtype])
             : PyObject_CallFunction(empty, "(n)O", (Py_ssize_t)(rows * cols), types[dtype]);
}

static int wrong_shape(face_out *out, const char *name, size_t rows, size_t cols) {
  PyErr_Format(PyExc_ValueError, "%s has %zu rows of %zu, wanted %zu of %zu", name, out->out.rows,
               out->out.cols, rows, cols);
  face_out_drop(out);
  return -1;
}

/* Of real numbers either type will do. */
static bool can_be(cpb_dtype given, cpb_dtype wanted) {
  return given == wanted || (given <= CPB_F64 && wanted <= CPB_F64);
}

int face_out_take(face_out *out, PyObject *given, const char *name, cpb_dtype dtype, size_t rows, size_t cols,
                  face_shape shape) {
  memset(out, 0, sizeof *out);
  if (given != NULL) Py_IncRef(given);
  out->array = given != NULL ? given : new_array(dtype, rows, cols, shape);
  if (out->array == NULL) return -1;
  if (PyObject_GetBuffer(out->array, &out->buffer, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) < 0) {
    face_out_drop(out);
    return -1;
  }
  if (!lies_well(&out->buffer) || dtype_of(&out->buffer, &out->out.dtype) < 0 ||
      !can_be(out->out.dtype, dtype)) {
    PyErr_Format(PyExc_TypeError, "%s must be rows of %s that lie side by side", name,
                 dtype <= CPB_F64 ? "float32 or float64" : type_names[dtype]);
    face_out_drop(out);
    return -1;
  }
  out->out.data = out->buffer.buf;
  shape_of(&out->buffer, &out->out.rows, &out->out.cols, &out->out.stride);
  if (shape == FACE_COLUMN && out->buffer.ndim == 1) {
    out->out.rows = out->out.cols;
    out->out.cols = out->out.stride = 1;
  }
  return out->out.rows == rows && out->out.cols == cols ? 0 : wrong_shape(out, name, rows, cols);
}

int face_pair(PyObject *value, const char *wanted, PyObject **pair) {
  pair[0] = pair[1] = NULL;
  if (value == NULL) return 0;
  if (!PyTuple_Check(value) || PyTuple_Size(value) != 2) {
    PyErr_Format(PyExc_TypeError, "out must be a tuple %s, got %R", wanted, (PyObject *)Py_TYPE(value));
    return -1;
  }
  for (int i = 0; i < 2; i++)
    if ((pair[i] = PyTuple_GetItem(value, i)) == Py_None) pair[i] = NULL;
  return 0;
}

PyObject *face_out_done(face_out *out) {
  PyObject *array = out->array;
  if (out->buffer.obj != NULL) PyBuffer_Release(&out->buffer);
  out->array = NULL;
  return array;
}

void face_out_drop(face_out *out) {
  PyObject *array = face_out_done(out);
  Py_DecRef(array);
}

PyObject *face_out_end(face_out *out, cpb_status status, const cpb_error *error) {
  if (status == CPB_OK) return face_out_done(out);
  face_out_drop(out);
  return face_fail(status, error);
}

PyObject *face_matrix(const void *data, cpb_dtype dtype, size_t rows, size_t cols) {
  PyObject *array = new_array(dtype, rows, cols, FACE_ROWS);
  Py_buffer buffer;
  if (array == NULL || PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE) < 0) return array;
  if (rows * cols != 0) memcpy(buffer.buf, data, rows * cols * cpb_dtype_size(dtype));
  PyBuffer_Release(&buffer);
  return array;
}

PyObject *face_array(const void *data, cpb_dtype dtype, size_t count) {
  PyObject *array = new_array(dtype, 1, count, FACE_ONE_ROW);
  Py_buffer buffer;
  if (array == NULL || PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE) < 0) return array;
  if (count != 0) memcpy(buffer.buf, data, count * cpb_dtype_size(dtype));
  PyBuffer_Release(&buffer);
  return array;
}

int face_result_dtype(PyObject *value, cpb_dtype otherwise, cpb_dtype *dtype) {
  *dtype = otherwise;
  if (value == NULL) return 0;
  for (int i = 0; i < 2; i++) {
    int same = PyObject_RichCompareBool(types[i], value, Py_EQ);
    if (same < 0) return -1;
    if (same) {
      *dtype = (cpb_dtype)i;
      return 0;
    }
  }
  PyErr_Format(PyExc_TypeError, "dtype must be float32 or float64, got %R", value);
  return -1;
}

static const char *dtype_name(int dtype) { return type_names[dtype]; }

int face_row_dtype(PyObject *value, cpb_dtype *dtype) {
  int choice = (int)*dtype;
  if (face_choice(value, "dtype", dtype_name, CPB_I8 + 1, &choice) < 0) return -1;
  *dtype = (cpb_dtype)choice;
  return 0;
}

cpb_dtype face_like(cpb_dtype dtype) { return dtype == CPB_F64 ? CPB_F64 : CPB_F32; }
