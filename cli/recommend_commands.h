/* The shell commands that carry out a recommendation, and the one that is running. */
#ifndef CLI_RECOMMEND_COMMANDS_H
#define CLI_RECOMMEND_COMMANDS_H

#include "json_print.h"
#include "show/commands.h"

/* Commands with the file names and the engine command of the job. BASE stands for standard input, and without --queries
 * rows of the base are the queries. The caller frees them; NULL if out of memory. */
char *cli_recommend_commands(const cli_job *job, show_recommended of);

/* This command again: its operands, and all options that were given. The caller frees it; NULL if out of memory. */
char *cli_command_again(const cli_job *job);

/* The commands of a recommendation on a terminal, with an explanation, and as an array of JSON. */
void cli_print_commands(const cli_job *job, const char *commands);
cpb_text *cli_json_commands(const char *commands);

/* An explanation of the commands; a static string. */
const char *cli_commands_note(const cli_job *job);

#endif
