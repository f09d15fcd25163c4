/* Names of columns as the library keeps them, and texts as people are shown them. */
#include <string.h>

#include "base/column_names.h"
#include "face.h"
#include "base/utf8.h"

const char **face_names(PyObject *list, size_t d) {
  const char **names = PyMem_Calloc(d != 0 ? d : 1, sizeof *names);
  if (names == NULL) return (void)PyErr_NoMemory(), NULL;
  bool fits = PySequence_Size(list) == (Py_ssize_t)d;
  if (!fits && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "columns must be %zu names", d);
  for (size_t i = 0; fits && i < d; i++) {
    PyObject *name = PySequence_GetItem(list, (Py_ssize_t)i);
    fits = name != NULL && face_text(name, "columns", &names[i], NULL) == 0;
    Py_DecRef(name); /* the list keeps it */
  }
  if (fits) return names;
  PyMem_Free(names);
  return NULL;
}

static PyObject *list_of(const char *const *names, Py_ssize_t count) {
  PyObject *list = PyList_New(count);
  for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
    PyObject *name = PyUnicode_FromString(names[i]);
    if (name == NULL || PyList_SetItem(list, i, name) < 0) {
      Py_DecRef(list);
      return NULL;
    }
  }
  return list;
}

static PyObject *column_names(PyObject *self, PyObject *given) {
  (void)self;
  PyObject *list = PySequence_List(given), *made = NULL;
  Py_ssize_t count = list == NULL ? 0 : PyList_Size(list);
  const char **names = list == NULL ? NULL : face_names(list, (size_t)count);
  const char *const *settled = NULL;
  if (names != NULL && cpb_column_names_copy(names, (size_t)count, &settled))
    made = list_of(settled, count);
  else if (names != NULL)
    PyErr_NoMemory();
  cpb_column_names_free(settled);
  PyMem_Free(names);
  Py_DecRef(list);
  return made;
}

static PyObject *printable(PyObject *self, PyObject *given) {
  (void)self;
  PyObject *bytes = PyUnicode_AsEncodedString(given, "utf-8", "surrogateescape"), *made = NULL;
  const char *text = bytes == NULL ? NULL : PyBytes_AsString(bytes);
  char *room = text == NULL ? NULL : PyMem_Malloc(4 * strlen(text) + CPB_PIECE_ROOM);
  if (text != NULL && room == NULL) PyErr_NoMemory();
  if (room != NULL) {
    size_t used = 0, length;
    while ((length = cpb_printable_next(&text, room + used)) > 0) used += length;
    made = PyUnicode_DecodeUTF8(room, (Py_ssize_t)used, NULL);
  }
  PyMem_Free(room);
  Py_DecRef(bytes);
  return made;
}

static PyMethodDef functions[] = {
    {"column_names", column_names, METH_O,
     "the names with which columns of these names are found: all differ"},
    {"printable", printable, METH_O, "the text, with what is not printable as \\xNN"},
    {NULL, NULL, 0, NULL}};

static int add_list(PyObject *module, const char *name, const char *const *names, Py_ssize_t count) {
  PyObject *list = list_of(names, count), *tuple = list == NULL ? NULL : PyList_AsTuple(list);
  int result = tuple == NULL ? -1 : PyModule_AddObjectRef(module, name, tuple);
  Py_DecRef(list);
  Py_DecRef(tuple);
  return result;
}

/* The names that the library knows, for what Python checks itself. */
int face_add_names(PyObject *module) {
  const char *metrics[CPB_METRICS], *goals[CPB_GOALS], *transforms[CPB_TRANSFORMS];
  for (int i = 0; i < CPB_METRICS; i++) metrics[i] = cpb_metric_name((cpb_metric)i);
  for (int i = 0; i < CPB_GOALS; i++) goals[i] = cpb_goal_name((cpb_goal)i);
  for (int i = 0; i < CPB_TRANSFORMS; i++) transforms[i] = cpb_transform_about((cpb_transform_kind)i).name;
  return PyModule_AddFunctions(module, functions) < 0 ||
                 add_list(module, "METRICS", metrics, CPB_METRICS) < 0 ||
                 add_list(module, "GOALS", goals, CPB_GOALS) < 0
             ? -1
             : add_list(module, "TRANSFORMS", transforms, CPB_TRANSFORMS);
}
