/* Plots by gnuplot, or as text in the terminal without it. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "capball/advanced/abid.h"
#include "cli.h"

/* CLI_USAGE if the extension is not that of a picture. */
int cli_check_picture(const cli_job *job, const char *path);

/* Runs gnuplot on the output of `write` (everything but terminal and title) and writes the picture to the file of --plot,
 * completely or not at all: PNG for .png, SVG for .svg. Without gnuplot, *drawn is false and nothing is reported.
 * CLI_OK, or an exit code after a message. */
int cli_plot(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to), const void *arg,
             bool *drawn);

/* The same if there is no other way to show it: CLI_FAILED after a message without gnuplot. */
int cli_plot_wanted(const cli_job *job, const char *title, void (*write)(const void *arg, FILE *to),
                    const void *arg);

/* Prints a curve on stderr, one line per point: label, value, and a bar between low and high. */
void cli_draw_bars(const cli_job *job, const cpb_curve_point *points, size_t count, const char *label);

#endif
