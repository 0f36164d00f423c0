#include "trainer/text/caches/fresh_outputs.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/message.h"
#include "trainer/model/model_impl.h"
#include "trainer/text/generate/cache_ports.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

class Joins {
 public:
  explicit Joins(const GraphDef& graph) {
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& output : node.outputs) producers_[output] = &node;
    }
  }

  // What a cache is joined with; null where that is not seen.
  const std::string* fresh(const CachePorts& cache) const {
    const NodeDef* node = producer(cache.present);
    while (node != nullptr && is(*node, "Identity")) node = producer(node->inputs[0]);
    if (node == nullptr || !is(*node, "Concat") || node->inputs.size() != 2) return nullptr;
    const Attribute* const axis = find(node->attributes, "axis");
    const auto* const at = axis != nullptr ? std::get_if<std::int64_t>(&axis->data) : nullptr;
    if (at == nullptr || node->inputs[0] != cache.past.name) return nullptr;
    const auto rank = static_cast<std::int64_t>(cache.past.dims->size());
    const bool is_of_tokens = (*at + rank) % rank == static_cast<std::int64_t>(cache.axis);
    return is_of_tokens ? &node->inputs[1] : nullptr;
  }

 private:
  static bool is(const NodeDef& node, std::string_view op) {
    return node.op == op && node.domain.empty();
  }
  const NodeDef* producer(const std::string& value) const {
    const auto found = producers_.find(value);
    return found == producers_.end() ? nullptr : found->second;
  }

  std::unordered_map<std::string, const NodeDef*> producers_;
};

// The type of a cache, with any number of tokens.
TypeDef type_of_fresh(const GraphDef& graph, const CachePorts& cache) {
  const auto found = std::ranges::find(graph.inputs, cache.past.name, &ValueDef::name);
  TypeDef type = found->type;
  (*type.dims)[cache.axis] = {};
  return type;
}

}  // namespace

std::optional<Model> with_fresh_outputs(const Model& model, const DecoderPorts& ports) {
  if (ModelAccess::impl(model).state.size() > 0) return {};
  ModelDef def = ModelAccess::present(model);
  std::vector<NodeDef> added;
  std::vector<ValueDef> outputs;
  const Joins joins(def.graph);
  for (const CachePorts& cache : ports.caches) {
    const std::string* const fresh = joins.fresh(cache);
    if (fresh == nullptr) return {};
    NodeDef& node = added.emplace_back();
    node.op = "Identity";
    node.inputs = {*fresh};
    node.outputs = {cat(fresh_prefix, cache.past.name)};
    ValueDef& output = outputs.emplace_back();
    output.name = node.outputs[0];
    output.type = type_of_fresh(def.graph, cache);
  }
  std::ranges::move(added, std::back_inserter(def.graph.nodes));
  std::ranges::move(outputs, std::back_inserter(def.graph.outputs));
  return remade(model, std::move(def));
}

Model remade(const Model& model, ModelDef def) {
  const auto& impl = ModelAccess::impl(model);
  LoadOptions options = impl.options;
  options.deadline = impl.deadline;
  options.cancel = impl.cancel;
  options.threads = impl.runtime.threads;
  trainer::CheckedModel checked{.def = std::move(def), .leftovers = {}};
  for (const auto& watched : impl.runtime.files) {
    if (auto file = watched.lock()) checked.files.push_back(std::move(file));
  }
  return ModelAccess::make(std::move(checked), options);
}

}  // namespace ondine::text
