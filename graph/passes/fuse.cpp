#include "graph/passes/fuse.h"

#include <algorithm>

namespace ondine::graph {

Uses::Uses(const Graph& graph)
    : graph_(&graph),
      producer_(graph.values.size(), -1),
      readers_(graph.values.size()),
      named_(graph.values.size()) {
  const auto read = [&](ValueId id) {
    if (id != no_value) ++readers_[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const ValueId id : node.all_inputs()) read(id);
    for (std::size_t r = 0; r < node.references.size(); ++r) {
      const ValueId id = node.references[r];
      read(id);
      // The last reference is y, whose producer must stay.
      if (id != no_value && r + 1 < node.references.size()) {
        named_[static_cast<std::size_t>(id)] = true;
      }
    }
    if (node.outputs.empty() || node.outputs[0] == no_value) continue;
    producer_[static_cast<std::size_t>(node.outputs[0])] = static_cast<std::int32_t>(i);
  }
  for (const ValueId id : graph.outputs) read(id);
}

const Node* Uses::producer(ValueId id) const {
  const std::int32_t position = knows(id) ? producer_[static_cast<std::size_t>(id)] : -1;
  return position < 0 ? nullptr : &graph_->nodes[static_cast<std::size_t>(position)];
}

const Node* Uses::producer(ValueId id, std::string_view op, std::string_view domain) const {
  const Node* const node = producer(id);
  return node != nullptr && node->op->name == op && node->op->domain == domain ? node : nullptr;
}

const Node* Uses::sole_producer(ValueId id, std::string_view op, std::string_view domain) const {
  const Node* node = producer(id, op, domain);
  return node != nullptr && readers_[static_cast<std::size_t>(id)] == 1 ? node : nullptr;
}

const Node* Uses::producer_for(ValueId id, int readers, std::string_view op,
                               std::string_view domain) const {
  const Node* node = producer(id, op, domain);
  if (node == nullptr || named_[static_cast<std::size_t>(id)]) return nullptr;
  return readers_[static_cast<std::size_t>(id)] == readers ? node : nullptr;
}

Tensor Uses::constant(ValueId id) const {
  if (id == no_value) return {};
  const Tensor& tensor = (*graph_)[id].constant;
  if (tensor.defined()) return tensor;
  const Node* node = producer(id, "Constant");
  if (node == nullptr) return {};
  const NodeView view(*node);
  if (view.has_attr("value_float")) return Tensor::scalar(view.attr_float("value_float", 0));
  return view.attr_tensor("value");
}

std::optional<double> Uses::number(ValueId id) const {
  if (id == no_value || (knows(id) && named_[static_cast<std::size_t>(id)])) return std::nullopt;
  return number_of(constant(id));
}

std::optional<std::vector<std::int64_t>> Uses::integers(ValueId id) const {
  const Tensor tensor = constant(id);
  if (!tensor.defined() || tensor.dtype() != DType::int64) return std::nullopt;
  const auto values = tensor.values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

ReadersByInput::ReadersByInput(const Graph& graph, std::string_view op, std::string_view domain,
                               std::size_t input) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->name == op && node.op->domain == domain) {
      positions_[node.inputs[input]].push_back(i);
    }
  }
}

std::span<const std::size_t> ReadersByInput::of(ValueId id) const {
  const auto found = positions_.find(id);
  return found == positions_.end() ? std::span<const std::size_t>() : found->second;
}

std::optional<double> number_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.size() != 1) return std::nullopt;
  if (tensor.dtype() == DType::float32) return double{tensor.values<float>()[0]};
  if (tensor.dtype() == DType::float64) return tensor.values<double>()[0];
  return std::nullopt;
}

std::optional<double> constant_number(const Graph& graph, ValueId id) {
  return id == no_value ? std::nullopt : number_of(graph[id].constant);
}

std::optional<ActivationNode> read_activation(const Node& node, const Graph& graph) {
  if (!node.op->domain.empty()) return std::nullopt;
  if (node.op->name == "Relu") return ActivationNode{.relu = true, .low = {}, .high = {}};
  if (node.op->name != "Clip") return std::nullopt;
  const NodeView view(node);
  ActivationNode result;
  const auto read = [&](std::optional<float>& bound, const char* attribute, std::size_t input) {
    if (node.version < 11) {
      if (view.has_attr(attribute)) bound = view.attr_float(attribute, 0);
      return true;
    }
    if (!view.has_input(input)) return true;
    const auto value = constant_number(graph, node.inputs[input]);
    if (value) bound = static_cast<float>(*value);
    return value && double{*bound} == *value;
  };
  if (!read(result.low, "min", 1) || !read(result.high, "max", 2)) return std::nullopt;
  return result;
}

bool swaps_last_two(const NodeView& transpose, std::size_t rank) {
  const auto perm = transpose.attr_ints("perm");
  if (perm.empty()) return rank == 2;
  if (rank < 2 || perm.size() != rank) return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from = axis + 2 < rank ? axis : 2 * rank - 3 - axis;
    if (perm[axis] != static_cast<std::int64_t>(from)) return false;
  }
  return true;
}

bool is_plain_gemm(const NodeView& gemm) {
  return gemm.attr_int("transA", 0) == 0 && gemm.attr_float("alpha", 1) == 1 &&
         (!gemm.has_input(2) || gemm.attr_float("beta", 1) == 1) && gemm.version() >= 7;
}

bool trains_normalization(const Node& node) {
  const NodeView view(node);
  if (node.version >= 14) return view.attr_int("training_mode", 0) != 0;
  if (node.version < 7) return view.attr_int("is_test", 0) == 0;
  return view.has_output(1) || view.has_output(2);
}

bool normalizes_channels(const Node& node) {
  return node.version >= 9 || NodeView(node).attr_int("spatial", 1) != 0;
}

bool is_depthwise(const NodeView& conv, const Type& x, const Type& w) {
  const auto taps = w.shape();
  if (!x.dims || x.dims->size() != 4 || !taps || taps->size() == 0) return false;
  const std::int64_t groups = conv.attr_int("group", 1);
  const Dim channels = (*x.dims)[1];
  return groups > 1 && channels.known() && channels.size() == groups && (*taps)[0] == groups;
}

bool all_are(const NodeView& node, std::string_view attribute, std::int64_t value) {
  const auto values = node.attr_ints(attribute);
  return std::all_of(values.begin(), values.end(),
                     [&](std::int64_t each) { return each == value; });
}

bool is_pointwise(const NodeView& conv, const Type& w) {
  const auto taps = w.shape();
  return taps && taps->rank() == 4 && (*taps)[2] == 1 && (*taps)[3] == 1 &&
         conv.attr_int("group", 1) == 1 && all_are(conv, "strides", 1) && all_are(conv, "pads", 0);
}

bool is_taken_by_convolution(const Node& norm) {
  const NodeView view(norm);
  return view.attr_int("training_mode", 0) != 0 && !view.has_input(5);
}

void take_normalization(Node& conv, const Node& norm, const OpDef& fused) {
  const ValueId w = conv.inputs[1], y = conv.outputs[0];
  conv.attributes.insert(conv.attributes.end(), norm.attributes.begin(), norm.attributes.end());
  conv.inputs = norm.inputs;
  conv.inputs.resize(5);
  conv.inputs.push_back(w);
  conv.outputs = norm.outputs;
  conv.outputs[0] = y;
  conv.op = &fused;
  conv.version = 1;
}

bool is_read_between(const Node& from, const Node& to, std::size_t first) {
  const std::span<const ValueId> made = std::span(from.outputs).subspan(first);
  return std::any_of(&from + 1, &to, [&](const Node& node) {
    const auto inputs = node.all_inputs();
    return std::any_of(made.begin(), made.end(), [&](ValueId id) {
      return id != no_value && std::find(inputs.begin(), inputs.end(), id) != inputs.end();
    });
  });
}

bool same_tensor_type(const Graph& graph, ValueId a, ValueId b) {
  const Type& x = graph[a].type;
  const Type& y = graph[b].type;
  if (!x.is_tensor() || !y.is_tensor() || x.dtype != y.dtype || !x.dims || !y.dims) return false;
  return std::equal(x.dims->begin(), x.dims->end(), y.dims->begin(), y.dims->end(),
                    [](Dim p, Dim q) { return p.same(q); });
}

bool is_full_float(const Graph& graph, ValueId id) {
  if (id == no_value) return false;
  const Type& type = graph[id].type;
  return type.is_tensor() && (type.dtype == DType::float32 || type.dtype == DType::float64);
}

}  // namespace ondine::graph
