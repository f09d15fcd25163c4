/* Help, from the tables of commands and options. */
#include <string.h>

#include "cli.h"

enum { WIDTH = 92 };

void cli_print_wrapped(FILE *to, const char *text, int indent, int column) {
  while (*text != 0) {
    size_t word = strcspn(text, " \n");
    if (column > indent && column + 1 + (int)word > WIDTH) {
      fputc('\n', to);
      column = 0;
    } else if (column > indent) {
      fputc(' ', to);
      column++;
    }
    if (column < indent) column += fprintf(to, "%*s", indent - column, "");
    column += fprintf(to, "%.*s", (int)word, text);
    text += word;
    if (*text == '\n') {
      fputc('\n', to);
      column = 0;
    }
    if (*text != 0) text++;
  }
  fputc('\n', to);
}

static void print_lines(FILE *to, const char *lines) {
  while (*lines != 0) {
    size_t length = strcspn(lines, "\n");
    fprintf(to, "  %.*s\n", (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

static void print_option(const cli_option *option, FILE *to) {
  char head[64], letter[8] = "    ";
  if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  int column = snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name,
                        option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
  fputs(head, to);
  cli_print_wrapped(to, option->help, 26, column);
}

void cli_print_summaries(const char *group, FILE *to) {
  for (const cli_command *const *command = cli_commands; *command != NULL; command++)
    if (group == NULL || cli_is_in_group(*command, group))
      fprintf(to, "  %-15s%s\n", (*command)->verb, (*command)->summary);
}

void cli_print_overview(FILE *to) {
  fputs("capball: hyperplanes where you need balls, balls where you need hyperplanes\n\n"
        "  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)     R^d -> the unit sphere of R^(d+1)\n"
        "  A ball in R^d is a cap <p,y> >= b on the sphere, and the other way round.\n\n"
        "Commands\n",
        to);
  cli_print_summaries(NULL, to);
  fputs("\n  capball help COMMAND     the formula, the options, an example that runs\n"
        "  capball --version        version, instruction set, HDF5\n\n"
        "Begin with: capball demo\n",
        to);
}

void cli_print_help(const cli_command *command, FILE *to) {
  fprintf(to, "capball %s%s%s%s\n  %s\n", command->verb, command->operands[0] != 0 ? " " : "",
          command->operands, command->options[0] != &cli_opt_help ? " [options]" : "", command->summary);
  if (command->formula != NULL) {
    fputc('\n', to);
    print_lines(to, command->formula);
  }
  fputc('\n', to);
  cli_print_wrapped(to, command->text, 2, 0);
  fputs("\nOptions\n", to);
  for (size_t i = 0; command->options[i] != NULL; i++) print_option(command->options[i], to);
  fputs("\nExample\n", to);
  print_lines(to, command->example);
}

size_t cli_print_group(const char *word, FILE *to) {
  size_t found = 0;
  for (const cli_command *const *command = cli_commands; *command != NULL; command++) {
    if (!cli_is_in_group(*command, word)) continue;
    if (found++ > 0) fputc('\n', to);
    cli_print_help(*command, to);
  }
  return found;
}

static int run(cli_job *job) {
  if (job->count == 0) {
    cli_print_overview(stdout);
    return CLI_OK;
  }
  char verb[64];
  snprintf(verb, sizeof verb, "%s%s%s", job->operands[0], job->count > 1 ? " " : "",
           job->count > 1 ? job->operands[1] : "");
  const cli_command *command = cli_command_find(verb);
  if (command != NULL) cli_print_help(command, stdout);
  return command != NULL || cli_print_group(verb, stdout) > 0
             ? CLI_OK
             : cli_misuse(job, "there is no command \"%s\"", verb);
}

CLI_OPTIONS(options, &cli_opt_help);

const cli_command cli_verb_help = {
    .verb = "help",
    .operands = "[COMMAND]",
    .summary = "explain a command",
    .text =
        "Without a command, lists all of them. A command may have two words; the first one alone explains "
        "all that begin with it.",
    .example = "capball help dual",
    .least = 0,
    .most = 2,
    .options = options,
    .run = run};
