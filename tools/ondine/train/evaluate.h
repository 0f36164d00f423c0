// Comparing a model's outputs with labels.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ondine/common.h"

namespace ondine::cli {

struct Score {
  std::string metric;  // "accuracy" or "mse"
  double value = 0;
  std::uint64_t rows = 0;
};

// Integer labels: how often the largest entry of the output (along axis 1) is
// the label. Floating point labels: the mean squared difference.
class Evaluator {
 public:
  // Inputs of the main graph and the label find their arrays as in Feeder.
  // `label` may have any dims; `output` empty: the first.
  Evaluator(const Model& model, const NamedValues& arrays, const ArrayMap& map, PortInfo label,
            std::string output);

  // Nothing when `stop` says so between batches.
  std::optional<Score> run(const Model& model, std::uint64_t batch,
                           const std::function<bool()>& stop);
  const Feeder& feeder() const noexcept { return feeder_; }

 private:
  std::string output_;
  std::string label_;
  bool classes_;
  Feeder feeder_;
};

// The port of a label: the input that only the algorithm has, or the one array
// that no input of the main graph takes. Nothing when that cannot be told.
std::optional<PortInfo> find_label(const Model& model, const NamedValues& arrays,
                                   const ArrayMap& map, const std::string& name);

}  // namespace ondine::cli
