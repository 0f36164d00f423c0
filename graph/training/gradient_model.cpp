#include "graph/training/gradient_model.h"

#include <algorithm>
#include <unordered_map>

#include "core/message.h"
#include "graph/training/combine.h"
#include "graph/training/gradient_names.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {
namespace {

// Finds the gradients from which prepare divided the factor of a scaled loss (loss_scale.h).
class LossFactors {
 public:
  explicit LossFactors(const GraphDef& algorithm) {
    for (const NodeDef& node : algorithm.nodes) {
      for (const std::string& output : node.outputs) producers_[output] = &node;
      for (const std::string& input : node.inputs) readers_[input].push_back(&node);
    }
  }

  // The gradient of what y is without its factor; the gradient itself where y has none.
  std::string unscaled(const std::string& gradient, const std::string& y) const {
    const NodeDef* const product = producer(y);
    if (product == nullptr || !is_standard(*product, "Mul")) return gradient;
    const std::string& scale = before_cast(product->inputs[1]);
    if (const std::string found = times_inverse(gradient, scale); !found.empty()) return found;
    for (const NodeDef* const cast : readers(gradient)) {
      if (!is_standard(*cast, "Cast")) continue;
      const std::string found = times_inverse(cast->outputs[0], scale);
      if (!found.empty()) return found;
    }
    return gradient;
  }

 private:
  const NodeDef* producer(const std::string& name) const {
    const auto found = producers_.find(name);
    return found == producers_.end() ? nullptr : found->second;
  }
  std::vector<const NodeDef*> readers(const std::string& name) const {
    const auto found = readers_.find(name);
    return found == readers_.end() ? std::vector<const NodeDef*>() : found->second;
  }
  const std::string& before_cast(const std::string& name) const {
    const NodeDef* const node = producer(name);
    return node != nullptr && is_standard(*node, "Cast") ? node->inputs[0] : name;
  }
  // The product of the value and 1 / scale; "" if no node computes it.
  std::string times_inverse(const std::string& value, const std::string& scale) const {
    for (const NodeDef* const node : readers(value)) {
      if (!is_standard(*node, "Mul") || node->inputs[0] != value) continue;
      const NodeDef* const inverse = producer(before_cast(node->inputs[1]));
      if (inverse != nullptr && is_standard(*inverse, "Div") && inverse->inputs[1] == scale) {
        return node->outputs[0];
      }
    }
    return {};
  }

  std::unordered_map<std::string, const NodeDef*> producers_;
  std::unordered_map<std::string, std::vector<const NodeDef*>> readers_;
};

void add_output(GradientModel& result, const std::string& variable, const Tensor& value,
                const std::string& gradient, bool is_scaled) {
  const auto& known = result.variables;
  if (std::find(known.begin(), known.end(), variable) != known.end()) {
    fail(ErrorCode::mismatch, "the algorithm takes several derivatives by ", quoted(variable),
         ": make the one that is wanted an output of its graph");
  }
  ValueDef output;
  output.name = gradient;
  // Factors are divided out in float32.
  const DType dtype = is_scaled && is_low_precision(value.dtype()) ? DType::float32 : value.dtype();
  output.type = tensor_type(dtype, to_dim_defs(value.shape()));
  result.evaluation.model.graph.outputs.push_back(std::move(output));
  result.evaluation.default_outputs.push_back(gradient);
  result.variables.push_back(variable);
}

}  // namespace

GradientModel gradient_model(const ModelDef& model, std::size_t algorithm) {
  GradientModel result;
  result.evaluation.model = model;
  result.evaluation.model.training.clear();
  GraphDef& graph = result.evaluation.model.graph;
  graph = combine(model, algorithm);
  graph.outputs.clear();
  const auto variables = state_variables(model);
  const auto& step = model.training[algorithm].algorithm;
  const LossFactors factors(step ? *step : model.graph);
  for (const NodeDef& node : graph.nodes) {
    const auto names = gradient_names(node);
    if (!names) continue;
    for (std::size_t i = 0; i < names->xs.size() && i < node.outputs.size(); ++i) {
      const std::string& x = names->xs[i];
      const bool at_itself = i < node.inputs.size() && node.inputs[i] == x;
      if (node.outputs[i].empty() || !at_itself || !variables.contains(x)) continue;
      const InitializerDef* const variable = find_initializer(graph, x);
      if (variable == nullptr) continue;
      const std::string gradient = factors.unscaled(node.outputs[i], names->y);
      add_output(result, x, variable->value, gradient, gradient != node.outputs[i]);
    }
  }
  if (result.variables.empty()) {
    fail(ErrorCode::mismatch, "algorithm ", algorithm,
         " takes no derivative by a state variable of the model");
  }
  keep_needed(result.evaluation);
  return result;
}

}  // namespace ondine::graph
