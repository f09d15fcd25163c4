/* A private directory for a test, and files in it. */
#ifndef CPB_TEST_SCRATCH_H
#define CPB_TEST_SCRATCH_H

#include <stddef.h>

/* Creates an empty directory; returns its name. Group setup and teardown of the tests that use files. */
const char *scratch_make(void);
void scratch_remove(void);
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* The path of a file in it; valid for the next few calls. */
const char *scratch_path(const char *name);

/* How many files it holds, including hidden ones. */
size_t scratch_count(void);

/* Writes and reads whole files; a failure fails the test. The bytes read are followed by a 0, and the
 * caller frees them. */
const char *scratch_write(const char *name, const void *bytes, size_t count);
char *scratch_read(const char *path, size_t *count);

#endif
