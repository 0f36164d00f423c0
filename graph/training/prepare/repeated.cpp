#include "graph/training/prepare/repeated.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/metadata.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/signature.h"
#include "graph/training/prepare/sources.h"

namespace ondine::graph {
namespace {

// An axis of a tensor as [outer, slices, inner].
struct Axis {
  std::size_t outer = 1;
  std::size_t slices = 1;
  std::size_t inner = 1;  // bytes

  Axis(const Tensor& tensor, std::size_t axis) : inner(size_of(tensor.dtype())) {
    const Shape& shape = tensor.shape();
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      const auto dim = static_cast<std::size_t>(shape[i]);
      (i < axis ? outer : i == axis ? slices : inner) *= dim;
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

Tensor selected(const Tensor& tensor, std::size_t at, const Axis& axis,
                const std::vector<std::size_t>& slices) {
  std::vector<std::int64_t> dims(tensor.shape().begin(), tensor.shape().end());
  dims[at] = static_cast<std::int64_t>(slices.size());
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
  explicit Storing(ModelDef& model)
      : model_(&model), names_(model), batch_(batch_of(model.graph)) {}

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
    const Signature signature(model_->graph);
    const Sources sources(model_->graph, signature);
    std::set<std::string_view> inputs;
    for (const ValueDef& one : model_->graph.inputs) inputs.insert(one.name);
    std::vector<std::pair<std::string, std::string>> result;
    for (const InitializerDef& one : model_->graph.initializers) {
      const std::string& source = sources.of(one.name);
      if (may_repeat(one.name) && signature.is_parameter(source) && source != one.name &&
          is_differentiable(one.value.dtype()) && one.value.size() > 0 &&
          !inputs.contains(one.name)) {
        result.emplace_back(one.name, source);
      }
    }
    return result;
  }

  bool store(const std::string& name, const std::string& source) {
    std::vector<InitializerDef>& all = model_->graph.initializers;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](auto& one) { return one.name == name; });
    Tensor value = found->value;
    std::vector<NodeDef> nodes;
    std::vector<InitializerDef> indices;
    std::string result = name;
    for (std::size_t i = 0; i < value.shape().rank(); ++i) {
      const Axis axis(value, i);
      const bool is_batch = i == 0 && name.starts_with("expand") && axis.slices == batch_;
      const Repetition repetition = repetition_of(value, axis, is_batch);
      if (repetition.firsts.size() == axis.slices) continue;
      value = selected(value, i, axis, repetition.firsts);
      InitializerDef& index = indices.emplace_back();
      index.name = names_.fresh(name + ".index");
      index.value =
          Tensor::of<std::int64_t>({static_cast<std::int64_t>(axis.slices)}, repetition.index);
      NodeDef node;
      node.op = "Gather";
      node.inputs = {names_.fresh(name + ".slices"), index.name};
      node.outputs = {result};
      node.attributes = {{"axis", static_cast<std::int64_t>(i)}};
      result = node.inputs[0];
      nodes.insert(nodes.begin(), std::move(node));
    }
    if (nodes.empty()) return false;
    InitializerDef stored = *found;
    stored.name = result;
    stored.value = value;
    stored.metadata = folded_metadata(source);
    *found = std::move(stored);
    std::move(indices.begin(), indices.end(), std::back_inserter(all));
    std::move(nodes.begin(), nodes.end(), std::back_inserter(nodes_));
    return true;
  }

  ModelDef* model_;
  Names names_;
  std::size_t batch_;
  std::vector<NodeDef> nodes_;
};

}  // namespace

RepeatedParameters store_repeated_once(ModelDef& model) {
  if (!Signature(model.graph).has_parameters()) return {};
  return Storing(model).run();
}

}  // namespace ondine::graph
