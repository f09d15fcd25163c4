/* The smallest ball around the rows of a file of any size: the file is read a few times, and never held in memory. */
#include <capball/capball.h>
#include <stdio.h>

int main(int argc, char **argv) {
  cpb_reader *reader;
  cpb_source rows;
  cpb_model *model;
  cpb_model_options ball = {.size = sizeof ball};
  cpb_error error;
  if (cpb_reader_open(argc > 1 ? argv[1] : "examples/points.csv", NULL, &reader, &error) != CPB_OK ||
      (rows = cpb_reader_source(reader, false),
       cpb_model_fit(&rows, NULL, &model, NULL, NULL, &error) != CPB_OK) ||
      (argc > 2 && cpb_model_save(model, argv[2], &error) != CPB_OK))
    return fprintf(stderr, "%s\n", error.text), 1;
  cpb_model_describe(model, &ball);
  printf("%llu rows within %.17g, gap %.2g\n", (unsigned long long)ball.rows, ball.radius, ball.gap);
  cpb_model_free(model), cpb_reader_free(reader);
}
