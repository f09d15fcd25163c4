/* T11, the paper's scheme. Positives S(x_i), one negative -e; z = S(x)+e. A nu-SVM with a hard negative
 * finds the point z* nearest to 0 of the reduced hull {sum a z : a <= C}; its margin plane
 * <z*,z> = rho goes through the row taken in part. With P = z* over rho the plane is <P,S(x)> = B, B = 1-P0,
 * its cap has a = 1 and by T3 the ball c = sP', r^2 = s^2(|P'|^2+1-2B).
 *
 * With one C for all, as in the paper, the multipliers of the positives add up to that of the negative,
 * at most C, so that none of them can reach C: no slack, the hard margin and with it the enclosing ball
 * for every C. The plane through the support vectors is used there, too: with the decision f = 0, half way
 * to -e, every step is twice too long and the centre never converges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/paper_schemes.h"
#include "core/memory.h"
#include "learn/distances.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"

enum { ROUNDS = 50, BLOCK_ROWS = 4096 };

typedef struct lift_job {
  const cpb_capped_dual *dual;
  double *center; /* origin + point */
  double s;
  double *z;        /* n rows of d+1 */
  double *distance; /* per block: sum of |x-center| */
  double *whole;    /* one C for all rows with a weight; NULL: for all rows */
} lift_job;

static bool weighs(const cpb_capped_dual *dual, size_t i) { return dual->caps == NULL || dual->caps[i] > 0; }

static void lift_block(void *argument, size_t block, size_t first, size_t count) {
  lift_job *job = argument;
  const cpb_loops *loops = job->dual->loops;
  size_t d = job->dual->x.cols;
  double sum = 0;
  for (size_t i = first; i < first + count; i++) {
    double *z = job->z + i * (d + 1);
    if (!weighs(job->dual, i)) { /* a row of weight 0 */
      memset(z, 0, (d + 1) * sizeof *z);
      continue;
    }
    cpb_row_about(loops, job->dual->x, 0, i, job->center, z);
    sum += sqrt(cpb_paper_lift(loops, z, d, job->s));
  }
  job->distance[block] = sum;
}

/* Lifts all rows; returns the mean distance from the centre. */
static double lift(lift_job *job) {
  const cpb_capped_dual *dual = job->dual;
  double sum = 0;
  size_t rows = 0;
  for (size_t i = 0; i < dual->x.rows; i++) rows += weighs(dual, i);
  for (size_t j = 0; j < dual->x.cols; j++) job->center[j] = dual->origin[j] + dual->point[j];
  cpb_blocks blocks = {dual->x.rows, BLOCK_ROWS, lift_block, job};
  cpb_blocks_run(&blocks, dual->exec);
  for (size_t i = 0; i < cpb_blocks_count(&blocks); i++) sum += job->distance[i];
  return sum / (double)rows;
}

/* One SVM and the ball of its plane: point moves by sP', *radius is the ball's. False for a plane whose region is
 * not a ball. */
static cpb_status one_round(lift_job *job, cpb_capped_dual *dual, bool paper, const cpb_exec *exec,
                            double *radius, double *moved) {
  size_t d = dual->x.cols;
  double s = job->s, *normal = calloc(d + 1, sizeof *normal);
  if (normal == NULL) return CPB_ENOMEM;
  lift(job);
  cpb_capped_dual svm = {.loops = dual->loops,
                         .exec = exec,
                         .caps = paper ? job->whole : dual->caps,
                         .cap = paper ? 1 : dual->cap,
                         .gap = 1e-12,
                         .max_iterations = dual->max_iterations,
                         .multipliers = dual->multipliers,
                         .error = dual->error,
                         .point = normal};
  svm.x = cpb_rows(job->z, CPB_F64, dual->x.rows, d + 1);
  normal[d] = 1;
  cpb_status status = cpb_capped_dual_solve(&svm);
  double norm2 = dual->loops->dot(normal, normal, d + 1);
  double rho = (norm2 - svm.edge) / 2;
  double factor = s / rho, rest2 = dual->loops->dot(normal, normal, d) / (rho * rho);
  double radius2 = rest2 - 1 + 2 * normal[d] / rho;
  *moved = NAN;
  if (status == CPB_OK && rho > 0 && radius2 > 0) {
    dual->loops->axpby(factor, normal, 1, dual->point, dual->point, d);
    *radius = s * sqrt(radius2);
    *moved = s * sqrt(rest2);
  }
  free(normal);
  return status;
}

cpb_status cpb_paper_cap_svm(cpb_capped_dual *dual, bool paper, size_t *rounds, bool *settled,
                             double *radius) {
  size_t n = dual->x.rows, d = dual->x.cols;
  lift_job job = {.dual = dual, .s = 1};
  cpb_memory memory = {0};
  job.center = cpb_memory_take(&memory, d, sizeof *job.center);
  job.z = cpb_memory_take(&memory, n, (d + 1) * sizeof *job.z);
  job.distance = cpb_memory_take(&memory, n / BLOCK_ROWS + 1, sizeof *job.distance);
  if (paper && dual->caps != NULL) job.whole = cpb_memory_take(&memory, n, sizeof *job.whole);
  cpb_status status = memory.failed ? CPB_ENOMEM : CPB_OK;
  for (size_t i = 0; job.whole != NULL && i < n; i++) job.whole[i] = weighs(dual, i);
  *settled = false;
  *radius = 0;
  if (status == CPB_OK) job.s = lift(&job);
  for (*rounds = 0; status == CPB_OK && job.s > 0 && *rounds < ROUNDS && !*settled; ++*rounds) {
    double moved = NAN, round = (double)*rounds;
    cpb_exec_part part;
    const cpb_exec *exec = cpb_exec_part_of(&part, dual->exec, round / ROUNDS, (round + 1) / ROUNDS);
    status = one_round(&job, dual, paper, exec, radius, &moved);
    if (isnan(moved)) break;
    *settled = moved <= 1e-9 * *radius;
    job.s = *radius;
  }
  if (job.s == 0) *settled = true; /* all rows are one point */
  cpb_memory_free(&memory);
  return status;
}
