#include "advice.h"

#include <string.h>

#include "page.h"
#include "put_text.h"

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
