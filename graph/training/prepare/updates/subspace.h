// A space of few dims in which a gradient is seen, chosen anew every so many steps.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "graph/training/prepare/updates/step.h"

namespace ondine::graph {

// The basis p is a state [rows, rank] of a wide matrix and [columns, rank] of a tall one, so that
// p^T g or g p is the smaller product.
class Subspace {
 public:
  Subspace(StepWriter& writer, const ParameterStep& step, std::int64_t rank, std::int64_t every);

  bool is_tall() const noexcept { return is_tall_; }
  // Shape of the gradient's projection into the space.
  Shape shape() const;

  // Begins with cosines, then is p <- orthonormal columns of g g^T p, three times, in every
  // `every`-th step, the first included: the leading singular vectors of g.
  void follow_gradient();
  // Normal numbers of variance 1 / rank, drawn anew in these steps.
  void draw();

  // p^T g, or g p.
  std::string inside(const std::string& g, const std::string& hint);
  // p r, or r p^T.
  std::string outside(const std::string& r, const std::string& hint);

 private:
  void choose(const Tensor& initial, const std::function<std::string(GraphWriter&)>& write);
  const std::string& is_due();
  std::string turned(GraphWriter& graph, const std::string& a, const std::string& b,
                     const char* which, const std::string& hint);
  std::string seen(GraphWriter& graph, const std::string& g, const std::string& p,
                   const std::string& hint);
  std::string iterate(GraphWriter& graph, const std::string& p);
  std::string orthonormal(GraphWriter& graph, const std::string& y);
  std::string column(GraphWriter& body, const std::string& y, const std::string& number,
                     const std::string& q);

  StepWriter* writer_;
  const ParameterStep* step_;
  std::int64_t rank_;
  std::int64_t every_;
  bool is_tall_;
  std::int64_t size_;    // rows of p
  std::string name_;     // the state
  std::string current_;  // in this step
};

}  // namespace ondine::graph
