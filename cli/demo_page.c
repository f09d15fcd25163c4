/* The page of the demonstration: one file, no scripts, nothing fetched. */
#include <stdlib.h>

#include "demo.h"

/* clang-format off */
static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\"><title>capball: nearest colours by cosine</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1d2129;--soft:#6b7280;--paper:#fbfaf7;--card:#fff;--line:#d9d6cc;\n"
    "--hit:#d9480f;--good:#2b8a3e;--bad:#c92a2a}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e9e6df;--soft:#9aa0aa;--paper:#16181d;--card:#1e2128;\n"
    "--line:#363a44;--hit:#ff922b;--good:#69db7c;--bad:#ff8787}}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}\n"
    "main{max-width:1000px;margin:0 auto;padding:48px 24px 80px}\n"
    "h1{font-size:2.1rem;line-height:1.2;margin:0 0 .4em}\n"
    "h2{margin:2.2em 0 .5em;font-size:1.25rem}\n"
    "p{max-width:44em}\n"
    "code,.formula{font:15px/1.6 ui-monospace,monospace}\n"
    ".formula{padding:12px 16px;background:var(--card);border:1px solid var(--line);border-radius:8px;\n"
    "overflow-x:auto;white-space:pre}\n"
    ".sums{display:flex;gap:20px;flex-wrap:wrap;margin:28px 0}\n"
    ".sum{flex:1 1 220px;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 22px}\n"
    ".sum b{display:block;font-size:2.6rem;line-height:1.1}\n"
    ".sum.good b,.right{color:var(--good)}\n"
    ".sum.bad b,.wrong{color:var(--bad)}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th{text-align:left;color:var(--soft);font-weight:500;padding:6px 10px}\n"
    "td{padding:7px 10px;border-top:1px solid var(--line);font-size:.92rem}\n"
    "td i{display:inline-block;width:46px;height:26px;border-radius:6px;vertical-align:middle;margin-right:10px;\n"
    "border:1px solid #0002}\n"
    "td small{color:var(--soft)}\n"
    "td small.right{color:var(--good)}\n"
    "td small.wrong{color:var(--bad)}\n"
    ".strip{display:flex;flex-wrap:wrap;gap:3px}\n"
    ".strip i{width:30px;height:30px;border-radius:5px}\n"
    ".pic,.plot{width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:12px;\n"
    "padding:12px;box-sizing:border-box}\n"
    ".plot svg{width:100%;height:auto}\n"
    ".pic text{fill:var(--ink);font:italic 17px Georgia,serif}\n"
    ".pic .title{font:600 13px system-ui,sans-serif}\n"
    ".pic .note,.note{fill:var(--soft);color:var(--soft);font:13px system-ui,sans-serif}\n"
    ".pic path{fill:none}\n"
    ".axes path{stroke:var(--line)}\n"
    ".grid{stroke:var(--line);stroke-width:.8}\n"
    ".equator{fill:none;stroke:var(--soft);stroke-width:1.2;stroke-dasharray:5 4}\n"
    ".far{opacity:.22}\n"
    ".ball{fill:var(--paper);stroke:var(--soft)}\n"
    ".pic .inside{fill:var(--hit);fill-opacity:.16;stroke:var(--hit);stroke-width:2}\n"
    ".in{fill:var(--hit)}\n"
    ".out{fill:var(--soft);fill-opacity:.55}\n"
    ".pole{fill:var(--ink)}\n"
    ".rule{stroke:var(--hit);stroke-width:1.2;stroke-dasharray:6 4}\n"
    "</style></head><body><main>\n";
/* clang-format on */

static void print_colour(FILE *to, const float *rgb) {
  fprintf(to, "<i style=\"background:#%02x%02x%02x\"></i>", (unsigned)rgb[0], (unsigned)rgb[1],
          (unsigned)rgb[2]);
}

static void print_answer(const demo *d, demo_answer answer, const char *class, FILE *to) {
  const demo_colour *colour = &d->data.colours[answer.row];
  fputs("<td>", to);
  print_colour(to, colour->rgb);
  fprintf(to, "%s <small class=\"%s\">%.1f</small></td>", colour->name, class, answer.distance);
}

static const char *verdict(demo_answer answer, demo_answer truth) {
  return answer.distance == truth.distance ? "right" : "wrong";
}

static void print_table(const demo *d, FILE *to) {
  fputs("<table><tr><th>query</th><th>true nearest</th><th>normalised rows</th><th>capball</th></tr>\n", to);
  for (size_t i = 0; i < DEMO_QUERIES; i++) {
    const demo_result *result = &d->results[i];
    fputs("<tr><td>", to);
    print_colour(to, demo_queries()[i].rgb);
    fprintf(to, "%s</td>", demo_queries()[i].name);
    print_answer(d, result->truth, "", to);
    print_answer(d, result->plain, verdict(result->plain, result->truth), to);
    print_answer(d, result->ours, verdict(result->ours, result->truth), to);
    fputs("</tr>\n", to);
  }
  fputs("</table>\n", to);
}

static void print_summary(const demo *d, FILE *to) {
  fputs("<h1>Nearest colours from an index that only knows cosine</h1>\n", to);
  fprintf(
      to,
      "<p>%zu colours, three numbers each. The engine keeps rows of unit length and compares by inner "
      "product, nothing else. The usual way to get Euclidean data in is to divide every row by its length: "
      "then a colour and its own shadow are the same row. <em>capball</em> puts the colours on a sphere of "
      "one dimension more, where every ball of the colour space is a cap, one threshold of an inner "
      "product.</p>\n",
      d->data.count);
  fprintf(to,
          "<div class=\"sums\"><div class=\"sum bad\"><b>%u / %d</b>right with normalised rows</div>"
          "<div class=\"sum good\"><b>%u / %d</b>right with capball</div></div>\n",
          demo_right(d, false), DEMO_QUERIES, demo_right(d, true), DEMO_QUERIES);
}

static void print_range(const demo *d, FILE *to) {
  const demo_question *q = &d->range;
  fprintf(
      to,
      "<h2>A range query is one threshold</h2>\n<p>Every colour within %.1f of <em>%s</em>: %zu rows by the "
      "threshold, %zu by measuring every distance; %s.</p>\n"
      "<div class=\"formula\">|x-q| &lt; r   &#8660;   &#10216;p,y&#10217; &gt; b        p = (%.4f, %.4f, "
      "%.4f, %.4f)   b = %.6f"
      "</div>\n<p></p><div class=\"strip\">",
      q->r, demo_queries()[0].name, q->by_threshold, q->by_distance,
      q->same_rows ? "the same rows" : "different rows", q->p[0], q->p[1], q->p[2], q->p[3], q->b);
  for (size_t i = 0; i < d->range_rows; i++) print_colour(to, d->data.colours[d->ids[i]].rgb);
  fputs("</div>\n<p></p>\n", to);
  demo_draw_scores(d, to);
  char *plot = NULL;
  size_t length;
  FILE *memory = open_memstream(&plot, &length);
  bool drawn = memory != NULL && demo_draw_by_gnuplot(d, memory);
  if (memory != NULL) fclose(memory);
  if (drawn)
    fprintf(to,
            "<p>All ten queries with the same radius, by gnuplot: above 0 is within r.</p>\n<div "
            "class=\"plot\">%s</div>\n",
            plot);
  free(plot);
}

static void print_ending(FILE *to) {
  fputs("<h2>On your own data</h2>\n<div class=\"formula\">capball info base.fvecs\n"
        "capball fit base.fvecs -o map.json\n"
        "capball embed -m map.json base.fvecs -o base.npy\n"
        "echo '{\"ball\":{\"c\":[..],\"r\":40}}' | capball dual -m map.json</div>\n</main></body></html>\n",
        to);
}

char *demo_page(const demo *d, size_t *length) {
  char *page = NULL;
  FILE *to = open_memstream(&page, length);
  if (to == NULL) return NULL;
  fputs(head, to);
  print_summary(d, to);
  fputs("<h2>Ten questions</h2>\n<p>The number beside an answer is its distance to the query.</p>\n", to);
  print_table(d, to);
  print_range(d, to);
  fputs("<h2>A ball and its cap</h2>\n<div class=\"formula\">S(x) = (2 s x, s&#178;&#8722;|x|&#178;) / "
        "(|x|&#178;+s&#178;)</div>\n<p></p>\n",
        to);
  cpb_error error;
  bool drawn = demo_draw_ball_and_cap(to, &error);
  print_ending(to);
  if (fclose(to) != 0 || !drawn) {
    free(page);
    return NULL;
  }
  return page;
}
