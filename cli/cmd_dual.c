/* Caps to regions and regions to caps, line by line. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dual_line.h"
#include "data_file.h"

typedef struct duality {
  cli_job *job;
  const cpb_map *map; /* NULL with --scale */
  double s;
  double *pole;         /* of --pole, or NULL */
  size_t d;             /* of the map or the pole; 0: every line has its own */
  const double *metric; /* of a whitened map: the W of every ellipsoid that is a cap */
  const char *name;
} duality;

/* The pole a line is read under: its own, or the one of --pole; NULL is e, as always under W. */
static const double *pole_of(const duality *dual, const dual_line *line) {
  if (line->W != NULL) return NULL;
  return line->pole != NULL ? line->pole : dual->pole;
}

/* Entry i,j of W^T W. */
static double metric_at(const double *W, size_t d, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) sum += W[k * d + i] * W[k * d + j];
  return sum;
}

/* An ellipsoid is one of the map's when its W^T W is a multiple of the map's, k^2 of it: then
 * |W(x-c)| = k |M(x-c)|, and M with r/k says the same. False: it is not. */
static bool adopt_metric(const double *M, cpb_region *region) {
  size_t d = region->d;
  const double *W = region->W;
  if (W == NULL || memcmp(W, M, d * d * sizeof *W) == 0) return true;
  double *size = cli_alloc(d, sizeof *size), k2 = metric_at(W, d, 0, 0) / metric_at(M, d, 0, 0);
  bool same = true;
  for (size_t i = 0; i < d; i++) size[i] = sqrt(metric_at(M, d, i, i));
  for (size_t i = 0; i < d && same; i++)
    for (size_t j = i; j < d && same; j++)
      same = fabs(metric_at(W, d, i, j) / k2 - metric_at(M, d, i, j)) <= 1e-9 * size[i] * size[j];
  free(size);
  if (!same) return false;
  region->W = M;
  region->r /= sqrt(k2);
  return true;
}

/* A prolate spheroid is no cap under any pole; W = I + (r2/r1 - 1) a a^T makes it the ball of radius r2,
 * T6. */
static void whiten_prolate(dual_line *line) {
  size_t d = line->d;
  const double *a = line->axis;
  line->W = cli_alloc(d * d, sizeof *line->W);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      line->W[i * d + j] = (i == j) + (line->region.r / line->region.along - 1) * a[i] * a[j];
  line->region.axis = NULL;
}

static cpb_status to_cap(const duality *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->p = cli_alloc(d + 1, sizeof *line->p);
  line->cap = (cpb_cap){.d = d, .p = line->p};
  if (dual->map != NULL) return cpb_map_cap(dual->map, &line->region, &line->cap, error);
  bool prolate = line->region.axis != NULL && line->region.along > line->region.r;
  if (prolate && pole_of(dual, line) == NULL) whiten_prolate(line);
  if (line->W != NULL) {
    double *scratch = cli_alloc(d * d + d, sizeof *scratch);
    line->region.W = line->W;
    cpb_status status = cpb_cap_from_ellipsoid(&line->region, line->m, dual->s, scratch, &line->cap, error);
    free(scratch);
    return status;
  }
  /* An ellipsoid of revolution finds the pole it needs where none was given. */
  if (line->region.axis != NULL && pole_of(dual, line) == NULL) {
    line->pole = cli_alloc(d + 1, sizeof *line->pole);
    cpb_status status = cpb_pole_from_spheroid(&line->region, line->pole, error);
    if (status != CPB_OK) return status;
  }
  const double *v = pole_of(dual, line);
  if (v == NULL) return cpb_cap_from_region(&line->region, dual->s, &line->cap, error);
  return cpb_cap_from_spheroid(&line->region, dual->s, v, &line->cap, error);
}

static cpb_status to_region(const duality *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->c = cli_alloc(d, sizeof *line->c);
  line->axis = cli_alloc(d, sizeof *line->axis);
  line->region = (cpb_region){.d = d, .c = line->c, .axis = line->axis};
  if (dual->map != NULL) return cpb_map_region(dual->map, &line->cap, &line->region, error);
  const double *v = pole_of(dual, line);
  cpb_status status = CPB_OK;
  if (isnan(line->cap.sigma)) status = cpb_cap_complete(&line->cap, v, error);
  if (status != CPB_OK) return status;
  if (line->W != NULL) {
    double *scratch = cli_alloc(d * d + d, sizeof *scratch);
    status = cpb_ellipsoid_from_cap(&line->cap, line->W, line->m, dual->s, scratch, &line->region, error);
    line->region.axis = NULL;
    free(scratch);
    return status;
  }
  if (v == NULL) return cpb_region_from_cap(&line->cap, dual->s, &line->region, error);
  return cpb_spheroid_from_cap(&line->cap, dual->s, v, &line->region, error);
}

static int fail_line(const duality *dual, size_t number, const char *why) {
  return cli_fail(dual->job, "%s, line %zu: %s", dual->name, number, why);
}

/* |w| of the pole that a line is under. */
static double tilt_of(const duality *dual, const dual_line *line) {
  const double *v = dual->map != NULL ? cli_map_options(dual->map).pole : pole_of(dual, line);
  return v == NULL ? 1 : fabs(v[line->d]);
}

/* What the library says of semi-axes, with the names a line has for them. */
static int refuse_region(const duality *dual, size_t number, const dual_line *line, const cpb_error *error) {
  char said[sizeof error->text];
  double r1 = line->region.along, r2 = line->region.r;
  if (error->reason == CPB_WHY_PROLATE)
    snprintf(said, sizeof said, "a prolate ellipsoid (r1 = %.17g > r2 = %.17g) is no cap: see T6", r1, r2);
  else if (error->reason == CPB_WHY_SPHEROID_OTHER_POLE)
    snprintf(said, sizeof said, "r1/r2 = %.17g is not the pole's |w| = %.17g", r1 / r2, tilt_of(dual, line));
  else if (error->reason == CPB_WHY_SPHEROID_TOO_FLAT)
    snprintf(said, sizeof said, "r1/r2 = %g/%g is below the smallest double", r1, r2);
  else
    return fail_line(dual, number, error->text);
  return fail_line(dual, number, said);
}

static int answer(const duality *dual, const char *id, json_t *json, size_t number) {
  dual_line line;
  int result = CLI_OK;
  cpb_error error;
  if (!dual_line_read(&line, json, dual->d))
    result = fail_line(dual, number, line.fault);
  else if (dual->map != NULL &&
           (line.pole != NULL || line.m != NULL || (line.W != NULL && line.region.W == NULL)))
    result = fail_line(dual, number, "the map is given by -m; the line may not carry another");
  else if (dual->metric != NULL && !line.is_cap && !adopt_metric(dual->metric, &line.region))
    result =
        fail_line(dual, number,
                  "under this map only ellipsoids of its metric are caps, and W^T W is no multiple of it");
  else if ((line.is_cap ? to_region : to_cap)(dual, &line, &error) != CPB_OK)
    result = line.axis != NULL && !line.is_cap ? refuse_region(dual, number, &line, &error)
                                               : fail_line(dual, number, error.text);
  else {
    line.is_cap = !line.is_cap;
    line.carries = dual->map == NULL;
    result = cli_print_json_id(dual->job, id, dual_line_json(&line));
  }
  dual_line_clear(&line);
  return result;
}

static bool blank(const char *text) { return text[strspn(text, " \t\r\n")] == 0; }

static int answer_text(const duality *dual, char *text, size_t length, size_t number) {
  dual_id id;
  if (!dual_id_take(&id, text, length)) return fail_line(dual, number, "\"id\" is not a JSON value");
  json_error_t fault;
  char why[sizeof fault.text + 16];
  json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &fault);
  snprintf(why, sizeof why, "not JSON: %s", json == NULL ? fault.text : "");
  int result = json == NULL ? fail_line(dual, number, why) : answer(dual, id.text, json, number);
  json_decref(json);
  free(id.text);
  return result;
}

static int answer_lines(const duality *dual, FILE *from) {
  char *text = NULL;
  size_t room = 0, number = 0;
  ssize_t length;
  int result = CLI_OK;
  while (result == CLI_OK && cli_interrupted() == 0 && (length = getline(&text, &room, from)) >= 0) {
    number++;
    if (blank(text)) continue;
    result = answer_text(dual, text, (size_t)length, number);
  }
  /* no end and no error: no memory for the line */
  if (!feof(from) && result == CLI_OK && cli_interrupted() == 0)
    result = cli_fail(dual->job, "cannot read %s: %s", dual->name, strerror(errno));
  free(text);
  return result;
}

static int answer_file(const duality *dual, const char *path) {
  if (strcmp(path, "-") == 0) return answer_lines(dual, stdin);
  FILE *from = fopen(path, "r");
  if (from == NULL) return cli_fail(dual->job, "cannot open %s: %s", path, strerror(errno));
  int result = answer_lines(dual, from);
  fclose(from);
  return result;
}

/* The map's own metric is what it makes of any cap that is bounded: {<v,y> > 0} is. */
static int find_metric(duality *dual) {
  cpb_map_options options = {.size = sizeof options};
  cpb_map_describe(dual->map, &options);
  if (options.whiten == NULL) return CLI_OK;
  size_t d = options.d;
  double *p = cli_alloc(d + 1, sizeof *p), *c = cli_alloc(2 * d, sizeof *c);
  p[d] = 1;
  if (options.pole != NULL) memcpy(p, options.pole, (d + 1) * sizeof *p);
  cpb_cap cap = {.d = d, .p = p, .b = 0, .sigma = NAN, .a = NAN};
  cpb_region region = {.d = d, .c = c, .axis = c + d};
  cpb_error error;
  cpb_status status = cpb_map_region(dual->map, &cap, &region, &error);
  dual->metric = region.W;
  free(p);
  free(c);
  return status == CPB_OK ? CLI_OK : cli_fail(dual->job, "%s: %s", dual->job->options.map, error.text);
}

static int run_by_map(duality *dual, const char *path) {
  cpb_map *map;
  cpb_error error;
  if (cpb_map_load(dual->job->options.map, &map, &error) != CPB_OK)
    return cli_fail(dual->job, "%s", error.text);
  dual->map = map;
  dual->d = cli_map_options(map).d;
  int result = find_metric(dual);
  if (result == CLI_OK) result = answer_file(dual, path);
  cpb_map_free(map);
  return result;
}

static int run_by_scale(duality *dual, const char *path) {
  const cli_options *options = &dual->job->options;
  if (options->pole != NULL) {
    size_t count = 0;
    int read = cli_read_pole(dual->job, 0, &count, &dual->pole);
    if (read != CLI_OK) return read;
    dual->d = count - 1;
  }
  int result = answer_file(dual, path);
  free(dual->pole);
  return result;
}

static int run(cli_job *job) {
  const cli_options *options = &job->options;
  const char *path = job->count > 0 ? job->operands[0] : "-";
  if ((options->map != NULL) == (options->scale != 0))
    return cli_misuse(job, "exactly one of -m MAP.json and --scale S is needed");
  if (options->map != NULL && options->pole != NULL)
    return cli_misuse(job, "the map of -m has its own pole; leave --pole out");
  duality dual = {.job = job, .s = options->scale, .name = cli_name(path)};
  return options->map != NULL ? run_by_map(&dual, path) : run_by_scale(&dual, path);
}

static CLI_OPTION(scale, "scale", 's', CLI_POSITIVE, "S", scale, NULL,
                  "the scale s > 0 of a map without centre; instead of -m");

CLI_OPTIONS(options, &cli_opt_map, &scale, &cli_opt_pole, &cli_opt_help);

const cli_command cli_verb_dual = {
    .verb = "dual",
    .operands = "(-m MAP.json | --scale S [--pole FILE]) [FILE|-]",
    .summary = "turn balls and ellipsoids into caps, and caps into them",
    .formula = "cap <p,y> >= b  =  ball |x-c| <= r,   c = s p'/a,  r = s sigma/|a|,               T3\n"
               "a = b+p0,  sigma = sqrt(1-b^2);  a = 0 is a half-space, a < 0 a complement\n"
               "pole v = (u,w):  c = s(p'+b u)/a,  r2 = s sigma/|a|,  r1 = |w| r2           T5\n"
               "any ellipsoid |W(x-c)| <= r:  y = S(W(x-m))                                  T6",
    .text =
        "One JSON object a line in, one out, numbers with 17 digits; \"id\", any JSON value, is carried "
        "through as "
        "it is written.\n"
        "{\"ball\":{\"c\":[..],\"r\":R}}\n"
        "{\"halfspace\":{\"n\":[..],\"h\":H}} is <n,x> > h, n of any length\n"
        "{\"complement\":{\"c\":[..],\"r\":R}}, or of an ellipsoid\n"
        "{\"ellipsoid\":{\"c\":[..],\"axis\":[..],\"r1\":R1,\"r2\":R2}}, r1 along the axis, r2 across it\n"
        "{\"ellipsoid\":{\"c\":[..],\"W\":[[..],..],\"r\":R}} is |W(x-c)| <= r, r = 1 if left out; or \"G\" "
        "= "
        "W^T W\n"
        "{\"cap\":{\"p\":[..],\"b\":B}}, with \"sigma\" and \"a\" where they are known\n"
        "{\"empty\":{}} {\"everything\":{}} (with \"d\" unless the map tells it) "
        "{\"punctured\":{\"c\":[..]}}\n"
        "Under a whitened map the ellipsoids of its metric are caps: those whose W^T W is a multiple of the "
        "map's.\n"
        "With --scale alone an ellipsoid brings its map along: the line of its cap carries \"pole\", or "
        "\"W\" and \"m\", and is read back with it, so that `dual | dual` is the identity. A prolate one "
        "(r1 > r2) is a cap under no pole: it comes back as W = I + (r2/r1-1) a a^T, r = r2.",
    .example = "echo '{\"id\":1,\"ball\":{\"c\":[2],\"r\":1}}' | capball dual --scale 1\n"
               "echo '{\"ball\":{\"c\":[2],\"r\":1}}' | capball dual -s 1 | capball dual -s 1",
    .least = 0,
    .most = 1,
    .options = options,
    .run = run};
