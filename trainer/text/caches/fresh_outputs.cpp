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

// Keys or values of new tokens. With `heads` above 0 they are samples, tokens, features of so many
// heads.
struct Fresh {
  std::string value;
  std::int64_t heads = 0;
};

std::int64_t number(const NodeDef& node, std::string_view attribute, std::int64_t otherwise) {
  const Attribute* const found = find(node.attributes, attribute);
  const auto* const value = found != nullptr ? std::get_if<std::int64_t>(&found->data) : nullptr;
  return value != nullptr ? *value : otherwise;
}

class Joins {
 public:
  explicit Joins(const GraphDef& graph) {
    for (const NodeDef& node : graph.nodes) {
      for (const std::string& output : node.outputs) producers_[output] = &node;
    }
  }

  // What a cache is joined with, if that is seen.
  std::optional<Fresh> fresh(const CachePorts& cache) const {
    std::string present = cache.present;
    const NodeDef* node = producer(present);
    while (node != nullptr && is(*node, "Identity")) {
      present = node->inputs[0];
      node = producer(present);
    }
    if (node == nullptr) return {};
    return is(*node, "Concat") ? joined(*node, cache) : attended(*node, present, cache);
  }

 private:
  static bool is(const NodeDef& node, std::string_view op) {
    return node.op == op && node.domain.empty();
  }
  static std::optional<Fresh> joined(const NodeDef& node, const CachePorts& cache) {
    const auto rank = static_cast<std::int64_t>(cache.past.dims->size());
    const std::int64_t axis = (number(node, "axis", 0) + rank) % rank;
    const bool is_of_cache = node.inputs.size() == 2 && node.inputs[0] == cache.past.name;
    if (!is_of_cache || axis != static_cast<std::int64_t>(cache.axis)) return {};
    return Fresh{node.inputs[1]};
  }
  // Attention that joins keys (its output 1) or values itself.
  static std::optional<Fresh> attended(const NodeDef& node, const std::string& present,
                                       const CachePorts& cache) {
    constexpr std::size_t past = 4;  // among the inputs: keys, then values
    if (!is(node, "Attention") || cache.axis != 2 || cache.past.dims->size() != 4) return {};
    for (const std::size_t i : {1, 2}) {
      if (node.outputs.size() <= i || node.outputs[i] != present) continue;
      const std::size_t at = past + i - 1;
      if (node.inputs.size() <= at || node.inputs[at] != cache.past.name) return {};
      return Fresh{node.inputs[i], number(node, "kv_num_heads", 0)};
    }
    return {};
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

NodeDef node_of(std::string op, std::vector<std::string> inputs, std::string output) {
  NodeDef node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

void add_output(GraphDef& graph, const Fresh& fresh, const CachePorts& cache) {
  const std::string name = cat(fresh_prefix, cache.past.name);
  if (fresh.heads == 0) {
    graph.nodes.push_back(node_of("Identity", {fresh.value}, name));
  } else {
    InitializerDef& dims = graph.initializers.emplace_back();
    dims.name = name + ".dims";
    dims.value = Tensor::of<std::int64_t>({4}, {0, 0, fresh.heads, -1});
    graph.nodes.push_back(node_of("Reshape", {fresh.value, dims.name}, name + ".rows"));
    NodeDef turned = node_of("Transpose", {name + ".rows"}, name);
    turned.attributes.emplace_back("perm", std::vector<std::int64_t>{0, 2, 1, 3});
    graph.nodes.push_back(std::move(turned));
  }
  ValueDef& output = graph.outputs.emplace_back();
  output.name = name;
  output.type = type_of_fresh(graph, cache);
}

}  // namespace

std::optional<Model> with_fresh_outputs(const Model& model, const DecoderPorts& ports) {
  if (ModelAccess::impl(model).state.size() > 0) return {};
  ModelDef def = ModelAccess::present(model);
  std::vector<std::pair<Fresh, const CachePorts*>> all;
  const Joins joins(def.graph);
  for (const CachePorts& cache : ports.caches) {
    const std::optional<Fresh> fresh = joins.fresh(cache);
    if (!fresh) return {};
    all.emplace_back(*fresh, &cache);
  }
  for (const auto& [fresh, cache] : all) add_output(def.graph, fresh, *cache);
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
