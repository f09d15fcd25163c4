#include "page.h"

#include <string.h>

#include "put_text.h"

/* clang-format off */
static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1d2129;--soft:#5b6270;--paper:#fbfaf7;--card:#fff;--line:#d9d6cc;\n"
    "--hit:#c2410c;--good:#237032;--bad:#b91c1c;--bar:#2f6fb5}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e6e1;--soft:#a8adb8;--paper:#16181c;--card:#1f2227;--line:#3a3e46;\n"
    "--hit:#fb923c;--good:#6fcf80;--bad:#fb8a8a;--bar:#6ea8e0}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;overflow-wrap:break-word}\n"
    "main{max-width:1000px;margin:0 auto;padding:48px 24px 80px}\n"
    "@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--paper:#fff;--card:#fff;--line:#bbb}\n"
    "main{max-width:none;padding:0}.wide{overflow:visible}tr,figure,.sum,svg{break-inside:avoid}}\n"
    "a{color:inherit}\n"
    ":focus-visible{outline:3px solid var(--bar);outline-offset:2px}\n"
    "h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4em}\n"
    "h2{margin:2.2em 0 .5em;font-size:1.25rem}\n"
    "p{max-width:44em}\n"
    "figure{margin:1.2em 0}\n"
    "code,.formula{font:15px/1.6 ui-monospace,monospace}\n"
    ".formula{padding:12px 16px;background:var(--card);border:1px solid var(--line);border-radius:8px;\n"
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:.6em 0}\n"
    ".sums{display:flex;gap:20px;flex-wrap:wrap;margin:28px 0}\n"
    ".sum{flex:1 1 140px;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 22px}\n"
    ".sum b{display:block;font-size:2.6rem;line-height:1.1}\n"
    ".sum.good b,.right{color:var(--good)}\n"
    ".sum.bad b,.wrong{color:var(--bad)}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th{text-align:left;color:var(--soft);font-weight:500;padding:6px 10px}\n"
    "tbody th{color:var(--ink);border-top:1px solid var(--line)}\n"
    "td{padding:7px 10px;border-top:1px solid var(--line);font-size:.92rem;white-space:nowrap}\n"
    ".num{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".pick td,.pick th{font-weight:700}\n"
    "td i,th i{display:inline-block;width:46px;height:26px;border-radius:6px;vertical-align:middle;margin-right:10px;\n"
    "border:1px solid var(--line)}\n"
    "td small{color:var(--soft)}\n"
    "td.why{white-space:normal;min-width:8.5em}\n"
    "td small.right{color:var(--good)}\n"
    "td small.wrong{color:var(--bad)}\n"
    ".strip{display:flex;flex-wrap:wrap;gap:3px}\n"
    ".strip i{width:30px;height:30px;border-radius:5px}\n"
    ".pic,.plot{width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:12px;\n"
    "padding:12px}\n"
    ".plot .pic{border:0;padding:0}\n"
    ".plot svg{width:100%;height:auto}\n"
    ".pair{display:flex;flex-wrap:wrap;gap:20px}\n"
    ".pair .pic{flex:1 1 320px;min-width:0}\n"
    ".pic text{fill:var(--ink);font:italic 17px Georgia,serif;paint-order:stroke;stroke:var(--card);\n"
    "stroke-width:5px;stroke-linejoin:round}\n"
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
    ".bar{fill:var(--bar)}\n"
    ".axis{stroke:var(--line);stroke-width:2}\n"
    ".whisker{stroke:var(--soft);stroke-width:6;stroke-opacity:.45}\n"
    ".before{fill:var(--card);stroke:var(--bar);stroke-width:2}\n"
    ".bar.odd{fill:var(--hit);stroke:var(--card);stroke-width:.8}\n"
    ".pole{fill:var(--ink)}\n"
    ".rule{stroke:var(--hit);stroke-width:1.2;stroke-dasharray:6 4}\n"
    ".formula span{display:inline-block;max-width:100%}\n"
    "i.none{visibility:hidden}\n"
    ".pic .note.pick{font-weight:700}\n"
    "@media(max-width:600px){main{padding:24px 14px 48px}h1{font-size:1.6rem}\n"
    "td,th{padding:6px 4px;overflow-wrap:anywhere}td{white-space:normal;font-size:.84rem}td.num{white-space:nowrap}\n"
    "th[scope=row]{min-width:3.2em}th[scope=col]{overflow-wrap:normal}\n"
    "td i,th i{width:24px;height:20px;margin-right:6px}.more,i.none{display:none}\n"
    "td.why{display:block;border:0;padding:3px 4px;min-width:7em}.pic .note{font-size:20px}}\n"
    "</style></head><body><main>\n";
/* clang-format on */

void show_page_begin(FILE *to, const char *title) {
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>",
        to);
  show_put_html(to, title);
  fputs("</title>\n", to);
  fputs(style, to);
}

void show_page_end(FILE *to) { fputs("</main></body></html>\n", to); }

static void put_paragraph(FILE *to, const char *text) {
  fputs("<p>", to);
  show_put_html(to, text);
  fputs("</p>\n", to);
}

/* Lines break between words, not at the dashes of options. */
static void put_words(FILE *to, const char *lines) {
  char word[512];
  while (*lines != 0) {
    size_t length = strcspn(lines, " \n");
    if (length >= sizeof word) length = sizeof word - 1;
    memcpy(word, lines, length);
    word[length] = 0;
    lines += length;
    fputs("<span>", to);
    show_put_html(to, word);
    fputs("</span>", to);
    while (*lines == ' ' || *lines == '\n') fputc(*lines++, to);
  }
}

void show_advice_begin(FILE *to, const show_advice *of) {
  show_page_begin(to, "capball: how to index these rows");
  fputs("<h1>How to index ", to);
  show_put_html(to, of->name);
  fputs("</h1>\n", to);
  put_paragraph(to, of->text);
  if (of->method != NULL) put_paragraph(to, of->method);
  fputs("<h2>To carry it out</h2>\n<pre class=\"formula\" tabindex=\"0\">", to);
  put_words(to, of->commands);
  fputs("</pre>\n", to);
  put_paragraph(to, of->note);
}
