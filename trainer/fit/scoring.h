// Which output of a model is compared with which labels, and how.
#pragma once

#include <optional>

#include "trainer/fit/scores.h"

namespace ondine::fit {

struct Scoring {
  PortInfo label;
  std::string output;
  ScoreKind kind = ScoreKind::classes;
  double threshold = 0.5;
  std::string note;  // what was assumed; empty when the model's metadata says it
};

// As evaluate() describes; nothing where there are no labels, or the loss has no metric.
std::optional<Scoring> find_scoring(const Model& model, const Dataset& data,
                                    const EvaluateOptions& options);

// For messages, where find_scoring() finds nothing.
std::string why_no_scoring(const Model& model);

}  // namespace ondine::fit
