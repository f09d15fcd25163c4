#include "face.h"

cpb_hit *face_hits_room(size_t n, size_t k, size_t most) {
  if (k > most) k = most;
  cpb_hit *hits = k != 0 && n > (size_t)PY_SSIZE_T_MAX / sizeof *hits / k
                      ? NULL
                      : PyMem_Malloc((n * k + 1) * sizeof *hits);
  if (hits == NULL)
    PyErr_Format(PyExc_MemoryError, "%zu neighbours of %zu queries do not fit in memory", k, n);
  return hits;
}

static void copy_hits(const cpb_hit *hits, size_t n, size_t k, cpb_out values, cpb_out ids) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      const cpb_hit *hit = &hits[i * k + j];
      if (values.dtype == CPB_F32)
        ((float *)values.data)[i * values.stride + j] = (float)hit->value;
      else
        ((double *)values.data)[i * values.stride + j] = hit->value;
      ((int64_t *)ids.data)[i * ids.stride + j] = (int64_t)hit->id;
    }
}

PyObject *face_hits_split(const cpb_hit *hits, size_t n, size_t k, PyObject *out) {
  PyObject *given[2];
  face_out values, ids;
  if (face_pair(out, "(distances, ids)", given) < 0) return NULL;
  if (face_out_take(&values, given[0], "out", CPB_F64, n, k, FACE_ROWS) < 0) return NULL;
  if (face_out_take(&ids, given[1], "out", CPB_I64, n, k, FACE_ROWS) < 0) {
    face_out_drop(&values);
    return NULL;
  }
  copy_hits(hits, n, k, values.out, ids.out);
  return Py_BuildValue("NN", face_out_done(&values), face_out_done(&ids));
}

const uint64_t *face_candidates(PyObject *object, size_t n, size_t *count, Py_buffer *buffer) {
  if (face_ids(object, "ids", 2, n, buffer) < 0) return NULL;
  *count = (size_t)buffer->shape[1];
  return buffer->buf;
}
