/* Shared by commands that run an engine. */
#ifndef CLI_ENGINE_JOB_H
#define CLI_ENGINE_JOB_H

#include "capball/advanced/engine.h"
#include "data_file.h"

/* Names of engines, those of the library first, then the built-in ones; NULL past the end. */
const char *cli_built_in(size_t i);
bool cli_is_built_in(const cli_job *job); /* whether --engine names a built-in one */

/* The engine of the job; refers to `command`. */
int cli_open_engine(const cli_job *job, cpb_engine_command *command, cpb_engine_calls *engine);

/* The metric of the engine: --metric, by default cosine. */
cpb_metric cli_engine_metric(const cli_job *job);

/* Reports an error of the engine, or about one of the two files. */
int cli_fail_engine(const cli_input *base, const cli_input *queries, cpb_status status,
                    const cpb_error *error);

/* `capball recommend` by measuring the engine; queries may be closed. */
int cli_recommend_engine(cli_input *base, cli_input *queries);

#define CLI_ENGINE_METRICS CLI_NAMES("cosine", "ip", "l2")
extern const cli_option cli_opt_engine_command, cli_opt_engine_metric, cli_opt_candidates, cli_opt_timeout;

#endif
