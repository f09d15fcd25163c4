/* The evidence for a scale, as it is stored in map files. */
#include <math.h>
#include <stdlib.h>

#include "capball/map.h"
#include "core/fail.h"
#include "core/sized.h"
#include "text/json_text.h"

#define evidence_json(...) cpb_json_new((cpb_json_style){.compact = true, .fewest = true}, __VA_ARGS__)

static const char *measured(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD ? "abid" : goal == CPB_GOAL_RECALL ? "recall" : "norm";
}

static cpb_text *curve(const cpb_curve_point *points, size_t count) {
  cpb_text *list = evidence_json("[]");
  for (size_t i = 0; i < count; i++)
    list = cpb_json_append(list, evidence_json("[f, f]", points[i].s, points[i].value));
  return list;
}

static cpb_text *maxima(const cpb_abid_maximum *points, size_t count) {
  cpb_text *list = evidence_json("[]");
  for (size_t i = 0; i < count; i++)
    list = cpb_json_append(list, evidence_json("[f, f]", points[i].s, points[i].abid));
  return list;
}

static cpb_text *alternatives(const cpb_choice_facts *facts, cpb_goal goal) {
  cpb_text *others = evidence_json("{}");
  for (size_t other = 0; other < facts->alternative_count; other++)
    if (other != (size_t)goal && isfinite(facts->alternatives[other]))
      others = cpb_json_set(others, cpb_goal_name((cpb_goal)other),
                            evidence_json("f", facts->alternatives[other]));
  return others;
}

static cpb_text *evidence(const cpb_choice_facts *facts, const cpb_map_fit_options *of) {
  cpb_text *root = evidence_json("{s:f}", measured(of->goal), facts->value);
  if (of->goal == CPB_GOAL_RECALL) {
    root = cpb_json_set(root, "target", evidence_json("f", of->target));
    root = cpb_json_set(root, "neighbours", evidence_json("I", (uint64_t)of->k));
  }
  root = cpb_json_set(root, "alternatives", alternatives(facts, of->goal));
  if (facts->abid_count > 0) {
    root = cpb_json_set(root, "abid_curve", curve(facts->abid, facts->abid_count));
    root = cpb_json_set(root, "abid_maxima", maxima(facts->maxima, facts->maxima_count));
  }
  if (facts->ceiling_count > 0)
    root = cpb_json_set(root, "recall_curve", curve(facts->ceiling, facts->ceiling_count));
  return root;
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
  cpb_text *json = evidence(&facts, &of);
  bool whole = json != NULL && json->failure == CPB_JSON_WHOLE;
  *text = whole ? json->bytes : NULL;
  if (whole) json->bytes = NULL;
  cpb_json_free(json);
  return whole ? CPB_OK : cpb_fail_memory(error, "the evidence for a scale");
}
