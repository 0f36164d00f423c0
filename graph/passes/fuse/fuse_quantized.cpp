// Quantized networks write DequantizeLinear before and QuantizeLinear after each operator. Here
//   Conv, MatMul, Gemm   with constant quantized weights, and Relu or Clip to [0, 6] after them,
//                        become Int8Conv and Int8MatMul, which compute in integers;
//   Add, Mul             of equal shapes, or by one element for each row, with such an activation,
//                        become Int8Add and Int8Mul;
//   element-wise operators on one tensor
//                        become Int8Lookup, a table of their results;
//   MaxPool, Reshape, Flatten, Transpose, Squeeze, Unsqueeze, Concat
//                        between equal scales work on the quantized elements themselves. Concat
//                        reads inputs of other scales through Int8Lookup.
// Products and lookups of other quantized weights read them as they are stored (dequantized.h).
// The sums in integers are exact, where the float operator rounds products and sums, so that a
// result may be one quantum away from that of the nodes one by one. Values that anything else
// reads, as derivatives do, keep their nodes.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "graph/passes/dequantized.h"
#include "graph/passes/quantization.h"

namespace ondine::graph {
namespace {

// Weights of a product: a constant of 8 bits with one scale, or one for each index of `channel`.
bool is_weight(const Quantization& w, const Uses& uses, std::size_t rank, std::size_t channel) {
  const Tensor elements = uses.constant(w.input);
  if (!elements.defined() || !is_int8(w.dtype) || elements.shape().rank() != rank) return false;
  if (w.per_tensor()) return true;
  const std::int64_t axis = w.axis < 0 ? w.axis + static_cast<std::int64_t>(rank) : w.axis;
  return axis == static_cast<std::int64_t>(channel) && w.scales.size() == elements.shape()[channel];
}

// Sums of more products could leave 32 bits.
bool fits_int32(std::int64_t terms) { return terms <= 32768; }

// Whether a tensor broadcasts to rows of `count` elements, one for each.
bool is_row(const Tensor& x, std::int64_t count) {
  return x.defined() && x.size() == count && x.shape().rank() > 0 && x.shape().back() == count;
}

// The numbers of a bias of `count` elements: a float constant, or a dequantized int32 one.
std::optional<std::vector<double>> bias_values(ValueId id, std::int64_t count, const Graph& graph,
                                               const Uses& uses) {
  std::vector<double> values;
  const Tensor floats = uses.constant(id);
  if (floats.defined()) {
    if (floats.dtype() != DType::float32 || !is_row(floats, count)) return std::nullopt;
    for (const float x : floats.values<float>()) values.push_back(double{x});
    return values;
  }
  const auto q = dequantized(id, graph, uses);
  const Tensor whole = q ? uses.constant(q->input) : Tensor();
  if (!is_row(whole, count) || whole.dtype() != DType::int32) return std::nullopt;
  if (q->zero_points.defined()) {
    const auto zeros = q->zero_points.values<std::int32_t>();
    if (std::any_of(zeros.begin(), zeros.end(), [](auto z) { return z != 0; })) return std::nullopt;
  }
  const auto scales = q->scales.values<float>();
  if (!q->per_tensor() && q->scales.size() != count) return std::nullopt;
  const auto elements = whole.values<std::int32_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    values.push_back(double{scales[q->per_tensor() ? 0 : i]} * elements[i]);
  }
  return values;
}

// A bias in units of the products; undefined where one does not fit.
Tensor quantized_bias(const std::vector<double>& values, const Quantization& x,
                      const Quantization& w) {
  Tensor bias(DType::int32, {static_cast<std::int64_t>(values.size())});
  const auto to = bias.mutable_values<std::int32_t>();
  const double scale = double{x.scales.values<float>()[0]};
  const auto scales = w.scales.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double units =
        std::nearbyint(values[i] / (scale * double{scales[w.per_tensor() ? 0 : i]}));
    if (!(std::abs(units) < 0x1p30)) return {};
    to[i] = static_cast<std::int32_t>(units);
  }
  return bias;
}

// A product between quantized values.
struct Product {
  const Node* node = nullptr;
  const char* activation = nullptr;
  bool convolves = false;
  bool transposed = false;  // the weights of a Gemm
};

std::optional<Product> product_before(ValueId id, const Graph& graph, const Uses& uses) {
  const Activated before = before_activation(id, graph, uses);
  Product product;
  product.activation = before.activation;
  for (const char* op : {"Conv", "MatMul", "Gemm"}) {
    product.node = uses.producer_for(before.value, 1, op);
    if (product.node == nullptr) continue;
    product.convolves = product.node->op->name == "Conv";
    if (product.node->op->name == "Gemm") {
      if (!is_plain_gemm(NodeView(*product.node))) return std::nullopt;
      product.transposed = NodeView(*product.node).attr_int("transB", 0) != 0;
    }
    return product;
  }
  return std::nullopt;
}

// The attributes of the integer operator.
Attributes attributes_of(const Product& product) {
  Attributes attributes;
  if (product.convolves) attributes = product.node->attributes;
  if (product.transposed) attributes.emplace_back("transB", std::int64_t{1});
  if (product.activation != nullptr) {
    attributes.emplace_back("activation", std::string(product.activation));
  }
  return attributes;
}

bool fuse_product(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue) {
  const auto y = quantized(node, graph, uses);
  if (!is_scalar_int8(y)) return false;
  const auto product = product_before(y->input, graph, uses);
  if (!product) return false;
  const Node& before = *product->node;
  const auto x = dequantized(before.inputs[0], graph, uses);
  const auto w = dequantized(before.inputs[1], graph, uses);
  if (!x || !w || !x->per_tensor() || !is_int8(x->dtype) || !graph[x->input].type.ranked()) {
    return false;
  }
  const std::size_t rank = product->convolves ? graph[x->input].type.rank() : 2;
  const std::size_t channel = product->convolves || product->transposed ? 0 : 1;
  if (graph[x->input].type.rank() < 2 || !is_weight(*w, uses, rank, channel)) return false;
  const Shape shape = uses.constant(w->input).shape();
  const std::int64_t channels = shape[channel];
  if (channels == 0 || !fits_int32(shape.size() / channels)) return false;
  ValueId bias = no_value;
  if (NodeView(before).has_input(2)) {
    const auto values = bias_values(before.inputs[2], channels, graph, uses);
    Tensor whole = values ? quantized_bias(*values, *x, *w) : Tensor();
    if (!whole.defined()) return false;
    bias = add_constant(graph, graph[before.inputs[2]].name + "_int32", std::move(whole));
  }
  const ValueId zero_point = zero_point_of(*y, graph);
  Attributes attributes = attributes_of(*product);
  node.op = catalogue.find(ondine_domain, product->convolves ? "Int8Conv" : "Int8MatMul");
  node.version = 1;
  node.inputs = {x->input, x->zero_point, w->input, w->zero_point, bias,
                 x->scale, w->scale,      y->scale, zero_point};
  node.attributes = std::move(attributes);
  return true;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const Catalogue& catalogue = *context.catalogue;
  for (const char* op : {"Int8Conv", "Int8MatMul", "Int8Add", "Int8Mul", "Int8Lookup"}) {
    if (catalogue.find(ondine_domain, op) == nullptr) return false;
  }
  const auto fuse = [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    if (node.op->name != "QuantizeLinear" || !node.op->domain.empty()) return false;
    return fuse_product(node, graph, uses, catalogue) ||
           tabulate_quantized(node, graph, uses, context) ||
           fuse_pair(node, graph, uses, catalogue) || move_quantized(node, graph, uses) ||
           join_quantized(node, graph, uses, catalogue, before);
  };
  const bool changed = fuse_inserting(graph, fuse);
  // After it, since it takes products that could compute in integers.
  StoredForms forms;
  const bool weights = fuse_nodes(graph, [&](Node& one, const Uses& uses) {
    return fuse_dequantized(one, graph, uses, context, forms);
  });
  if (!forms.rounded.empty()) {
    fuse_nodes(graph, [&](Node& one, const Uses&) {
      return fuse_rounded_lookup(one, graph, context, forms);
    });
  }
  return changed || weights;
}

}  // namespace

const Pass fuse_quantized{"fuse_quantized", run};

}  // namespace ondine::graph
