#include "graph/training/prepare/exporter/repeated.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/metadata.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/signature.h"
#include "graph/training/prepare/sources.h"

namespace ondine::graph {
namespace {

// Axes `first` to `first + count - 1` of a tensor as one: [outer, slices, inner].
struct Axis {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t outer = 1;
  std::size_t slices = 1;
  std::size_t inner = 1;  // bytes

  Axis(const Tensor& tensor, std::size_t first_axis, std::size_t axes)
      : first(first_axis), count(axes), inner(size_of(tensor.dtype())) {
    const Shape& shape = tensor.shape();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      const auto dim = static_cast<std::size_t>(shape[i]);
      (i < first ? outer : i < first + count ? slices : inner) *= dim;
    }
  }
};

std::string slice_bytes(const Tensor& tensor, const Axis& axis, std::size_t slice) {
  std::string bytes;
  const char* const data = static_cast<const char*>(tensor.data());
  for (std::size_t i = 0; i < axis.outer; ++i) {
    bytes.append(data + (i * axis.slices + slice) * axis.inner, axis.inner);
  }
  return bytes;
}

bool is_uniform(std::string_view bytes, std::size_t size) {
  return std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

struct Repetition {
  std::vector<std::int64_t> index;  // for every slice the different one that it is
  std::vector<std::size_t> firsts;  // where each of these stands first
};

// Uniform slices count as different ones unless they `may_be_uniform`.
Repetition repetition_of(const Tensor& tensor, const Axis& axis, bool may_be_uniform) {
  Repetition result;
  std::map<std::string, std::int64_t> known;
  for (std::size_t i = 0; i < axis.slices; ++i) {
    std::string bytes = slice_bytes(tensor, axis, i);
    const auto next = static_cast<std::int64_t>(result.firsts.size());
    const bool is_chance = !may_be_uniform && is_uniform(bytes, size_of(tensor.dtype()));
    const std::int64_t at =
        is_chance ? next : known.try_emplace(std::move(bytes), next).first->second;
    if (at == next) result.firsts.push_back(i);
    result.index.push_back(at);
  }
  return result;
}

// The axes become one.
Tensor selected(const Tensor& tensor, const Axis& axis, const std::vector<std::size_t>& slices) {
  const Shape& shape = tensor.shape();
  std::vector<std::int64_t> dims(shape.begin(), shape.begin() + axis.first);
  dims.push_back(static_cast<std::int64_t>(slices.size()));
  dims.insert(dims.end(), shape.begin() + axis.first + axis.count, shape.end());
  Tensor result(tensor.dtype(), Shape(dims));
  char* to = static_cast<char*>(result.mutable_data());
  const char* const from = static_cast<const char*>(tensor.data());
  for (std::size_t i = 0; i < axis.outer; ++i) {
    for (const std::size_t slice : slices) {
      std::memcpy(to, from + (i * axis.slices + slice) * axis.inner, axis.inner);
      to += axis.inner;
    }
  }
  return result;
}

// Operators that repeat elements name what they gave: "embedding_1".
bool may_repeat(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return false;
  if (name[end] == '_') name = name.substr(0, end);
  return one_of(name, {"embedding", "expand", "expand_as", "index", "index_select", "repeat",
                       "repeat_interleave", "tile"});
}

// The fixed first size of the first input; 0 without one.
std::size_t batch_of(const GraphDef& graph) {
  if (graph.inputs.empty()) return 0;
  const TypeDef& type = graph.inputs[0].type;
  if (!type.dims || type.dims->empty()) return 0;
  const auto* size = std::get_if<std::int64_t>(&type.dims->front());
  return size == nullptr || *size < 0 ? 0 : static_cast<std::size_t>(*size);
}

class Storing {
 public:
  explicit Storing(ModelDef& model) : model_(&model), names_(model), batch_(batch_of(model.graph)) {
    const std::vector<InitializerDef>& all = model.graph.initializers;
    for (std::size_t i = 0; i < all.size(); ++i) index_.emplace(all[i].name, i);
  }

  RepeatedParameters run() {
    RepeatedParameters result;
    std::vector<std::string> texts;
    for (const auto& [name, source] : candidates()) {
      if (!store(name, source)) continue;
      texts.push_back(quoted(name));
      result.values.push_back(name);
    }
    if (texts.empty()) return result;
    GraphDef& graph = model_->graph;
    nodes_.insert(nodes_.end(), std::make_move_iterator(graph.nodes.begin()),
                  std::make_move_iterator(graph.nodes.end()));
    graph.nodes = std::move(nodes_);
    result.notes.push_back(
        "values in which the exporter repeated slices of a parameter, each of which trains as "
        "one: " +
        listed(texts));
    return result;
  }

 private:
  // Names and the parameters that they were folded from.
  std::vector<std::pair<std::string, std::string>> candidates() const {
    const GraphSignature signature(model_->graph);
    const Sources sources(model_->graph, signature);
    const std::set<std::string> repeating = repeating_values();
    std::set<std::string_view> inputs;
    for (const ValueDef& one : model_->graph.inputs) inputs.insert(one.name);
    std::vector<std::pair<std::string, std::string>> result;
    for (const InitializerDef& one : model_->graph.initializers) {
      const std::string& source = sources.of(one.name);
      if (repeating.contains(one.name) && signature.is_parameter(source) && source != one.name &&
          is_differentiable(one.value.dtype()) && one.value.size() > 0 &&
          !inputs.contains(one.name)) {
        result.emplace_back(one.name, source);
      }
    }
    return result;
  }

  // Values that such an operator made, or that were computed from its result.
  std::set<std::string> repeating_values() const {
    std::set<std::string> result;
    const auto note = [&](const std::string& name, const Properties& metadata) {
      const std::vector<std::string> sources = folded_from(metadata);
      if (may_repeat(name) || std::any_of(sources.begin(), sources.end(), may_repeat)) {
        result.insert(name);
      }
    };
    for (const ValueDef& one : model_->graph.value_infos) note(one.name, one.metadata);
    for (const InitializerDef& one : model_->graph.initializers) note(one.name, one.metadata);
    return result;
  }

  bool store(const std::string& name, const std::string& source) {
    std::vector<InitializerDef>& all = model_->graph.initializers;
    const std::size_t place = index_.at(name);
    Stored stored{all[place].value, name, {}, {}};
    for (std::size_t i = 0; i < stored.value.shape().rank(); ++i) {
      const Axis axis(stored.value, i, 1);
      const bool is_batch = i == 0 && name.starts_with("expand") && axis.slices == batch_;
      const Repetition repetition = repetition_of(stored.value, axis, is_batch);
      if (repetition.firsts.size() < axis.slices) gather(name, axis, repetition, stored);
    }
    // Indices of two axes, such as those of relative positions.
    for (std::size_t i = 0; stored.nodes.empty() && i + 1 < stored.value.shape().rank(); ++i) {
      const Axis axis(stored.value, i, 2);
      const Repetition repetition = repetition_of(stored.value, axis, false);
      if (repetition.firsts.size() <= axis.slices / 2) gather(name, axis, repetition, stored);
    }
    if (stored.nodes.empty()) return false;
    all[place].name = stored.name;
    all[place].value = stored.value;
    all[place].metadata = folded_metadata(source);
    std::move(stored.indices.begin(), stored.indices.end(), std::back_inserter(all));
    nodes_.insert(nodes_.end(), stored.nodes.rbegin(), stored.nodes.rend());
    return true;
  }

  // Stored part of a value, and the nodes that make the value from it, the last one first.
  struct Stored {
    Tensor value;
    std::string name;
    std::vector<NodeDef> nodes;
    std::vector<InitializerDef> indices;
  };

  void gather(const std::string& name, const Axis& axis, const Repetition& repetition,
              Stored& stored) {
    const Shape& shape = stored.value.shape();
    InitializerDef& index = stored.indices.emplace_back();
    index.name = names_.fresh(name + ".index");
    index.value = Tensor::of<std::int64_t>(Shape(std::span(shape.begin() + axis.first, axis.count)),
                                           repetition.index);
    NodeDef& node = stored.nodes.emplace_back();
    node.op = "Gather";
    node.inputs = {names_.fresh(name + ".slices"), index.name};
    node.outputs = {stored.name};
    node.attributes = {{"axis", static_cast<std::int64_t>(axis.first)}};
    stored.name = node.inputs[0];
    stored.value = selected(stored.value, axis, repetition.firsts);
  }

  ModelDef* model_;
  Names names_;
  std::size_t batch_;
  std::map<std::string, std::size_t> index_;  // of the initializers
  std::vector<NodeDef> nodes_;
};

}  // namespace

RepeatedParameters store_repeated_once(ModelDef& model) {
  if (!GraphSignature(model.graph).has_parameters()) return {};
  return Storing(model).run();
}

}  // namespace ondine::graph
