// Which output of a model is compared with which labels, and how.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/trainer.h>

#include "trainer/metrics/metric.h"

namespace ondine::fit {

struct Scoring {
  PortInfo label;
  std::string output;
  metrics::Task task = metrics::Task::classes;
  double threshold = 0.5;  // of binary labels; what exceeds it is predicted to be true
  std::string note;        // what was assumed; empty when the model's metadata says it
  std::vector<std::string> metrics;
  std::vector<std::string> class_names;
  // Axis of the classes, from the end if negative, and whether the output holds probabilities
  // rather than logits; each empty if only the output can tell.
  std::optional<std::int64_t> class_axis;
  std::optional<bool> probabilities;
  // The output holds classes themselves, below class_count, instead of their scores.
  bool is_decided = false;
  std::size_t class_count = 0;
  bool class_count_is_assumed = false;  // neither the model nor the data tells it
  // Labels of classes that do not count.
  std::optional<std::int64_t> ignored_label;
  // Inputs with the number of labels and of steps of each row of sequences; `blank` is the class
  // that stands for no label.
  std::vector<PortInfo> lengths;
  // The input with the weight of each row; nothing where rows count alike.
  std::optional<PortInfo> weights;
  std::int64_t blank = 0;
};

// As evaluate() describes; nothing where there are no labels, or the loss has no metric.
// Error(mismatch) for metrics that do not exist or do not apply.
std::optional<Scoring> find_scoring(const Model& model, const Dataset& data,
                                    const EvaluateOptions& options);

// For messages, where find_scoring() finds nothing.
std::string why_no_scoring(const Model& model);

// Throws the errors of find_scoring() for metrics, as far as the model alone tells.
void require_metrics(const Model& model, const std::vector<std::string>& names);

}  // namespace ondine::fit
