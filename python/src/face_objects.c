#include "face.h"

PyObject *face_hold(PyTypeObject *type, void *held, face_free *free_held, size_t d, size_t n) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  face_object *made = (face_object *)allocate(type, 0);
  if (made == NULL) {
    free_held(held);
    return NULL;
  }
  made->held = held;
  made->d = d;
  made->n = n;
  atomic_flag_clear(&made->busy);
  return (PyObject *)made;
}

int face_enter(face_object *object) {
  if (!atomic_flag_test_and_set(&object->busy)) return 0;
  PyErr_Format(PyExc_RuntimeError, "%R is at work in another thread",
               (PyObject *)Py_TYPE((PyObject *)object));
  return -1;
}

void face_leave(face_object *object) { atomic_flag_clear(&object->busy); }

void face_release(PyObject *self, face_free *free_held) {
  PyTypeObject *type = Py_TYPE(self);
  free_held(((face_object *)self)->held);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DecRef((PyObject *)type);
}

void *face_held(PyObject *object, PyTypeObject *type, const char *name, const char *wanted) {
  int is = PyObject_IsInstance(object, (PyObject *)type);
  if (is == 1) return ((face_object *)object)->held;
  if (is == 0)
    PyErr_Format(PyExc_TypeError, "%s must be %s, got %R", name, wanted, (PyObject *)Py_TYPE(object));
  return NULL;
}

PyObject *face_given_text(char *text) {
  PyObject *result = PyUnicode_FromString(text);
  cpb_free(text);
  return result;
}

int face_json_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, const char **text,
                        size_t *length, const char **name) {
  static const char *const names[] = {"text", "name", NULL};
  PyObject *values[2];
  Py_ssize_t bytes;
  if (face_arguments("from_json", names, 1, args, nargs, kwnames, values) < 0 ||
      face_text(values[0], "text", text, &bytes) < 0 || face_text(values[1], "name", name, NULL) < 0)
    return -1;
  *length = (size_t)bytes;
  if (*name == NULL) *name = "text";
  return 0;
}

PyObject *face_none(void) {
  Py_IncRef(Py_None);
  return Py_None;
}

PyObject *face_doubles_or_none(const double *numbers, size_t count) {
  return numbers != NULL ? face_array(numbers, CPB_F64, count) : face_none();
}
