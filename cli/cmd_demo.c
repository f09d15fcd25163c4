/* The main use on generated data, in seconds, without input files. */
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "src/base/system_process.h"
#include "show/demo.h"

typedef struct painter {
  FILE *to;
  bool colours;
} painter;

static void print_swatch(const painter *paint, const float *rgb) {
  if (paint->colours)
    fprintf(paint->to, "\033[48;2;%.0f;%.0f;%.0fm    \033[0m ", (double)rgb[0], (double)rgb[1],
            (double)rgb[2]);
}

static void print_answer(const painter *paint, const demo *d, demo_answer answer, int width) {
  const demo_colour *colour = &d->data.colours[answer.row];
  print_swatch(paint, colour->rgb);
  fprintf(paint->to, "%-18s %6.1f%*s", colour->name, answer.distance, width, "");
}

static void print_verdict(const painter *paint, bool right) {
  const char *on = right ? "\033[32m" : "\033[31m";
  fprintf(paint->to, "%s%s%s", paint->colours ? on : "", right ? "right" : "wrong",
          paint->colours ? "\033[0m" : "");
}

static void print_table(const demo *d, FILE *to) {
  painter paint = {to, cpb_sys_is_terminal(to) && getenv("NO_COLOR") == NULL};
  int gap = paint.colours ? 5 : 0;
  fprintf(to,
          "%zu colours (RGB, d = 3) in an engine that supports only cosine; s = %.2f about the mean\n"
          "\n",
          d->data.count, d->s);
  fprintf(to, "%*s%-12s  %*s%-25s  %*s%-31s  %*s%s\n", gap, "", "query", gap, "", "true nearest (L2)", gap,
          "", "normalised rows", gap, "", "capball");
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    const demo_result *result = &d->results[i];
    print_swatch(&paint, demo_queries()[i].rgb);
    fprintf(to, "%-12s  ", demo_queries()[i].name);
    print_answer(&paint, d, result->truth, 2);
    print_answer(&paint, d, result->plain, 1);
    print_verdict(&paint, result->plain.distance == result->truth.distance);
    fputs("  ", to);
    print_answer(&paint, d, result->ours, 1);
    print_verdict(&paint, result->ours.distance == result->truth.distance);
    fputc('\n', to);
  }
  fprintf(to, "\nright: plain %u/%d, capball %u/%d\n\n", demo_right(d, false), DEMO_QUERIES,
          demo_right(d, true), DEMO_QUERIES);
  cli_print_wrapped(to, demo_how, 0, 0);
  fputs("A percentage is brightness: tomato 58% is tomato at 58 % of full brightness, give or take a "
        "little.\n\n",
        to);
  const demo_question *q = &d->range;
  fprintf(to, "Range query: every colour within %.1f of %s, one threshold\n", q->r, demo_queries()[0].name);
  fprintf(to, "  <p,y> >= b   p = (%.4f, %.4f, %.4f, %.4f)   b = %.6f\n", q->p[0], q->p[1], q->p[2], q->p[3],
          q->b);
  fprintf(to, "  by threshold %zu rows, by measuring every distance %zu rows: %s\n", q->by_threshold,
          q->by_distance, q->same_rows ? "the same rows" : "different rows");
}

static int show(cli_job *job, const demo *d) {
  const char *path = job->options.output != NULL ? job->options.output : "demo.html";
  FILE *to = strcmp(path, "-") == 0 ? stderr : stdout; /* the page has standard output to itself */
  print_table(d, to);
  fflush(to);
  size_t length = 0;
  char *page = demo_page(d, &length);
  int result = cli_write_text(job, path, page, length);
  if (result == CLI_OK && to == stdout) printf("\nThe same with pictures: %s\n", path);
  return result;
}

static int run(cli_job *job) {
  demo d = {0};
  cpb_error error;
  int result =
      demo_run(&d, job->options.seed.value, &error) ? show(job, &d) : cli_fail(job, "%s", error.text);
  demo_free(&d);
  return result;
}

static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "PAGE.html", output,
                  "the page to write (default demo.html)");
static CLI_OPTION(seed, "seed", 0, CLI_COUNT, "N", seed, "seed of the colours", .fallback = "0",
                  .range = ">= 0");

CLI_OPTIONS(options, &output, &seed, &cli_opt_help);

const cli_command cli_verb_demo = {
    .verb = "demo",
    .operands = "",
    .summary = "demonstration: nearest colours from an index that supports only cosine",
    .formula = "|x-q| <= r   <=>   <p,S(x)> >= b,   (p,b) the cap of the ball (q,r)                  T3 T8\n"
               "|x-q|^2 = (|q|^2+s^2) (|x^-q^|^2/2) / (1+x0),   x^ = S(x)",
    .text = "Generates a few thousand colours, stores them in an index of unit vectors, once normalised as "
            "usual and once embedded, and queries both for the nearest colours of ten; then runs a range "
            "query with one threshold. Writes a page with pictures to -o (default demo.html).",
    .example = "capball demo -o demo.html",
    .least = 0,
    .most = 0,
    .options = options,
    .run = run};
