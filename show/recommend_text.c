#define _POSIX_C_SOURCE 200809L
#include "recommend_text.h"

#include <stdbool.h>
#include <stdio.h>

#include "put_text.h"

static const char *raw_name(cpb_metric metric) {
  if (metric == CPB_L2) return "the raw rows by L2";
  return metric == CPB_IP ? "inner products of the raw rows" : "cosine of the raw rows";
}

static void put_name(const cpb_recommend_row *row, FILE *to) {
  if (row->sphere)
    fprintf(to, "the sphere at s = %.6g with %s queries", row->scale, row->ball ? "ball" : "point");
  else
    fputs(row->kind == CPB_TRANSFORM_NONE        ? raw_name(row->metric)
          : row->kind == CPB_TRANSFORM_NORMALIZE ? "centre + normalise"
                                                 : row->name,
          to);
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* "the sphere at s = 2 with ball queries (11 candidates, recall 98.0 %)" */
static void cite(const cpb_recommend_row *row, FILE *to) {
  put_name(row, to);
  fprintf(to, " (%llu candidate%s, recall %.1f %%)", (unsigned long long)row->candidates_for_99,
          plural(row->candidates_for_99), 100 * row->recall);
}

static const char *index_name(cpb_engine engine) {
  if (engine == CPB_ENGINE_BITS) return "a flat index of sign bits";
  return engine == CPB_ENGINE_INT8 ? "a flat int8 index" : "a flat float index";
}

static void put_pick(const cpb_recommendation_facts *of, const cpb_recommend_row *pick, FILE *to) {
  fprintf(to, "For %s, which looks at every row, take ", index_name(pick->index));
  put_name(pick, to);
  fprintf(to,
          ". The criterion is the number of candidates that hold 99 %% of the true %zu nearest: %llu (up to "
          "%llu within the noise), recall@%zu is %.1f %%, %zu byte%s per vector. ",
          of->k, (unsigned long long)pick->candidates_for_99, (unsigned long long)pick->candidates_most,
          of->k, 100 * pick->recall, pick->bytes, plural(pick->bytes));
}

static bool is_ahead(const cpb_recommend_row *a, const cpb_recommend_row *b) {
  return a->candidates_for_99 < b->candidates_for_99 || a->recall > b->recall;
}

static void put_rival(const cpb_recommendation_facts *of, const cpb_recommend_row *pick, FILE *to) {
  const cpb_recommend_row *rival = of->rows[of->rival];
  fputs(pick->sphere            ? "Without the embedding the best is "
        : is_ahead(rival, pick) ? "The embedding is not better by more than the noise: its best is "
                                : "The embedding does not help here: its best is ",
        to);
  cite(rival, to);
  fputc('.', to);
}

/* A lift is not for every engine, or not for all rows to come. */
static void put_limit(const cpb_recommendation_facts *of, const cpb_recommend_row *pick, FILE *to) {
  if (of->metric < 0 && of->for_cosine != of->pick && pick->index != CPB_ENGINE_BITS) {
    const cpb_recommend_row *next = of->rows[of->for_cosine];
    fputs(" Where the engine has only cosine take ", to);
    cite(next, to);
    fprintf(to, "%s.",
            next->sphere || next->kind != CPB_TRANSFORM_LIFT_COSINE
                ? ""
                : ", in which longer rows have room only by `fit --headroom`");
  } else if (of->for_growing != of->pick) {
    fputs(" In lift-cosine longer rows have room only by `fit --headroom`; where it cannot be told how long "
          "they get take ",
          to);
    cite(of->rows[of->for_growing], to);
    fputc('.', to);
  }
}

/* Where most of what is found is wrong, and re-ranking has to look at very many rows. */
static void put_caution(const cpb_recommendation_facts *of, const cpb_recommend_row *pick, FILE *to) {
  if (of->poor)
    fprintf(to, " Caution: even the best is poor here, with %llu of %zu rows to re-rank%s.",
            (unsigned long long)pick->candidates_for_99, of->base_rows,
            pick->index == CPB_ENGINE_FLOAT ? "" : "; an index that keeps more of each number does better");
}

char *show_recommend_text(const cpb_recommendation_facts *of) {
  const cpb_recommend_row *pick = of->rows[of->pick];
  show_text text;
  FILE *to = show_text_open(&text);
  if (to == NULL) return NULL;
  put_pick(of, pick, to);
  put_rival(of, pick, to);
  put_limit(of, pick, to);
  put_caution(of, pick, to);
  fputs(" This is a ceiling: engines that look at fewer rows (graphs, trees, lists) rank transforms "
        "otherwise, and lifts may "
        "ruin them; --engine hnsw and --engine-command measure on the engine itself.",
        to);
  show_text_close(&text, to);
  return text.bytes;
}
