#include "trainer/layers/parameters.h"

#include <algorithm>
#include <optional>

#include "graph/contract/op_def.h"
#include "graph/training/prepare/parameters/constants.h"
#include "trainer/layers/saturating.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

bool in_mask(std::uint32_t mask, std::size_t i) {
  return mask == any_input || (i < 32 && (mask >> i & 1U) != 0);
}

bool is_quantized(DType dtype) { return !is_float(dtype) && size_of(dtype) == 1; }

// Follows values that depend on parameters only.
class Reads {
 public:
  Reads(const Graph& graph, std::span<const ValueId> held)
      : graph_(&graph), sources_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      if (graph.values[i].constant->defined()) sources_[i] = {static_cast<ValueId>(i)};
    }
    for (const ValueId id : graph.inputs) sources_[index(id)].reset();
    for (const ValueId id : held) sources_[index(id)] = {id};
  }

  std::vector<ValueIds> run() {
    std::vector<ValueIds> result;
    for (const Node& node : graph_->nodes) result.push_back(visit(node));
    return result;
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  ValueIds visit(const Node& node) {
    ValueIds all;
    ValueIds parameters;
    bool reads_data =
        node.op->traits.random || (node.inputs.empty() && node.op->name != "Constant");
    const auto inputs = node.all_inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == no_value) continue;
      const auto& source = sources_[index(inputs[i])];
      if (!source) {
        reads_data = true;
        continue;
      }
      all.insert(source->begin(), source->end());
      if (may_hold_parameter(node, i)) parameters.insert(source->begin(), source->end());
    }
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      if (reads_data) {
        sources_[index(id)].reset();
      } else {
        sources_[index(id)] = inputs.size() == 0 ? ValueIds{id} : all;
      }
    }
    return reads_data ? parameters : ValueIds{};
  }

  const Graph* graph_;
  std::vector<std::optional<ValueIds>> sources_;
};

}  // namespace

bool may_hold_parameter(const Node& node, std::size_t i) {
  const bool statistics = node.op->name == "BatchNormalization" && (i == 3 || i == 4);
  if (statistics || in_mask(node.op->traits.shape_only, i)) return false;
  // Operators on integers have no derivative; their weights are told by element type and rank.
  return node.op->no_gradient == any_input || !in_mask(node.op->no_gradient, i);
}

std::vector<ValueIds> parameters_read(const Graph& graph, std::span<const ValueId> held) {
  return Reads(graph, held).run();
}

bool is_parameter(const Tensor& constant) {
  if (!constant.defined() || constant.size() < 2 || constant.dtype() == DType::boolean)
    return false;
  if (is_quantized(constant.dtype())) return constant.shape().rank() >= 2;
  return is_float(constant.dtype()) && unfit_values(constant).empty();
}

std::uint64_t elements_inside(const Node& node) {
  std::uint64_t sum = 0;
  for (const Subgraph& subgraph : node.subgraphs) {
    const Graph& body = *subgraph.graph;
    ValueIds read;
    for (const Node& inner : body.nodes) {
      for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
        if (inner.inputs[i] != no_value && may_hold_parameter(inner, i))
          read.insert(inner.inputs[i]);
      }
      sum = plus(sum, elements_inside(inner));
    }
    for (const ValueId id : body.inputs) read.erase(id);
    for (const ValueId id : read) {
      if (is_parameter(body[id].constant)) {
        sum = plus(sum, static_cast<std::uint64_t>(body[id].constant->size()));
      }
    }
  }
  return sum;
}

}  // namespace ondine::trainer
