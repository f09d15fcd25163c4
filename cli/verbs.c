/* The words of verbs, and commands by their verbs. */
#include <string.h>

#include "cli.h"

const cli_command *cli_command_find(const cli_command *const *all, const char *verb) {
  for (const cli_command *const *command = all; *command != NULL; command++)
    if (strcmp((*command)->verb, verb) == 0) return *command;
  return NULL;
}

size_t cli_first_word(const cli_command *command) { return strcspn(command->verb, " "); }

const char *cli_second_word(const cli_command *command) {
  const char *rest = command->verb + cli_first_word(command);
  return *rest == ' ' ? rest + 1 : NULL;
}

bool cli_is_in_group(const cli_command *command, const char *word) {
  size_t length = cli_first_word(command);
  return cli_second_word(command) != NULL && strlen(word) == length &&
         strncmp(command->verb, word, length) == 0;
}

bool cli_is_first_of_group(const cli_command *const *command) {
  if (cli_second_word(*command) == NULL || command[-1] == NULL) return true;
  size_t length = cli_first_word(*command);
  return cli_first_word(command[-1]) != length || strncmp(command[-1]->verb, (*command)->verb, length) != 0;
}
