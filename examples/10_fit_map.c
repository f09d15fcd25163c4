/* Fits a map to an array in one call (centre, whitening, scale), saves it, loads it and embeds rows. */
#include <capball/capball.h>
#include <stdio.h>

int main(int argc, char **argv) {
  const double x[6][2] = {{1, 2}, {2, 3.5}, {4, 3}, {5, 7}, {7, 6.5}, {8, 11}};
  double y[6][3];
  const char *path = argc > 1 ? argv[1] : "/tmp/capball-10_fit_map.json";
  cpb_source rows = cpb_source_from_view(cpb_rows(x, CPB_F64, 6, 2));
  cpb_map *fitted, *map;
  cpb_error error;
  cpb_map_fit_options options;
  cpb_map_fit_options_init(&options, sizeof options);
  options.whiten = true;
  if (cpb_map_fit(&rows, &options, &fitted, NULL, NULL, &error) != CPB_OK ||
      cpb_map_save(fitted, path, NULL, &error) != CPB_OK || cpb_map_load(path, &map, &error) != CPB_OK ||
      cpb_map_embed(map, rows.view, cpb_rows_out(y, CPB_F64, 6, 3), NULL, &error) != CPB_OK)
    return fprintf(stderr, "%s\n", error.text), 1;
  for (int i = 0; i < 6; i++) printf("%.17g,%.17g,%.17g\n", y[i][0], y[i][1], y[i][2]);
  cpb_map_free(fitted), cpb_map_free(map);
}
