/* Converts caps to regions and regions to caps, line by line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/laws.h"
#include "src/base/system_file.h"
#include "src/base/system_process.h"
#include "data_file.h"

typedef struct duality {
  const cli_job *job;
  cpb_dual_options options;
  const char *name;
} duality;

static bool blank(const char *text) { return text[strspn(text, " \t\r\n")] == 0; }

static int answer_line(const duality *dual, const char *line, size_t length, size_t number) {
  char *text = NULL;
  cpb_error error;
  if (cpb_dual_line(line, length, &dual->options, &text, &error) != CPB_OK)
    return cli_fail(dual->job, "%s, line %zu: %s", dual->name, number, error.text);
  int result = puts(text) < 0 ? cli_fail_stdout(dual->job) : CLI_OK;
  cpb_free(text);
  return result;
}

static int answer_lines(const duality *dual, FILE *from) {
  char *text = NULL;
  size_t room = 0, number = 0;
  int64_t length;
  int result = CLI_OK;
  while (result == CLI_OK && cli_interrupted() == 0 &&
         (length = cpb_sys_read_line(&text, &room, from)) >= 0) {
    number++;
    if (!blank(text)) result = answer_line(dual, text, (size_t)length, number);
  }
  /* neither end nor error: out of memory for the line */
  if (!feof(from) && result == CLI_OK && cli_interrupted() == 0)
    result = cli_fail(dual->job, "cannot read %s: %s", dual->name, strerror(errno));
  free(text);
  return result;
}

static int answer_file(const duality *dual, const char *path) {
  if (strcmp(path, "-") == 0) return answer_lines(dual, stdin);
  FILE *from = cpb_sys_fopen(path, "r");
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
  dual->options.map = map;
  int result = answer_file(dual, path);
  cpb_map_free(map);
  return result;
}

static int run_by_scale(duality *dual, const char *path) {
  double *pole = NULL;
  size_t count = 1;
  int result = dual->job->options.pole != NULL ? cli_read_pole(dual->job, 0, &count, &pole) : CLI_OK;
  dual->options.pole = pole;
  dual->options.d = count - 1;
  if (result == CLI_OK) result = answer_file(dual, path);
  free(pole);
  return result;
}

static int run(cli_job *job) {
  const cli_options *o = &job->options;
  const char *path = job->count > 0 ? job->operands[0] : "-";
  if ((o->map != NULL) == o->scale.given)
    return cli_misuse(job, "give exactly one of -m MAP.json and --scale S");
  if (o->map != NULL && o->pole != NULL)
    return cli_misuse(job, "the map of -m has its own pole; leave --pole out");
  duality dual = {.job = job, .name = cli_name(path)};
  cpb_dual_options_init(&dual.options, sizeof dual.options);
  dual.options.s = o->scale.value;
  return o->map != NULL ? run_by_map(&dual, path) : run_by_scale(&dual, path);
}

static CLI_OPTION(scale, "scale", 's', CLI_NUMBER, "S", scale,
                  "the scale s > 0 of a map without centre; instead of -m", .range = "> 0");

CLI_OPTIONS(options, &cli_opt_map, &scale, &cli_opt_pole, &cli_opt_help);

const cli_command cli_verb_dual = {
    .verb = "dual",
    .operands = "(-m MAP.json | --scale S [--pole FILE]) [FILE|-]",
    .summary = "convert balls and ellipsoids to caps, and caps to them",
    .formula = "cap <p,y> >= b  =  ball |x-c| <= r,   c = s p'/a,  r = s sigma/|a|,               T3\n"
               "a = b+p0,  sigma = sqrt(1-b^2);  a = 0 is a half-space, a < 0 a complement\n"
               "pole v = (u,w):  c = s(p'+b u)/a,  r2 = s sigma/|a|,  r1 = |w| r2           T5\n"
               "any ellipsoid |W(x-c)| <= r:  y = S(W(x-m))                                  T6",
    .text =
        "Reads and writes one JSON object per line, numbers with the fewest digits that read back exactly; "
        "\"id\", any JSON value, is copied unchanged.\n"
        "{\"ball\":{\"c\":[..],\"r\":R}}\n"
        "{\"halfspace\":{\"n\":[..],\"h\":H}} is <n,x> > h, n of any length\n"
        "{\"complement\":{\"c\":[..],\"r\":R}}, or of an ellipsoid\n"
        "{\"ellipsoid\":{\"c\":[..],\"axis\":[..],\"r1\":R1,\"r2\":R2}}, r1 along the axis, r2 across it\n"
        "{\"ellipsoid\":{\"c\":[..],\"W\":[[..],..],\"r\":R}} is |W(x-c)| <= r, r = 1 by default; or \"G\" = "
        "W^T W\n"
        "{\"cap\":{\"p\":[..],\"b\":B}}, with \"sigma\" and \"a\" if they are known\n"
        "{\"empty\":{}} {\"everything\":{}} (with \"d\" unless the map determines it) "
        "{\"punctured\":{\"c\":[..]}}\n"
        "Under a whitened map the ellipsoids of its metric are caps: those whose W^T W is a multiple of the "
        "map's.\n"
        "With --scale alone the line of an ellipsoid's cap contains its map as well, \"pole\", or \"W\" and "
        "\"m\", and is read back with it, so that `dual | dual` is the identity. A prolate ellipsoid (r1 > "
        "r2) is not a cap under any pole: it is returned as W = I + (r2/r1-1) a a^T, r = r2.",
    .example = "echo '{\"id\":1,\"ball\":{\"c\":[2],\"r\":1}}' | capball dual --scale 1\n"
               "echo '{\"ball\":{\"c\":[2],\"r\":1}}' | capball dual -s 1 | capball dual -s 1",
    .least = 0,
    .most = 1,
    .options = options,
    .run = run};
