/* Caps and regions as numbers: capball._dual makes objects of them. T3-T6 */
#include "face.h"

static int no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

/* What a region points at. */
typedef struct region_arrays {
  double *c, *axis, *W;
} region_arrays;

static void region_free(region_arrays *arrays) {
  PyMem_Free(arrays->c);
  PyMem_Free(arrays->axis);
  PyMem_Free(arrays->W);
}

/* values: kind, c, r, axis, along, W */
static int region_take(PyObject **values, cpb_region *region, region_arrays *arrays) {
  size_t kind = 0, d = 0;
  if (face_size(values[0], "kind", &kind) < 0 || face_doubles(values[1], "c", &d, &arrays->c) < 0 ||
      face_double(values[2], "r", &region->r) < 0)
    return -1;
  size_t square = d * d;
  region->along = region->r;
  if (face_doubles(values[3], "axis", &d, &arrays->axis) < 0 ||
      face_double(values[4], "along", &region->along) < 0 ||
      face_doubles(values[5], "W", &square, &arrays->W) < 0)
    return -1;
  region->kind = (cpb_region_kind)kind;
  region->d = d;
  region->c = arrays->c;
  region->axis = arrays->axis;
  region->W = arrays->W;
  return 0;
}

static PyObject *cap_result(const cpb_cap *cap) {
  return Py_BuildValue("Nddd", face_array(cap->p, CPB_F64, cap->d + 1), cap->b, cap->sigma, cap->a);
}

static PyObject *cap_of(const cpb_map *map, cpb_region *region) {
  cpb_cap cap = {.d = region->d, .p = PyMem_Malloc((region->d + 1) * sizeof(double))};
  if (cap.p == NULL) return no_memory(), NULL;
  cpb_error error;
  cpb_status status = cpb_map_cap(map, region, &cap, &error);
  PyObject *result = status == CPB_OK ? cap_result(&cap) : face_fail(status, &error);
  PyMem_Free(cap.p);
  return result;
}

PyObject *face_map_cap(FACE_CALL) {
  static const char *const names[] = {"kind", "c", "r", "axis", "along", "W", NULL};
  PyObject *values[6];
  const cpb_map *map = face_map_of(self, "self");
  if (map == NULL || face_arguments("_cap", names, 2, args, nargs, kwnames, values) < 0) return NULL;
  cpb_region region = {0};
  region_arrays arrays = {0};
  PyObject *result = region_take(values, &region, &arrays) == 0 ? cap_of(map, &region) : NULL;
  region_free(&arrays);
  return result;
}

static PyObject *region_result(const cpb_region *region) {
  size_t d = region->d;
  return Py_BuildValue("iNdNdN", (int)region->kind, face_array(region->c, CPB_F64, d), region->r,
                       face_doubles_or_none(region->axis, d), region->along,
                       region->W != NULL ? face_matrix(region->W, CPB_F64, d, d) : face_none());
}

static PyObject *region_of(const cpb_map *map, const cpb_cap *cap) {
  double *room = PyMem_Calloc(2 * cap->d, sizeof *room);
  if (room == NULL) return no_memory(), NULL;
  cpb_region region = {.d = cap->d, .c = room, .axis = room + cap->d};
  cpb_error error;
  cpb_status status = cpb_map_region(map, cap, &region, &error);
  PyObject *result = status == CPB_OK ? region_result(&region) : face_fail(status, &error);
  PyMem_Free(room);
  return result;
}

static void few_coordinates(size_t count) {
  PyErr_Format(PyExc_ValueError, "p has %zu coordinates, wanted at least 2", count);
}

PyObject *face_map_region(FACE_CALL) {
  static const char *const names[] = {"p", "b", "sigma", "a", NULL};
  PyObject *values[4];
  const cpb_map *map = face_map_of(self, "self");
  if (map == NULL || face_arguments("_region", names, 2, args, nargs, kwnames, values) < 0) return NULL;
  size_t count = 0;
  cpb_cap cap = {.sigma = Py_NAN, .a = Py_NAN};
  if (face_doubles(values[0], "p", &count, &cap.p) < 0 || face_double(values[1], "b", &cap.b) < 0 ||
      face_double(values[2], "sigma", &cap.sigma) < 0 || face_double(values[3], "a", &cap.a) < 0 ||
      count < 2) {
    if (!PyErr_Occurred()) few_coordinates(count);
    PyMem_Free(cap.p);
    return NULL;
  }
  cap.d = count - 1;
  PyObject *result = region_of(map, &cap);
  PyMem_Free(cap.p);
  return result;
}

/* ---- scores */

typedef cpb_status score_call(const void *object, cpb_view x, cpb_out scores, const cpb_exec *exec,
                              cpb_error *error);

static cpb_status by_region(const void *object, cpb_view x, cpb_out scores, const cpb_exec *exec,
                            cpb_error *error) {
  return cpb_region_scores(object, x, scores, exec, error);
}

static cpb_status by_cap(const void *object, cpb_view y, cpb_out scores, const cpb_exec *exec,
                         cpb_error *error) {
  return cpb_cap_scores(object, y, scores, exec, error);
}

static PyObject *scores_of(score_call *call, const void *object, PyObject *x, size_t cols, PyObject *given) {
  face_rows rows;
  face_out out;
  face_run run;
  if (face_rows_take(&rows, x, "x", cols) < 0) return NULL;
  cpb_error error;
  cpb_status status = CPB_OK;
  PyObject *result = NULL;
  if (face_out_take(&out, given, "out", CPB_F64, rows.view.rows, 1, FACE_COLUMN) == 0) {
    if (face_run_quietly(&run, NULL) == 0) {
      Py_BEGIN_ALLOW_THREADS;
      status = call(object, rows.view, out.out, run.how, &error);
      Py_END_ALLOW_THREADS;
      face_run_end(&run);
      if (status == CPB_OK) result = face_out_done(&out);
    }
    if (result == NULL) face_out_drop(&out);
  }
  face_rows_drop(&rows);
  return status == CPB_OK ? result : face_fail(status, &error);
}

static PyObject *region_scores(FACE_CALL) {
  static const char *const names[] = {"x", "kind", "c", "r", "axis", "along", "W", "out", NULL};
  PyObject *values[8];
  (void)self;
  if (face_arguments("region_scores", names, 3, args, nargs, kwnames, values) < 0) return NULL;
  cpb_region region = {0};
  region_arrays arrays = {0};
  PyObject *result = region_take(values + 1, &region, &arrays) == 0
                         ? scores_of(by_region, &region, values[0], region.d, values[7])
                         : NULL;
  region_free(&arrays);
  return result;
}

static PyObject *cap_scores(FACE_CALL) {
  static const char *const names[] = {"y", "p", "b", "sigma", "a", "out", NULL};
  PyObject *values[6], *result = NULL;
  (void)self;
  if (face_arguments("cap_scores", names, 5, args, nargs, kwnames, values) < 0) return NULL;
  size_t count = 0;
  cpb_cap cap = {0};
  if (face_doubles(values[1], "p", &count, &cap.p) == 0 && face_double(values[2], "b", &cap.b) == 0 &&
      face_double(values[3], "sigma", &cap.sigma) == 0 && face_double(values[4], "a", &cap.a) == 0 &&
      count >= 2) {
    cap.d = count - 1;
    result = scores_of(by_cap, &cap, values[0], count, values[5]);
  }
  if (result == NULL && !PyErr_Occurred()) few_coordinates(count);
  PyMem_Free(cap.p);
  return result;
}

static PyMethodDef functions[] = {FACE_METHOD("region_scores", region_scores, "score >= 0 is inside"),
                                  FACE_METHOD("cap_scores", cap_scores, "score >= 0 is inside"),
                                  {NULL, NULL, 0, NULL}};

int face_add_dual(PyObject *module) { return PyModule_AddFunctions(module, functions); }
