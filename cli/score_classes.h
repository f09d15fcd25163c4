/* Scores by a file of classes, a part of `capball score`. */
#ifndef CLI_SCORE_CLASSES_H
#define CLI_SCORE_CLASSES_H

#include "capball/advanced/classes.h"
#include "data_file.h"

int cli_score_classes(cli_input *in, const cpb_classes *classes);

#endif
