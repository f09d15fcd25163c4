/* Neighbours as Python sees them: an array of distances and one of ids. */
#ifndef CPB_PYTHON_FACE_HITS_H
#define CPB_PYTHON_FACE_HITS_H

#include "face.h"

/* Room for n x k hits, PyMem_Free takes it back; NULL with MemoryError. most: how many there are, as the library refuses a
 * larger k. */
cpb_hit *face_hits_room(size_t n, size_t k, size_t most);

/* n x k hits as (distances, ids): the two arrays of `out`, or with NULL new ones. */
PyObject *face_hits_split(const cpb_hit *hits, size_t n, size_t k, PyObject *out);

/* The candidates of n queries, int64, a row for each; PyBuffer_Release takes the buffer back. */
const uint64_t *face_candidates(PyObject *object, size_t n, size_t *count, Py_buffer *buffer);

#endif
