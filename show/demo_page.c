/* The page of the demonstration: one file, no scripts, nothing fetched. */
#include <stdlib.h>

#include "demo.h"
#include "page.h"
#include "put_text.h"

static void print_colour(FILE *to, const float *rgb) {
  fprintf(to, "<i style=\"background:#%02x%02x%02x\"></i>", (unsigned)rgb[0], (unsigned)rgb[1],
          (unsigned)rgb[2]);
}

static void print_answer(const demo *d, demo_answer answer, const char *class, FILE *to) {
  const demo_colour *colour = &d->data.colours[answer.row];
  fputs("<td>", to);
  print_colour(to, colour->rgb);
  fprintf(to, "%s <small class=\"%s\">%.1f%s%s</small></td>", colour->name, class, answer.distance,
          *class == 0     ? ""
          : *class == 'r' ? " &#10003;&nbsp;"
                          : " &#10007;&nbsp;",
          class);
}

static const char *verdict(demo_answer answer, demo_answer truth) {
  return answer.distance == truth.distance ? "right" : "wrong";
}

static void print_table(const demo *d, FILE *to) {
  fputs(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"ten questions\"><table><thead><tr>"
      "<th scope=\"col\">query</th><th scope=\"col\">true nearest</th><th scope=\"col\">normalised rows</th>"
      "<th scope=\"col\">capball</th></tr></thead><tbody>\n",
      to);
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
  fputs("</tbody></table></div>\n", to);
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
  fprintf(
      to,
      "<div class=\"sums\"><div class=\"sum bad\"><b>%u&nbsp;/&nbsp;%d</b>right with normalised rows</div>"
      "<div class=\"sum good\"><b>%u&nbsp;/&nbsp;%d</b>right with capball</div></div>\n",
      demo_right(d, false), DEMO_QUERIES, demo_right(d, true), DEMO_QUERIES);
  fprintf(to, "<p>%s</p>\n", demo_how);
}

static bool print_range(const demo *d, FILE *to) {
  const demo_question *q = &d->range;
  fprintf(
      to,
      "<h2>A range query is one threshold</h2>\n<p>Every colour within %.1f of <em>%s</em>: %zu rows by the "
      "threshold, %zu by measuring every distance; %s.</p>\n"
      "<div class=\"formula\" tabindex=\"0\">|x-q| &#8804; r   &#8660;   &#10216;p,y&#10217; &#8805; b       "
      " p = "
      "(%.4f, %.4f, "
      "%.4f, %.4f)   b = %.6f"
      "</div>\n<p></p><div class=\"strip\">",
      q->r, demo_queries()[0].name, q->by_threshold, q->by_distance,
      q->same_rows ? "the same rows" : "different rows", q->p[0], q->p[1], q->p[2], q->p[3], q->b);
  for (size_t i = 0; i < d->range_rows; i++) print_colour(to, d->data.colours[d->ids[i]].rgb);
  fputs("</div>\n<p></p>\n", to);
  demo_draw_scores(d, to);
  show_text plot = {0};
  FILE *memory = show_text_open(&plot);
  bool drawn = memory != NULL && demo_draw_by_gnuplot(d, memory);
  bool whole = memory != NULL && show_text_close(&plot, memory);
  if (drawn && whole)
    fprintf(to,
            "<p>All ten queries with the same radius, by gnuplot: from 0 on is within r.</p>\n<div "
            "class=\"plot\" tabindex=\"0\" role=\"img\" aria-label=\"score minus threshold against distance, "
            "all ten "
            "queries\">%s</div>\n",
            plot.bytes);
  free(plot.bytes);
  return whole;
}

/* These lines run as they stand: nothing here is a placeholder. */
static void print_ending(FILE *to) {
  fputs("<h2>On the command line</h2>\n<p>With your own file in place of colours.csv; any of thirteen "
        "formats will "
        "do.</p>\n<div class=\"formula\" id=\"try\" tabindex=\"0\">"
        "printf '148,59,44\\n255,99,71\\n30,144,255\\n24,32,70\\n' &gt; colours.csv\n"
        "capball info colours.csv\n"
        "capball fit colours.csv -o map.json\n"
        "capball embed -m map.json colours.csv -o sphere.csv\n"
        "echo '{\"ball\":{\"c\":[150,60,44],\"r\":40.5}}' | capball dual -m map.json\n"
        "</div>\n",
        to);
  show_page_end(to);
}

char *demo_page(const demo *d, size_t *length) {
  show_text page;
  FILE *to = show_text_open(&page);
  if (to == NULL) return NULL;
  show_page_begin(to, "capball: nearest colours by cosine");
  print_summary(d, to);
  fputs(
      "<h2>Ten questions</h2>\n<p>The number beside an answer is its distance to the query; a percentage is "
      "brightness: <em>tomato 58%</em> is tomato at 58 % of full brightness, give or take a little "
      "noise.</p>\n",
      to);
  print_table(d, to);
  bool whole = print_range(d, to);
  fputs("<h2>A ball and its cap</h2>\n<div class=\"formula\" tabindex=\"0\">S(x) = (2 s x, "
        "s&#178;&#8722;|x|&#178;) / "
        "(|x|&#178;+s&#178;)</div>\n<p></p>\n",
        to);
  cpb_error error;
  bool drawn = demo_draw_ball_and_cap(to, &error);
  print_ending(to);
  whole = show_text_close(&page, to) && whole;
  *length = page.length;
  if (whole && drawn) return page.bytes;
  free(page.bytes);
  return NULL;
}
