#include "face.h"

#include <string.h>

/* The exception of a status: a subclass of ValueError, TypeError, OSError.. that capball._errors defines. */
static PyObject *class_of(cpb_status status) {
  PyObject *errors = PyImport_ImportModule("capball._errors");
  PyObject *table = errors != NULL ? PyObject_GetAttrString(errors, "BY_STATUS") : NULL;
  PyObject *found = table != NULL ? PySequence_GetItem(table, (Py_ssize_t)status) : NULL;
  Py_DecRef(errors);
  Py_DecRef(table);
  return found;
}

static int set_text(PyObject *made, const char *name, const char *text) {
  PyObject *value = text[0] != 0 ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : NULL;
  if (text[0] != 0 && value == NULL) return -1;
  int done = PyObject_SetAttrString(made, name, value != NULL ? value : Py_None);
  Py_DecRef(value);
  return done;
}

/* A number, or None where it says that there is none. */
static int set_number(PyObject *made, const char *name, int64_t number, bool is) {
  if (!is) return PyObject_SetAttrString(made, name, Py_None);
  PyObject *value = PyLong_FromLongLong(number);
  int done = value != NULL ? PyObject_SetAttrString(made, name, value) : -1;
  Py_DecRef(value);
  return done;
}

PyObject *face_fail(cpb_status status, const cpb_error *error) {
  if (PyErr_Occurred()) return NULL; /* what a callback raised says more */
  PyObject *kind = class_of(status);
  PyObject *text =
      kind != NULL ? PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "replace") : NULL;
  PyObject *made = text != NULL ? PyObject_CallFunctionObjArgs(kind, text, NULL) : NULL;
  if (made != NULL && set_number(made, "row", error->row, error->row >= 0) == 0 &&
      set_number(made, "reason", error->reason, error->reason != CPB_WHY_NONE) == 0 &&
      set_text(made, "argument", error->argument) == 0)
    PyErr_SetObject(kind, made);
  Py_DecRef(kind);
  Py_DecRef(text);
  Py_DecRef(made);
  return NULL;
}
