/* T13: a persistent index. Ids are int64, distances double. */
#include <stdlib.h>
#include <string.h>

#include "face.h"
#include <capball/index.h>

static void free_index(void *held) { cpb_index_free(held); }

/* Without the interpreter's lock: a writer that reports its progress holds the lock of the index and waits for that one. */
static void describe(const cpb_index *index, cpb_index_report *report) {
  Py_BEGIN_ALLOW_THREADS;
  cpb_index_describe(index, report);
  Py_END_ALLOW_THREADS;
}

static cpb_index *held(PyObject *self) { return ((face_object *)self)->held; }

static PyObject *outcome(cpb_status status, const cpb_error *error) {
  return status == CPB_OK ? face_none() : face_fail(status, error);
}

/* ---- objects */

/* A sequence of numbers of directions; an empty one, or of 0: none. */
static int take_levels(PyObject *value, cpb_index_options *options) {
  if (value == NULL || value == Py_None) return 0;
  PyObject *given = PySequence_Tuple(value);
  if (given == NULL) return -1;
  Py_ssize_t count = PyTuple_Size(given);
  int result = 0;
  if (count > CPB_INDEX_LEVELS) {
    PyErr_Format(PyExc_ValueError, "levels: there are at most %d, got %zd", CPB_INDEX_LEVELS, count);
    result = -1;
  }
  for (Py_ssize_t i = 0; i < count && result == 0; i++)
    result = face_size(PyTuple_GetItem(given, i), "levels", &options->levels[i]);
  if (options->levels[0] == 0) options->levels[0] = CPB_INDEX_UNFOLDED;
  Py_DECREF(given);
  return result;
}

static PyObject *index_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  static char *names[] = {"d", "metric", "dtype", "copy", "levels", "keys", NULL};
  PyObject *values[6] = {NULL};
  bool copy = true;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOOOO:Index", names, &values[0], &values[1], &values[2],
                                   &values[3], &values[4], &values[5]))
    return NULL;
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  if (face_size(values[0], "d", &options.cols) < 0 || face_metric(values[1], &options.metric) < 0 ||
      face_row_dtype(values[2], &options.dtype) < 0 || face_flag(values[3], &copy) < 0 ||
      take_levels(values[4], &options) < 0 || face_flag(values[5], &options.keys) < 0)
    return NULL;
  options.borrow = !copy;
  cpb_index *index;
  cpb_error error;
  cpb_status status = cpb_index_new(&options, &index, &error);
  if (status != CPB_OK) return face_fail(status, &error);
  return face_hold(type, index, options.cols, 0);
}

static PyObject *index_open(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"path", "writable", NULL};
  PyObject *values[2], *path = NULL;
  bool writable = false;
  if (face_arguments("open", names, 1, args, nargs, kwnames, values) < 0 ||
      face_flag(values[1], &writable) < 0 || !PyUnicode_FSConverter(values[0], &path))
    return NULL;
  cpb_index *index;
  cpb_error error;
  cpb_status status;
  const char *name = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_open(name, writable, &index, &error);
  Py_END_ALLOW_THREADS;
  Py_DecRef(path);
  if (status != CPB_OK) return face_fail(status, &error);
  cpb_index_report report = {.size = sizeof report};
  describe(index, &report);
  return face_hold((PyTypeObject *)type, index, report.cols, 0);
}

/* Whether there was something new. */
static PyObject *index_refresh(PyObject *self, PyObject *unused) {
  bool changed = false;
  cpb_error error;
  cpb_status status;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_refresh(held(self), &changed, &error);
  Py_END_ALLOW_THREADS;
  return status == CPB_OK ? PyBool_FromLong(changed) : face_fail(status, &error);
}

static PyObject *index_follow(PyObject *self, PyObject *unused) {
  cpb_error error;
  (void)unused;
  return outcome(cpb_index_follow(held(self), true, &error), &error);
}

static PyObject *index_save(FACE_CALL) {
  static const char *const names[] = {"path", NULL};
  PyObject *values[1], *path = NULL;
  if (face_arguments("save", names, 0, args, nargs, kwnames, values) < 0 ||
      (values[0] != NULL && !PyUnicode_FSConverter(values[0], &path)))
    return NULL;
  cpb_error error;
  cpb_status status;
  const char *name = path != NULL ? PyBytes_AsString(path) : NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_save(held(self), name, &error);
  Py_END_ALLOW_THREADS;
  Py_DecRef(path);
  return outcome(status, &error);
}

static PyObject *run_all(FACE_CALL, const char *function,
                         cpb_status (*call)(cpb_index *index, const cpb_exec *exec, cpb_error *error)) {
  static const char *const names[] = {"threads", "progress", NULL};
  PyObject *values[2];
  face_run run;
  cpb_error error;
  cpb_status status;
  if (face_arguments(function, names, 0, args, nargs, kwnames, values) < 0 ||
      face_run_begin(&run, values[0], values[1]) < 0)
    return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = call(held(self), run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return outcome(status, &error);
}

static cpb_status check(cpb_index *index, const cpb_exec *exec, cpb_error *error) {
  return cpb_index_check(index, exec, error);
}

static PyObject *index_compact(FACE_CALL) {
  return run_all(self, args, nargs, kwnames, "compact", cpb_index_compact);
}
static PyObject *index_check(FACE_CALL) { return run_all(self, args, nargs, kwnames, "check", check); }

static PyObject *index_close(PyObject *self, PyObject *unused) {
  cpb_error error;
  cpb_status status;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_close(held(self), &error);
  Py_END_ALLOW_THREADS;
  return outcome(status, &error);
}

/* ---- changes */

typedef cpb_status changing(cpb_index *index, cpb_view rows, const uint64_t *ids, const cpb_exec *exec,
                            cpb_error *error);

static PyObject *change_rows(PyObject *self, changing *call, cpb_view rows, const uint64_t *ids,
                             PyObject **values) {
  face_run run;
  cpb_error error;
  cpb_status status;
  if (face_run_begin(&run, values[2], values[3]) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = call(held(self), rows, ids, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  return outcome(status, &error);
}

static PyObject *change(FACE_CALL, const char *function, changing *call, int required) {
  static const char *const names[] = {"rows", "ids", "threads", "progress", NULL};
  PyObject *values[4], *result = NULL;
  face_rows rows;
  Py_buffer buffer = {0};
  if (face_arguments(function, names, required, args, nargs, kwnames, values) < 0 ||
      face_rows_take(&rows, values[0], "rows", ((face_object *)self)->d) < 0)
    return NULL;
  if (values[1] == NULL || face_ids(values[1], "ids", 1, rows.view.rows, &buffer) == 0) {
    result = change_rows(self, call, rows.view, buffer.buf, values);
    if (buffer.obj != NULL) PyBuffer_Release(&buffer);
  }
  face_rows_drop(&rows);
  return result;
}

static PyObject *index_add(FACE_CALL) { return change(self, args, nargs, kwnames, "add", cpb_index_add, 1); }
static PyObject *index_put(FACE_CALL) { return change(self, args, nargs, kwnames, "put", cpb_index_put, 2); }
static PyObject *index_replace(FACE_CALL) {
  return change(self, args, nargs, kwnames, "replace", cpb_index_replace, 2);
}

/* Rows under the next ids; the id of the first. */
static PyObject *index_append(FACE_CALL) {
  static const char *const names[] = {"rows", "threads", "progress", NULL};
  PyObject *values[3];
  face_rows rows;
  face_run run;
  cpb_error error;
  cpb_status status;
  uint64_t first = 0;
  if (face_arguments("append", names, 1, args, nargs, kwnames, values) < 0 ||
      face_rows_take(&rows, values[0], "rows", ((face_object *)self)->d) < 0)
    return NULL;
  if (face_run_begin(&run, values[1], values[2]) < 0) {
    face_rows_drop(&rows);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_append(held(self), rows.view, &first, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  face_rows_drop(&rows);
  return status == CPB_OK ? PyLong_FromUnsignedLongLong(first) : face_fail(status, &error);
}

/* Contiguous numbers of 8 bytes each, as capball._index passes them. */
static int take_words(PyObject *object, Py_buffer *buffer) {
  if (PyObject_GetBuffer(object, buffer, PyBUF_ND | PyBUF_C_CONTIGUOUS) < 0) return -1;
  if (buffer->itemsize == 8) return 0;
  PyBuffer_Release(buffer);
  PyErr_SetString(PyExc_TypeError, "wanted numbers of 8 bytes");
  return -1;
}

static PyObject *index_remove(PyObject *self, PyObject *ids) {
  Py_buffer buffer;
  uint64_t removed = 0;
  cpb_error error;
  cpb_status status;
  if (take_words(ids, &buffer) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_remove(held(self), buffer.buf, (size_t)buffer.len / 8, &removed, &error);
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&buffer);
  return status == CPB_OK ? PyLong_FromUnsignedLongLong(removed) : face_fail(status, &error);
}

static PyObject *index_rows(PyObject *self, PyObject *ids) {
  Py_buffer buffer;
  face_out rows;
  cpb_error error;
  cpb_status status;
  cpb_index_report report = {.size = sizeof report};
  if (take_words(ids, &buffer) < 0) return NULL;
  describe(held(self), &report);
  size_t count = (size_t)buffer.len / 8;
  if (face_out_take(&rows, NULL, "rows", report.dtype, count, report.cols, FACE_ROWS) < 0) {
    PyBuffer_Release(&buffer);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_rows(held(self), buffer.buf, count, rows.out.data, &error);
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&buffer);
  return face_out_end(&rows, status, &error);
}

/* The next `room` rows from `place` on, as (place, count, ids, rows), of which `count` are filled; what is
 * not wanted is None. */
static PyObject *index_read(FACE_CALL) {
  static const char *const names[] = {"place", "room", "ids", "rows", NULL};
  PyObject *values[4];
  size_t place, room = 0, count = 0;
  bool wants_ids = true, wants_rows = true;
  face_out ids = {0}, rows = {0};
  cpb_error error;
  cpb_index_report report = {.size = sizeof report};
  if (face_arguments("read", names, 2, args, nargs, kwnames, values) < 0 ||
      face_size(values[0], "place", &place) < 0 || face_size(values[1], "room", &room) < 0 ||
      face_flag(values[2], &wants_ids) < 0 || face_flag(values[3], &wants_rows) < 0)
    return NULL;
  describe(held(self), &report);
  if ((wants_ids && face_out_take(&ids, NULL, "ids", CPB_I64, 1, room, FACE_ONE_ROW) < 0) ||
      (wants_rows && face_out_take(&rows, NULL, "rows", report.dtype, room, report.cols, FACE_ROWS) < 0)) {
    face_out_drop(&ids);
    return NULL;
  }
  cpb_status status;
  uint64_t at = place;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_read(held(self), &at, room, wants_ids ? ids.out.data : NULL,
                          wants_rows ? rows.out.data : NULL, &count, &error);
  Py_END_ALLOW_THREADS;
  if (status != CPB_OK) {
    face_out_drop(&ids);
    face_out_drop(&rows);
    return face_fail(status, &error);
  }
  return Py_BuildValue("KnNN", (unsigned long long)at, (Py_ssize_t)count,
                       wants_ids ? face_out_done(&ids) : face_none(),
                       wants_rows ? face_out_done(&rows) : face_none());
}

/* ---- keys: bytes of text, and int64 offsets */

typedef struct key_buffers {
  cpb_index_keys keys;
  Py_buffer text, offsets;
} key_buffers;

static int take_keys(key_buffers *k, PyObject *text, PyObject *offsets) {
  memset(k, 0, sizeof *k);
  if (take_words(offsets, &k->offsets) < 0) return -1;
  if (PyObject_GetBuffer(text, &k->text, PyBUF_C_CONTIGUOUS) < 0) {
    PyBuffer_Release(&k->offsets);
    return -1;
  }
  size_t ends = (size_t)k->offsets.len / 8;
  k->keys = (cpb_index_keys){k->text.buf, k->offsets.buf, ends > 0 ? ends - 1 : 0};
  if (ends > 0 && k->keys.offsets[ends - 1] <= (uint64_t)k->text.len) return 0;
  PyBuffer_Release(&k->offsets);
  PyBuffer_Release(&k->text);
  PyErr_SetString(PyExc_ValueError, "the offsets of keys are beyond their text");
  return -1;
}

static void drop_keys(key_buffers *k) {
  PyBuffer_Release(&k->offsets);
  PyBuffer_Release(&k->text);
}

typedef cpb_status changing_keys(cpb_index *index, cpb_view rows, const cpb_index_keys *keys,
                                 const cpb_exec *exec, cpb_error *error);

static PyObject *change_keys(FACE_CALL, const char *function, changing_keys *call) {
  static const char *const names[] = {"rows", "text", "offsets", "threads", "progress", NULL};
  PyObject *values[5], *result = NULL;
  face_rows rows;
  key_buffers keys;
  face_run run;
  cpb_error error;
  cpb_status status;
  if (face_arguments(function, names, 3, args, nargs, kwnames, values) < 0 ||
      face_rows_take(&rows, values[0], "rows", ((face_object *)self)->d) < 0)
    return NULL;
  if (take_keys(&keys, values[1], values[2]) == 0) {
    if (face_run_begin(&run, values[3], values[4]) == 0) {
      Py_BEGIN_ALLOW_THREADS;
      status = call(held(self), rows.view, &keys.keys, run.how, &error);
      Py_END_ALLOW_THREADS;
      face_run_end(&run);
      result = outcome(status, &error);
    }
    drop_keys(&keys);
  }
  face_rows_drop(&rows);
  return result;
}

static PyObject *index_add_keys(FACE_CALL) {
  return change_keys(self, args, nargs, kwnames, "add_keys", cpb_index_add_keys);
}
static PyObject *index_put_keys(FACE_CALL) {
  return change_keys(self, args, nargs, kwnames, "put_keys", cpb_index_put_keys);
}

/* Ids of keys, -1 for those that are not in the index. */
static PyObject *index_find_keys(FACE_CALL) {
  static const char *const names[] = {"text", "offsets", NULL};
  PyObject *values[2];
  key_buffers keys;
  face_out ids;
  cpb_error error;
  cpb_status status;
  if (face_arguments("find_keys", names, 2, args, nargs, kwnames, values) < 0 ||
      take_keys(&keys, values[0], values[1]) < 0)
    return NULL;
  if (face_out_take(&ids, NULL, "ids", CPB_I64, 1, keys.keys.count, FACE_ONE_ROW) < 0) {
    drop_keys(&keys);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_find_keys(held(self), &keys.keys, ids.out.data, &error);
  Py_END_ALLOW_THREADS;
  drop_keys(&keys);
  return face_out_end(&ids, status, &error);
}

static PyObject *list_keys(const char *text, const uint64_t *offsets, size_t count) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; i++) {
    Py_ssize_t bytes = (Py_ssize_t)(offsets[i + 1] - offsets[i]);
    PyObject *key = bytes > 0 ? PyUnicode_DecodeUTF8(text + offsets[i], bytes, "replace") : face_none();
    if (key == NULL || PyList_SetItem(list, (Py_ssize_t)i, key) < 0) {
      Py_DecRef(list);
      list = NULL;
    }
  }
  return list;
}

/* A list with the key of each id; None for one that is not in the index. Twice, where the keys of few ids are long. */
static PyObject *index_keys_of(PyObject *self, PyObject *ids) {
  enum { FEW = 1024 };
  char here[FEW], *text = here;
  Py_buffer buffer;
  cpb_error error;
  cpb_status status;
  PyObject *result = NULL;
  if (take_words(ids, &buffer) < 0) return NULL;
  size_t count = (size_t)buffer.len / 8, room = FEW;
  uint64_t *offsets = PyMem_Malloc((count + 1) * sizeof *offsets);
  if (offsets != NULL) {
    for (;;) {
      Py_BEGIN_ALLOW_THREADS;
      status = cpb_index_keys_of(held(self), buffer.buf, count, offsets, text, room, &error);
      Py_END_ALLOW_THREADS;
      if (status != CPB_OK || offsets[count] <= room) break;
      if (text != here) free(text);
      room = (size_t)offsets[count];
      text = malloc(room);
      if (text == NULL) break;
    }
    if (text == NULL)
      PyErr_NoMemory();
    else
      result = status == CPB_OK ? list_keys(text, offsets, count) : face_fail(status, &error);
    if (text != here) free(text);
  } else
    PyErr_NoMemory();
  PyMem_Free(offsets);
  PyBuffer_Release(&buffer);
  return result;
}

/* ---- filters */

/* A bitmap, ids or a callable, whose first exception replaces the result. */
typedef struct filtering {
  cpb_index_filter filter;
  const cpb_index_filter *given; /* NULL: all rows */
  Py_buffer buffer, offsets;
  PyObject *allow, *raised;
} filtering;

static void keep_exception(filtering *f) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_DecRef(type);
  Py_DecRef(trace);
  if (f->raised == NULL)
    f->raised = value;
  else
    Py_DecRef(value);
}

static bool ask(void *context, size_t query, uint64_t id) {
  filtering *f = context;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *answer = f->raised != NULL
                         ? NULL
                         : PyObject_CallFunction(f->allow, "nK", (Py_ssize_t)query, (unsigned long long)id);
  int yes = answer != NULL ? PyObject_IsTrue(answer) : 0;
  if (PyErr_Occurred() != NULL) keep_exception(f);
  Py_DecRef(answer);
  PyGILState_Release(state);
  return yes > 0;
}

/* The same by keys. */
static bool ask_key(void *context, size_t query, const char *key, size_t bytes) {
  filtering *f = context;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *text = f->raised != NULL ? NULL : PyUnicode_DecodeUTF8(key, (Py_ssize_t)bytes, "replace");
  PyObject *answer = text == NULL ? NULL : PyObject_CallFunction(f->allow, "nN", (Py_ssize_t)query, text);
  int yes = answer != NULL ? PyObject_IsTrue(answer) : 0;
  if (PyErr_Occurred() != NULL) keep_exception(f);
  Py_DecRef(answer);
  PyGILState_Release(state);
  return yes > 0;
}

/* A bitmap of two dimensions has a row for each query. */
static int take_bitmap(filtering *f, size_t queries) {
  size_t words = (size_t)f->buffer.len / 8;
  f->filter.bitmap = f->buffer.buf;
  if (f->buffer.ndim == 2) {
    if ((size_t)f->buffer.shape[0] != queries) {
      PyErr_Format(PyExc_ValueError, "filter has %zd masks, wanted %zu", f->buffer.shape[0], queries);
      return -1;
    }
    f->filter.stride = words = (size_t)f->buffer.shape[1];
  }
  f->filter.bits = words * 64;
  return 0;
}

/* Those of query i are from offsets[i] to offsets[i+1], which capball._index computes. */
static int take_id_lists(filtering *f, PyObject *offsets, size_t queries) {
  f->filter.ids = f->buffer.buf;
  f->filter.count = (size_t)f->buffer.len / 8;
  if (offsets == NULL) return 0;
  if (take_words(offsets, &f->offsets) < 0) return -1;
  f->filter.offsets = f->offsets.buf;
  size_t lists = (size_t)f->offsets.len / 8 - 1;
  if (lists == queries && f->filter.offsets[lists] == f->filter.count) return 0;
  PyErr_Format(PyExc_ValueError, "filter has %zu lists of ids, wanted %zu", lists, queries);
  return -1;
}

static void release_filter(filtering *f) {
  if (f->buffer.obj != NULL) PyBuffer_Release(&f->buffer);
  if (f->offsets.obj != NULL) PyBuffer_Release(&f->offsets);
}

/* values: bitmap, ids, offsets, allow, allow_key, span: the first id and the one after the last */
static int take_filter(filtering *f, PyObject **values, size_t queries) {
  memset(f, 0, sizeof *f);
  f->filter.size = sizeof f->filter;
  PyObject *words = values[0] != NULL ? values[0] : values[1];
  if (words != NULL && take_words(words, &f->buffer) < 0) return -1;
  if (words != NULL) {
    int taken = values[0] != NULL ? take_bitmap(f, queries) : take_id_lists(f, values[2], queries);
    if (taken < 0) {
      release_filter(f);
      return -1;
    }
  } else if (values[3] != NULL || values[4] != NULL) {
    f->allow = values[3] != NULL ? values[3] : values[4];
    if (values[3] != NULL)
      f->filter.allow = ask;
    else
      f->filter.allow_key = ask_key;
    f->filter.context = f;
  } else if (values[5] != NULL) {
    unsigned long long first, end;
    if (!PyArg_ParseTuple(values[5], "KK", &first, &end)) return -1;
    f->filter.first = first;
    f->filter.end = end;
  } else
    return 0;
  f->given = &f->filter;
  return 0;
}

/* The result, or the exception of the callable. */
static PyObject *drop_filter(filtering *f, PyObject *result) {
  release_filter(f);
  if (f->raised == NULL) return result;
  Py_DecRef(result);
  PyErr_Clear();
  PyErr_SetObject((PyObject *)Py_TYPE(f->raised), f->raised);
  Py_DecRef(f->raised);
  return NULL;
}

/* ---- searches */

enum {
  MANY = 4096
}; /* results per query, for which memory is not taken before it is known that there are so many */

/* values: queries, k, those of take_filter, threads, progress, out */
static PyObject *search_rows(PyObject *self, cpb_view queries, size_t k, filtering *f, PyObject **values) {
  face_run run;
  cpb_error error;
  cpb_status status = CPB_OK;
  PyObject *result = NULL;
  if (k > MANY) {
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_index_check_k(held(self), k, &error);
    Py_END_ALLOW_THREADS;
  }
  if (status != CPB_OK) return face_fail(status, &error);
  cpb_hit *hits = face_hits_room(queries.rows, k, k);
  if (hits == NULL) return NULL;
  if (face_run_begin(&run, values[8], values[9]) == 0) {
    Py_BEGIN_ALLOW_THREADS;
    status = cpb_index_search(held(self), queries, k, f->given, hits, NULL, run.how, &error);
    Py_END_ALLOW_THREADS;
    face_run_end(&run);
    result =
        status == CPB_OK ? face_hits_split(hits, queries.rows, k, values[10]) : face_fail(status, &error);
  }
  PyMem_Free(hits);
  return result;
}

static PyObject *index_search(FACE_CALL) {
  static const char *const names[] = {"queries",   "k",    "bitmap",  "ids",      "offsets", "allow",
                                      "allow_key", "span", "threads", "progress", "out",     NULL};
  PyObject *values[11], *result = NULL;
  face_rows queries;
  filtering f;
  size_t k = 10;
  if (face_arguments("search", names, 1, args, nargs, kwnames, values) < 0 ||
      face_size(values[1], "k", &k) < 0 ||
      face_rows_take(&queries, values[0], "queries", ((face_object *)self)->d) < 0)
    return NULL;
  if (take_filter(&f, values + 2, queries.view.rows) == 0)
    result = drop_filter(&f, search_rows(self, queries.view, k, &f, values));
  face_rows_drop(&queries);
  return result;
}

/* All hits, one query after the other. */
typedef struct within {
  int64_t *lims;
  cpb_hit *hits;
  size_t count, room;
} within;

static cpb_status keep(void *context, size_t query, const cpb_hit *hits, size_t count, cpb_error *error) {
  within *w = context;
  (void)error;
  if (w->count + count > w->room) {
    size_t room = 2 * (w->count + count) + 64;
    cpb_hit *larger = realloc(w->hits, room * sizeof *larger);
    if (larger == NULL) return CPB_ENOMEM;
    w->hits = larger;
    w->room = room;
  }
  if (count > 0) memcpy(w->hits + w->count, hits, count * sizeof *hits);
  w->count += count;
  w->lims[query + 1] = (int64_t)w->count;
  return CPB_OK;
}

static PyObject *split_within(const within *w, face_out *lims) {
  face_out ids = {0}, values = {0};
  if (face_out_take(&ids, NULL, "ids", CPB_I64, 1, w->count, FACE_ONE_ROW) < 0 ||
      face_out_take(&values, NULL, "distances", CPB_F64, 1, w->count, FACE_ONE_ROW) < 0) {
    face_out_drop(lims);
    face_out_drop(&ids);
    return NULL;
  }
  for (size_t i = 0; i < w->count; i++) {
    ((int64_t *)ids.out.data)[i] = (int64_t)w->hits[i].id;
    ((double *)values.out.data)[i] = w->hits[i].value;
  }
  return Py_BuildValue("NNN", face_out_done(lims), face_out_done(&ids), face_out_done(&values));
}

/* values: queries, limits, those of take_filter, threads, progress */
static PyObject *range_rows(PyObject *self, cpb_view queries, const double *limits, filtering *f,
                            PyObject **values) {
  face_run run;
  face_out lims;
  within w = {0};
  cpb_error error = {0};
  cpb_status status;
  if (face_out_take(&lims, NULL, "lims", CPB_I64, 1, queries.rows + 1, FACE_ONE_ROW) < 0) return NULL;
  if (face_run_begin(&run, values[8], values[9]) < 0) {
    face_out_drop(&lims);
    return NULL;
  }
  w.lims = lims.out.data;
  w.lims[0] = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_index_range(held(self), queries, limits, f->given, keep, &w, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  PyObject *result = status == CPB_OK ? split_within(&w, &lims) : face_fail(status, &error);
  if (status != CPB_OK) face_out_drop(&lims);
  free(w.hits);
  return result;
}

static PyObject *index_range(FACE_CALL) {
  static const char *const names[] = {"queries",   "limits", "bitmap",  "ids",      "offsets", "allow",
                                      "allow_key", "span",   "threads", "progress", NULL};
  PyObject *values[10], *result = NULL;
  face_rows queries;
  filtering f;
  double *limits = NULL;
  if (face_arguments("range", names, 2, args, nargs, kwnames, values) < 0 ||
      face_rows_take(&queries, values[0], "queries", ((face_object *)self)->d) < 0)
    return NULL;
  size_t n = queries.view.rows;
  if (face_doubles(values[1], "limits", &n, &limits) == 0 && take_filter(&f, values + 2, n) == 0)
    result = drop_filter(&f, range_rows(self, queries.view, limits, &f, values));
  PyMem_Free(limits);
  face_rows_drop(&queries);
  return result;
}

/* ---- facts */

static PyObject *index_describe(PyObject *self, PyObject *unused) {
  cpb_index_report r = {.size = sizeof r};
  (void)unused;
  describe(held(self), &r);
  PyObject *levels = PyList_New(0);
  for (size_t i = 0; levels != NULL && i < CPB_INDEX_LEVELS && r.levels[i] > 0; i++) {
    PyObject *level = PyLong_FromSize_t(r.levels[i]);
    if (level == NULL || PyList_Append(levels, level) < 0) Py_CLEAR(levels);
    Py_XDECREF(level);
  }
  if (levels == NULL) return NULL;
  return Py_BuildValue("{sn ss ss sK sK sK sK sO sN sK sK sK sK sO sO sK sK}", "d", (Py_ssize_t)r.cols,
                       "dtype", cpb_dtype_name(r.dtype), "metric", cpb_metric_name(r.metric), "rows",
                       (unsigned long long)r.rows, "removed", (unsigned long long)r.removed, "next_id",
                       (unsigned long long)r.next_id, "code_bytes", (unsigned long long)r.code_bytes, "bytes",
                       r.bytes ? Py_True : Py_False, "levels", levels, "queries",
                       (unsigned long long)r.queries, "measured", (unsigned long long)r.measured, "by_floats",
                       (unsigned long long)r.by_floats, "dropped", (unsigned long long)r.dropped, "keys",
                       r.keys ? Py_True : Py_False, "writable", r.writable ? Py_True : Py_False, "file_bytes",
                       (unsigned long long)r.file_bytes, "log_bytes", (unsigned long long)r.log_bytes);
}

/* Those of capball.Index, which calls these, have the documentation. */
static PyMethodDef index_methods[] = {FACE_CLASS("open", index_open, NULL),
                                      FACE_METHOD("save", index_save, NULL),
                                      FACE_METHOD("compact", index_compact, NULL),
                                      FACE_METHOD("check", index_check, NULL),
                                      FACE_METHOD("add", index_add, NULL),
                                      FACE_METHOD("append", index_append, NULL),
                                      FACE_METHOD("put", index_put, NULL),
                                      FACE_METHOD("replace", index_replace, NULL),
                                      FACE_METHOD("read", index_read, NULL),
                                      FACE_METHOD("add_keys", index_add_keys, NULL),
                                      FACE_METHOD("put_keys", index_put_keys, NULL),
                                      FACE_METHOD("find_keys", index_find_keys, NULL),
                                      {"keys_of", index_keys_of, METH_O, NULL},
                                      {"remove", index_remove, METH_O, NULL},
                                      {"rows", index_rows, METH_O, NULL},
                                      FACE_METHOD("search", index_search, NULL),
                                      FACE_METHOD("range", index_range, NULL),
                                      {"refresh", index_refresh, METH_NOARGS, NULL},
                                      {"follow", index_follow, METH_NOARGS, NULL},
                                      {"close", index_close, METH_NOARGS, NULL},
                                      {"describe", index_describe, METH_NOARGS, NULL},
                                      {NULL, NULL, 0, NULL}};

static face_kind index_kind = {
    .name = "Index",
    .doc = "rows with ids, searched exactly",
    .make = index_new,
    .free_held = free_index,
    .methods = index_methods,
    .base = true,
};

int face_add_index(PyObject *module) { return face_add_kind(module, &index_kind); }
