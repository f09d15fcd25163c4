/* T12: gradients of the embedding and its inverse, for capball.torch. */
#include "face.h"
#include <capball/advanced/laws.h>

typedef cpb_status backward_call(cpb_view x, cpb_view g, double s, cpb_out gx, double *grad_t,
                                 const cpb_exec *exec, cpb_error *error);

static PyObject *gradient(backward_call *call, face_rows *x, face_rows *g, double s, size_t cols,
                          PyObject *given) {
  face_out out;
  face_run run;
  if (face_out_take(&out, given, "out", face_like(x->view.dtype), x->view.rows, cols, FACE_ROWS) < 0)
    return NULL;
  double grad_t = 0;
  cpb_error error;
  cpb_status status = CPB_EINVAL;
  if (face_run_quietly(&run, NULL) < 0) {
    face_out_drop(&out);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = call(x->view, g->view, s, out.out, &grad_t, run.how, &error);
  Py_END_ALLOW_THREADS;
  face_run_end(&run);
  if (status == CPB_OK) return Py_BuildValue("Nd", face_out_done(&out), grad_t);
  face_out_drop(&out);
  return face_fail(status, &error);
}

/* x, g, s[, out]: rows of the layer's input or output, of the upstream gradient; the result has `more` columns more
 * than `x`. */
static PyObject *backward(const char *function, backward_call *call, int more, PyObject *const *args,
                          Py_ssize_t nargs, PyObject *kwnames) {
  static const char *const names[] = {"x", "g", "s", "out", NULL};
  PyObject *values[4], *result = NULL;
  face_rows x, g;
  double s = 0;
  if (face_arguments(function, names, 3, args, nargs, kwnames, values) < 0) return NULL;
  if (face_double(values[2], "s", &s) < 0 || face_rows_take(&x, values[0], "x", 0) < 0) return NULL;
  if (face_rows_take(&g, values[1], "g", 0) == 0) {
    result = gradient(call, &x, &g, s, (size_t)((Py_ssize_t)x.view.cols + more), values[3]);
    face_rows_drop(&g);
  }
  face_rows_drop(&x);
  return result;
}

static PyObject *layer_backward(FACE_CALL) {
  (void)self;
  return backward("layer_backward", cpb_layer_backward, 0, args, nargs, kwnames);
}

static PyObject *layer_backward_saved(FACE_CALL) {
  (void)self;
  return backward("layer_backward_saved", cpb_layer_backward_saved, -1, args, nargs, kwnames);
}

static PyObject *layer_inverse_backward(FACE_CALL) {
  (void)self;
  return backward("layer_inverse_backward", cpb_layer_inverse_backward, 0, args, nargs, kwnames);
}

static PyMethodDef functions[] = {
    FACE_METHOD("layer_backward", layer_backward, "(gx, dL/dlog s) of y = S(x), from x"),
    FACE_METHOD("layer_backward_saved", layer_backward_saved, "(gx, dL/dlog s) of y = S(x), from y"),
    FACE_METHOD("layer_inverse_backward", layer_inverse_backward, "(gy, dL/dlog s) of x = S^-1(y)"),
    {NULL, NULL, 0, NULL}};

int face_add_layer(PyObject *module) { return PyModule_AddFunctions(module, functions); }
