/* Shell completion scripts, generated from the tables of commands and options. */
#include <string.h>

#include "cli.h"

/* The first words of all commands, without repetition. */
static void print_verbs(const cli_command *const *all) {
  for (const cli_command *const *command = all; *command != NULL; command++)
    if (cli_is_first_of_group(command))
      printf("%s%.*s", command == all ? "" : " ", (int)cli_first_word(*command), (*command)->verb);
}

/* True for the first command of a group of two words. */
static bool opens_group(const cli_command *const *command) {
  return cli_second_word(*command) != NULL && cli_is_first_of_group(command);
}

/* The second words of the group that begins with this command. */
static void print_second_words(const cli_command *const *first) {
  for (const cli_command *const *command = first; *command != NULL; command++)
    if (command == first || (cli_second_word(*command) != NULL && !cli_is_first_of_group(command)))
      printf("%s%s", command == first ? "" : " ", cli_second_word(*command));
    else
      break;
}

static void print_choices(const cli_option *option) {
  const char *name;
  for (size_t i = 0; (name = cli_option_name(option, i)) != NULL; i++)
    printf("%s%s", i == 0 ? "" : " ", name);
}

/* Prints the words a command takes instead of a file; false if it takes files. */
static bool operand_words(const cli_command *const *all, const cli_command *command) {
  if (command == &cli_verb_help)
    print_verbs(all);
  else if (command == &cli_verb_completion)
    for (const char *at = command->operands; *at != 0; at++) putchar(*at == '|' ? ' ' : *at);
  else
    return false;
  return true;
}

/* The possible values of options that have names for them. */
static void print_bash_values(const cli_command *command) {
  for (size_t i = 0; command->options[i] != NULL; i++) {
    const cli_option *option = command->options[i];
    if (!cli_option_has_names(option)) continue;
    printf("    '%s --%s'", command->verb, option->name);
    if (option->letter != 0) printf("|'%s -%c'", command->verb, option->letter);
    fputs(") words='", stdout);
    print_choices(option);
    fputs("' ;;\n", stdout);
  }
}

static void print_bash_command(const cli_command *const *all, const cli_command *command) {
  printf("    '%s') words='", command->verb);
  operand_words(all, command);
  fputs("' options='", stdout);
  for (size_t i = 0; command->options[i] != NULL; i++)
    printf("%s--%s", i == 0 ? "" : " ", command->options[i]->name);
  fputs("' ;;\n", stdout);
}

static void print_bash(const cli_command *const *all) {
  fputs("_capball() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= "
        "options=\n"
        "  if ((COMP_CWORD == 1)); then\n    words='",
        stdout);
  print_verbs(all);
  fputs("' options='--help --version'\n  else\n    local verb=${COMP_WORDS[1]}\n", stdout);
  for (const cli_command *const *command = all; *command != NULL; command++) {
    if (!opens_group(command)) continue;
    printf("    if [[ $verb == %.*s ]]; then\n      if ((COMP_CWORD == 2)); then words='",
           (int)cli_first_word(*command), (*command)->verb);
    print_second_words(command);
    fputs("'; else verb=\"$verb ${COMP_WORDS[2]}\"; fi\n    fi\n", stdout);
  }
  fputs("    case $verb in\n", stdout);
  for (size_t i = 0; all[i] != NULL; i++) print_bash_command(all, all[i]);
  fputs("    esac\n    case \"$verb $before\" in\n", stdout);
  for (size_t i = 0; all[i] != NULL; i++) print_bash_values(all[i]);
  /* One per line: file names contain blanks, and readline quotes them. */
  fputs("    esac\n  fi\n  if [[ $word == -* ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
        "  elif [[ $words ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        "  else\n    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}\n"
        "complete -o filenames -F _capball capball\n",
        stdout);
}

/* Text inside '..' of a zsh or fish script; [ ] : are also special in zsh. */
static void print_quoted(const char *text) {
  for (; *text != 0; text++) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else {
      if (strchr("[]:\\", *text) != NULL) putchar('\\');
      putchar(*text);
    }
  }
}

static void print_zsh_option(const cli_option *option) {
  char help[CLI_HELP_ROOM];
  printf("      '--%s[", option->name);
  print_quoted(cli_option_help(option, help));
  putchar(']');
  if (cli_option_has_names(option)) {
    printf(":%s:(", option->value);
    print_choices(option);
    putchar(')');
  } else if (option->kind == CLI_PATH || option->kind == CLI_WRITTEN || option->kind == CLI_TEXT)
    printf(":%s:_files", option->value);
  else if (option->value != NULL)
    printf(":%s:", option->value);
  fputs("' \\\n", stdout);
}

static void print_zsh(const cli_command *const *all) {
  fputs("#compdef capball\n_capball() {\n  if ((CURRENT == 2)); then\n    local -a verbs=(\n", stdout);
  for (const cli_command *const *command = all; *command != NULL; command++) {
    if (!cli_is_first_of_group(command)) continue;
    printf("      '%.*s:", (int)cli_first_word(*command), (*command)->verb);
    print_quoted((*command)->summary);
    fputs("'\n", stdout);
  }
  fputs("    )\n    _describe command verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n"
        "  ((CURRENT--))\n",
        stdout);
  for (const cli_command *const *command = all; *command != NULL; command++) {
    if (!opens_group(command)) continue;
    printf("  if [[ $verb == %.*s ]]; then\n    if ((CURRENT == 2)); then compadd ",
           (int)cli_first_word(*command), (*command)->verb);
    print_second_words(command);
    fputs("; return; fi\n    verb=\"$verb $words[2]\"\n    shift words\n    ((CURRENT--))\n  fi\n", stdout);
  }
  fputs("  case $verb in\n", stdout);
  for (size_t i = 0; all[i] != NULL; i++) {
    printf("  '%s') _arguments \\\n", all[i]->verb);
    for (size_t k = 0; all[i]->options[k] != NULL; k++) print_zsh_option(all[i]->options[k]);
    fputs("      '*::", stdout);
    fputs("operand:", stdout);
    if (all[i] == &cli_verb_help || all[i] == &cli_verb_completion) {
      putchar('(');
      operand_words(all, all[i]);
      putchar(')');
    } else
      fputs("_files", stdout);
    fputs("' ;;\n", stdout);
  }
  fputs("  esac\n}\n_capball \"$@\"\n", stdout);
}

static void print_fish_text(const char *text) {
  for (; *text != 0; text++) {
    if (*text == '\'' || *text == '\\') putchar('\\');
    putchar(*text);
  }
}

/* The condition for offering the options of a command: all words of its verb are present. */
static void print_fish_seen(const cli_command *command) {
  printf("__fish_seen_subcommand_from %.*s", (int)cli_first_word(command), command->verb);
  if (cli_second_word(command) != NULL)
    printf("; and __fish_seen_subcommand_from %s", cli_second_word(command));
}

static void print_fish_verb(const cli_command *const *command) {
  const char *second = cli_second_word(*command);
  if (cli_is_first_of_group(command)) {
    printf("complete -c capball -n __fish_use_subcommand -f -a %.*s -d '", (int)cli_first_word(*command),
           (*command)->verb);
    print_fish_text((*command)->summary);
    fputs("'\n", stdout);
  }
  if (second == NULL) return;
  printf("complete -c capball -n '__fish_seen_subcommand_from %.*s; and not __fish_seen_subcommand_from %s' "
         "-f -a %s -d '",
         (int)cli_first_word(*command), (*command)->verb, second, second);
  print_fish_text((*command)->summary);
  fputs("'\n", stdout);
}

static void print_fish(const cli_command *const *all) {
  char help[CLI_HELP_ROOM];
  for (size_t i = 0; all[i] != NULL; i++) {
    const cli_command *command = all[i];
    print_fish_verb(all + i);
    for (size_t k = 0; command->options[k] != NULL; k++) {
      const cli_option *option = command->options[k];
      fputs("complete -c capball -n '", stdout);
      print_fish_seen(command);
      printf("' -l %s", option->name);
      if (option->letter != 0) printf(" -s %c", option->letter);
      if (cli_option_has_names(option)) {
        fputs(" -x -a '", stdout);
        print_choices(option);
        putchar('\'');
      } else if (option->kind != CLI_FLAG)
        fputs(" -r", stdout);
      fputs(" -d '", stdout);
      print_fish_text(cli_option_help(option, help));
      fputs("'\n", stdout);
    }
  }
}

static int run(cli_job *job) {
  const char *shell = job->operands[0];
  if (strcmp(shell, "bash") == 0)
    print_bash(job->commands);
  else if (strcmp(shell, "zsh") == 0)
    print_zsh(job->commands);
  else if (strcmp(shell, "fish") == 0)
    print_fish(job->commands);
  else
    return cli_misuse(job, "there is no completion for \"%s\", only %s", shell, job->command->operands);
  return CLI_OK;
}

CLI_OPTIONS(options, &cli_opt_help);

const cli_command cli_verb_completion = {.verb = "completion",
                                         .operands = "bash|zsh|fish",
                                         .summary = "print the completion script of a shell",
                                         .text = "For the running shell: source <(capball completion bash).",
                                         .example = "capball completion bash > capball.bash",
                                         .least = 1,
                                         .most = 1,
                                         .options = options,
                                         .run = run};
