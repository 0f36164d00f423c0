// Facts about QuantizeLinear and DequantizeLinear for the fusion of quantized networks
// (fuse_quantized.cpp).
#pragma once

#include "graph/passes/fuse.h"

namespace ondine::graph {

inline bool is_int8(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

// A QuantizeLinear or DequantizeLinear node with constant parameters.
struct Quantization {
  ValueId input = no_value;  // of the node
  ValueId scale = no_value;
  ValueId zero_point = no_value;
  Tensor scales;       // float32
  Tensor zero_points;  // undefined: zeros
  DType dtype = DType::undefined;
  std::int64_t axis = 1;

  bool per_tensor() const { return scales.size() == 1; }
};

// Parameters of a QuantizeLinear node, or of the DequantizeLinear node that makes a value; nullopt
// unless they are constants, the scales finite and above 0 and the floats float32.
std::optional<Quantization> quantized(const Node& node, const Graph& graph, const Uses& uses);
std::optional<Quantization> dequantized(ValueId id, const Graph& graph, const Uses& uses);

// One scale and zero point each, 8 bits, all equal.
bool same_parameters(const Quantization& a, const Quantization& b);
// Zero point of 8-bit elements with one scale.
int zero_point_number(const Quantization& q);
// The zero point, a new constant 0 where it is omitted.
ValueId zero_point_of(const Quantization& q, Graph& graph);

ValueId add_constant(Graph& graph, const std::string& hint, Tensor tensor);

// 8 bits with one scale.
bool is_scalar_int8(const std::optional<Quantization>& q);

// Before a Relu, or Clip to [0, 6], whose result `id` is and has one reader: its input, and what
// the attribute `activation` of the integer operators calls it. Else `id` and nullptr.
struct Activated {
  ValueId value = no_value;
  const char* activation = nullptr;
};
Activated before_activation(ValueId id, const Graph& graph, const Uses& uses);

// Each rewrites a QuantizeLinear node that ends such a group, or returns false.
// Add and Mul, perhaps with an activation, to Int8Add and Int8Mul.
bool fuse_pair(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue);
// Element-wise operators on one quantized tensor, to Int8Lookup.
bool tabulate_quantized(Node& node, Graph& graph, const Uses& uses, const PassContext& context);
// Operators that move elements or compare them, between equal scales.
bool move_quantized(Node& node, Graph& graph, const Uses& uses);
// Concat. Appends the nodes that are to be inserted before `node`.
bool join_quantized(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue,
                    std::vector<Node>& before);

}  // namespace ondine::graph
