/* The evidence for a scale, as it is stored in map files. */
#include <math.h>
#include <stdlib.h>

#include "capball/map.h"
#include "core/fail.h"
#include "core/sized.h"
#include "text/json_text.h"

static const char *measured(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD ? "abid" : goal == CPB_GOAL_RECALL ? "recall" : "norm";
}

static void put_curve(cpb_text *t, const char *key, const cpb_curve_point *points, size_t count) {
  cpb_json_pack(t, ",s:[", key);
  for (size_t i = 0; i < count; i++)
    cpb_json_pack(t, i == 0 ? "[f,f]" : ",[f,f]", points[i].s, points[i].value);
  cpb_text_puts(t, "]");
}

static void put_maxima(cpb_text *t, const cpb_abid_maximum *points, size_t count) {
  cpb_json_pack(t, ",s:[", "abid_maxima");
  for (size_t i = 0; i < count; i++)
    cpb_json_pack(t, i == 0 ? "[f,f]" : ",[f,f]", points[i].s, points[i].abid);
  cpb_text_puts(t, "]");
}

static void put_alternatives(cpb_text *t, const cpb_choice_facts *facts, cpb_goal goal) {
  const char *format = "s:f";
  cpb_json_pack(t, ",s:{", "alternatives");
  for (size_t other = 0; other < facts->alternative_count; other++)
    if (other != (size_t)goal && isfinite(facts->alternatives[other])) {
      cpb_json_pack(t, format, cpb_goal_name((cpb_goal)other), facts->alternatives[other]);
      format = ",s:f";
    }
  cpb_text_puts(t, "}");
}

static void put_evidence(cpb_text *t, const cpb_choice_facts *facts, const cpb_map_fit_options *of) {
  cpb_json_pack(t, "{s:f", measured(of->goal), facts->value);
  if (of->goal == CPB_GOAL_RECALL)
    cpb_json_pack(t, ",s:f,s:I", "target", of->target, "neighbours", (uint64_t)of->k);
  put_alternatives(t, facts, of->goal);
  if (facts->abid_count > 0) {
    put_curve(t, "abid_curve", facts->abid, facts->abid_count);
    put_maxima(t, facts->maxima, facts->maxima_count);
  }
  if (facts->ceiling_count > 0) put_curve(t, "recall_curve", facts->ceiling, facts->ceiling_count);
  cpb_text_puts(t, "}");
}

cpb_status cpb_choice_to_json(const cpb_choice *choice, const cpb_map_fit_options *options, char **text,
                              cpb_error *error) {
  if (choice == NULL || text == NULL) return cpb_fail_missing(error, choice == NULL ? "choice" : "text");
  cpb_map_fit_options of;
  cpb_map_fit_options_init(&of, sizeof of);
  cpb_status status = cpb_sized_take(&of, sizeof of, options, "map fit options", error);
  if (status != CPB_OK) return status;
  cpb_choice_facts facts = {.size = sizeof facts};
  cpb_choice_describe(choice, &facts);
  cpb_text t = {.style = {.compact = true, .fewest = true}};
  put_evidence(&t, &facts, &of);
  *text = t.failure == CPB_JSON_WHOLE ? t.bytes : NULL;
  if (*text != NULL) return CPB_OK;
  free(t.bytes);
  return cpb_fail_memory(error, "the evidence for a scale");
}
