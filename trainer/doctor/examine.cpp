#include <algorithm>
#include <set>

#include <ondine/adapters.h>

#include "core/message.h"
#include "graph/contract/op_def.h"
#include "graph/contract/opsets.h"
#include "graph/training/combine.h"
#include "graph/training/gradient_names.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/writer.h"
#include "trainer/doctor/examination.h"
#include "trainer/model/model_impl.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// A Gradient of the main or algorithm graph.
struct Derivative {
  std::string target;
  std::vector<std::pair<std::string, std::string>> outputs;  // initializer, gradient
};

std::vector<Derivative> derivatives_of(const GraphDef& def) {
  std::vector<Derivative> result;
  for (const NodeDef& node : def.nodes) {
    const auto gradient = gradient_names(node);
    if (!gradient) continue;
    Derivative one{gradient->y, {}};
    const std::vector<std::string>& names = gradient->xs;
    for (std::size_t i = 0; i < std::min(names.size(), node.outputs.size()); ++i) {
      const bool trained = find_initializer(def, names[i]) != nullptr && i < node.inputs.size() &&
                           node.inputs[i] == names[i];
      if (trained && !node.outputs[i].empty()) one.outputs.emplace_back(names[i], node.outputs[i]);
    }
    if (!one.outputs.empty()) result.push_back(std::move(one));
  }
  return result;
}

// The nodes on which a target depends.
std::vector<const NodeDef*> nodes_before(const GraphDef& def, const std::vector<Derivative>& all) {
  std::set<std::string, std::less<>> needed;
  for (const Derivative& one : all) needed.insert(one.target);
  std::vector<const NodeDef*> result;
  for (auto node = def.nodes.rbegin(); node != def.nodes.rend(); ++node) {
    const bool reached = std::ranges::any_of(
        node->outputs, [&](const std::string& name) { return needed.contains(name); });
    if (!reached) continue;
    for (std::string& name : reads_of(*node)) needed.insert(std::move(name));
    for (std::string& name : named_by_gradients(*node)) needed.insert(std::move(name));
    result.push_back(&*node);
  }
  std::ranges::reverse(result);
  return result;
}

// Collects names to fetch and evaluates all of them in one call.
class Evaluation {
 public:
  explicit Evaluation(const Graph& graph) : graph_(&graph) {}

  // Floating point tensors only.
  void add(const std::string& name) {
    const ValueId id = graph_->find(name);
    if (name.empty() || id == no_value) return;
    const Type& type = (*graph_)[id].type;
    if (!type.is_tensor() || !is_float(type.dtype) || !names_.insert(name).second) return;
    ValueDef& output = outputs_.emplace_back();
    output.name = name;
    output.type = tensor_type(type.dtype, std::nullopt);
  }

  void run(const ModelDef& def, const LoadOptions& options, std::span<const NamedValue> feeds) {
    ModelDef copy = def;
    copy.graph.outputs = outputs_;
    const Model model = ModelAccess::make(std::move(copy), options);
    std::vector<std::string> fetches(names_.begin(), names_.end());
    const Results results = model.infer(feeds, fetches);
    for (const auto& [name, value] : results) values_.emplace(name, value.tensor());
  }

  std::optional<Tensor> operator[](const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Graph* graph_;
  std::set<std::string> names_;
  std::vector<ValueDef> outputs_;
  std::map<std::string, Tensor> values_;
};

// The main and algorithm graph as an inference model with the present state.
ModelDef combined(const Model& model, std::size_t algorithm) {
  ModelAccess::impl(model).require_algorithm(algorithm);
  ModelDef def = ModelAccess::present(model);
  def.graph = combine(def, algorithm);
  def.training.clear();
  return def;
}

Graph resolved(const ModelDef& def, const LoadOptions& options) {
  std::optional<Graph> graph;
  assemble(def, options, [&](std::string_view stage, const Graph& g) {
    if (stage == "graph" && !graph) graph = g;
  });
  return std::move(*graph);
}

std::set<std::string, std::less<>> resting_adapters(const Model& model) {
  std::set<std::string, std::less<>> names;
  const auto is_zero = [&](const std::string& name) {
    const auto moments = moments_of(model.get_state(name));
    return moments && moments->min == 0 && moments->max == 0;
  };
  for (const AdapterInfo& one : adapters(model)) {
    if (one.kind != AdapterKind::lora) continue;
    if (is_zero(one.a) || is_zero(one.b)) names.insert({one.a, one.b});
  }
  return names;
}

}  // namespace

bool Examination::trains(std::string_view name) const {
  return std::ranges::count(trained, name, &TrainedParameter::name) > 0;
}

Examination examine(const Model& model, std::span<const NamedValue> feeds,
                    const DoctorOptions& options) {
  const auto& impl = ModelAccess::impl(model);
  ModelDef def = combined(model, options.algorithm);
  const std::vector<Derivative> derivatives = derivatives_of(def.graph);
  if (derivatives.empty()) {
    fail(ErrorCode::mismatch, "algorithm ", options.algorithm,
         " takes no derivative by an initializer");
  }
  LoadOptions load = impl.options;
  load.optimize = false;
  load.memory_budget.reset();

  Examination result;
  result.model = &model;
  result.options = options;
  result.opset = Opsets(def.opsets).version("").value_or(1);
  result.graph = resolved(def, load);
  result.feeds.assign(feeds.begin(), feeds.end());

  Evaluation evaluation(result.graph);
  for (const Derivative& one : derivatives) {
    evaluation.add(one.target);
    result.targets.push_back(result.graph.find(one.target));
    for (const auto& [variable, gradient] : one.outputs) evaluation.add(gradient);
  }
  for (const NodeDef* node : nodes_before(def.graph, derivatives)) {
    for (const std::string& name : node->outputs) evaluation.add(name);
  }
  evaluation.run(def, load, feeds);

  result.resting = resting_adapters(model);
  result.def = std::move(def.graph);
  for (const NodeDef* node : nodes_before(result.def, derivatives)) {
    Step step{node, {}};
    for (const std::string& name : node->outputs) step.outputs.push_back(evaluation[name]);
    result.steps.push_back(std::move(step));
  }
  for (const Derivative& one : derivatives) {
    if (const auto loss = evaluation[one.target]) {
      const auto moments = moments_of(*loss);
      if (moments) result.losses.push_back(moments->mean * static_cast<double>(loss->size()));
    }
    for (const auto& [variable, gradient] : one.outputs) {
      const auto value = evaluation[gradient];
      if (!value || result.trains(variable)) continue;
      result.trained.push_back({variable, find_initializer(result.def, variable)->value, *value});
    }
  }
  return result;
}

}  // namespace ondine::trainer
