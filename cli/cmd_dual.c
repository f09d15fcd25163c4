/* Caps to regions and regions to caps, line by line. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "dual_line.h"

typedef struct duality {
  cli_job *job;
  const cpb_map *map; /* NULL with --scale */
  double s;
  double *pole; /* of --pole, or NULL */
  size_t d;     /* of the map or the pole; 0: every line has its own */
  const char *name;
} duality;

/* The pole a line is read under: its own, or the one of --pole; NULL is e, as always under W. */
static const double *pole_of(const duality *dual, const dual_line *line) {
  if (line->W != NULL) return NULL;
  return line->pole != NULL ? line->pole : dual->pole;
}

static cpb_status to_cap(const duality *dual, dual_line *line, cpb_error *error) {
  size_t d = line->d;
  line->p = cli_alloc(d + 1, sizeof *line->p);
  line->cap = (cpb_cap){.d = d, .p = line->p};
  if (dual->map != NULL) return cpb_map_cap(dual->map, &line->region, &line->cap, error);
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

static int answer(const duality *dual, json_t *json, size_t number) {
  dual_line line;
  int result = CLI_OK;
  cpb_error error;
  if (!dual_line_read(&line, json, dual->d))
    result = fail_line(dual, number, line.fault);
  else if (dual->map != NULL &&
           (line.pole != NULL || line.m != NULL || (line.W != NULL && line.region.W == NULL)))
    result = fail_line(dual, number, "the map is given by -m; the line may not carry another");
  else if ((line.is_cap ? to_region : to_cap)(dual, &line, &error) != CPB_OK)
    result = fail_line(dual, number, error.text);
  else {
    line.is_cap = !line.is_cap;
    line.carries = dual->map == NULL;
    result = cli_print_json(dual->job, dual_line_json(&line));
  }
  dual_line_clear(&line);
  return result;
}

static bool blank(const char *text) { return text[strspn(text, " \t\r\n")] == 0; }

static int answer_lines(const duality *dual, FILE *from) {
  char *text = NULL;
  size_t room = 0, number = 0;
  ssize_t length;
  int result = CLI_OK;
  while (result == CLI_OK && cli_interrupted() == 0 && (length = getline(&text, &room, from)) >= 0) {
    number++;
    if (blank(text)) continue;
    json_error_t fault;
    json_t *json = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &fault);
    if (json == NULL)
      result = fail_line(dual, number, fault.text);
    else
      result = answer(dual, json, number);
    json_decref(json);
  }
  if (ferror(from) && result == CLI_OK && cli_interrupted() == 0)
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

static int run_by_map(duality *dual, const char *path) {
  cpb_map *map;
  cpb_error error;
  if (cpb_map_load(dual->job->options.map, &map, &error) != CPB_OK)
    return cli_fail(dual->job, "%s", error.text);
  dual->map = map;
  dual->d = cpb_map_describe(map).d;
  int result = answer_file(dual, path);
  cpb_map_free(map);
  return result;
}

static int run_by_scale(duality *dual, const char *path) {
  const cli_options *options = &dual->job->options;
  if (options->pole != NULL) {
    size_t count = 0;
    dual->pole = cli_read_vector(dual->job, options->pole, "pole", 0, &count);
    if (dual->pole == NULL) return CLI_FAILED;
    double length = cli_norm(dual->pole, count);
    for (size_t i = 0; i < count; i++) dual->pole[i] /= length;
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
  duality dual = {.job = job, .s = options->scale, .name = strcmp(path, "-") == 0 ? "standard input" : path};
  return options->map != NULL ? run_by_map(&dual, path) : run_by_scale(&dual, path);
}

const cli_command cli_verb_dual = {
    .verb = "dual",
    .operands = "(-m MAP.json | --scale S [--pole FILE]) [FILE|-]",
    .summary = "turn balls and ellipsoids into caps, and caps into them",
    .formula = "cap <p,y> > b  =  ball |x-c| < r,   c = s p'/a,  r = s sigma/a,                 T3\n"
               "a = b+p0,  sigma = sqrt(1-b^2);  a = 0 is a half-space, a < 0 a complement\n"
               "pole v = (u,w):  c = s(p'+b u)/a,  r2 = s sigma/|a|,  r1 = |w| r2           T5\n"
               "any ellipsoid |W(x-c)| < r:  y = S(W(x-m))                                  T6",
    .text =
        "One JSON object a line in, one out, numbers with 17 digits; \"id\" is carried through.\n"
        "{\"ball\":{\"c\":[..],\"r\":R}}\n"
        "{\"halfspace\":{\"n\":[..],\"h\":H}} is <n,x> > h, n of any length\n"
        "{\"complement\":{\"c\":[..],\"r\":R}}, or of an ellipsoid\n"
        "{\"ellipsoid\":{\"c\":[..],\"axis\":[..],\"r1\":R1,\"r2\":R2}}, r1 along the axis, r2 across it\n"
        "{\"ellipsoid\":{\"c\":[..],\"W\":[[..],..]}}, or \"G\" = W^T W\n"
        "{\"cap\":{\"p\":[..],\"b\":B}}, with \"sigma\" and \"a\" where they are known\n"
        "{\"empty\":{}} {\"everything\":{}} (with \"d\" unless the map tells it) "
        "{\"punctured\":{\"c\":[..]}}\n"
        "With --scale alone an ellipsoid brings its map along: the line of its cap carries \"pole\", or "
        "\"W\" and \"m\", and is read back with it, so that `dual | dual` is the identity.",
    .example = "echo '{\"id\":1,\"ball\":{\"c\":[2],\"r\":1}}' | capball dual --scale 1\n"
               "echo '{\"ball\":{\"c\":[2],\"r\":1}}' | capball dual -s 1 | capball dual -s 1",
    .least = 0,
    .most = 1,
    .accepts = CLI_BIT(CLI_MAP) | CLI_BIT(CLI_SCALE) | CLI_BIT(CLI_POLE) | CLI_BIT(CLI_HELP),
    .run = run};
