/* An index in a file: built with text keys, changed by a writer, searched by a reader that follows it. */
#include <capball/capball.h>
#include <stdio.h>
#include <string.h>

enum { N = 4, D = 2, K = 2 };

int main(int argc, char **argv) {
  const float x[N][D] = {{0, 0}, {3, 4}, {6, 8}, {1, 1}}, more[2][D] = {{5, 4}, {9, 9}}, q[1][D] = {{5, 5}};
  const cpb_index_keys colours = {"redbluegreenbrown", (const uint64_t[]){0, 3, 7, 12, 17}, N};
  const cpb_index_keys changed = {"blueblack", (const uint64_t[]){0, 4, 9}, 2};
  const char *path = argc > 1 ? argv[1] : "/tmp/capball-12_index.index";
  cpb_index *built = NULL, *writer = NULL, *reader = NULL;
  cpb_hit hits[K] = {{0, 0}, {0, 0}};
  uint64_t ids[K], ends[K + 1];
  char text[64] = "";
  cpb_error error;
  cpb_index_options options;
  cpb_index_options_init(&options, sizeof options);
  options.cols = D, options.keys = true;
  if (cpb_index_new(&options, &built, &error) != CPB_OK ||
      cpb_index_add_keys(built, cpb_rows(x, CPB_F32, N, D), &colours, NULL, &error) != CPB_OK ||
      cpb_index_save(built, path, &error) != CPB_OK ||
      cpb_index_open(path, false, &reader, &error) != CPB_OK ||
      cpb_index_follow(reader, true, &error) != CPB_OK ||
      cpb_index_open(path, true, &writer, &error) != CPB_OK ||
      cpb_index_put_keys(writer, cpb_rows(more, CPB_F32, 2, D), &changed, NULL, &error) != CPB_OK ||
      cpb_index_search(reader, cpb_rows(q, CPB_F32, 1, D), K, NULL, hits, NULL, NULL, &error) != CPB_OK)
    fprintf(stderr, "%s\n", error.text);
  for (int i = 0; i < K; i++) ids[i] = hits[i].id;
  if (cpb_index_keys_of(reader, ids, K, ends, text, sizeof text, &error) != CPB_OK) return 1;
  for (int i = 0; i < K; i++)
    printf("%.*s at %.4f\n", (int)(ends[i + 1] - ends[i]), text + ends[i], hits[i].value);
  cpb_index_free(built), cpb_index_free(writer), cpb_index_free(reader);
  return strncmp(text, "bluegreen", 9) != 0;
}
