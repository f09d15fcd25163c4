/* The smallest ball around the rows of a file of any size: it is read a few times, and never held. */
#include <capball/capball.h>
#include <stdio.h>

int main(int argc, char **argv) {
  cpb_reader *reader = NULL;
  cpb_model *model = NULL;
  cpb_error error;
  if (cpb_reader_open(argc > 1 ? argv[1] : "examples/points.csv", NULL, &reader, &error) != CPB_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  cpb_source rows = cpb_reader_source(reader, false);
  bool done = cpb_model_fit(&rows, NULL, &model, NULL, NULL, &error) == CPB_OK &&
              (argc < 3 || cpb_model_save(model, argv[2], &error) == CPB_OK);
  cpb_model_options ball = {.size = sizeof ball};
  if (done) cpb_model_describe(model, &ball);
  if (done)
    printf("%llu rows within %.17g, gap %.2g\n", (unsigned long long)ball.rows, ball.radius, ball.gap);
  if (!done) fprintf(stderr, "%s\n", error.text);
  cpb_model_free(model);
  cpb_reader_free(reader);
  return !done;
}
