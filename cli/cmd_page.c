/* Writes the page that `make web` has built: a file beside the command, or installed with it. */
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "src/base/system_process.h"
#include "src/base/system_file.h"

/* Relative to the directory of the command: installed, and in the build directory. */
static const char *const places[] = {"../share/capball/page.html", "web/index.html"};
enum { PLACES = sizeof places / sizeof *places };

/* Opens the page next to this command; NULL if there is none. */
static FILE *open_page(void) {
  char *own = cpb_sys_own_path();
  FILE *file = NULL;
  for (size_t i = 0; own != NULL && i < PLACES && file == NULL; i++) {
    size_t folder = cpb_sys_folder_length(own), room = folder + strlen(places[i]) + 1;
    char *path = cli_alloc(room, 1);
    snprintf(path, room, "%.*s%s", (int)folder, own, places[i]);
    file = cpb_sys_fopen(path, "rb");
    free(path);
  }
  free(own);
  return file;
}

/* The whole file, which the caller frees; NULL after a read error or without memory. */
static char *read_page(FILE *file, size_t *length) {
  enum { MOST = 1 << 20 }; /* a page is smaller */
  char *bytes = malloc(MOST);
  *length = bytes == NULL ? 0 : fread(bytes, 1, MOST, file);
  if (bytes != NULL && !ferror(file) && *length < MOST) return bytes;
  free(bytes);
  return NULL;
}

static int run(cli_job *job) {
  if (job->options.output == NULL) return cli_misuse(job, "--output FILE is missing");
  FILE *file = open_page();
  if (file == NULL)
    return cli_fail(job, "the page is not installed: run `make web` in the source tree, then this command "
                         "or `make install`");
  size_t length;
  char *bytes = read_page(file, &length);
  fclose(file);
  if (bytes == NULL) return cli_fail(job, "the page cannot be read");
  int result = cli_write_text(job, job->options.output, bytes, length);
  if (result == CLI_OK && strcmp(job->options.output, "-") != 0)
    cli_say(job, "%s: %zu bytes; open it in a browser", job->options.output, length);
  return result;
}

static CLI_OPTION(output, "output", 'o', CLI_WRITTEN, "PAGE.html", output,
                  "output file of the page, written atomically");

CLI_OPTIONS(options, &output, &cli_opt_quiet, &cli_opt_help);

const cli_command cli_verb_page = {
    .verb = "page",
    .operands = "-o PAGE.html",
    .summary = "an interactive page: see the geometry, try your data, find outliers",
    .formula = "|x-c| <= r   <=>   <p,S(x)> >= b,   (p,b) the cap of the ball (c,r)                      T3",
    .text =
        "Writes a page of one file for a browser, with this library as WebAssembly. It shows a ball and "
        "its cap as they are dragged, measures which transform suits a file of vectors, and finds outliers. "
        "The data do not leave the browser: the page makes no request, and works from a file and from "
        "any web server. Maps and models that it saves are those of `capball fit` and `capball ball`.\n"
        "The page is built by `make web` and installed with the command.",
    .example = "capball page -o page.html",
    .least = 0,
    .most = 0,
    .options = options,
    .run = run};
