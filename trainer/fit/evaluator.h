// Evaluating a model on a data set, batch by batch.
#pragma once

#include <optional>

#include <ondine/data.h>
#include <ondine/trainer.h>

namespace ondine::fit {

// Scalar floating point outputs of an algorithm, the loss first.
std::vector<std::string> metric_names(const Model& model, std::size_t algorithm);

// The port of the labels, as evaluate() finds it; nothing when there is none.
std::optional<PortInfo> find_label(const Model& model, const Dataset& data, const ArrayMap& map,
                                   const std::string& name);

class Evaluator {
 public:
  Evaluator(const Model& model, const Dataset& data, const PortInfo& label,
            const EvaluateOptions& options);

  // Names of what run() returns.
  std::vector<std::string> names() const;
  Evaluation run(const Model& model);

 private:
  EvaluateOptions options_;
  std::string label_;
  bool classes_;
  Feeder feeder_;
};

}  // namespace ondine::fit
