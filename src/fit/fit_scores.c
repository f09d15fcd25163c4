/* Scores of all rows of a source. */
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/fitting.h"
#include "core/fail.h"
#include "fit/passes.h"

typedef struct score_pass {
  const cpb_model *model;
  double *block[CPB_PASS_SLOTS];
  double *scores;
  size_t count, room;
} score_pass;

static cpb_status look_scores(void *arg, size_t slot, cpb_view rows, uint64_t first, cpb_first_fault *fault,
                              cpb_error *error) {
  (void)fault;
  score_pass *p = arg;
  cpb_out out = cpb_rows_out(p->block[slot], CPB_F64, rows.rows, 1);
  cpb_status status = cpb_model_scores(p->model, rows, out, NULL, error);
  return status == CPB_EROW ? cpb_fail_later(error, first) : status;
}

static cpb_status gather_scores(void *arg, size_t slot, size_t rows, cpb_error *error) {
  score_pass *p = arg;
  if (p->count + rows > p->room) {
    p->room = 2 * (p->count + rows);
    double *larger = realloc(p->scores, p->room * sizeof *larger);
    if (larger == NULL) return cpb_fail_memory(error, "%zu scores", p->room);
    p->scores = larger;
  }
  memcpy(p->scores + p->count, p->block[slot], rows * sizeof *p->scores);
  p->count += rows;
  return CPB_OK;
}

cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores, size_t *count,
                                  const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  score_pass p = {.model = model};
  if (model == NULL || scores == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "scores");
  if (count == NULL) return cpb_fail_missing(error, "count");
  *scores = NULL;
  *count = 0;
  cpb_status status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status != CPB_OK) return status;
  cpb_pass pass = {.arg = &p, .look = look_scores, .gather = gather_scores};
  size_t per_block = cpb_pass_block_rows(rows, &pass);
  double *memory = calloc(CPB_PASS_SLOTS * per_block, sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "the scores of a block");
  for (size_t slot = 0; slot < CPB_PASS_SLOTS; slot++) p.block[slot] = memory + slot * per_block;
  status = cpb_pass_run(&passes, &pass, error);
  free(memory);
  if (status != CPB_OK) {
    free(p.scores);
    return status;
  }
  *scores = p.scores;
  *count = p.count;
  return CPB_OK;
}
