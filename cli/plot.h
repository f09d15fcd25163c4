/* Pictures by gnuplot, and a small one in the terminal where there is none. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "cli.h"

/* A misuse where the extension is none of a picture. */
int cli_check_picture(const cli_job *job, const char *path);

/* Runs gnuplot on what `write` prints (all but terminal and title) and puts its picture where --plot says, whole or
 * not at all; .png gives PNG, .svg SVG. *drawn is false, and nothing is said, without gnuplot.
 * CLI_OK, or an exit code after a sentence. */
int cli_plot(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to), const void *arg,
             bool *drawn);

/* The same where nothing else can show it: CLI_FAILED after a sentence without gnuplot. */
int cli_plot_wanted(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to),
                    const void *arg);

/* A curve as lines of text on stderr, one per point: label, value, and a bar between low and high. */
void cli_draw_bars(const cli_job *job, const cpb_curve_point *points, size_t count, const char *label);

#endif
