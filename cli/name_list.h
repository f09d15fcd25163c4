/* Files with an id or a text key in each line, for rows of an index. */
#ifndef CLI_NAME_LIST_H
#define CLI_NAME_LIST_H

#include "capball/index.h"
#include "cli.h"

typedef struct cli_name_list {
  size_t count;
  bool keyed;
  uint64_t *ids;       /* unless keyed */
  cpb_index_keys keys; /* if keyed: of the two arrays below */
  char *text;
  uint64_t *offsets;
} cli_name_list;

/* Reads a file: CLI_OK, or an exit code after a message that names the line. Free it in any case. */
int cli_read_names(const cli_job *job, const char *path, bool keyed, cli_name_list *names);

/* The same for words of the command line. */
int cli_take_names(const cli_job *job, char *const *words, size_t count, bool keyed, cli_name_list *names);
void cli_free_names(cli_name_list *names);

/* Names from..to of the list: one of the two results, the other is NULL. */
const uint64_t *cli_ids_of(const cli_name_list *names, size_t from);
cpb_index_keys cli_keys_of(const cli_name_list *names, size_t from, size_t to);

/* --filter: "A..B", ids from A to B, or else a file; of an index. *names has what *filter refers to. */
int cli_read_filter(const cli_job *job, const cpb_index *index, const char *given, cli_name_list *names,
                    cpb_index_filter *filter);

/* The keys of ids: text and offsets, freed with free(text). Ends the program if there is no memory. */
int cli_keys_of_ids(const cli_job *job, const cpb_index *index, const uint64_t *ids, size_t count,
                    char **text, uint64_t *offsets);

#endif
