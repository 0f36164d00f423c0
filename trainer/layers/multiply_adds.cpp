#include "trainer/layers/multiply_adds.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "trainer/layers/einsum_size.h"
#include "trainer/layers/saturating.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

using Count = std::optional<std::uint64_t>;

// The shapes of a node, known or not.
class Shapes : public NodeView {
 public:
  Shapes(const Node& node, const Graph& graph) : NodeView(node), graph_(&graph) {}

  std::optional<Shape> in(std::size_t i) const {
    return has_input(i) ? (*graph_)[node().inputs[i]].type.shape() : std::nullopt;
  }
  std::optional<Shape> out(std::size_t i) const {
    return has_output(i) ? (*graph_)[node().outputs[i]].type.shape() : std::nullopt;
  }
  const Tensor& constant(std::size_t i) const { return (*graph_)[node().inputs[i]].constant; }

 private:
  const Graph* graph_;
};

std::uint64_t elements(const Shape& shape) { return static_cast<std::uint64_t>(shape.size()); }

std::uint64_t dims_from(const Shape& shape, std::size_t first) {
  return static_cast<std::uint64_t>(shape.size(first, shape.rank()));
}

std::uint64_t dim(const Shape& shape, std::size_t axis) {
  return axis < shape.rank() ? static_cast<std::uint64_t>(shape[axis]) : 1;
}

template <std::size_t weight>
Count convolution(const Shapes& s) {
  const auto w = s.in(weight);
  const auto y = s.out(0);
  if (!w || !y || w->rank() < 2) return {};
  return times(elements(*y), dims_from(*w, 1));
}

Count transposed_convolution(const Shapes& s) {
  const auto x = s.in(0);
  const auto w = s.in(1);
  if (!x || !w || w->rank() < 2) return {};
  return times(elements(*x), dims_from(*w, 1));
}

Count matrix_product(const Shapes& s) {
  const auto a = s.in(0);
  const auto y = s.out(0);
  if (!a || !y || a->empty()) return {};
  return times(elements(*y), static_cast<std::uint64_t>(a->back()));
}

Count gemm(const Shapes& s) {
  const auto a = s.in(0);
  const auto y = s.out(0);
  if (!a || !y || a->rank() != 2) return {};
  return times(elements(*y), dim(*a, s.attr_int("transA", 0) != 0 ? 0 : 1));
}

Count einsum(const Shapes& s) {
  std::vector<Shape> operands;
  for (std::size_t i = 0; i < s.input_count(); ++i) {
    const auto shape = s.in(i);
    if (!shape) return {};
    operands.push_back(*shape);
  }
  const std::uint64_t size = einsum_size(s.attr_string("equation", ""), operands);
  return times(size, operands.size() - 1);
}

// 3-D operands are [batch, length, heads * head size], 4-D ones [batch, heads, length, head size].
Count attention(const Shapes& s) {
  constexpr std::size_t past_key = 4;
  const auto q = s.in(0);
  const auto k = s.in(1);
  const auto y = s.out(0);
  if (!q || !k || !y) return {};
  std::uint64_t length = dim(*k, k->rank() == 4 ? 2 : 1);
  if (s.has_input(past_key)) {
    const auto past = s.in(past_key);
    if (!past) return {};
    length += dim(*past, 2);
  }
  return times(plus(elements(*q), elements(*y)), length);
}

// X is [sequence length, batch size, input size] or, by the attribute layout, [batch size, ...].
Count recurrent(const Shapes& s) {
  const auto x = s.in(0);
  const auto w = s.in(1);
  const auto r = s.in(2);
  if (!x || !w || !r || x->rank() != 3) return {};
  return times(times(dim(*x, 0), dim(*x, 1)), plus(elements(*w), elements(*r)));
}

Count of_graph(const Graph& graph) {
  std::uint64_t sum = 0;
  for (const Node& node : graph.nodes) {
    const Count one = multiply_adds(node, graph);
    if (!one) return {};
    sum = plus(sum, *one);
  }
  return sum;
}

Count branches(const Shapes& s) {
  std::uint64_t most = 0;
  for (const Subgraph& branch : s.node().subgraphs) {
    const Count one = of_graph(*branch.graph);
    if (!one) return {};
    most = std::max(most, *one);
  }
  return most;
}

Count loop(const Shapes& s) {
  const Count body = of_graph(*s.node().subgraphs.at(0).graph);
  if (!body || !s.has_input(0)) return body;
  const Tensor& trips = s.constant(0);
  if (!trips.defined() || trips.dtype() != DType::int64 || trips.size() != 1) return body;
  return times(*body,
               static_cast<std::uint64_t>(std::max<std::int64_t>(0, trips.item<std::int64_t>())));
}

// Scan before opset 9 has an input of lengths first, and a batch axis before that of the sequence.
Count scan(const Shapes& s) {
  const Count body = of_graph(*s.node().subgraphs.at(0).graph);
  const auto scanned = static_cast<std::size_t>(s.attr_int("num_scan_inputs", 1));
  if (!body || *body == 0 || scanned == 0 || scanned > s.input_count()) return body;
  const auto x = s.in(s.input_count() - scanned);
  if (!x || x->rank() < 1) return {};
  if (s.version() < 9) return times(*body, times(dim(*x, 0), dim(*x, 1)));
  const auto axes = s.attr_ints("scan_input_axes");
  return times(*body, dim(*x, NodeView::normalize_axis(axes.empty() ? 0 : axes[0], x->rank())));
}

struct Formula {
  std::string_view op;
  Count (*count)(const Shapes&);
};

constexpr Formula formulas[] = {
    {"Conv", convolution<1>},
    {"DeformConv", convolution<1>},
    {"ConvInteger", convolution<1>},
    {"QLinearConv", convolution<3>},
    {"ConvTranspose", transposed_convolution},
    {"MatMul", matrix_product},
    {"MatMulInteger", matrix_product},
    {"QLinearMatMul", matrix_product},
    {"Gemm", gemm},
    {"Einsum", einsum},
    {"Attention", attention},
    {"RNN", recurrent},
    {"GRU", recurrent},
    {"LSTM", recurrent},
    {"If", branches},
    {"Loop", loop},
    {"Scan", scan},
};

}  // namespace

std::optional<std::uint64_t> multiply_adds(const Node& node, const Graph& graph) {
  if (!node.op->domain.empty()) return 0;
  const auto* formula = std::ranges::find(formulas, node.op->name, &Formula::op);
  return formula == std::end(formulas) ? Count(0) : formula->count(Shapes(node, graph));
}

}  // namespace ondine::trainer
