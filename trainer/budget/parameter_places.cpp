#include "trainer/budget/parameter_places.h"

#include <optional>

#include "trainer/layers/parameters.h"
#include "trainer/layers/saturating.h"
#include "trainer/model/assemble.h"
#include "trainer/model/feeds.h"
#include "trainer/model/input_types.h"
#include "trainer/model/model_impl.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine::budget {
namespace {

using graph::Graph;
using graph::no_value;
using graph::Node;
using graph::ValueId;

std::uint64_t bytes_of(const graph::Type& type) {
  const auto shape = type.shape();
  if (!shape) return 0;
  return trainer::times(static_cast<std::uint64_t>(shape->size()), size_of(type.dtype));
}

// Types by value names: passes of `specialize` may number values anew.
std::map<std::string_view, const graph::Type*> types_by_name(const Graph& graph) {
  std::map<std::string_view, const graph::Type*> types;
  for (const graph::GraphValue& value : graph.values) types.emplace(value.name, &value.type);
  return types;
}

}  // namespace

std::map<std::string, ParameterPlace> parameter_places(
    const Model& model, const std::vector<std::pair<std::string, Shape>>& shapes) {
  const auto& impl = ModelAccess::impl(model);
  std::optional<Graph> graph;
  trainer::assemble(impl.def, impl.options, [&](std::string_view stage, const Graph& g) {
    if (stage == "graph" && !graph) graph = g;
  });
  const trainer::Function& function = impl.inference().function;
  const Graph typed =
      trainer::specialize(*graph, trainer::input_types(function, impl.state, shapes),
                          graph->outputs, impl.options.limits);
  const auto types = types_by_name(typed);
  std::map<ValueId, std::string> names;
  std::vector<ValueId> held;
  for (std::size_t i = 0; i < function.inputs.size() && i < graph->inputs.size(); ++i) {
    if (function.inputs[i].variable == trainer::InputSource::no_variable) continue;
    names.emplace(graph->inputs[i], impl.state.variable(function.inputs[i].variable).name);
    held.push_back(graph->inputs[i]);
  }
  const auto read = trainer::parameters_read(*graph, held);
  std::map<std::string, ParameterPlace> places;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    std::uint64_t kept = 0;
    for (const ValueId id : graph->nodes[i].inputs) {
      const auto type = id == no_value ? types.end() : types.find((*graph)[id].name);
      if (type != types.end() && !names.contains(id))
        kept = std::max(kept, bytes_of(*type->second));
    }
    for (const ValueId id : read[i]) {
      const auto name = names.find(id);
      if (name != names.end()) places.emplace(name->second, ParameterPlace{i, kept});
    }
  }
  return places;
}

}  // namespace ondine::budget
