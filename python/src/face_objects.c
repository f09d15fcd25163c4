/* The one template of all types: they hold an object of the library, and free it. */
#include "face.h"

#include <stdint.h>
#include <stdio.h>

enum { KINDS_MOST = 16 };

static const face_kind *kinds[KINDS_MOST];
static size_t kind_count;

const face_kind *face_kind_of(PyTypeObject *type) {
  size_t i = 0;
  while (i + 1 < kind_count && !PyType_IsSubtype(type, kinds[i]->type)) i++;
  return kinds[i];
}

static void release(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  face_object *object = (face_object *)self;
  if (object->held != NULL) object->kind->free_held(object->held);
  freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
  give_back(self);
  Py_DecRef((PyObject *)type);
}

int face_add_kind(PyObject *module, face_kind *kind) {
  char name[64];
  PyType_Slot slots[] = {{Py_tp_dealloc, release},
                         {Py_tp_doc, (char *)(uintptr_t)kind->doc},
                         {Py_tp_methods, kind->methods},
                         {kind->facts != NULL ? Py_tp_getset : 0, kind->facts},
                         {0, NULL},
                         {0, NULL}};
  if (kind->make != NULL) slots[kind->facts != NULL ? 4 : 3] = (PyType_Slot){Py_tp_new, (void *)kind->make};
  snprintf(name, sizeof name, "capball._core.%s", kind->name);
  unsigned flags = Py_TPFLAGS_DEFAULT | (kind->base ? Py_TPFLAGS_BASETYPE : 0) |
                   (kind->make == NULL ? Py_TPFLAGS_DISALLOW_INSTANTIATION : 0);
  PyType_Spec spec = {name, sizeof(face_object), 0, flags, slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (type == NULL || PyModule_AddObjectRef(module, kind->name, type) < 0) return -1;
  if (kind->type == NULL) kinds[kind_count++] = kind; /* a module may be initialised again */
  kind->type = (PyTypeObject *)type;
  return 0;
}

PyObject *face_hold(PyTypeObject *type, void *held, size_t d, size_t n) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  const face_kind *kind = face_kind_of(type);
  face_object *made = (face_object *)allocate(type, 0);
  if (made == NULL) {
    kind->free_held(held);
    return NULL;
  }
  made->held = held;
  made->kind = kind;
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

PyObject *face_to_json(PyObject *self, PyObject *unused) {
  (void)unused;
  const face_object *object = (const face_object *)self;
  char *text;
  cpb_error error;
  cpb_status status = object->kind->to_json(object->held, &text, &error);
  return status == CPB_OK ? face_given_text(text) : face_fail(status, &error);
}

PyObject *face_from_json(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"text", "name", NULL};
  const face_kind *kind = face_kind_of((PyTypeObject *)type);
  PyObject *values[2];
  const char *text, *name;
  Py_ssize_t length;
  void *held;
  cpb_error error;
  if (face_arguments("from_json", names, 1, args, nargs, kwnames, values) < 0 ||
      face_text(values[0], "text", &text, &length) < 0 || face_text(values[1], "name", &name, NULL) < 0)
    return NULL;
  cpb_status status = kind->from_json(text, (size_t)length, name != NULL ? name : "text", &held, &error);
  return status == CPB_OK ? kind->wrap((PyTypeObject *)type, held) : face_fail(status, &error);
}

PyObject *face_none(void) {
  Py_IncRef(Py_None);
  return Py_None;
}

PyObject *face_doubles_or_none(const double *numbers, size_t count) {
  return numbers != NULL ? face_array(numbers, CPB_F64, count) : face_none();
}
