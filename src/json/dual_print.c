#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "geometry/region_kind.h"
#include "json/dual_line.h"
#include "text/json_text.h"

static void put_matrix(cpb_text *t, const double *W, size_t d) {
  for (size_t i = 0; i < d; i++) cpb_json_pack(t, i == 0 ? "[V" : ",V", W + i * d, d);
  cpb_text_puts(t, "]");
}

static void put_bounded(cpb_text *t, const cpb_region *region) {
  size_t d = region->d;
  cpb_json_pack(t, "{s:V,", "c", region->c, d);
  if (region->axis != NULL) {
    cpb_json_pack(t, "s:V,s:f,s:f}", "axis", region->axis, d, "r1", region->along, "r2", region->r);
    return;
  }
  if (region->W != NULL) {
    cpb_json_pack(t, "s:", "W");
    put_matrix(t, region->W, d);
    cpb_text_puts(t, ",");
  }
  cpb_json_pack(t, "s:f}", "r", region->r);
}

static void put_region(cpb_text *t, const cpb_region *region) {
  switch (region->kind) {
  case CPB_EMPTY:
  case CPB_EVERYTHING: cpb_json_pack(t, "{s:I}", "d", (uint64_t)region->d); break;
  case CPB_PUNCTURED: cpb_json_pack(t, "{s:V}", "c", region->c, region->d); break;
  case CPB_HALFSPACE: cpb_json_pack(t, "{s:V,s:f}", "n", region->c, region->d, "h", region->r); break;
  case CPB_BALL:
  case CPB_COMPLEMENT: put_bounded(t, region); break;
  }
}

static bool bounded(const cpb_region *region) {
  return region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT;
}

static const char *region_name(const cpb_region *region) {
  bool stretched = region->axis != NULL || region->W != NULL;
  if (region->kind == CPB_BALL && stretched) return "ellipsoid";
  return cpb_region_kind_name(region->kind);
}

/* The map given in the line; an ellipsoid already contains its W. */
static void put_map(cpb_text *t, const dual_line *line) {
  bool named = !line->is_cap && line->region.W != NULL && bounded(&line->region);
  if (line->pole != NULL) cpb_json_pack(t, ",s:V", "pole", line->pole, line->d + 1);
  if (line->W != NULL && !named) {
    cpb_json_pack(t, ",s:", "W");
    put_matrix(t, line->W, line->d);
  }
  if (line->m != NULL) cpb_json_pack(t, ",s:V", "m", line->m, line->d);
}

/* The id comes first, as written. */
cpb_status dual_line_text(const dual_line *line, const char *id, char **text, cpb_error *error) {
  cpb_text t = {.style = {.compact = true, .fewest = true, .long_exponent = true}};
  const cpb_cap *cap = &line->cap;
  cpb_text_puts(&t, id != NULL ? "{\"id\":" : "{");
  if (id != NULL) cpb_text_puts(&t, id);
  if (id != NULL) cpb_text_puts(&t, ",");
  cpb_json_pack(&t, "s:", line->is_cap ? "cap" : region_name(&line->region));
  if (line->is_cap)
    cpb_json_pack(&t, "{s:V,s:f,s:f,s:f}", "p", cap->p, cap->d + 1, "b", cap->b, "sigma", cap->sigma, "a",
                  cap->a);
  else
    put_region(&t, &line->region);
  if (line->carries) put_map(&t, line);
  cpb_text_puts(&t, "}");
  *text = t.bytes;
  if (t.failure == CPB_JSON_WHOLE) return CPB_OK;
  free(t.bytes);
  *text = NULL;
  if (t.failure == CPB_JSON_NO_MEMORY) return cpb_fail_memory(error, "an answer in JSON");
  return cpb_fail(error, CPB_WHY_DUAL_ANSWER, "line",
                  "JSON cannot represent the result: a number that is not finite, or no memory");
}
