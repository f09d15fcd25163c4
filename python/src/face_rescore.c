/* T13: an engine's candidates put in order by distances from the embedded rows, with certificates. */
#include "base/choice_names.h"
#include "face.h"

/* What is asked, in the order of Python's arguments. */
enum {
  MAP,
  QUERIES,
  IDS,
  EMBEDDED,
  K,
  RADIUS,
  SCORES,
  KIND,
  SCORE_ERROR,
  CERTIFICATES,
  THREADS,
  PROGRESS,
  OUT,
  ASKED
};

static const char *const names[ASKED + 1] = {"map",     "queries",  "ids",    "embedded",    "k",
                                             "radius",  "scores",   "scored", "score_error", "certificates",
                                             "threads", "progress", "out",    NULL};

static const char *kind_name(int kind) { return cpb_score_names[kind]; }

static int take_options(PyObject **values, cpb_rescore_options *options, bool *certificates) {
  int kind = CPB_SCORE_IP;
  cpb_rescore_options_init(options, sizeof *options);
  if (face_size(values[K], "k", &options->k) < 0 ||
      face_double(values[RADIUS], "radius", &options->radius) < 0 ||
      face_choice(values[KIND], "scored", kind_name, 3, &kind) < 0 ||
      face_double(values[SCORE_ERROR], "score_error", &options->score_error) < 0 ||
      face_flag(values[CERTIFICATES], certificates) < 0)
    return -1;
  options->score_kind = (cpb_score_kind)kind;
  return 0;
}

/* The library's call, and the answer as (distances, ids, needed). */
static PyObject *answer(const cpb_map *map, cpb_view queries, const uint64_t *ids, size_t count,
                        cpb_view embedded, const cpb_rescore_options *options, PyObject **values) {
  face_run run;
  face_out needed;
  cpb_error error;
  cpb_status status = CPB_OK;
  PyObject *result = NULL;
  cpb_transform *sphere = NULL;
  cpb_hit *hits = face_hits_room(queries.rows, options->k, count);
  if (hits == NULL) return NULL;
  if (face_out_take(&needed, NULL, "needed", CPB_I64, 1, queries.rows, FACE_ONE_ROW) == 0) {
    if (face_run_begin(&run, values[THREADS], values[PROGRESS]) == 0) {
      cpb_store store = cpb_store_from_view(embedded);
      Py_BEGIN_ALLOW_THREADS;
      status = cpb_transform_of_map(map, &sphere, &error);
      if (status == CPB_OK)
        status = cpb_transform_rescore(sphere, queries, (cpb_candidates){ids, count}, &store, options,
                                       &(cpb_rescore_out){hits, needed.out.data}, run.how, &error);
      cpb_transform_free(sphere);
      Py_END_ALLOW_THREADS;
      face_run_end(&run);
      result = status == CPB_OK ? face_hits_split(hits, queries.rows, options->k, values[OUT])
                                : face_fail(status, &error);
    }
    PyObject *counts = face_out_done(&needed);
    if (result != NULL)
      result = Py_BuildValue("NN", result, counts);
    else
      Py_DecRef(counts);
  }
  PyMem_Free(hits);
  return result;
}

static PyObject *with_scores(const cpb_map *map, cpb_view queries, cpb_view embedded, PyObject **values) {
  cpb_rescore_options options;
  bool certificates = false;
  face_rows scores = {0};
  Py_buffer buffer;
  size_t count;
  if (take_options(values, &options, &certificates) < 0) return NULL;
  const uint64_t *ids = face_candidates(values[IDS], queries.rows, &count, &buffer);
  if (ids == NULL) return NULL;
  PyObject *result = NULL;
  if (values[SCORES] == NULL || face_rows_take(&scores, values[SCORES], "scores", count) == 0) {
    cpb_source all = cpb_source_from_view(embedded);
    options.scores = scores.view;
    options.all = certificates ? &all : NULL;
    result = answer(map, queries, ids, count, embedded, &options, values);
    face_rows_drop(&scores);
  }
  PyBuffer_Release(&buffer);
  return result;
}

static PyObject *rescore(FACE_CALL) {
  PyObject *values[ASKED], *result = NULL;
  face_rows queries, embedded;
  (void)self;
  if (face_arguments("rescore", names, K, args, nargs, kwnames, values) < 0) return NULL;
  const cpb_map *map = face_map_of(values[MAP], "map");
  if (map == NULL || face_rows_take(&queries, values[QUERIES], "queries", 0) < 0) return NULL;
  if (face_rows_take(&embedded, values[EMBEDDED], "embedded", queries.view.cols + 1) == 0) {
    result = with_scores(map, queries.view, embedded.view, values);
    face_rows_drop(&embedded);
  }
  face_rows_drop(&queries);
  return result;
}

static PyMethodDef functions[] = {
    FACE_METHOD("rescore", rescore,
                "((distances, ids), needed): the nearest candidates, and what would prove them"),
    {NULL, NULL, 0, NULL}};

int face_add_rescore(PyObject *module) { return PyModule_AddFunctions(module, functions); }
