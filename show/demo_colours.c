#include <math.h>
#include <stdlib.h>

#include "demo.h"

static const demo_colour known[] = {
    {"tomato", {255, 99, 71}},       {"coral", {255, 127, 80}},      {"salmon", {250, 128, 114}},
    {"crimson", {220, 20, 60}},      {"red", {255, 0, 0}},           {"firebrick", {178, 34, 34}},
    {"orange", {255, 165, 0}},       {"gold", {255, 215, 0}},        {"yellow", {255, 255, 0}},
    {"khaki", {240, 230, 140}},      {"wheat", {245, 222, 179}},     {"chocolate", {210, 105, 30}},
    {"sienna", {160, 82, 45}},       {"tan", {210, 180, 140}},       {"goldenrod", {218, 165, 32}},
    {"lime", {0, 255, 0}},           {"lawn green", {124, 252, 0}},  {"forest green", {34, 139, 34}},
    {"olive", {128, 128, 0}},        {"sea green", {46, 139, 87}},   {"spring green", {0, 255, 127}},
    {"pale green", {152, 251, 152}}, {"teal", {0, 128, 128}},        {"cyan", {0, 255, 255}},
    {"turquoise", {64, 224, 208}},   {"sky blue", {135, 206, 235}},  {"steel blue", {70, 130, 180}},
    {"dodger blue", {30, 144, 255}}, {"royal blue", {65, 105, 225}}, {"blue", {0, 0, 255}},
    {"slate blue", {106, 90, 205}},  {"indigo", {75, 0, 130}},       {"lavender", {230, 230, 250}},
    {"thistle", {216, 191, 216}},    {"plum", {221, 160, 221}},      {"orchid", {218, 112, 214}},
    {"magenta", {255, 0, 255}},      {"purple", {128, 0, 128}},      {"hot pink", {255, 105, 180}},
    {"deep pink", {255, 20, 147}},   {"pink", {255, 192, 203}},      {"misty rose", {255, 228, 225}},
    {"slate gray", {112, 128, 144}}, {"white", {255, 255, 255}},     {"linen", {250, 240, 230}},
    {"rosy brown", {188, 143, 143}}, {"peru", {205, 133, 63}},       {"honeydew", {240, 255, 240}},
};
enum { KNOWN = sizeof known / sizeof *known, SHADES = 60 };

const demo_colour *demo_queries(void) {
  static const demo_colour queries[DEMO_QUERIES] = {
      {"brick", {150, 60, 44}},     {"night sky", {24, 30, 68}}, {"moss", {92, 104, 50}},
      {"wine", {98, 24, 46}},       {"sand", {226, 204, 158}},   {"petrol", {18, 88, 102}},
      {"charcoal", {54, 58, 64}},   {"peach", {252, 188, 150}},  {"heather", {136, 108, 158}},
      {"old bronze", {126, 98, 32}}};
  return queries;
}

/* splitmix64 */
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The colour in less light, and not quite itself. */
static void make_shade(demo_colour *shade, const demo_colour *of, uint64_t *state) {
  double light = 0.12 + 0.88 * uniform(state);
  snprintf(shade->name, sizeof shade->name, "%.16s %d%%", of->name, (int)round(100 * light));
  for (size_t k = 0; k < 3; k++) {
    double value = round(light * (double)of->rgb[k] + 24 * (uniform(state) - 0.5));
    shade->rgb[k] = (float)fmin(fmax(value, 0), 255);
  }
}

void demo_colours_new(demo_colours *data, uint64_t seed) {
  data->count = KNOWN * (SHADES + 1);
  data->colours = show_alloc(data->count, sizeof *data->colours);
  uint64_t state = seed;
  size_t row = 0;
  for (size_t i = 0; i < KNOWN; i++) {
    data->colours[row++] = known[i];
    for (size_t k = 0; k < SHADES; k++) make_shade(&data->colours[row++], &known[i], &state);
  }
}

void demo_colours_free(demo_colours *data) { free(data->colours); }
