/* What every file of the Python face shares: arguments, rows, errors, threads.
 *
 * The face has no arithmetic of its own: it turns Python's objects into views, calls the library with the GIL
 * released, and turns statuses into exceptions. */
#ifndef CPB_PYTHON_FACE_H
#define CPB_PYTHON_FACE_H

#define PY_SSIZE_T_CLEAN
#ifdef CPB_STABLE_ABI
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <capball/capball.h>
#include <capball/advanced/statistics.h>

/* ---- arguments */

/* Positional and keyword arguments of a fast call into values[], by the NULL-terminated names. None and what
 * is not given are NULL, except that the first `required` must be given. -1 with an exception. */
int face_arguments(const char *function, const char *const *names, int required, PyObject *const *args,
                   Py_ssize_t nargs, PyObject *kwnames, PyObject **values);

/* A number into *number, which stays as it is where value is NULL. -1 with an exception naming `name`. */
int face_double(PyObject *value, const char *name, double *number);
int face_size(PyObject *value, const char *name, size_t *number);
int face_count(PyObject *value, const char *name, size_t *number); /* a size that is not 0 */
int face_uint64(PyObject *value, const char *name, uint64_t *number);
int face_flag(PyObject *value, bool *flag);

/* The UTF-8 of a str, which lives as long as it does; NULL for NULL. length may be NULL. */
int face_text(PyObject *value, const char *name, const char **text, Py_ssize_t *length);

/* The d names of columns in a list, to be freed by PyMem_Free; NULL with an exception. The texts belong to the list. */
const char **face_names(PyObject *list, size_t d);

/* The place of a word in a list of `count` names. */
int face_choice(PyObject *value, const char *name, const char *(*name_of)(int), int count, int *choice);

/* Words of the library's own lists, and of NumPy's types that rows may have; what is chosen stays where value is NULL. */
int face_metric(PyObject *value, cpb_metric *metric);
int face_goal(PyObject *value, cpb_goal *goal);
/* bytes, form and certain of a training. */
int face_sketch_training(PyObject **values, cpb_sketch_training *training);
int face_row_dtype(PyObject *value, cpb_dtype *dtype);

/* ---- rows */

/* Rows that belong to some Python object; given back by face_rows_drop. */
typedef struct face_rows {
  cpb_view view;
  Py_buffer buffer;
  bool single; /* one row, given without a dimension for it */
} face_rows;

/* Anything that has numbers: a buffer without a copy where its type and layout are the library's, otherwise what
 * capball._arrays makes of it. cols = 0 for any number of columns. */
int face_rows_take(face_rows *rows, PyObject *object, const char *name, size_t cols);
void face_rows_drop(face_rows *rows);

/* `count` numbers in double, or *numbers = NULL for NULL; PyMem_Free takes them back. count = 0: any number, and
 * *count becomes it. */
int face_doubles(PyObject *object, const char *name, size_t *count, double **numbers);

/* Numbers of rows as int64, side by side: `rows` of them, or in two dimensions `rows` times as many. TypeError for all
 * but whole numbers. PyBuffer_Release takes the buffer back. */
int face_ids(PyObject *object, const char *name, int dimensions, size_t rows, Py_buffer *buffer);

/* Rows to be written: the caller's array, or a new one of NumPy. */
typedef struct face_out {
  cpb_out out;
  Py_buffer buffer;
  PyObject *array;
} face_out;

/* How a result is shaped: rows and columns, one row without the dimension for rows, one column without the one for
 * columns. */
typedef enum face_shape { FACE_ROWS, FACE_ONE_ROW, FACE_COLUMN } face_shape;

/* given = NULL makes an array of this type and shape; one that is given may have either. */
int face_out_take(face_out *out, PyObject *given, const char *name, cpb_dtype dtype, size_t rows, size_t cols,
                  face_shape shape);
/* The array, as a new reference; the buffer is given back. */
PyObject *face_out_done(face_out *out);
void face_out_drop(face_out *out);
/* The array after CPB_OK; else NULL, with the exception of the error. */
PyObject *face_out_end(face_out *out, cpb_status status, const cpb_error *error);

/* The two objects of out=(a, b); both NULL where it is not given. -1 with an exception that says what is wanted. */
int face_pair(PyObject *value, const char *wanted, PyObject **pair);

/* A new array of one dimension with a copy of these numbers. */
PyObject *face_array(const void *data, cpb_dtype dtype, size_t count);
PyObject *face_matrix(const void *data, cpb_dtype dtype, size_t rows, size_t cols);

/* dtype=None|"float32"|numpy.float32.. of a result: f32 or f64; `otherwise` where value is NULL. */
int face_result_dtype(PyObject *value, cpb_dtype otherwise, cpb_dtype *dtype);

/* f64 for rows of f64, f32 for all others. */
cpb_dtype face_like(cpb_dtype dtype);

/* ---- errors and threads */

/* Raises what a status means; always NULL. */
PyObject *face_fail(cpb_status status, const cpb_error *error);

/* How a call is run: the shared pool, or one of `threads`; progress is a callable told the share done. */
typedef struct face_run {
  cpb_exec exec;
  const cpb_exec *how; /* to be handed to the library */
  cpb_pool *own;
  PyObject *progress;
} face_run;

/* Nobody is told: for calls that do not take long. */
int face_run_quietly(face_run *run, PyObject *threads);
/* progress may be NULL; Ctrl-C ends the call in any case. */
int face_run_begin(face_run *run, PyObject *threads, PyObject *progress);
void face_run_end(face_run *run);

/* ---- objects */

typedef void face_free(void *held);

/* What the objects of one type have in common; face_add_kind makes the type of it. */
typedef struct face_kind {
  const char *name, *doc;
  newfunc make;         /* NULL: objects come from class methods only */
  face_free *free_held; /* of the library's object */
  PyMethodDef *methods;
  PyGetSetDef *facts; /* NULL: none */
  bool base;          /* Python may derive from it */
  /* With to_json and from_json among the methods (FACE_JSON): the library's, and what holds a new object. */
  cpb_status (*to_json)(const void *held, char **text, cpb_error *error);
  cpb_status (*from_json)(const char *text, size_t length, const char *name, void **held, cpb_error *error);
  PyObject *(*wrap)(PyTypeObject *type, void *held);
  PyTypeObject *type; /* set by face_add_kind */
} face_kind;

/* The type, added to the module under its name. -1 with an exception. */
int face_add_kind(PyObject *module, face_kind *kind);

/* The kind of a type or of one derived from it. */
const face_kind *face_kind_of(PyTypeObject *type);

/* An object of the library in one of Python; d and n are what its methods often ask of it. */
typedef struct face_object {
  PyObject_HEAD void *held;
  const face_kind *kind;
  size_t d, n;
  atomic_flag busy;
} face_object;

/* A new object of this type (or one derived from it) that holds `held`; frees it and gives NULL where there is no
 * memory. */
PyObject *face_hold(PyTypeObject *type, void *held, size_t d, size_t n);

/* Objects that calls change are one call's at a time: -1 with RuntimeError where another thread is in one. */
int face_enter(face_object *object);
void face_leave(face_object *object);

/* The held object of an argument of this type; NULL with a TypeError that names both. */
void *face_held(PyObject *object, PyTypeObject *type, const char *name, const char *wanted);

/* A text that the library has given, as a str; takes it back. */
PyObject *face_given_text(char *text);

/* The methods of kinds that have files. */
PyObject *face_to_json(PyObject *self, PyObject *unused);
PyObject *face_from_json(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

PyObject *face_none(void);
PyObject *face_doubles_or_none(const double *numbers, size_t count);
/* A list of str. */
PyObject *face_names_or_none(const char *const *names, size_t count);

#define FACE_CLASS(name, function, doc)                                                                      \
  { name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS | METH_CLASS, doc }

/* The types and functions of each file, added to the module. */
int face_add_map(PyObject *module);
int face_add_dual(PyObject *module);
int face_add_search(PyObject *module);
int face_add_index(PyObject *module);
int face_add_scale(PyObject *module);
int face_add_learn(PyObject *module);
int face_add_classes(PyObject *module);
int face_add_sketch(PyObject *module);
int face_add_estimator(PyObject *module);

/* The sketch of an argument; NULL with a TypeError. */
const cpb_sketch *face_sketch_of(PyObject *object, const char *name);
int face_add_layer(PyObject *module);
int face_add_rescore(PyObject *module);
int face_add_engine(PyObject *module);
int face_add_recommend(PyObject *module);
int face_add_cosines(PyObject *module);
int face_add_pieces(PyObject *module);
int face_add_sql(PyObject *module);
int face_add_names(PyObject *module);

/* The transform in a Transform; NULL, and no exception, for another object. */
const cpb_transform *face_transform_of(PyObject *object);

/* The statistics of an argument; NULL with a TypeError. */
cpb_statistics *face_statistics_of(PyObject *object, const char *name);

/* capball._arrays and capball._errors, the two parts that are written in Python. */
int face_begin(void);

/* Fast call with keywords as a method table wants it. */
#define FACE_METHOD(name, function, doc)                                                                     \
  { name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS, doc }
#define FACE_JSON(what)                                                                                      \
  {"to_json", face_to_json, METH_NOARGS, "the text of a " what " file"},                                     \
      FACE_CLASS("from_json", face_from_json, "a " what " from the text of its file, bit for bit")
#define FACE_CALL PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames

/* ---- neighbours (face_hits.c) and maps (face_map.c), for other files ---- */

/* Room for n x k hits, PyMem_Free takes it back; NULL with MemoryError. most: how many there are, as the library refuses a
 * larger k. */
cpb_hit *face_hits_room(size_t n, size_t k, size_t most);

/* n x k hits as (distances, ids): the two arrays of `out`, or with NULL new ones. */
PyObject *face_hits_split(const cpb_hit *hits, size_t n, size_t k, PyObject *out);

/* The candidates of n queries, int64, a row for each; PyBuffer_Release takes the buffer back. */
const uint64_t *face_candidates(PyObject *object, size_t n, size_t *count, Py_buffer *buffer);

/* The library's map in a SphereMap; NULL with a TypeError naming the argument. */
const cpb_map *face_map_of(PyObject *object, const char *name);

/* Methods of a map that speak of regions and caps (T3-T6). */
PyObject *face_map_cap(FACE_CALL);
PyObject *face_map_region(FACE_CALL);

#endif
