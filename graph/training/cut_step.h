// A training step in two parts: what every part of a batch computes for itself, and what follows
// from the means over these parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
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
  std::string x = {};  // of a gradient: the tensor by which the derivative is
  // The number that says what a mean is over, itself one of the values, of which the whole batch
  // has the sum: for itself its own name. Empty: the mean is over rows.
  std::string weight = {};
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

// Means that are not over rows, and the values that say what they are over.
using MeanWeights = std::vector<std::pair<std::string, std::string>>;

// Cuts the step of the algorithm at the outputs of its Gradient nodes, for the results `fetched`.
// `rows` are the inputs that take rows of data. What the update needs of the rows besides gradients
// is cut where a state variable takes it, or as a number. Derivatives of what is made of one of
// `weights`' means, and numbers that are made of it, are weighed like it. Throws Error(unsupported)
// for a Gradient in a subgraph or a function, for random numbers that both parts would draw, for
// losses that are sums over rows, and for those made of means with different weights.
CutStep cut_step(const ModelDef& model, std::size_t algorithm, std::span<const std::string> rows,
                 std::span<const std::string> fetched, const MeanWeights& weights = {});

}  // namespace ondine::graph
