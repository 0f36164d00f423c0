#include "graph/passes/samples_first.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "graph/contract/infer.h"
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t add_version = 14;

template <std::size_t N>
using Sizes = std::array<Dim, N>;

template <std::size_t N>
bool same(const std::optional<Sizes<N>>& a, const Sizes<N>& b) {
  return a && std::ranges::equal(*a, b, [](Dim x, Dim y) { return x.same(y); });
}

// The product of two known dims.
Dim times(Dim a, Dim b) { return a.known() && b.known() ? multiply(a, b) : Dim(); }

// Values between the Transpose of samples and rows and the Transpose back are computed row by row:
// the projections of the input, which may be one whose columns are the parts q, k and v, attention,
// whose products are those of one sample, and the projection of its result. Dims of samples and
// rows may be symbolic.
class SamplesFirst {
 public:
  SamplesFirst(Graph& graph, const Catalogue& catalogue, const Uses& uses,
               const std::vector<int>& shape_readers)
      : graph_(graph),
        uses_(uses),
        shape_readers_(shape_readers),
        attention_(catalogue.find(ondine_domain, "ScaledAttention")),
        product_(catalogue.find(ondine_domain, "MatMulT")),
        add_(catalogue.find("", "Add")),
        split_(catalogue.find("", "Split")),
        reshape_(graph, catalogue) {}

  // A Transpose by {1, 0, 2} of the projected result.
  bool fuse(Node& node, std::vector<Node>& before) {
    for (const OpDef* op : {attention_, product_, add_, split_}) {
      if (op == nullptr) return false;
    }
    if (!reshape_) return false;
    const Node* rows = producer_of(&node, "Reshape");
    const Node* projection = producer_of(rows, "Gemm");
    if (projection == nullptr || !is_plain_gemm(NodeView(*projection))) return false;
    const bool biased = NodeView(*projection).has_input(2);
    if (biased && !is_row(projection->inputs[2])) return false;
    const Node* flat = producer_of(projection, "Reshape");
    const Node* turned = producer_of(flat, "Transpose");
    if (turned == nullptr || !is_transpose(*turned, {2, 0, 1, 3})) return false;
    const Node* attention = producer_of(turned, "ScaledAttention", ondine_domain);
    if (attention == nullptr || NodeView(*attention).attr_int("interleaved", 0) != 0) return false;

    const auto result = dims_of<4>(attention->outputs[0]);
    const auto lines = dims_of<2>(flat->outputs[0]);
    if (!result || !lines) return false;
    const auto [samples, heads, queries, size] = *result;
    const Dim columns = (*lines)[1];
    const auto projected = dims_of<3>(rows->outputs[0]);
    if (!columns.known() || !projected ||
        !same<2>(Sizes<2>{(*projected)[0], (*projected)[1]}, {queries, samples}) ||
        !columns.same(times(heads, size))) {
      return false;
    }
    const bool keys_turned = NodeView(*attention).attr_int("transK", 0) != 0;
    std::vector<ValueId> inputs = attention->inputs;
    for (std::size_t i = 0; i < 3; ++i) {
      inputs[i] = operand(inputs[i], keys_turned && i == 1);
      if (inputs[i] == no_value) return false;
    }
    const ValueId y = append(*attention_, 1, std::move(inputs),
                             attention_attributes(*attention, {{"interleaved", std::int64_t{1}}}));
    Attributes attributes;
    attributes.emplace_back("transB", NodeView(*projection).attr_int("transB", 0));
    std::vector<ValueId> factors{reshape_.view(y, {samples, queries, columns}, nodes_),
                                 projection->inputs[1]};
    if (biased) {
      const ValueId bias = projection->inputs[2];
      const ValueId sum = append(*product_, 1, std::move(factors), std::move(attributes));
      replace(node, *add_, add_version, {sum, bias}, {});
    } else {
      replace(node, *product_, 1, std::move(factors), std::move(attributes));
    }
    before = std::move(nodes_);
    return true;
  }

 private:
  // Nothing unless there are so many.
  template <std::size_t N>
  std::optional<Sizes<N>> dims_of(ValueId id) const {
    const Type& type = graph_[id].type;
    if (!type.ranked() || type.rank() != N) return std::nullopt;
    Sizes<N> sizes;
    std::ranges::copy(*type.dims, sizes.begin());
    return sizes;
  }
  // Whether it is added to all rows.
  bool is_row(ValueId bias) const {
    const auto shape = graph_[bias].type.shape();
    return shape && (shape->rank() == 0 || shape->size() == shape->back());
  }

  ValueId append(const OpDef& op, std::int64_t version, std::vector<ValueId> inputs,
                 Attributes attributes = {}) {
    return append_node(graph_, nodes_, op, version, std::move(inputs), std::move(attributes));
  }
  static void replace(Node& node, const OpDef& op, std::int64_t version,
                      std::vector<ValueId> inputs, Attributes attributes) {
    node.op = &op;
    node.version = version;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
  }

  // Producer of a value with one reader beside those of its shape.
  const Node* sole_producer(ValueId id, std::string_view op, std::string_view domain = {}) const {
    const auto index = static_cast<std::size_t>(id);
    const int of_shape = index < shape_readers_.size() ? shape_readers_[index] : 0;
    return uses_.producer_for(id, 1 + of_shape, op, domain);
  }
  // Producer of the first input of `node`.
  const Node* producer_of(const Node* node, std::string_view op,
                          std::string_view domain = {}) const {
    return node == nullptr ? nullptr : sole_producer(node->inputs[0], op, domain);
  }
  const Node* producer(ValueId id, std::string_view op) const {
    return uses_.producer_for(id, uses_.readers(id), op);
  }
  // The value before a change of its shape alone, or `id`.
  ValueId viewed(ValueId id) const {
    for (const char* op : {"Reshape", "Squeeze", "Unsqueeze"}) {
      if (const Node* node = producer(id, op)) return node->inputs[0];
    }
    return id;
  }
  // The input of the Transpose by `perm` that makes `id`, or no_value.
  ValueId turned_by(ValueId id, const std::vector<std::int64_t>& perm) const {
    const Node* node = producer(id, "Transpose");
    return node != nullptr && is_transpose(*node, perm) ? node->inputs[0] : no_value;
  }

  // samples, rows, heads, size of an operand of samples, heads, rows, size; no_value where it does
  // not come from rows with the samples second. Rows and size may be turned.
  ValueId operand(ValueId value, bool turned) {
    const auto dims = dims_of<4>(value);
    if (!dims) return no_value;
    const auto [samples, heads, first, second] = *dims;
    const Dim rows = turned ? second : first;
    const Dim size = turned ? first : second;
    ValueId apart = viewed(value);
    if (turned) {
      apart = turned_by(apart, {0, 2, 1});
      const auto keys = apart != no_value ? dims_of<3>(apart) : std::nullopt;
      if (!keys || !same<2>(Sizes<2>{(*keys)[1], (*keys)[2]}, {rows, size})) return no_value;
    }
    for (int views = 0; views < 2 && producer(apart, "Transpose") == nullptr; ++views) {
      apart = viewed(apart);
    }
    const ValueId beside = turned_by(apart, {1, 0, 2});
    const auto merged = beside != no_value ? dims_of<3>(beside) : std::nullopt;
    // Samples and heads are one dim here, which may be unknown.
    if (!merged || !same<2>(Sizes<2>{(*merged)[0], (*merged)[2]}, {rows, size})) return no_value;
    const ValueId source = viewed(beside);
    if (!same<3>(dims_of<3>(source), {rows, samples, times(heads, size)})) return no_value;
    const ValueId samples_first = turn(source);
    return samples_first == no_value
               ? no_value
               : reshape_.view(samples_first, {samples, rows, heads, size}, nodes_);
  }

  // `rows` x samples x columns with the samples first.
  ValueId turn(ValueId rows) {
    if (producer(rows, "Transpose") != nullptr) return turned_by(rows, {1, 0, 2});
    if (const Node* node = producer(rows, "Gather")) return turn_part(*node);
    const Node* sum = sole_producer(rows, "Add");
    const Node* node = sum != nullptr ? sum : sole_producer(rows, "MatMul");
    if (node == nullptr) return no_value;
    const std::size_t of = sum != nullptr && is_row(node->inputs[0]) ? 1 : 0;
    const ValueId other = node->inputs[1 - of];
    if (sum != nullptr ? !is_row(other) : !dims_of<2>(other)) return no_value;
    if (!dims_of<3>(node->inputs[of])) return no_value;
    std::vector<ValueId> inputs = node->inputs;
    inputs[of] = turn(inputs[of]);
    if (inputs[of] == no_value) return no_value;
    return append(*node->op, node->version, std::move(inputs), node->attributes);
  }

  // One of the parts that columns were cut into, which were made the first dim.
  ValueId turn_part(const Node& gather) {
    const Tensor index = uses_.constant(gather.inputs[1]);
    if (NodeView(gather).attr_int("axis", 0) != 0 || !index.defined() ||
        index.dtype() != DType::int64 || index.shape().rank() != 0) {
      return no_value;
    }
    auto& parts = parts_[gather.inputs[0]];
    if (parts.empty()) parts = split(gather.inputs[0]);
    const std::int64_t part = index.values<std::int64_t>()[0];
    return part >= 0 && part < static_cast<std::int64_t>(parts.size())
               ? parts[static_cast<std::size_t>(part)]
               : no_value;
  }
  std::vector<ValueId> split(ValueId stacked) {
    const auto dims = dims_of<4>(stacked);
    if (!dims || !dims->front().known()) return {};
    const auto [parts, rows, samples, columns] = *dims;
    const ValueId turned = viewed(stacked);
    if (!same<5>(dims_of<5>(turned), {parts, rows, samples, 1, columns})) return {};
    const Dim all = times(parts, columns);
    for (ValueId whole = turned_by(turned, {3, 1, 2, 0, 4}); whole != no_value;) {
      if (same<3>(dims_of<3>(whole), {rows, samples, all})) {
        const ValueId first = turn(whole);
        if (first == no_value) return {};
        return append_split(graph_, nodes_, *split_, first, 2, parts.size());
      }
      const ValueId source = viewed(whole);
      whole = source == whole ? no_value : source;
    }
    return {};
  }

  Graph& graph_;
  const Uses& uses_;
  const std::vector<int>& shape_readers_;
  const OpDef* attention_;
  const OpDef* product_;
  const OpDef* add_;
  const OpDef* split_;
  Reshaper reshape_;
  std::vector<Node> nodes_;  // that replace those found
  std::map<ValueId, std::vector<ValueId>> parts_;
};

}  // namespace

bool put_samples_first(Graph& graph, const PassContext& context) {
  const std::vector<int> shape_readers = count_shape_readers(graph);
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return is_transpose(node, {1, 0, 2}) &&
           SamplesFirst(graph, *context.catalogue, uses, shape_readers).fuse(node, before);
  });
}

}  // namespace ondine::graph
