/* The module capball._core: what Python calls of the library. */
#include "face.h"
#include <capball/advanced/flow.h>

static PyObject *write_whole(FACE_CALL) {
  static const char *const names[] = {"path", "text", NULL};
  PyObject *values[2], *path = NULL;
  const char *text;
  Py_ssize_t length;
  cpb_error error;
  cpb_status status;
  (void)self;
  if (face_arguments("write_whole", names, 2, args, nargs, kwnames, values) < 0 ||
      face_text(values[1], "text", &text, &length) < 0 || !PyUnicode_FSConverter(values[0], &path))
    return NULL;
  const char *name = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = cpb_write_whole(name, text, (size_t)length, &error);
  Py_END_ALLOW_THREADS;
  Py_DecRef(path);
  return status == CPB_OK ? face_none() : face_fail(status, &error);
}

static PyMethodDef functions[] = {
    FACE_METHOD("write_whole", write_whole, "writes a file whole or not at all"), {NULL, NULL, 0, NULL}};

typedef int face_part(PyObject *module);

/* The files of the face, each with its types and functions. */
static face_part *const parts[] = {face_add_map,     face_add_dual,      face_add_search,    face_add_scale,
                                   face_add_learn,   face_add_sketch,    face_add_estimator, face_add_layer,
                                   face_add_rescore, face_add_recommend, face_add_cosines,   face_add_pieces,
                                   face_add_index,   face_add_names,     face_add_engine,    face_add_classes,
#ifdef FACE_SQL // contrib/sql/python
                                   face_add_sql
#endif
};

static int fill(PyObject *module) {
  if (face_begin() < 0 || PyModule_AddStringConstant(module, "version", cpb_version()) < 0 ||
      PyModule_AddStringConstant(module, "isa", cpb_isa_name()) < 0 ||
      PyModule_AddFunctions(module, functions) < 0)
    return -1;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i](module) < 0) return -1;
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "capball's C library for Python", 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
