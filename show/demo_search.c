#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "demo.h"

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
    if (demo_engine_score(engine, query, i) >= threshold) ids[found++] = i;
  return found;
}

double demo_distance(const float *a, const float *b) {
  double square = 0;
  for (size_t k = 0; k < D; k++) square += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
  return sqrt(square);
}

/* The colours where they lie, between their names. */
static cpb_view colours_of(const demo *d) {
  cpb_view view = {d->data.colours[0].rgb, CPB_F32, d->data.count, D, sizeof(demo_colour) / sizeof(float)};
  return view;
}

static bool find_nearest(const demo *d, const float *query, demo_answer *answer, cpb_error *error) {
  cpb_hit hit;
  if (cpb_knn(colours_of(d), cpb_rows(query, CPB_F32, 1, D), 1, CPB_L2, &hit, NULL, error) != CPB_OK)
    return false;
  *answer = (demo_answer){(size_t)hit.id, hit.value};
  return true;
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

/* Rows of floats tell distances apart to about 1e-6 of themselves, far finer than colours differ; nearer than
 * that is as near, and then the lower row is the answer, as it is of `nearest`. */
static const double clearly_less = 1 - 1e-5;

/* A ball around the query as a cap, twice as large each time until some row is in it. All rows of the
 * ball are found, so the nearest of them is the nearest of all. */
static bool ask_ours(demo *d, const float *query, demo_result *result, cpb_error *error) {
  cpb_view x = cpb_rows(query, CPB_F32, 1, D), images = cpb_rows(d->ours.rows, CPB_F32, d->ours.count, D + 1);
  demo_question question;
  result->radius = 2.25;
  do {
    result->radius *= 2;
    if (!demo_ask(d, query, result->radius, &question, error)) return false;
    result->hits = demo_engine_above(&d->ours, question.p, question.b, d->ids);
  } while (result->hits == 0);
  if (cpb_query_distances(d->map, x, images, d->distances, error) != CPB_OK) return false;
  double best = INFINITY;
  for (size_t i = 0; i < result->hits; i++) {
    double distance = d->distances[d->ids[i]];
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
  cpb_source colours = cpb_source_from_view(colours_of(d));
  if (cpb_map_fit(&colours, NULL, &d->map, NULL, NULL, error) != CPB_OK) return false;
  cpb_map_options made = {.size = sizeof made};
  cpb_map_describe(d->map, &made);
  d->s = made.s;
  return true;
}

static bool fill_engines(demo *d, cpb_error *error) {
  size_t n = d->data.count;
  d->plain = (demo_engine){n, D, show_alloc(n * D, sizeof(float))};
  d->ours = (demo_engine){n, D + 1, show_alloc(n * (D + 1), sizeof(float))};
  cpb_status status =
      cpb_map_embed(d->map, colours_of(d), cpb_rows_out(d->ours.rows, CPB_F32, n, D + 1), NULL, error);
  static const float origin[D] = {0};
  for (size_t i = 0; i < n; i++) {
    const float *x = d->data.colours[i].rgb;
    double length = demo_distance(x, origin);
    for (size_t k = 0; k < D && length > 0; k++) d->plain.rows[i * D + k] = (float)((double)x[k] / length);
  }
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
  d->ids = show_alloc(d->data.count, sizeof *d->ids);
  d->distances = show_alloc(d->data.count, sizeof *d->distances);
  if (!make_map(d, error) || !fill_engines(d, error)) return false;
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    const float *query = demo_queries()[i].rgb;
    d->results[i].plain = ask_plain(d, query);
    if (!find_nearest(d, query, &d->results[i].truth, error)) return false;
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
  free(d->distances);
}

static const demo_colour known[] = {
    {"tomato", {255, 99, 71}},       {"coral", {255, 127, 80}},      {"salmon", {250, 128, 114}},
    {"crimson", {220, 20, 60}},      {"red", {255, 0, 0}},           {"firebrick", {178, 34, 34}},
    {"orange", {255, 165, 0}},       {"gold", {255, 215, 0}},        {"yellow", {255, 255, 0}},
    {"khaki", {240, 230, 140}},      {"wheat", {245, 222, 179}},     {"chocolate", {210, 105, 30}},
    {"sienna", {160, 82, 45}},       {"tan", {210, 180, 140}},       {"goldenrod", {218, 165, 32}},
    {"lime", {0, 255, 0}},           {"lawn green", {124, 252, 0}},  {"forest green", {34, 139, 34}},
    {"olive", {128, 128, 0}},        {"sea green", {46, 139, 87}},   {"spring green", {0, 255, 127}},
    {"pale green", {152, 251, 152}}, {"teal", {0, 128, 128}},        {"cyan", {0, 255, 255}},
    {"turquoise", {64, 224, 208}},   {"sky blue", {135, 206, 235}},  {"steel blue", {70, 130, 180}},
    {"dodger blue", {30, 144, 255}}, {"royal blue", {65, 105, 225}}, {"blue", {0, 0, 255}},
    {"slate blue", {106, 90, 205}},  {"indigo", {75, 0, 130}},       {"lavender", {230, 230, 250}},
    {"thistle", {216, 191, 216}},    {"plum", {221, 160, 221}},      {"orchid", {218, 112, 214}},
    {"magenta", {255, 0, 255}},      {"purple", {128, 0, 128}},      {"hot pink", {255, 105, 180}},
    {"deep pink", {255, 20, 147}},   {"pink", {255, 192, 203}},      {"misty rose", {255, 228, 225}},
    {"slate gray", {112, 128, 144}}, {"white", {255, 255, 255}},     {"linen", {250, 240, 230}},
    {"rosy brown", {188, 143, 143}}, {"peru", {205, 133, 63}},       {"honeydew", {240, 255, 240}},
};
enum { KNOWN = sizeof known / sizeof *known, SHADES = 60 };

const demo_colour *demo_queries(void) {
  static const demo_colour queries[DEMO_QUERIES] = {
      {"brick", {150, 60, 44}},     {"night sky", {24, 30, 68}}, {"moss", {92, 104, 50}},
      {"wine", {98, 24, 46}},       {"sand", {226, 204, 158}},   {"petrol", {18, 88, 102}},
      {"charcoal", {54, 58, 64}},   {"peach", {252, 188, 150}},  {"heather", {136, 108, 158}},
      {"old bronze", {126, 98, 32}}};
  return queries;
}

/* splitmix64 */
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The colour in less light, and not quite itself. */
static void make_shade(demo_colour *shade, const demo_colour *of, uint64_t *state) {
  double light = 0.12 + 0.88 * uniform(state);
  snprintf(shade->name, sizeof shade->name, "%.16s %d%%", of->name, (int)round(100 * light));
  for (size_t k = 0; k < 3; k++) {
    double value = round(light * (double)of->rgb[k] + 24 * (uniform(state) - 0.5));
    shade->rgb[k] = (float)fmin(fmax(value, 0), 255);
  }
}

void demo_colours_new(demo_colours *data, uint64_t seed) {
  data->count = KNOWN * (SHADES + 1);
  data->colours = show_alloc(data->count, sizeof *data->colours);
  uint64_t state = seed;
  size_t row = 0;
  for (size_t i = 0; i < KNOWN; i++) {
    data->colours[row++] = known[i];
    for (size_t k = 0; k < SHADES; k++) make_shade(&data->colours[row++], &known[i], &state);
  }
}

void demo_colours_free(demo_colours *data) { free(data->colours); }
