// Data that the checks of the doctor look at: a model's training graph and its values on a batch.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/doctor.h>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::trainer {

// A node of the main or algorithm graph on which the loss depends, and its values on the batch.
struct Step {
  const graph::NodeDef* node = nullptr;
  std::vector<std::optional<Tensor>> outputs;  // where they are tensors
};

struct TrainedParameter {
  std::string name;
  Tensor value;     // at present
  Tensor gradient;  // on the batch
};

struct Examination {
  const Model* model = nullptr;
  DoctorOptions options;
  graph::GraphDef def;                  // main and algorithm graph with the present state
  std::int64_t opset = 0;               // of ai.onnx
  graph::Graph graph;                   // the same, typed, with its Gradient nodes
  std::vector<graph::ValueId> targets;  // what is differentiated
  std::vector<TrainedParameter> trained;
  std::vector<Step> steps;  // in the order in which they run; refer to `def`
  NamedValues feeds;
  std::vector<double> losses;  // the sums of the targets
  // Matrices a and b of LoRA adapters of which one is all zeros, as adapters start: the other has
  // no gradient then.
  std::set<std::string, std::less<>> resting;

  bool trains(std::string_view name) const;
};

// Evaluates the model. Throws what diagnose() throws.
Examination examine(const Model& model, std::span<const NamedValue> feeds,
                    const DoctorOptions& options);

// "Relu 'act1'", by the first output where the node has no name.
std::string describe(const graph::NodeDef& node);
// "'a', 'b', 'c' and 4 more"
std::string list_names(const std::vector<std::string>& names);

// With four significant digits.
std::string brief(double value);

struct Moments {
  double mean = 0;
  double deviation = 0;  // standard deviation of the population
  double min = 0;
  double max = 0;
  bool finite = true;  // else the others are 0
};
// nullopt for empty tensors and element types without numbers.
std::optional<Moments> moments_of(const Tensor& tensor);

using Findings = std::vector<Finding>;
// The checks, one file each.
void find_unreached_parameters(const Examination& on, Findings& findings);
void find_zero_gradients(const Examination& on, Findings& findings);
void find_not_finite(const Examination& on, Findings& findings);
void find_saturated(const Examination& on, Findings& findings);
void find_trained_masks(const Examination& on, Findings& findings);
void find_frozen_statistics(const Examination& on, Findings& findings);
void find_weight_scales(const Examination& on, Findings& findings);
void find_input_scales(const Examination& on, Findings& findings);
void find_learning_rate(const Examination& on, Findings& findings);
void find_initial_loss(const Examination& on, Findings& findings);

}  // namespace ondine::trainer
