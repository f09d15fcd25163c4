#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "doubles.h"

enum { D = 3 };

const char demo_how[] = "How capball answers: a ball around the query is asked for as a cap, twice as large "
                        "each time until rows are "
                        "in it, and their distances are read off the embedded rows. So an engine needs inner "
                        "products and a threshold "
                        "(or the top k for the ball's p, down to the score b); the one row nearest to S(q) "
                        "on the sphere need not be "
                        "the nearest.";

double demo_engine_score(const demo_engine *engine, const double *query, size_t row) {
  double sum = 0;
  for (size_t k = 0; k < engine->cols; k++) sum += query[k] * (double)engine->rows[row * engine->cols + k];
  return sum;
}

size_t demo_engine_best(const demo_engine *engine, const double *query) {
  size_t best = 0;
  for (size_t i = 1; i < engine->count; i++)
    if (demo_engine_score(engine, query, i) > demo_engine_score(engine, query, best)) best = i;
  return best;
}

size_t demo_engine_above(const demo_engine *engine, const double *query, double threshold, size_t *ids) {
  size_t found = 0;
  for (size_t i = 0; i < engine->count; i++)
    if (demo_engine_score(engine, query, i) > threshold) ids[found++] = i;
  return found;
}

double demo_distance(const float *a, const float *b) {
  double difference[D];
  for (size_t k = 0; k < D; k++) difference[k] = (double)a[k] - (double)b[k];
  return cli_norm(difference, D);
}

static demo_answer nearest(const demo_colours *data, const float *query) {
  demo_answer best = {0, INFINITY};
  for (size_t i = 0; i < data->count; i++) {
    double distance = demo_distance(data->colours[i].rgb, query);
    if (distance < best.distance) best = (demo_answer){i, distance};
  }
  return best;
}

/* What people do: divide every row by its length, and hope. */
static demo_answer ask_plain(const demo *d, const float *query) {
  double direction[D];
  for (size_t k = 0; k < D; k++) direction[k] = (double)query[k];
  size_t row = demo_engine_best(&d->plain, direction);
  return (demo_answer){row, demo_distance(d->data.colours[row].rgb, query)};
}

bool demo_ask(const demo *d, const float *center, double r, demo_question *question, cpb_error *error) {
  for (size_t k = 0; k < D; k++) question->c[k] = (double)center[k];
  question->r = r;
  cpb_region ball = {.kind = CPB_BALL, .d = D, .c = question->c, .r = r, .along = r};
  cpb_cap cap = {.d = D, .p = question->p};
  if (cpb_map_cap(d->map, &ball, &cap, error) != CPB_OK) return false;
  question->b = cap.b;
  return true;
}

/* The distance of two rows of the data space from their images alone, T8. */
static double distance_from_images(const demo *d, const float *image, const double *query) {
  double difference[D + 1], rest[2] = {0};
  for (size_t k = 0; k <= D; k++) difference[k] = (double)image[k] - query[k];
  for (size_t k = 0; k < D; k++) {
    rest[0] += (double)image[k] * (double)image[k];
    rest[1] += query[k] * query[k];
  }
  return sqrt(cpb_original_dist2(cli_dot(difference, difference, D + 1), cpb_rise((double)image[D], rest[0]),
                                 cpb_rise(query[D], rest[1]), d->s));
}

/* Rows of floats tell distances apart to about 1e-6 of themselves, far finer than colours differ; nearer than
 * that is as near, and then the lower row is the answer, as it is of `nearest`. */
static const double clearly_less = 1 - 1e-5;

/* A ball around the query as a cap, twice as large each time until some row is in it. All rows of the
 * ball are found, so the nearest of them is the nearest of all. */
static bool ask_ours(demo *d, const float *query, demo_result *result, cpb_error *error) {
  double image[D + 1];
  cpb_view x = cpb_rows(query, CPB_F32, 1, D);
  if (cpb_map_embed(d->map, x, cpb_rows_out(image, CPB_F64, 1, D + 1), NULL, error) != CPB_OK) return false;
  demo_question question;
  result->radius = 2.25;
  do {
    result->radius *= 2;
    if (!demo_ask(d, query, result->radius, &question, error)) return false;
    result->hits = demo_engine_above(&d->ours, question.p, question.b, d->ids);
  } while (result->hits == 0);
  double best = INFINITY;
  for (size_t i = 0; i < result->hits; i++) {
    double distance = distance_from_images(d, d->ours.rows + d->ids[i] * (D + 1), image);
    if (distance < best * clearly_less) {
      best = distance;
      result->ours.row = d->ids[i];
    }
  }
  result->ours.distance = demo_distance(d->data.colours[result->ours.row].rgb, query);
  return true;
}

unsigned demo_right(const demo *d, bool ours) {
  unsigned right = 0;
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    const demo_result *result = &d->results[i];
    right += (ours ? result->ours : result->plain).distance == result->truth.distance;
  }
  return right;
}

/* The map: centred at the mean, s the mean norm about it. */
static bool make_map(demo *d, cpb_error *error) {
  double mean[D] = {0}, n = (double)d->data.count;
  for (size_t i = 0; i < d->data.count; i++)
    for (size_t k = 0; k < D; k++) mean[k] += (double)d->data.colours[i].rgb[k] / n;
  for (size_t i = 0; i < d->data.count; i++) {
    double z[D];
    for (size_t k = 0; k < D; k++) z[k] = (double)d->data.colours[i].rgb[k] - mean[k];
    d->s += cli_norm(z, D) / n;
  }
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = D;
  options.s = d->s;
  options.center = mean;
  return cpb_map_new(&options, &d->map, error) == CPB_OK;
}

static bool fill_engines(demo *d, cpb_error *error) {
  size_t n = d->data.count;
  d->plain = (demo_engine){n, D, cli_alloc(n * D, sizeof(float))};
  d->ours = (demo_engine){n, D + 1, cli_alloc(n * (D + 1), sizeof(float))};
  float *x = cli_alloc(n * D, sizeof *x);
  for (size_t i = 0; i < n; i++) memcpy(x + i * D, d->data.colours[i].rgb, D * sizeof *x);
  cpb_status status = cpb_map_embed(d->map, cpb_rows(x, CPB_F32, n, D),
                                    cpb_rows_out(d->ours.rows, CPB_F32, n, D + 1), NULL, error);
  static const float origin[D] = {0};
  for (size_t i = 0; i < n; i++) {
    double length = demo_distance(x + i * D, origin);
    for (size_t k = 0; k < D && length > 0; k++)
      d->plain.rows[i * D + k] = (float)((double)x[i * D + k] / length);
  }
  free(x);
  return status == CPB_OK;
}

/* Half numbers as radii: squared distances of colours are whole, so none lies on the edge. */
static bool run_range(demo *d, const float *center, double r, cpb_error *error) {
  demo_question *q = &d->range;
  if (!demo_ask(d, center, r, q, error)) return false;
  q->by_threshold = d->range_rows = demo_engine_above(&d->ours, q->p, q->b, d->ids);
  q->same_rows = true;
  for (size_t i = 0, k = 0; i < d->data.count; i++) {
    bool near = demo_distance(d->data.colours[i].rgb, center) <= r;
    bool found = k < q->by_threshold && d->ids[k] == i;
    q->by_distance += near;
    k += found;
    if (near != found) q->same_rows = false;
  }
  return true;
}

bool demo_run(demo *d, uint64_t seed, cpb_error *error) {
  demo_colours_new(&d->data, seed);
  d->ids = cli_alloc(d->data.count, sizeof *d->ids);
  if (!make_map(d, error) || !fill_engines(d, error)) return false;
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    const float *query = demo_queries()[i].rgb;
    d->results[i].truth = nearest(&d->data, query);
    d->results[i].plain = ask_plain(d, query);
    if (!ask_ours(d, query, &d->results[i], error)) return false;
  }
  return run_range(d, demo_queries()[0].rgb, 40.5, error);
}

void demo_free(demo *d) {
  demo_colours_free(&d->data);
  cpb_map_free(d->map);
  free(d->plain.rows);
  free(d->ours.rows);
  free(d->ids);
}
