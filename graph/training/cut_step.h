// A training step in two parts: what every part of a batch computes for itself, and what follows
// from the means over these parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/training/evaluation_model.h"

namespace ondine::graph {

enum class CutKind : std::uint8_t {
  gradient,   // an output of a Gradient node
  statistic,  // of the rows, which a state variable takes as it is
  number,     // of the rows, as a loss or a metric; has one element
};

struct CutValue {
  std::string name;
  CutKind kind = CutKind::number;
  std::string x;  // of a gradient: the tensor by which the derivative is
};

// The number of rows of the whole batch, int64 of this shape.
struct RowCount {
  std::string name;
  Shape shape;
};

struct CutStep {
  EvaluationModel rows;  // in training mode; its default outputs are those of `values`
  std::vector<CutValue> values;
  std::vector<RowCount> counts;     // more inputs of `update`
  std::vector<std::string> losses;  // what is differentiated: more outputs of `rows`
  // Its inputs are those of the step that it reads, and the values without a type; its outputs are
  // those that updates and results need.
  EvaluationModel update;
  bool handles_infinities = false;  // the update looks for gradients that are not finite
};

// Cuts the step of the algorithm at the outputs of its Gradient nodes, for the results `fetched`.
// `rows` are the inputs that take rows of data. What the update needs of the rows besides gradients
// is cut where a state variable takes it, or as a number. Throws Error(unsupported) for a Gradient
// in a subgraph or a function, for random numbers that both parts would draw, and for losses that
// are sums over rows.
CutStep cut_step(const ModelDef& model, std::size_t algorithm, std::span<const std::string> rows,
                 std::span<const std::string> fetched);

}  // namespace ondine::graph
