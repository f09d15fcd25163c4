/* Help texts, generated from the tables of commands and options. */
#include <string.h>

#include "cli.h"

enum { WIDTH = 80 };

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

/* Columns shown: all bytes except continuation bytes of UTF-8. */
static size_t columns_of(const char *text, size_t length) {
  size_t columns = 0;
  for (size_t i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
  return columns;
}

/* A line of a formula; a T-number at its right is moved left as far as necessary, and a line that is too long is
 * continued on the next. */
static void print_formula_line(FILE *to, const char *line, size_t length) {
  char text[256];
  size_t used = 0, over = columns_of(line, length) + 2 > WIDTH ? columns_of(line, length) + 2 - WIDTH : 0;
  for (size_t i = 0, run = 0; i < length && used < sizeof text - 1; i++) {
    run = line[i] == ' ' ? run + 1 : 0;
    if (run > 2 && over > 0)
      over--;
    else
      text[used++] = line[i];
  }
  text[used] = 0;
  if (over == 0)
    fprintf(to, "  %s\n", text);
  else
    cli_print_wrapped(to, text, 6, 4);
}

static void print_formula(FILE *to, const char *lines) {
  while (*lines != 0) {
    size_t length = strcspn(lines, "\n");
    print_formula_line(to, lines, length);
    lines += length + (lines[length] == '\n');
  }
}

/* Explains T-numbers if the formula contains one. */
static void print_theory(FILE *to, const char *formula) {
  for (const char *t = strchr(formula, 'T'); t != NULL; t = strchr(t + 1, 'T')) {
    size_t digits = strspn(t + 1, "0123456789");
    if (digits == 0) continue;
    fprintf(to, "  T-numbers refer to laws: `capball theory T%.*s` prints it and its files.\n", (int)digits,
            t + 1);
    return;
  }
}

/* The last blank between shell words at which the line can be broken; 0: none. */
static size_t break_at(const char *line, size_t length, size_t most) {
  bool quoted = false;
  size_t found = 0;
  for (size_t i = 0; i < length && i <= most; i++) {
    if (line[i] == '\'') quoted = !quoted;
    if (line[i] == ' ' && !quoted && i > 4) found = i;
  }
  return found;
}

/* Shell commands, broken into lines of maximal length. */
static void print_shell(FILE *to, const char *lines) {
  while (*lines != 0) {
    size_t length = strcspn(lines, "\n"), indent = 2;
    while (length + indent > WIDTH) {
      size_t cut = break_at(lines, length, WIDTH - indent - 2);
      if (cut == 0) break;
      fprintf(to, "%*s%.*s \\\n", (int)indent, "", (int)cut, lines);
      lines += cut + 1;
      length -= cut + 1;
      indent = 6;
    }
    fprintf(to, "%*s%.*s\n", (int)indent, "", (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

static void print_option(const cli_option *option, FILE *to) {
  char head[64], letter[8] = "    ", help[CLI_HELP_ROOM];
  if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  int column = snprintf(head, sizeof head, "  %s--%s%s%s", letter, option->name,
                        option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
  fputs(head, to);
  if (column > 24) { /* no room for two blanks between the columns */
    fputc('\n', to);
    column = 0;
  }
  cli_print_wrapped(to, cli_option_help(option, help), 26, column);
}

void cli_print_summaries(const cli_command *const *all, const char *group, FILE *to) {
  for (const cli_command *const *command = all; *command != NULL; command++)
    if (group == NULL || cli_is_in_group(*command, group))
      cli_print_wrapped(to, (*command)->summary, 17, fprintf(to, "  %-14s", (*command)->verb));
}

void cli_print_overview(const cli_command *const *all, FILE *to) {
  fputs("capball: hyperplanes where you need balls, balls where you need hyperplanes\n\n"
        "  S(x) = (2 s x, s^2-|x|^2) / (|x|^2+s^2)     R^d -> the unit sphere of R^(d+1)\n"
        "  A ball in R^d is a cap <p,y> >= b on the sphere, and the other way round.\n\n"
        "Commands\n",
        to);
  cli_print_summaries(all, NULL, to);
  fputs("\n"
        "  capball help COMMAND     the formula, the options, an example that runs\n"
        "  capball --version        version, loops, HDF5; -v: which loop for which rows\n"
        "  capball theory T3        a law, by the T-number of a formula\n"
        "\n"
        "Begin with: capball demo\n",
        to);
}

void cli_print_help(const cli_command *command, FILE *to) {
  char synopsis[256];
  snprintf(synopsis, sizeof synopsis, "%s%s%s%s", command->verb, command->operands[0] != 0 ? " " : "",
           command->operands, command->options[0] != &cli_opt_help ? " [options]" : "");
  int column = fprintf(to, "capball");
  cli_print_wrapped(to, synopsis, 6, column);
  cli_print_wrapped(to, command->summary, 2, 0);
  if (command->formula != NULL) {
    fputc('\n', to);
    print_formula(to, command->formula);
    print_theory(to, command->formula);
  }
  fputc('\n', to);
  cli_print_wrapped(to, command->text, 2, 0);
  fputs("\nOptions\n", to);
  for (size_t i = 0; command->options[i] != NULL; i++) print_option(command->options[i], to);
  fputs("\nExample\n", to);
  print_shell(to, command->example);
}

size_t cli_print_group(const cli_command *const *all, const char *word, FILE *to) {
  size_t found = 0;
  for (const cli_command *const *command = all; *command != NULL; command++) {
    if (!cli_is_in_group(*command, word)) continue;
    if (found++ > 0) fputc('\n', to);
    cli_print_help(*command, to);
  }
  return found;
}

static int run(cli_job *job) {
  if (job->count == 0) {
    cli_print_overview(job->commands, stdout);
    return CLI_OK;
  }
  char verb[64];
  snprintf(verb, sizeof verb, "%s%s%s", job->operands[0], job->count > 1 ? " " : "",
           job->count > 1 ? job->operands[1] : "");
  const cli_command *command = cli_command_find(job->commands, verb);
  if (command != NULL) cli_print_help(command, stdout);
  return command != NULL || cli_print_group(job->commands, verb, stdout) > 0
             ? CLI_OK
             : cli_misuse(job, "there is no command \"%s\"", verb);
}

CLI_OPTIONS(options, &cli_opt_help);

const cli_command cli_verb_help = {.verb = "help",
                                   .operands = "[COMMAND]",
                                   .summary = "explain a command",
                                   .text =
                                       "Without a command, lists all of them. A command may have two words; "
                                       "the first one alone explains all commands that begin with it.",
                                   .example = "capball help dual",
                                   .least = 0,
                                   .most = 2,
                                   .options = options,
                                   .run = run};
