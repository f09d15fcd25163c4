/* Rows through one of the transforms of T13, fitted to a base on the way. */
#ifndef CLI_EMBED_TRANSFORM_H
#define CLI_EMBED_TRANSFORM_H

#include "cli.h"

/* --transform, --as and --base; output is where the rows go. CLI_OK, or an exit code after a sentence. */
int cli_embed_by_transform(const cli_job *job, const char *output);

#endif
