/* Commands that speak to a real engine: what they have in common. */
#ifndef CLI_ENGINE_JOB_H
#define CLI_ENGINE_JOB_H

#include "capball/advanced/engine.h"
#include "data_file.h"

/* Engines that may be built in, from the place CPB_ENGINES on; NULL past the end. */
const char *cli_built_in(size_t i);
bool cli_is_built_in(const cli_job *job); /* --engine names one */

/* A misuse of --engine-command, --timeout or --candidates. */
int cli_check_engine(const cli_job *job);

/* The engine of the job; `command` must live as long. */
int cli_open_engine(const cli_job *job, cpb_engine_command *command, cpb_engine_calls *engine);

/* What the engine ranks by: --metric, cosine without it. */
cpb_metric cli_engine_metric(const cli_job *job);

/* A failure that is the engine's, or about one of the two files. */
int cli_fail_engine(const cli_input *base, const cli_input *queries, cpb_status status,
                    const cpb_error *error);

/* `capball recommend` by asking it; queries may be closed. */
int cli_recommend_engine(cli_input *base, cli_input *queries);

extern const cli_option cli_opt_engine_command, cli_opt_engine_metric, cli_opt_candidates, cli_opt_timeout;

#endif
