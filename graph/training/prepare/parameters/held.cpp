#include "graph/training/prepare/parameters/held.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "core/message.h"
#include "graph/training/prepare/renaming.h"

namespace ondine::graph {
namespace {

constexpr std::string_view place_key = "ondine.held_in";
constexpr std::string_view held_kind_key = "ondine.held_as";  // the attribute of a Constant node
constexpr std::string_view node_key = "ondine.held_by";       // its name

// The tensor of a Constant node; an undefined one when it has none of floating point numbers.
Tensor held_tensor(const NodeDef& node) {
  if (node.op != "Constant" || !node.domain.empty() || node.outputs.size() != 1 ||
      node.attributes.size() != 1) {
    return {};
  }
  const Attribute& attribute = node.attributes[0];
  if (const Tensor* tensor = tensor_of(attribute)) {
    return is_differentiable(tensor->dtype()) ? *tensor : Tensor();
  }
  if (const auto* number = std::get_if<float>(&attribute.data)) return Tensor::scalar(*number);
  const auto* numbers = std::get_if<std::vector<float>>(&attribute.data);
  if (numbers == nullptr) return {};
  Tensor result(DType::float32, {static_cast<std::int64_t>(numbers->size())});
  std::copy(numbers->begin(), numbers->end(), result.mutable_values<float>().begin());
  return result;
}

// Calls visit(place, name, tensor) for every tensor held.
template <class Visit>
void visit_held(const GraphDef& graph, const std::string& path, const Visit& visit) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeDef& node = graph.nodes[i];
    const Tensor tensor = held_tensor(node);
    if (tensor.defined()) visit(path + std::to_string(i), node.outputs[0], tensor);
    for (const Attribute& attribute : node.attributes) {
      const auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data);
      if (body != nullptr) visit_held(**body, cat(path, i, "/", attribute.name, "/"), visit);
    }
  }
  if (path.empty()) return;
  for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
    const InitializerDef& one = graph.initializers[i];
    if (is_differentiable(one.value.dtype())) visit(cat(path, "i", i), one.name, one.value);
  }
}

void count_definitions(const GraphDef& graph, std::map<std::string, int>& count) {
  for (const ValueDef& one : graph.inputs) ++count[one.name];
  for (const InitializerDef& one : graph.initializers) ++count[one.name];
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& output : node.outputs) ++count[output];
    for (const auto& subgraph : subgraphs_of(node)) count_definitions(*subgraph, count);
  }
}

// visit(attribute name, copy of the subgraph) returns whether the copy replaces the subgraph.
template <class Visit>
void change_bodies(NodeDef& node, const Visit& visit) {
  for (Attribute& attribute : node.attributes) {
    auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data);
    if (body == nullptr) continue;
    auto copy = std::make_shared<GraphDef>(**body);
    if (visit(attribute.name, *copy)) *body = std::move(copy);
  }
}

class Lifter {
 public:
  explicit Lifter(const HeldWeights& weights) : weights_(&weights) {}

  void lift(GraphDef& graph, const std::string& path) {
    Renaming names;
    const auto note = [&](const std::string& from, const std::string& to) {
      if (from != to) names.emplace(from, to);
    };
    std::vector<NodeDef> kept;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      NodeDef& node = graph.nodes[i];
      const std::string place = path + std::to_string(i);
      change_bodies(node, [&](const std::string& attribute, GraphDef& body) {
        const std::string inner = place + "/" + attribute + "/";
        const auto next = weights_->lower_bound(inner);
        if (next == weights_->end() || !next->first.starts_with(inner)) return false;
        lift(body, inner);
        return true;
      });
      const auto found = weights_->find(place);
      if (found == weights_->end()) {
        kept.push_back(std::move(node));
        continue;
      }
      note(node.outputs[0], found->second);
      lifted_.push_back(lifted(node, found->first, found->second));
    }
    graph.nodes = std::move(kept);
    if (!path.empty()) lift_initializers(graph, path, note);
    if (names.empty()) return;
    for (NodeDef& node : graph.nodes) rename_reads(node, names);
    for (ValueDef& output : graph.outputs) output.name = renamed(names, output.name);
  }

  std::vector<InitializerDef> take() { return std::move(lifted_); }

 private:
  static InitializerDef lifted(const NodeDef& node, const std::string& place,
                               const std::string& name) {
    InitializerDef result{name, held_tensor(node), node.doc, node.metadata};
    result.metadata.emplace_back(place_key, place);
    result.metadata.emplace_back(held_kind_key, node.attributes[0].name);
    result.metadata.emplace_back(node_key, node.name);
    return result;
  }

  template <class Note>
  void lift_initializers(GraphDef& graph, const std::string& path, const Note& note) {
    std::vector<InitializerDef> kept;
    for (std::size_t i = 0; i < graph.initializers.size(); ++i) {
      InitializerDef& one = graph.initializers[i];
      const auto found = weights_->find(cat(path, "i", i));
      if (found == weights_->end()) {
        kept.push_back(std::move(one));
        continue;
      }
      note(one.name, found->second);
      one.name = found->second;
      one.metadata.emplace_back(place_key, found->first);
      lifted_.push_back(std::move(one));
    }
    graph.initializers = std::move(kept);
  }

  const HeldWeights* weights_;
  std::vector<InitializerDef> lifted_;
};

// The remaining parts of a location.
struct Returning {
  std::vector<std::string> path;
  InitializerDef weight;
};

std::vector<std::string> parts_of(std::string_view place) {
  std::vector<std::string> parts{""};
  for (const char c : place) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::size_t index_of(std::string_view text) {
  if (text.starts_with('i')) text.remove_prefix(1);
  std::size_t index = 0;
  std::from_chars(text.data(), text.data() + text.size(), index);
  return index;
}

std::string take_property(Properties& properties, std::string_view key) {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const auto& one) { return one.first == key; });
  if (found == properties.end()) return {};
  std::string text = std::move(found->second);
  properties.erase(found);
  return text;
}

NodeDef constant_node(InitializerDef weight) {
  NodeDef node;
  node.op = "Constant";
  const std::string kind = take_property(weight.metadata, held_kind_key);
  node.name = take_property(weight.metadata, node_key);
  node.outputs = {std::move(weight.name)};
  node.doc = std::move(weight.doc);
  node.metadata = std::move(weight.metadata);
  const bool is_float32 = weight.value.dtype() == DType::float32;
  if (kind == "value_float" && is_float32 && weight.value.size() == 1) {
    node.attributes = {{kind, weight.value.values<float>()[0]}};
  } else if (kind == "value_floats" && is_float32) {
    const auto values = weight.value.values<float>();
    node.attributes = {{kind, std::vector<float>(values.begin(), values.end())}};
  } else {
    node.attributes = {{"value", std::move(weight.value)}};
  }
  return node;
}

// Elements and the places that they have in the whole list, in rising order.
template <class T>
using Placed = std::vector<std::pair<std::size_t, T>>;

template <class T>
void insert_all(std::vector<T>& list, Placed<T> placed) {
  std::vector<T> whole;
  whole.reserve(list.size() + placed.size());
  std::size_t next = 0;
  const auto keep = [&] { whole.push_back(std::move(list[next++])); };
  for (auto& [index, one] : placed) {
    while (whole.size() < index && next < list.size()) keep();
    whole.push_back(std::move(one));
  }
  while (next < list.size()) keep();
  list = std::move(whole);
}

// From front to back, and what is in subgraphs last, so that every position is the one of the whole
// list. What has no such place is added to `unplaced`.
void lower(GraphDef& graph, std::vector<Returning> weights, std::vector<Returning>& unplaced) {
  std::stable_sort(weights.begin(), weights.end(), [](const Returning& a, const Returning& b) {
    return index_of(a.path[0]) < index_of(b.path[0]);
  });
  std::map<std::pair<std::size_t, std::string>, std::vector<Returning>> inner;
  Placed<InitializerDef> initializers;
  Placed<NodeDef> nodes;
  for (Returning& one : weights) {
    const std::size_t index = index_of(one.path[0]);
    if (one.path.size() >= 3) {
      std::vector<std::string> rest(one.path.begin() + 2, one.path.end());
      inner[{index, one.path[1]}].push_back({std::move(rest), std::move(one.weight)});
    } else if (one.path[0].starts_with('i')) {
      initializers.emplace_back(index, std::move(one.weight));
    } else {
      nodes.emplace_back(index, constant_node(std::move(one.weight)));
    }
  }
  insert_all(graph.initializers, std::move(initializers));
  insert_all(graph.nodes, std::move(nodes));
  for (auto& [place, list] : inner) {
    const auto into_body = [&, &attribute_name = place.second, &rest = list](
                               const std::string& attribute, GraphDef& body) {
      if (attribute != attribute_name) return false;
      lower(body, std::exchange(rest, {}), unplaced);
      return true;
    };
    if (place.first < graph.nodes.size()) change_bodies(graph.nodes[place.first], into_body);
    std::move(list.begin(), list.end(), std::back_inserter(unplaced));
  }
}

}  // namespace

HeldWeights find_held_weights(
    const GraphDef& main, Names& names,
    const std::function<bool(const std::string& name, const Tensor& held)>& wanted) {
  std::map<std::string, int> definitions;
  count_definitions(main, definitions);
  HeldWeights result;
  visit_held(main, "", [&](const std::string& place, const std::string& name, const Tensor& held) {
    if (!wanted(name, held)) return;
    result[place] = definitions[name] > 1 ? names.fresh(name) : name;
  });
  return result;
}

void lift_weights(GraphDef& main, const HeldWeights& weights) {
  if (weights.empty()) return;
  Lifter lifter(weights);
  lifter.lift(main, "");
  for (InitializerDef& one : lifter.take()) main.initializers.push_back(std::move(one));
}

bool was_constant_node(const InitializerDef& one) noexcept {
  return std::any_of(one.metadata.begin(), one.metadata.end(),
                     [](const auto& property) { return property.first == held_kind_key; });
}

void lower_weights(GraphDef& main) {
  std::vector<Returning> weights;
  std::erase_if(main.initializers, [&](InitializerDef& one) {
    std::string place = take_property(one.metadata, place_key);
    if (place.empty()) return false;
    weights.push_back({parts_of(place), std::move(one)});
    return true;
  });
  std::vector<Returning> unplaced;
  lower(main, std::move(weights), unplaced);
  for (Returning& one : unplaced) main.initializers.push_back(std::move(one.weight));
}

}  // namespace ondine::graph
