#include "contrib/engines/hnsw_engine.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <hnswlib/hnswlib.h>

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const float *row_of(cpb_view rows, size_t i) {
  return static_cast<const float *>(rows.data) + i * rows.stride;
}

/* hnswlib has no cosine: uses rows of length 1. */
void take(const float *row, size_t cols, bool cosine, std::vector<float> &to) {
  double length = 0;
  for (size_t i = 0; i < cols; i++) length += double(row[i]) * double(row[i]);
  double by = cosine && length > 0 ? 1 / std::sqrt(length) : 1;
  for (size_t i = 0; i < cols; i++) to[i] = float(double(row[i]) * by);
}

void answer(const cpb_engine_question &q, uint64_t *ids, cpb_engine_cost &cost) {
  enum { M = 16, EF = 200 };
  size_t cols = q.rows.cols;
  bool cosine = q.metric == CPB_COSINE;
  std::unique_ptr<hnswlib::SpaceInterface<float>> space;
  if (q.metric == CPB_L2)
    space.reset(new hnswlib::L2Space(cols));
  else
    space.reset(new hnswlib::InnerProductSpace(cols));
  std::vector<float> row(cols);
  double begin = now();
  hnswlib::HierarchicalNSW<float> graph(space.get(), q.rows.rows, M, EF, size_t(100 + q.seed));
  for (size_t i = 0; i < q.rows.rows; i++) {
    take(row_of(q.rows, i), cols, cosine, row);
    graph.addPoint(row.data(), i);
  }
  double built = now();
  graph.setEf(q.count > EF ? q.count : size_t(EF));
  for (size_t i = 0; i < q.queries.rows; i++) {
    take(row_of(q.queries, i), cols, cosine, row);
    auto found = graph.searchKnn(row.data(), q.count); /* the worst on top */
    for (size_t at = q.count; at > found.size(); at--) ids[i * q.count + at - 1] = CPB_NO_ROW;
    for (size_t at = found.size(); at > 0; at--, found.pop()) ids[i * q.count + at - 1] = found.top().second;
  }
  cost.build = built - begin;
  cost.query = now() - built;
  cost.seconds = cost.build + cost.query;
  cost.bytes = double(q.rows.rows) * (4. * double(cols) + 8 * double(M) + 16);
}

cpb_status ask(void *, const cpb_engine_question *question, uint64_t *ids, cpb_engine_cost *cost,
               const cpb_exec *, cpb_error *error) {
  try {
    answer(*question, ids, *cost);
    return CPB_OK;
  } catch (const std::exception &why) {
    if (error != nullptr) {
      *error = cpb_error{};
      error->status = CPB_ENOMEM;
      error->reason = CPB_WHY_MEMORY;
      std::snprintf(error->text, sizeof error->text, "no memory for a graph of %zu rows: %.100s",
                    question->rows.rows, why.what());
    }
    return CPB_ENOMEM;
  }
}

} // namespace

cpb_engine_calls hnsw_engine(void) { return cpb_engine_calls{nullptr, ask}; }
