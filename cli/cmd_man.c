/* The manual page in roff, from the tables of commands and options. */
#include <string.h>

#include "cli.h"

/* Text with all roff characters escaped. */
static void print_plain(const char *text) {
  bool line_start = true;
  for (; *text != 0; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    if (*text == '\\')
      fputs("\\e", stdout);
    else if (*text == '-')
      fputs("\\-", stdout);
    else if (*text == '^')
      fputs("\\(ha", stdout);
    else if (*text == '~')
      fputs("\\(ti", stdout);
    else
      putchar(*text);
    line_start = *text == '\n';
  }
}

static void print_paragraphs(const char *text) {
  for (const char *line = text; *line != 0;) {
    size_t length = strcspn(line, "\n");
    char paragraph[2048];
    snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, line);
    print_plain(paragraph);
    line += length + (line[length] == '\n');
    fputs(*line != 0 ? "\n.br\n" : "\n", stdout);
  }
}

static void print_verbatim(const char *lines) {
  fputs(".PP\n.nf\n.RS\n", stdout);
  print_plain(lines);
  fputs("\n.RE\n.fi\n", stdout);
}

static void print_options(const cli_command *command) {
  char help[CLI_HELP_ROOM];
  for (size_t i = 0; command->options[i] != NULL; i++) {
    const cli_option *option = command->options[i];
    fputs(".TP\n", stdout);
    if (option->letter != 0) printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    print_plain(option->name);
    fputs("\\fR", stdout);
    if (option->value != NULL) printf(" \\fI%s\\fR", option->value);
    putchar('\n');
    print_plain(cli_option_help(option, help));
    putchar('\n');
  }
}

static void print_command(const cli_command *command) {
  printf(".SS \"capball %s ", command->verb);
  print_plain(command->operands);
  fputs("\"\n", stdout);
  print_plain(command->summary);
  fputs(".\n", stdout);
  if (command->formula != NULL) print_verbatim(command->formula);
  fputs(".PP\n", stdout);
  print_paragraphs(command->text);
  print_options(command);
  fputs(".PP\nExample:\n", stdout);
  print_verbatim(command->example);
}

static int run(cli_job *job) {
  printf(".TH CAPBALL 1 \"\" \"capball %s\" \"User Commands\"\n.SH NAME\n"
         "capball \\- hyperplanes where you need balls, balls where you need hyperplanes\n"
         ".SH SYNOPSIS\n.B capball\n\\fICOMMAND\\fR [\\fIoperands\\fR] [\\fIoptions\\fR]\n.SH DESCRIPTION\n"
         "S(x) = (2 s x, s\\(ha2\\-|x|\\(ha2) / (|x|\\(ha2+s\\(ha2) maps the data space to the unit sphere\n"
         "of one dimension more. A ball of the data space becomes a cap, one threshold of an inner product,\n"
         "and the other way round.\n.PP\n"
         "Data go to standard output, messages to standard error; \\- names standard input or output.\n"
         "Files written with \\fB\\-o\\fR are written atomically.\n.PP\n"
         "T\\-numbers next to formulas, as in T3, refer to laws: \\fBcapball theory T3\\fR prints one, and\n"
         "where it is "
         "declared, computed and tested. docs/reference/json.md lists what \\fB\\-\\-json\\fR prints.\n.SH "
         "COMMANDS\n",
         cpb_version());
  for (const cli_command *const *command = job->commands; *command != NULL; command++)
    print_command(*command);
  fputs(
      ".SH EXIT STATUS\n0 success; 1 an error in the data or the system; 2 wrong usage; 128+N ended by "
      "signal N.\n"
      "A command whose output pipe is closed is terminated by SIGPIPE, without a message; the "
      "shell\nshows 141. Where SIGPIPE is ignored, it is an error with exit status 1.\n"
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on the terminal\n.TP\n.B TMPDIR\n"
      "directory for temporary files, instead of /tmp\n.TP\n.B CPB_ISA\n"
      "the instruction set of the loops: plain, v128, avx2, avx512, avx512vnni or amx; one that the machine\n"
      "does not support is ignored, and \\fBcapball \\-\\-version\\fR shows the one in use\n",
      stdout);
  return CLI_OK;
}

CLI_OPTIONS(options, &cli_opt_help);

const cli_command cli_verb_man = {.verb = "man",
                                  .operands = "",
                                  .summary = "print the manual page",
                                  .text = "The page in roff, for `capball man > capball.1` or for a pager.",
                                  .example = "capball man > capball.1",
                                  .least = 0,
                                  .most = 0,
                                  .options = options,
                                  .run = run};
