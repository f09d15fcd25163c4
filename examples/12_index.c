/* An index in a file: built, opened, changed and searched. */
#include <capball/index.h>
#include <capball/capball.h>
#include <stdio.h>

enum { N = 5, D = 2, K = 2 };

int main(int argc, char **argv) {
  const float x[N][D] = {{0, 0}, {3, 4}, {6, 8}, {1, 1}, {2, 2}}, more[1][D] = {{5, 4}}, q[1][D] = {{5, 5}};
  const uint64_t id = 100, gone = 2;
  const char *path = argc > 1 ? argv[1] : "/tmp/capball-12_index.index";
  cpb_index *built = NULL, *index = NULL;
  cpb_hit hits[K] = {{0, 0}, {0, 0}};
  cpb_error error;
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D;
  if (cpb_index_new(&options, &built, &error) != CPB_OK ||
      cpb_index_add(built, cpb_rows(x, CPB_F32, N, D), NULL, NULL, &error) != CPB_OK ||
      cpb_index_save(built, path, &error) != CPB_OK || cpb_index_open(path, true, &index, &error) != CPB_OK ||
      cpb_index_add(index, cpb_rows(more, CPB_F32, 1, D), &id, NULL, &error) != CPB_OK ||
      cpb_index_remove(index, &gone, 1, NULL, &error) != CPB_OK ||
      cpb_index_save(index, NULL, &error) != CPB_OK ||
      cpb_index_search(index, cpb_rows(q, CPB_F32, 1, D), K, NULL, hits, NULL, NULL, &error) != CPB_OK)
    fprintf(stderr, "%s\n", error.text);
  for (int i = 0; i < K; i++) printf("row %d at %.4f\n", (int)hits[i].id, hits[i].value);
  cpb_index_free(built), cpb_index_free(index);
  return !(hits[0].id == id && hits[1].id == 1);
}
