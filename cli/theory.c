/* The laws implemented in the code, with the files for each number. */
#include <string.h>

#include "json_print.h"
#include "src/base/letters.h"

typedef struct law {
  const char *number, *title, *formula, *header, *source, *test;
} law;

static const law laws[] = {
    {"T1", "the embedding and its inverse, pole e",
     "S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)\n"
     "S^-1(y) = s y'/(1+y0) in the north, s y'(1-y0)/|y'|^2 in the south",
     "include/capball/map.h", "src/sphere/t1_embed.c", "tests/sphere/t1_embed.c"},
    {"T2", "any pole v = (u,w), w != 0",
     "S(x) = 2s H/|H|^2 - v,  H = [x, (s-<x,u>)/w]\n"
     "S^-1(y) = 2s (y+v)'/|y+v|^2",
     "include/capball/map.h", "src/sphere/t2_pole.c", "tests/sphere/t2_pole.c"},
    {"T3", "cap <-> ball, half-space, complement of a ball",
     "c = s p'/a,  r = s sigma/|a|,  a = b+p0,  sigma = sqrt(1-b^2)\n"
     "p' = 2(s/h1)(c/h2),  h1 = hypot(|c|+r,s),  h2 = hypot(|c|-r,s)",
     "include/capball/region.h", "src/sphere/t3_cap_ball.c", "tests/sphere/t3_cap_ball.c"},
    {"T4", "one quadratic form for all of them",
     "k2|x|^2 - 2<m,x> + k0 < 0,  (k2,m,k0) = (a, s p', s^2(b-p0))", "include/capball/region.h",
     "src/sphere/t3_cap_ball.c", "tests/sphere/t4_quadric.c"},
    {"T5", "cap <-> ellipsoid of revolution, under the pole v = (u,w)",
     "c = s(p'+b u)/a,  r2 = s sigma/|a| across u,  r1 = |w| r2 along u,  a = b+<p,v>",
     "include/capball/map.h", "src/sphere/t5_spheroid.c", "tests/sphere/t5_spheroid.c"},
    {"T6", "cap <-> any ellipsoid, by a whitening",
     "{|W(x-c)| <= r} under y = S(W(x-m)) is the cap of the ball (W(c-m), r)", "include/capball/map.h",
     "src/sphere/t6_ellipsoid.c", "tests/sphere/t6_ellipsoid.c"},
    {"T7", "hemisphere", "y0 >= 0 <=> |x| <= s;  colatitude <= phi <=> s >= |x|/tan(phi/2)",
     "include/capball/advanced/laws.h", "src/sphere/t7_hemisphere.c", "tests/sphere/t7_hemisphere.c"},
    {"T8", "products and distances in the other space",
     "|x^-y^|^2 = 4 s^2 |x-y|^2 / ((|x|^2+s^2)(|y|^2+s^2))\n"
     "|x-y|^2 = s^2 |x^-y^|^2 / ((1+x0)(1+y0))",
     "include/capball/advanced/laws.h", "src/sphere/t8_product.c", "tests/sphere/t8_product.c"},
    {"T9", "ABID, the angle-based intrinsic dimension, and the choice of s",
     "ABID = n^2 / |Y^T Y|_F^2 for unit rows Y;  of S(x) = (h u, z), u = x/|x|:\n"
     "F(s) = sum_ij h_i^2 h_j^2 <u_i,u_j>^2 + 2|sum h z u|^2 + (sum z^2)^2,  dh/dlog s = -h z,  dz/dlog s = "
     "h^2",
     "include/capball/advanced/abid.h",
     "src/statistics/t9_abid.c src/statistics/weighted.c src/sphere/choice.c", "tests/statistics/t9_abid.c"},
    {"T10", "the smallest enclosing ball",
     "R^2 = min_c max |x-c|^2 = max { sum a|x|^2 - |sum a x|^2 : a >= 0, sum a = 1 }",
     "include/capball/ball.h", "src/ball/t10_enclosing_ball.c", "tests/ball/t10_enclosing_ball.c"},
    {"T11", "SVDD: a ball with a soft margin",
     "min R^2 + C sum max(0, |x-c|^2 - R^2),  C = 1/(nu n)\n"
     "= max { sum a|x|^2 - |sum a x|^2 : 0 <= a <= C, sum a = 1 }",
     "include/capball/ball.h", "src/ball/t11_svdd.c src/ball/t11_kernel_svdd.c", "tests/ball/t11_svdd.c"},
    {"T12", "the embedding as a layer: gradients",
     "gx = lambda(g' - k x),  lambda = 2s/(|x|^2+s^2),  k = 2(<x,g'>+s g0)/(|x|^2+s^2)",
     "include/capball/advanced/laws.h", "src/sphere/layer_row.h src/sphere/t12_layer.c",
     "tests/sphere/t12_layer.c"},
    {"T13", "search: Euclidean queries for an inner-product engine, and exact search",
     "|x-q| <= r  <=>  <p,y> >= b,   |x-q|^2 = (|q|^2+s^2) (|y-S(q)|^2/2) / (1+y0)\n"
     "exact: rows outside a bound on |x-q|^2 from rounded rows are excluded, the others measured in double",
     "include/capball/query.h include/capball/search.h",
     "src/search/t13_search.c src/engine/t13_query.c src/engine/t13_certificate.c src/engine/t13_transform.c "
     "src/sphere/t13_ceiling.c",
     "tests/engine/t13_query.c tests/search/t13_search.c"},
    {"T14", "sketches: short codes, and distances estimated from them",
     "r_j = max(0, log2(var_j/theta)/2),  x' = m + s f G^T v,  f = <c,v>/|v|^2,  v of 256 centres a byte\n"
     "|x-q|^2 ~ |x'-q|^2 + gamma s^2 e^2,   | |x-q| - |x'-q| | <= s e",
     "include/capball/sketch.h", "src/sketch/t14_sketch.c", "tests/sketch/t14_sketch.c"},
    {"T15", "folds: short rows whose distances are certain lower bounds",
     "F(x) = (P x, rho),  rho^2 = |x|^2 - |P x|^2,  |P| <= 1:   |F(x)-F(q)| <= |x-q|,  <F(x),F(q)> >= <x,q>",
     "include/capball/index.h", "src/search/t15_fold.c src/search/t15_fold_choice.c src/search/t15_record.c",
     "tests/search/t15_fold.c"},
};
enum { LAWS = sizeof laws / sizeof *laws };

static void print_law(const law *l) {
  printf("%-4s %s\n", l->number, l->title);
  for (const char *line = l->formula; *line != 0;) {
    size_t length = strcspn(line, "\n");
    printf("       %.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
  printf("     header  %s\n     source  %s\n     test    %s\n", l->header, l->source, l->test);
}

static int print_json(const cli_job *job, const law *first, size_t count) {
  cpb_text *list = cli_json("[]");
  for (size_t i = 0; i < count; i++) {
    const law *l = first + i;
    list = cpb_json_append(list, cli_json("{s:s, s:s, s:s, s:s, s:s, s:s}", "law", l->number, "title",
                                          l->title, "formula", l->formula, "header", l->header, "source",
                                          l->source, "test", l->test));
  }
  return cli_print_json(job, list == NULL ? NULL : cli_json("{s:o}", "laws", list));
}

static int run(cli_job *job) {
  const law *first = laws;
  size_t count = LAWS;
  if (job->count == 1) {
    count = 1;
    while (first < laws + LAWS && !cpb_same_letters(first->number, job->operands[0])) first++;
    if (first == laws + LAWS) return cli_misuse(job, "there is no law \"%s\"", job->operands[0]);
  }
  if (job->options.json) return print_json(job, first, count);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) putchar('\n');
    print_law(first + i);
  }
  puts("\nThe files are in the source tree.");
  return CLI_OK;
}

CLI_OPTIONS(options, &cli_opt_json, &cli_opt_help);

const cli_command cli_verb_theory = {.verb = "theory",
                                     .operands = "[T3]",
                                     .summary = "print a law, and where its header, source and test are",
                                     .text = "Without a number, prints all laws. The numbers are those of "
                                             "docs/explanation/theory.md; all files are in the source tree.",
                                     .example = "capball theory T3",
                                     .least = 0,
                                     .most = 1,
                                     .options = options,
                                     .run = run};
