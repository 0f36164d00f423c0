#include <ondine/layers.h>

#include <algorithm>
#include <map>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "trainer/layers/multiply_adds.h"
#include "trainer/layers/parameters.h"
#include "trainer/layers/saturating.h"
#include "trainer/model/feeds.h"
#include "trainer/model/input_types.h"
#include "trainer/model/model_impl.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine {
namespace {

using namespace graph;  // NOLINT

class Table {
 public:
  Table(const trainer::Function& function, const trainer::StateStore& state, const GraphDef& file,
        const Graph& graph, const Graph& typed)
      : graph_(&graph), typed_(&typed) {
    for (std::size_t i = 0; i < file.nodes.size(); ++i) {
      for (const std::string& name : file.nodes[i].outputs) {
        if (!name.empty()) numbers_.emplace(name, i);
      }
    }
    for (const Node& node : typed.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != no_value) made_[id] = &node;
      }
    }
    for (std::size_t i = 0; i < function.inputs.size() && i < graph.inputs.size(); ++i) {
      add_input(function.inputs[i], state, graph.inputs[i]);
    }
  }

  LayerReport run() {
    std::vector<ValueId> held;
    for (const auto& [id, parameter] : inputs_) held.push_back(id);
    const auto read = trainer::parameters_read(*graph_, held);
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      const Node* node = kept(graph_->nodes[i]);
      if (node != nullptr) add(*node, read[i]);
    }
    return std::move(report_);
  }

 private:
  struct Parameter {
    std::uint64_t elements = 0;  // 0: a constant that is no parameter
    bool trained = false;
  };

  void add_input(const trainer::InputSource& source, const trainer::StateStore& state, ValueId id) {
    if (source.variable != trainer::InputSource::no_variable) {
      const trainer::Variable& variable = state.variable(source.variable);
      const bool trained = variable.role == StateRole::weight;
      const bool counts = trained || trainer::is_parameter(variable.initial);
      inputs_[id] = {counts ? size_of_tensor(variable.initial) : 0, trained};
    } else if (source.fallback->defined()) {
      const bool counts = trainer::is_parameter(source.fallback);
      inputs_[id] = {counts ? size_of_tensor(source.fallback) : 0, false};
    }
  }

  static std::uint64_t size_of_tensor(const Tensor& tensor) {
    return static_cast<std::uint64_t>(tensor.size());
  }

  // The node as it is typed; nullptr when nothing needs it or its result is known.
  const Node* kept(const Node& node) const {
    for (const ValueId id : node.outputs) {
      const auto found = made_.find(id);
      if (found != made_.end()) return found->second;
    }
    return nullptr;
  }

  Parameter parameter(ValueId id) const {
    const auto input = inputs_.find(id);
    if (input != inputs_.end()) return input->second;
    const Tensor& constant = (*graph_)[id].constant;
    const Tensor value = constant.defined() ? constant : constant_node(id);
    return {trainer::is_parameter(value) ? size_of_tensor(value) : 0, false};
  }

  // The tensor of a Constant node.
  Tensor constant_node(ValueId id) const {
    for (const Node& node : graph_->nodes) {
      const bool makes = std::ranges::count(node.outputs, id) > 0;
      if (makes && node.op->name == "Constant") return NodeView(node).attr_tensor("value");
    }
    return {};
  }

  void add(const Node& node, const trainer::ValueIds& read) {
    Layer layer;
    for (const ValueId id : read) {
      const Parameter one = parameter(id);
      if (one.elements == 0) continue;
      auto& of_layer = one.trained ? layer.trained_parameters : layer.frozen_parameters;
      auto& in_all = one.trained ? report_.trained_parameters : report_.frozen_parameters;
      of_layer = trainer::plus(of_layer, one.elements);
      if (seen_.insert(id).second) {
        in_all = trainer::plus(in_all, one.elements);
      } else {
        layer.shared = true;
      }
    }
    const std::uint64_t inside = trainer::elements_inside(node);
    layer.frozen_parameters = trainer::plus(layer.frozen_parameters, inside);
    report_.frozen_parameters = trainer::plus(report_.frozen_parameters, inside);
    layer.multiply_adds = trainer::multiply_adds(node, *typed_);
    const std::uint64_t work = layer.multiply_adds.value_or(0);
    report_.multiply_adds = trainer::plus(report_.multiply_adds, work);
    const bool listed = layer.trained_parameters > 0 || layer.frozen_parameters > 0 ||
                        !layer.multiply_adds || work > 0;
    if (!listed) return;
    describe_node(node, layer);
    report_.layers.push_back(std::move(layer));
  }

  void describe_node(const Node& node, Layer& layer) const {
    layer.op = node.op->name;
    layer.name = node.name;
    bool known = true;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      const GraphValue& value = (*typed_)[id];
      if (layer.name.empty()) layer.name = value.name;
      const auto number = numbers_.find(value.name);
      if (!layer.node && number != numbers_.end()) layer.node = number->second;
      if (layer.type.empty()) layer.type = trainer::describe_type(value.type, *typed_);
      const auto shape = value.type.shape();
      known = known && shape.has_value();
      if (shape) {
        layer.output_bytes = trainer::plus(
            layer.output_bytes,
            trainer::times(static_cast<std::uint64_t>(shape->size()), size_of(value.type.dtype)));
      }
    }
    if (!known) layer.output_bytes = 0;
  }

  const Graph* graph_;
  const Graph* typed_;
  std::map<ValueId, const Node*> made_;
  std::map<ValueId, Parameter> inputs_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of the nodes of the file
  trainer::ValueIds seen_;
  LayerReport report_;
};

PlanInfo totals(const Model& model, PlanRequest request) {
  const PlanReport plan = model.plan_report(request);
  return {plan.arena_bytes, plan.constant_bytes, plan.state_bytes, plan.nodes.size()};
}

// The shapes of inputs that inference has.
std::vector<std::pair<std::string, Shape>> of_inference(const Model& model,
                                                        const LayerRequest& request) {
  auto shapes = request.shapes;
  if (model.algorithm_count() == 0) return shapes;
  const std::vector<PortInfo> inputs = model.inputs();
  std::erase_if(shapes, [&](const auto& shape) {
    return std::ranges::count(inputs, shape.first, &PortInfo::name) == 0;
  });
  return shapes;
}

}  // namespace

LayerReport layers(const Model& model, const LayerRequest& request) {
  return guard_memory("list the layers", [&] {
    const auto& impl = ModelAccess::impl(model);
    std::optional<PlanInfo> step;
    if (model.algorithm_count() > 0) {
      step = totals(model, {request.shapes, request.algorithm});
    }
    const auto shapes = of_inference(model, request);
    std::optional<Graph> graph;
    trainer::assemble(impl.def, impl.options, [&](std::string_view stage, const Graph& g) {
      if (stage == "graph" && !graph) graph = g;
    });
    const trainer::Function& function = impl.inference().function;
    const auto types = trainer::input_types(function, impl.state, shapes);
    const Graph typed = trainer::specialize(*graph, types, graph->outputs, impl.options.limits);
    LayerReport report = Table(function, impl.state, impl.def.graph, *graph, typed).run();
    report.inference = totals(model, {shapes, std::nullopt});
    report.step = step;
    return report;
  });
}

}  // namespace ondine
