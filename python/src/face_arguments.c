#include "base/choice_names.h"
#include "face.h"
#include <capball/advanced/estimator.h>

static int find(const char *const *names, PyObject *key) {
  for (int i = 0; names[i] != NULL; i++)
    if (PyUnicode_CompareWithASCIIString(key, names[i]) == 0) return i;
  return -1;
}

static int count_of(const char *const *names) {
  int count = 0;
  while (names[count] != NULL) count++;
  return count;
}

static int take_keyword(const char *function, const char *const *names, PyObject *key, PyObject *value,
                        PyObject **values) {
  int at = find(names, key);
  if (at < 0) {
    PyErr_Format(PyExc_TypeError, "%s() has no argument '%U'", function, key);
    return -1;
  }
  if (values[at] != NULL) {
    PyErr_Format(PyExc_TypeError, "%s() got '%s' twice", function, names[at]);
    return -1;
  }
  values[at] = value;
  return 0;
}

static int none_is_missing(const char *function, const char *const *names, int required, PyObject **values) {
  for (int i = 0; names[i] != NULL; i++) {
    if (values[i] == Py_None) values[i] = NULL;
    if (i < required && values[i] == NULL) {
      PyErr_Format(PyExc_TypeError, "%s() needs '%s'", function, names[i]);
      return -1;
    }
  }
  return 0;
}

int face_arguments(const char *function, const char *const *names, int required, PyObject *const *args,
                   Py_ssize_t nargs, PyObject *kwnames, PyObject **values) {
  int count = count_of(names);
  if (nargs > count) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments, got %zd", function, count, nargs);
    return -1;
  }
  for (int i = 0; i < count; i++) values[i] = i < nargs ? args[i] : NULL;
  Py_ssize_t keywords = kwnames != NULL ? PyTuple_Size(kwnames) : 0;
  for (Py_ssize_t i = 0; i < keywords; i++)
    if (take_keyword(function, names, PyTuple_GetItem(kwnames, i), args[nargs + i], values) < 0) return -1;
  return none_is_missing(function, names, required, values);
}

static int wanted(const char *name, const char *what, PyObject *value) {
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "%s must be %s, got %R", name, what, value);
  return -1;
}

int face_double(PyObject *value, const char *name, double *number) {
  if (value == NULL) return 0;
  double got = PyFloat_AsDouble(value);
  if (got == -1 && PyErr_Occurred()) return wanted(name, "a number", value);
  *number = got;
  return 0;
}

int face_uint64(PyObject *value, const char *name, uint64_t *number) {
  if (value == NULL) return 0;
  PyObject *index = PyNumber_Index(value);
  if (index == NULL) return wanted(name, "a whole number", value);
  unsigned long long got = PyLong_AsUnsignedLongLong(index);
  Py_DecRef(index);
  if (got == (unsigned long long)-1 && PyErr_Occurred()) return wanted(name, "a whole number >= 0", value);
  *number = got;
  return 0;
}

int face_size(PyObject *value, const char *name, size_t *number) {
  uint64_t got = *number;
  if (face_uint64(value, name, &got) < 0) return -1;
  if (got > (uint64_t)PY_SSIZE_T_MAX) return wanted(name, "a size", value);
  *number = (size_t)got;
  return 0;
}

int face_count(PyObject *value, const char *name, size_t *number) {
  if (face_size(value, name, number) < 0) return -1;
  if (value == NULL || *number > 0) return 0;
  PyErr_Format(PyExc_ValueError, "%s must be a whole number >= 1, got 0", name);
  return -1;
}

int face_flag(PyObject *value, bool *flag) {
  if (value == NULL) return 0;
  int got = PyObject_IsTrue(value);
  if (got < 0) return -1;
  *flag = got != 0;
  return 0;
}

static int unknown_choice(PyObject *value, const char *name, const char *(*name_of)(int), int count) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list != NULL && i < count; i++) {
    PyObject *word = PyUnicode_FromString(name_of(i));
    if (word != NULL) PyList_Append(list, word);
    Py_DecRef(word);
  }
  if (list != NULL) PyErr_Format(PyExc_ValueError, "%s must be one of %R, got %R", name, list, value);
  Py_DecRef(list);
  return -1;
}

int face_choice(PyObject *value, const char *name, const char *(*name_of)(int), int count, int *choice) {
  if (value == NULL) return 0;
  if (!PyUnicode_Check(value)) return wanted(name, "a name", value);
  for (int i = 0; i < count; i++)
    if (PyUnicode_CompareWithASCIIString(value, name_of(i)) == 0) {
      *choice = i;
      return 0;
    }
  return unknown_choice(value, name, name_of, count);
}

static const char *metric_name(int metric) { return cpb_metric_name((cpb_metric)metric); }
static const char *goal_name(int goal) { return cpb_goal_name((cpb_goal)goal); }
int face_metric(PyObject *value, cpb_metric *metric) {
  int choice = (int)*metric;
  if (face_choice(value, "metric", metric_name, CPB_METRICS, &choice) < 0) return -1;
  *metric = (cpb_metric)choice;
  return 0;
}

int face_goal(PyObject *value, cpb_goal *goal) {
  int choice = (int)*goal;
  if (face_choice(value, "goal", goal_name, CPB_GOALS, &choice) < 0) return -1;
  *goal = (cpb_goal)choice;
  return 0;
}

static const char *form_name(int form) { return cpb_estimator_form_name((cpb_sketch_form)form); }

int face_sketch_training(PyObject **values, cpb_sketch_training *training) {
  int form = (int)training->form;
  if (face_count(values[0], "bytes", &training->bytes) < 0 ||
      face_choice(values[1], "form", form_name, CPB_SKETCH_FORMS, &form) < 0 ||
      face_flag(values[2], &training->certain) < 0)
    return -1;
  training->form = (cpb_sketch_form)form;
  return 0;
}

int face_text(PyObject *value, const char *name, const char **text, Py_ssize_t *length) {
  Py_ssize_t bytes = 0;
  *text = NULL;
  if (value != NULL && !PyUnicode_Check(value)) return wanted(name, "a str", value);
  if (value != NULL && (*text = PyUnicode_AsUTF8AndSize(value, &bytes)) == NULL) return -1;
  if (length != NULL) *length = bytes;
  return 0;
}
