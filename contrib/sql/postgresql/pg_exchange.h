/* How a parallel worker passes its rows to the leader. */
#ifndef CAPBALL_PG_EXCHANGE_H
#define CAPBALL_PG_EXCHANGE_H

#include <postgres.h>

#include "sql_rows.h"

/* The state as a value that can be sent. Large ones are stored in a temporary file, of which only the name is sent: the queue
 * between processes would copy them five times, and holds at most 1 GB. */
bytea *pg_exchange_send(sql_rows *rows);

/* The state of such a value; the file is mapped into memory, and has no name from then on. */
sql_rows *pg_exchange_receive(bytea *sent);

#endif
