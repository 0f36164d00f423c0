#include "graph/passes/recognize/attention_heads.h"

#include <algorithm>
#include <array>

#include "graph/contract/infer_node.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t reshape_version = 14;
constexpr std::int64_t split_version = 18;
constexpr std::int64_t squeeze_version = 13;

class Interleaver {
 public:
  Interleaver(Graph& graph, const Catalogue& catalogue, const Uses& uses)
      : graph_(graph),
        uses_(uses),
        attention_(catalogue.find(ondine_domain, "ScaledAttention")),
        split_(catalogue.find("", "Split")),
        squeeze_(catalogue.find("", "Squeeze")),
        reshape_(graph, catalogue) {}

  // A Transpose by {0, 2, 1, 3}, if it is of attention over transposed operands.
  bool fuse(Node& node, std::vector<Node>& before) const {
    if (attention_ == nullptr || !reshape_) return false;
    const Node* attention = attention_of(node.inputs[0]);
    if (attention == nullptr) return false;
    std::vector<ValueId> inputs = attention->inputs;
    if (!read_rows(*attention, inputs) && !split_rows(*attention, inputs, before)) return false;
    const Dims outer = outer_dims(*attention);
    if (outer.size() > 1) {
      for (std::size_t i = 0; i < 3; ++i) inputs[i] = split(inputs[i], outer, before);
    }
    Attributes attributes = attention_attributes(*attention, {{"interleaved", std::int64_t{1}}});
    if (outer.size() > 1) {
      reshape_.make_view(node, append_node(graph_, before, *attention_, 1, std::move(inputs),
                                           std::move(attributes)));
      return true;
    }
    node.op = attention_;
    node.version = 1;
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    return true;
  }

 private:
  // Attention of four dims, or of five whose first two are one dim of `value`.
  const Node* attention_of(ValueId value) const {
    const Node* view = uses_.producer_for(value, 1, "Reshape");
    const Node* attention = uses_.producer_for(view != nullptr ? view->inputs[0] : value, 1,
                                               "ScaledAttention", ondine_domain);
    if (attention == nullptr || NodeView(*attention).attr_int("interleaved", 0) != 0) {
      return nullptr;
    }
    const Type& type = graph_[attention->outputs[0]].type;
    if (!type.ranked() || type.rank() != (view != nullptr ? 5 : 4)) return nullptr;
    return view == nullptr || splits(graph_[value].type, type) ? attention : nullptr;
  }

  // Whether `split` is `type` with its first dim as two.
  static bool splits(const Type& type, const Type& split) {
    return type.ranked() && type.shape() && split.shape() && type.rank() + 1 == split.rank() &&
           std::equal(type.dims->begin() + 1, type.dims->end(), split.dims->begin() + 2,
                      [](Dim a, Dim b) { return a.same(b); });
  }

  Dims outer_dims(const Node& attention) const {
    const Dims& dims = *graph_[attention.outputs[0]].type.dims;
    return Dims(dims.begin(), dims.end() - 3);
  }

  ValueId split(ValueId value, const Dims& outer, std::vector<Node>& before) const {
    Dims dims = outer;
    const Dims& own = *graph_[value].type.dims;
    dims.insert(dims.end(), own.begin() + 1, own.end());
    return reshape_.view(value, dims, before);
  }

  // Replaces the operands by what they are the transpositions of.
  bool read_rows(const Node& attention, std::vector<ValueId>& inputs) const {
    const bool keys_transposed = NodeView(attention).attr_int("transK", 0) != 0;
    const ValueId q = rows_first(inputs[0]);
    const ValueId k = keys_transposed ? transposed(inputs[1], {0, 2, 3, 1}) : rows_first(inputs[1]);
    const ValueId v = rows_first(inputs[2]);
    if (q == no_value || k == no_value || v == no_value) return false;
    std::ranges::copy(std::array{q, k, v}, inputs.begin());
    return true;
  }

  // Replaces operands that are the parts of one transposed value of samples, rows, parts, heads and
  // size by a split of that value.
  bool split_rows(const Node& attention, std::vector<ValueId>& inputs,
                  std::vector<Node>& before) const {
    if (NodeView(attention).attr_int("transK", 0) != 0 || split_ == nullptr || squeeze_ == nullptr)
      return false;
    std::array<ValueId, 3> of{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const Node* part = producer(without_view(inputs[i]), "Gather");
      if (part == nullptr || NodeView(*part).attr_int("axis", 0) != 0) return false;
      const Tensor index = uses_.constant(part->inputs[1]);
      if (!index.defined() || index.dtype() != DType::int64 || index.shape().rank() != 0 ||
          index.values<std::int64_t>()[0] != static_cast<std::int64_t>(i)) {
        return false;
      }
      of[i] = part->inputs[0];
    }
    const Node* turned = of[0] == of[1] && of[1] == of[2] ? producer(of[0], "Transpose") : nullptr;
    if (turned == nullptr || !is_transpose(*turned, {2, 0, 3, 1, 4})) return false;
    const ValueId whole = turned->inputs[0];
    const Type& type = graph_[whole].type;
    if (!type.ranked() || type.rank() != 5 || !(*type.dims)[2].same(3)) return false;
    const auto parts = append_split(graph_, before, *split_, whole, 2, 3);
    const ValueId axes = add_constant(graph_, Tensor::of<std::int64_t>({1}, {2}));
    for (std::size_t i = 0; i < 3; ++i) {
      inputs[i] = append_node(graph_, before, *squeeze_, squeeze_version, {parts[i], axes});
    }
    return true;
  }

  const Node* producer(ValueId id, std::string_view op) const {
    return uses_.producer_for(id, uses_.readers(id), op);
  }

  // What `value` is a view of, with one dim less, or itself.
  ValueId without_view(ValueId value) const {
    const Node* view = producer(value, "Reshape");
    if (view == nullptr || !splits(graph_[view->inputs[0]].type, graph_[value].type)) return value;
    return view->inputs[0];
  }

  // The input of the Transpose of four dims by `perm` that makes `value` or the value of which it
  // is a view; no_value if there is none, or if a Gradient node names it.
  ValueId transposed(ValueId value, const std::vector<std::int64_t>& perm) const {
    const Node* node = producer(without_view(value), "Transpose");
    return node != nullptr && is_transpose(*node, perm) ? node->inputs[0] : no_value;
  }
  ValueId rows_first(ValueId value) const { return transposed(value, {0, 2, 1, 3}); }

  Graph& graph_;
  const Uses& uses_;
  const OpDef* attention_;
  const OpDef* split_;
  const OpDef* squeeze_;
  Reshaper reshape_;
};

}  // namespace

ValueId append_node(Graph& graph, std::vector<Node>& nodes, const OpDef& op, std::int64_t version,
                    std::vector<ValueId> inputs, Attributes attributes) {
  Node node;
  node.op = &op;
  node.version = version;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.outputs = {graph.add_temporary(std::string(op.name))};
  infer_node(node, graph);
  nodes.push_back(std::move(node));
  return nodes.back().outputs[0];
}

std::vector<ValueId> append_split(Graph& graph, std::vector<Node>& nodes, const OpDef& op,
                                  ValueId value, std::int64_t axis, std::int64_t count) {
  Node node;
  node.op = &op;
  node.version = split_version;
  node.inputs = {value};
  node.attributes = {{"axis", axis}, {"num_outputs", count}};
  for (std::int64_t i = 0; i < count; ++i) node.outputs.push_back(graph.add_temporary("part"));
  infer_node(node, graph);
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

ValueId add_constant(Graph& graph, Tensor tensor) {
  const ValueId id = graph.add_temporary("constant", Type::tensor(tensor.dtype(), tensor.shape()));
  graph[id].constant = std::move(tensor);
  return id;
}

Attributes attention_attributes(const Node& attention, Attributes more) {
  const NodeView view(attention);
  more.emplace_back("scale", view.attr_float("scale", 1));
  more.emplace_back("zero_rows", view.attr_int("zero_rows", 0));
  if (view.has_attr("softcap")) more.emplace_back("softcap", view.attr_float("softcap", 0));
  if (view.has_attr("replaces")) more.emplace_back("replaces", view.attr_string("replaces", ""));
  return more;
}

bool is_transpose(const Node& node, const std::vector<std::int64_t>& perm) {
  return node.op->name == "Transpose" && node.op->domain.empty() &&
         NodeView(node).attr_ints("perm") == perm;
}

Reshaper::Reshaper(Graph& graph, const Catalogue& catalogue)
    : graph_(&graph), op_(catalogue.find("", "Reshape")) {}

ValueId Reshaper::constant(const std::vector<std::int64_t>& sizes) const {
  return add_constant(*graph_,
                      Tensor::of<std::int64_t>({static_cast<std::int64_t>(sizes.size())}, sizes));
}

ValueId Reshaper::view(ValueId value, const Dims& dims, std::vector<Node>& nodes) const {
  const Type& type = (*graph_)[value].type;
  if (type.ranked() && std::equal(dims.begin(), dims.end(), type.dims->begin(), type.dims->end(),
                                  [](Dim a, Dim b) { return a.same(b); })) {
    return value;
  }
  std::vector<std::int64_t> sizes;
  int empty = 0;
  int copied = 0;
  int inferred = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].known()) {
      sizes.push_back(dims[i].size());
      empty += dims[i].size() == 0 ? 1 : 0;
    } else if (type.ranked() && i < type.rank() && dims[i].same((*type.dims)[i])) {
      sizes.push_back(0);
      ++copied;
    } else {
      sizes.push_back(-1);
      ++inferred;
    }
  }
  const bool literal = copied + inferred == 0;
  if (inferred > 1 || (empty > 0 && !literal)) return no_value;
  return append_node(*graph_, nodes, *op_, reshape_version, {value, constant(sizes)},
                     {{"allowzero", std::int64_t{literal}}});
}

void Reshaper::make_view(Node& node, ValueId value) const {
  const Dims dims = *(*graph_)[node.outputs[0]].type.dims;
  node.op = op_;
  node.version = reshape_version;
  std::vector<std::int64_t> sizes;
  for (const Dim dim : dims) sizes.push_back(dim.size());
  node.inputs = {value, constant(sizes)};
  node.attributes = {{"allowzero", std::int64_t{1}}};
}

std::vector<int> count_shape_readers(const Graph& graph) {
  std::vector<int> counts(graph.values.size());
  for (const Node& node : graph.nodes) {
    if (node.op->name == "Shape" && node.op->domain.empty()) {
      ++counts[static_cast<std::size_t>(node.inputs[0])];
    }
  }
  return counts;
}

bool interleave_heads(Graph& graph, const PassContext& context) {
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return is_transpose(node, {0, 2, 1, 3}) &&
           Interleaver(graph, *context.catalogue, uses).fuse(node, before);
  });
}

}  // namespace ondine::graph
