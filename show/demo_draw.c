/* Pictures of the demonstration, drawn straight into SVG. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "gnuplot.h"

enum { POINTS = 420, STEPS = 120, SIDE = 420, WIDE = 480, HIGH = 340 };

typedef struct scene {
  cpb_map *map;
  double c[2], r, s;
  double p[3];
  cpb_cap cap;
  double x[2 * POINTS], y[3 * POINTS], score[POINTS];
} scene;

/* Points of a sunflower: even and without a pattern, the same every time. */
static void sow(scene *at) {
  for (size_t i = 0; i < POINTS; i++) {
    double radius = 3.1 * sqrt(((double)i + 0.5) / POINTS), angle = 2.399963229728653 * (double)i;
    at->x[2 * i] = radius * cos(angle);
    at->x[2 * i + 1] = radius * sin(angle);
  }
}

static bool set_scene(scene *at, cpb_error *error) {
  at->c[0] = 1.05;
  at->c[1] = 0.55;
  at->r = 0.8;
  at->s = 1.4;
  at->cap = (cpb_cap){.d = 2, .p = at->p};
  sow(at);
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = 2;
  options.s = at->s;
  cpb_region ball = {.kind = CPB_BALL, .d = 2, .c = at->c, .r = at->r, .along = at->r};
  return cpb_map_new(&options, &at->map, error) == CPB_OK &&
         cpb_map_cap(at->map, &ball, &at->cap, error) == CPB_OK &&
         cpb_map_embed(at->map, cpb_rows(at->x, CPB_F64, POINTS, 2), cpb_rows_out(at->y, CPB_F64, POINTS, 3),
                       NULL, error) == CPB_OK &&
         cpb_cap_scores(&at->cap, cpb_rows(at->y, CPB_F64, POINTS, 3),
                        cpb_rows_out(at->score, CPB_F64, POINTS, 1), NULL, error) == CPB_OK;
}

static void draw_plane(const scene *at, FILE *to) {
  double unit = SIDE / 6.8, middle = SIDE / 2.0;
  fprintf(to, "<g class=\"axes\"><path d=\"M0 %.1fH%dM%.1f 0V%d\"/></g>\n", middle, SIDE, middle, SIDE);
  fprintf(to, "<circle class=\"equator\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", middle, middle,
          at->s * unit);
  double x = middle + at->c[0] * unit, y = middle - at->c[1] * unit;
  fprintf(to, "<circle class=\"inside\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y, at->r * unit);
  for (size_t i = 0; i < POINTS; i++)
    fprintf(to, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>\n",
            at->score[i] >= 0 ? "in" : "out", middle + at->x[2 * i] * unit, middle - at->x[2 * i + 1] * unit);
  fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">c</text><text x=\"12\" y=\"24\">|x&#8722;c| &#8804; r</text>\n",
          x - 4, y + 5);
  fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">|x| = s</text>\n", middle - at->s * unit,
          middle + 0.92 * at->s * unit);
}

/* Seen from far away, a little from above: two coordinates on the paper and one towards the eye. */
static void project(const double *y, double *paper) {
  static const double turn = 0.62, lift = 0.52;
  double right = -y[0] * sin(turn) + y[1] * cos(turn), front = y[0] * cos(turn) + y[1] * sin(turn);
  paper[0] = SIDE / 2.0 + 0.46 * SIDE * right;
  paper[1] = SIDE / 2.0 - 0.46 * SIDE * (y[2] * cos(lift) - front * sin(lift));
  paper[2] = y[2] * sin(lift) + front * cos(lift);
}

/* The circle {<axis,y> = height} of the sphere; hidden parts in their own class. */
static void draw_circle(const double *axis, double height, double radius, const char *class, FILE *to) {
  double a[3] = {-axis[1], axis[0], 0}, b[3];
  double length = hypot(a[0], a[1]);
  if (length < 1e-9) a[0] = length = 1;
  for (size_t k = 0; k < 3; k++) a[k] /= length;
  for (size_t k = 0; k < 3; k++)
    b[k] = axis[(k + 1) % 3] * a[(k + 2) % 3] - axis[(k + 2) % 3] * a[(k + 1) % 3];
  for (int hidden = 1; hidden >= 0; hidden--) {
    fprintf(to, "<path class=\"%s%s\" d=\"", class, hidden ? " far" : "");
    bool drawing = false;
    for (size_t i = 0; i <= STEPS; i++) {
      double angle = 2 * acos(-1) * (double)i / STEPS, y[3], paper[3];
      for (size_t k = 0; k < 3; k++)
        y[k] = height * axis[k] + radius * (cos(angle) * a[k] + sin(angle) * b[k]);
      project(y, paper);
      bool wanted = (paper[2] < 0) == (hidden == 1);
      if (wanted) fprintf(to, "%c%.1f %.1f", drawing ? 'L' : 'M', paper[0], paper[1]);
      drawing = wanted;
    }
    fputs("\"/>\n", to);
  }
}

static void draw_graticule(FILE *to) {
  static const double north[3] = {0, 0, 1};
  double quarter = acos(-1) / 6;
  for (int i = -2; i <= 2; i++)
    draw_circle(north, sin(i * quarter), cos(i * quarter), i == 0 ? "equator" : "grid", to);
  for (int i = 0; i < 6; i++) {
    double axis[3] = {cos(i * quarter), sin(i * quarter), 0};
    draw_circle(axis, 0, 1, "grid", to);
  }
}

static void draw_sphere(const scene *at, FILE *to) {
  fprintf(to, "<circle class=\"ball\" cx=\"%d\" cy=\"%d\" r=\"%.1f\"/>\n", SIDE / 2, SIDE / 2, 0.46 * SIDE);
  double paper[3];
  draw_graticule(to);
  draw_circle(at->p, at->cap.b, at->cap.sigma, "inside", to);
  for (size_t i = 0; i < POINTS; i++) {
    project(at->y + 3 * i, paper);
    fprintf(to, "<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/>\n",
            at->score[i] >= 0 ? "in" : "out", paper[2] < 0 ? " far" : "", paper[0], paper[1]);
  }
  project(at->p, paper);
  fprintf(
      to,
      "<text x=\"%.1f\" y=\"%.1f\">p</text><text x=\"12\" y=\"24\">&#10216;p,y&#10217; &#8805; b</text>\n",
      paper[0] - 4, paper[1] + 5);
  project((const double[3]){0, 0, 1}, paper);
  fprintf(to,
          "<circle class=\"pole\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/><text class=\"note\" x=\"%.1f\" "
          "y=\"%.1f\">e = S(0)</text>\n",
          paper[0], paper[1], paper[0] + 7, paper[1] - 6);
}

bool demo_draw_ball_and_cap(FILE *to, cpb_error *error) {
  scene *at = show_alloc(1, sizeof *at);
  bool set = set_scene(at, error);
  if (set) {
    fprintf(to,
            "<div class=\"pair\"><svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"a ball "
            "in the "
            "plane\">\n",
            SIDE, SIDE);
    draw_plane(at, to);
    fprintf(to,
            "</svg>\n<svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"its cap on the "
            "sphere\">\n",
            SIDE, SIDE);
    draw_sphere(at, to);
    fputs("</svg></div>\n", to);
    fprintf(
        to,
        "<p class=\"note\">c = (%.2f, %.2f), r = %.2f, s = %.1f &#8596; p = (%.3f, %.3f, %.3f), b = %.3f. "
        "The dashed circle |x| = s is the equator.</p>\n",
        at->c[0], at->c[1], at->r, at->s, at->p[0], at->p[1], at->p[2], at->cap.b);
  }
  cpb_map_free(at->map);
  free(at);
  return set;
}

typedef struct panel {
  const char *title;
  const demo_engine *engine;
  const double *query;
  double low, high; /* scores at the lower and upper edge */
  double threshold; /* NAN: none */
} panel;

static void draw_panel(const demo *d, const panel *p, FILE *to) {
  const double reach = 150;
  double up = (HIGH - 60) / (p->high - p->low), along = (WIDE - 60) / reach;
  fprintf(to,
          "<svg class=\"pic\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"score against distance\">\n"
          "<g class=\"axes\"><path d=\"M40 20V%dH%d\"/></g>\n",
          WIDE, HIGH, HIGH - 40, WIDE - 20);
  for (size_t i = 0; i < d->data.count; i++) {
    const demo_colour *colour = &d->data.colours[i];
    double distance = demo_distance(colour->rgb, demo_queries()[0].rgb);
    double score = demo_engine_score(p->engine, p->query, i);
    if (distance > reach || score < p->low) continue;
    fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\" fill=\"rgb(%.0f,%.0f,%.0f)\"/>\n",
            40 + distance * along, HIGH - 40 - (score - p->low) * up, (double)colour->rgb[0],
            (double)colour->rgb[1], (double)colour->rgb[2]);
  }
  for (int mark = 0; mark <= 150; mark += 50) /* no unit: steps of 0 .. 255 */
    fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
            40 + mark * along, HIGH - 24, mark);
  for (int mark = 0; mark <= 2; mark++) {
    double score = p->low + mark * (p->high - p->low) / 2;
    fprintf(to, "<text class=\"note\" x=\"36\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n",
            HIGH - 36 - (score - p->low) * up, score);
  }
  double edge = 40 + d->range.r * along;
  fprintf(
      to,
      "<path class=\"rule\" d=\"M%.1f 20V%d\"/><text class=\"note\" x=\"%.1f\" y=\"%d\">r = %.1f</text>\n",
      edge, HIGH - 40, edge + 4, HIGH - 46, d->range.r);
  if (!isnan(p->threshold)) {
    double level = HIGH - 40 - (p->threshold - p->low) * up;
    fprintf(
        to,
        "<path class=\"rule\" d=\"M40 %.1fH%d\"/><text class=\"note\" x=\"%d\" y=\"%.1f\">b = %.4f</text>\n",
        level, WIDE - 20, WIDE - 100, level - 5, p->threshold);
  }
  fprintf(
      to,
      "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"end\">distance to %s, steps of 0 .. 255</text>"
      "<text class=\"note\" transform=\"translate(52 %d) rotate(-90)\">score &#10216;q,y&#10217;</text>\n"
      "<text class=\"title\" x=\"44\" y=\"14\">%s</text></svg>\n",
      WIDE - 20, HIGH - 6, demo_queries()[0].name, HIGH / 2, p->title);
}

void demo_draw_scores(const demo *d, FILE *to) {
  double direction[3];
  for (size_t k = 0; k < 3; k++) direction[k] = (double)demo_queries()[0].rgb[k];
  double length =
      sqrt(direction[0] * direction[0] + direction[1] * direction[1] + direction[2] * direction[2]);
  for (size_t k = 0; k < 3; k++) direction[k] /= length;
  panel left = {"normalised rows: cosine says little about distance", &d->plain, direction, 0.6, 1.02, NAN};
  panel right = {
      "embedded rows: from b on is within r, exactly", &d->ours, d->range.p, 0.6, 1.02, d->range.b};
  fputs("<div class=\"pair\">", to);
  draw_panel(d, &left, to);
  draw_panel(d, &right, to);
  fputs("</div>\n", to);
}

/* One more picture where gnuplot is installed; the page is complete without it. */
enum { PLOT_WIDE = 960, PLOT_HIGH = 420 };

/* Score minus threshold against distance, for all queries, each row in its own colour. */
static void write_script(const void *arg, FILE *to) {
  const demo *d = arg;
  const double reach = 60;
  fprintf(to,
          "set terminal svg size %d,%d dynamic font 'sans-serif,13' background '#ffffff'\n"
          "set xlabel 'distance to the query'\nset ylabel '<p,y> - b'\nset grid lc rgb '#e5e5e5'\nunset key\n"
          "set xrange [0:%g]\nset arrow from %g, graph 0 to %g, graph 1 nohead dt 2 lc rgb '#d9480f'\n"
          "set arrow from 0, 0 to %g, 0 nohead dt 2 lc rgb '#d9480f'\nset label 'r' at %g, graph 0.95\n"
          "plot '-' using 1:2:3 with points pt 7 ps 0.35 lc rgb variable\n",
          PLOT_WIDE, PLOT_HIGH, reach, d->range.r, d->range.r, reach, d->range.r + 1);
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    demo_question question;
    cpb_error error;
    const float *query = demo_queries()[i].rgb;
    if (!demo_ask(d, query, d->range.r, &question, &error)) continue;
    for (size_t row = 0; row < d->data.count; row++) {
      const float *rgb = d->data.colours[row].rgb;
      double distance = demo_distance(rgb, query);
      if (distance < reach)
        fprintf(to, "%.3f %.6f %u\n", distance, demo_engine_score(&d->ours, question.p, row) - question.b,
                (unsigned)rgb[0] << 16 | (unsigned)rgb[1] << 8 | (unsigned)rgb[2]);
    }
  }
  fputs("e\n", to);
}

/* The <svg> element alone, without what stands before it. */
bool demo_draw_by_gnuplot(const demo *d, FILE *to) {
  show_picture picture;
  bool drawn = show_gnuplot(write_script, d, "Score minus threshold against the distance to the query",
                            &picture) == SHOW_DRAWN;
  const char *svg = drawn ? strstr(picture.bytes, "\n<svg") : NULL;
  if (svg != NULL) fputs(svg + 1, to);
  free(picture.bytes);
  return svg != NULL;
}
