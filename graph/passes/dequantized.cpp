#include "graph/passes/dequantized.h"

#include <algorithm>
#include <array>

#include "core/packed_elements.h"
#include "graph/passes/quantization.h"

namespace ondine::graph {
namespace {

// Smaller constants are dequantized once.
constexpr std::size_t least_elements = std::size_t{1} << 16;

// A constant matrix and how it becomes float32.
struct Frozen {
  ValueId elements = no_value;
  ValueId scale = no_value;  // no_value: widened
  ValueId zero_point = no_value;
  Attributes attributes;  // axis and block size, levels
  bool transposed = false;
};

bool has_few_bits(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int4 ||
         dtype == DType::uint4 || dtype == DType::int2 || dtype == DType::uint2;
}

bool is_large_matrix(const Tensor& elements) {
  return elements.defined() && elements.shape().rank() == 2 &&
         static_cast<std::size_t>(elements.size()) >= least_elements;
}

// The number of neighbours that have one index where element i of `indices` is i over that number.
std::optional<std::int64_t> block_of(const std::vector<std::int64_t>& indices) {
  const auto block =
      std::find_if(indices.begin(), indices.end(), [](auto i) { return i != 0; }) - indices.begin();
  if (block == 0) return std::nullopt;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != static_cast<std::int64_t>(i) / block) return std::nullopt;
  }
  return block;
}

// levels[elements] scale[blocks]: Mul of two Gather, the indices of the first a Cast of uint4.
std::optional<Frozen> read_levels(const Node& product, const Uses& uses) {
  const Node* numbers = uses.producer(product.inputs[0], "Gather");
  const Node* scales = uses.producer(product.inputs[1], "Gather");
  if (numbers == nullptr || scales == nullptr) return std::nullopt;
  const Node* cast = uses.producer(numbers->inputs[1], "Cast");
  if (cast == nullptr) return std::nullopt;
  Frozen frozen;
  frozen.elements = cast->inputs[0];
  frozen.scale = scales->inputs[0];
  const Tensor levels = uses.constant(numbers->inputs[0]);
  const Tensor elements = uses.constant(frozen.elements);
  const Tensor scale = uses.constant(frozen.scale);
  const auto blocks = uses.integers(scales->inputs[1]);
  if (!is_large_matrix(elements) || elements.dtype() != DType::uint4 || !levels.defined() ||
      levels.dtype() != DType::float32 || levels.shape() != Shape{16} || !scale.defined() ||
      scale.dtype() != DType::float32 || scale.shape().rank() != 2 || !blocks) {
    return std::nullopt;
  }
  const std::int64_t given = NodeView(*scales).attr_int("axis", 0);
  const std::int64_t axis = given < 0 ? given + 2 : given;
  const auto dim = static_cast<std::size_t>(axis);
  const Shape shape = elements.shape();
  const auto block = block_of(*blocks);
  if (!block || static_cast<std::int64_t>(blocks->size()) != shape[dim] ||
      scale.shape()[1 - dim] != shape[1 - dim] ||
      scale.shape()[dim] != (shape[dim] + *block - 1) / *block) {
    return std::nullopt;
  }
  const auto numbers_of = levels.values<float>();
  frozen.attributes = {{"axis", axis},
                       {"block_size", *block},
                       {"levels", std::vector<float>(numbers_of.begin(), numbers_of.end())}};
  return frozen;
}

// Looks through a Transpose.
Frozen start_from(ValueId id, const Uses& uses) {
  Frozen frozen;
  frozen.elements = id;
  if (const Node* transpose = uses.producer(id, "Transpose");
      transpose != nullptr && swaps_last_two(NodeView(*transpose), 2)) {
    frozen.transposed = true;
    frozen.elements = transpose->inputs[0];
  }
  return frozen;
}

// Reads a large floating point matrix that is constant in the form that the context gives. Returns
// whether it does. `swapped`: the product multiplies by the transposed matrix.
bool round_frozen(Frozen& frozen, bool swapped, Graph& graph, const PassContext& context,
                  StoredForms& forms) {
  if (!context.round_weights) return false;
  const ValueId id = frozen.elements;
  const Tensor elements = graph[id].constant;
  const DType dtype = elements.defined() ? elements.dtype() : DType::undefined;
  const bool floats =
      dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
  if (!floats || !is_large_matrix(elements)) return false;
  const auto [known, is_new] = forms.rounded.emplace(id, StoredForms::Rounded{});
  StoredForms::Rounded& form = known->second;
  if (is_new) {
    RoundedMatrix held = context.round_weights(elements, frozen.transposed != swapped ? 0 : 1);
    form.axis = held.axis;
    if (held.elements.defined()) {
      form.elements = add_constant(graph, graph[id].name + "_rounded", std::move(held.elements));
    }
    if (held.scale.defined()) {
      form.scale = add_constant(graph, graph[id].name + "_scale", std::move(held.scale));
    }
  }
  if (form.elements == no_value) return false;
  frozen.elements = form.elements;
  frozen.scale = form.scale;
  if (form.scale != no_value) frozen.attributes = {{"axis", form.axis}};
  return true;
}

// Replaces the zero point of packed 4-bit elements, one for all, by 16 numbers with the same
// results, which cost products no step of their own.
void read_zero_point_as_levels(Frozen& frozen, const Tensor& elements, const Uses& uses) {
  if (frozen.zero_point == no_value || elements.dtype() != DType::uint4) return;
  if (!packed_elements(elements)) return;
  const Tensor points = uses.constant(frozen.zero_point);
  const std::span all(static_cast<const std::uint8_t*>(points.data()), points.bytes());
  if (all.empty() || std::any_of(all.begin(), all.end(), [&](auto x) { return x != all[0]; })) {
    return;
  }
  std::vector<float> levels;
  for (int i = 0; i < 16; ++i) levels.push_back(static_cast<float>(i - all[0]));
  frozen.zero_point = no_value;
  frozen.attributes.emplace_back("levels", std::move(levels));
}

std::optional<Frozen> read_frozen(ValueId given, const Graph& graph, const Uses& uses) {
  Frozen frozen = start_from(given, uses);
  const ValueId id = frozen.elements;
  if (const Node* product = uses.producer(id, "Mul"); product != nullptr) {
    auto found = read_levels(*product, uses);
    if (found) found->transposed = frozen.transposed;
    return found;
  }
  const Node* cast = uses.producer(id, "Cast");
  const Node* node = cast != nullptr ? cast : uses.producer(id, "DequantizeLinear");
  if (node == nullptr || graph[id].type.dtype != DType::float32) return std::nullopt;
  frozen.elements = node->inputs[0];
  const Tensor elements = uses.constant(frozen.elements);
  if (!is_large_matrix(elements)) return std::nullopt;
  const DType dtype = elements.dtype();
  if (cast != nullptr) {
    const bool widens = dtype == DType::float16 || dtype == DType::bfloat16;
    return widens ? std::optional(frozen) : std::nullopt;
  }
  const NodeView view(*node);
  const Tensor scale = uses.constant(node->inputs[1]);
  if (!has_few_bits(dtype) || !scale.defined() || scale.dtype() != DType::float32) {
    return std::nullopt;
  }
  frozen.scale = node->inputs[1];
  if (view.has_input(2)) {
    frozen.zero_point = node->inputs[2];
    if (!uses.constant(frozen.zero_point).defined()) return std::nullopt;
  }
  frozen.attributes = {{"axis", view.attr_int("axis", 1)},
                       {"block_size", view.attr_int("block_size", 0)}};
  read_zero_point_as_levels(frozen, elements, uses);
  return frozen;
}

// The matrix of a product. `swapped`: of its transposed. nullopt: it stays as it is.
std::optional<Frozen> read_factor(ValueId id, bool swapped, Graph& graph, const Uses& uses,
                                  const PassContext& context, StoredForms& forms) {
  auto frozen = read_frozen(id, graph, uses);
  if (frozen && frozen->scale != no_value) return frozen;
  if (graph[id].type.dtype != DType::float32) return frozen;
  Frozen rounded = frozen ? *frozen : start_from(id, uses);
  return round_frozen(rounded, swapped, graph, context, forms) ? std::optional(rounded) : frozen;
}

// Whether rows are the derivative of a loss by scores, which seldom is of one size.
bool is_loss_derivative(ValueId id, const Uses& uses) {
  constexpr std::array<std::string_view, 4> sources{"SoftmaxCrossEntropyLossGrad",
                                                    "NegativeLogLikelihoodLossGrad",
                                                    "LogSoftmaxGrad", "SoftmaxGrad"};
  constexpr std::array<std::string_view, 9> between{
      "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Cast", "Mul", "Div", "Identity"};
  constexpr int longest = 8;
  for (int i = 0; i < longest; ++i) {
    const Node* const node = uses.producer(id);
    if (node == nullptr) return false;
    if (std::ranges::find(sources, node->op->name) != sources.end()) return true;
    if (std::ranges::find(between, node->op->name) == between.end()) return false;
    id = node->inputs[0];
  }
  return false;
}

// Whether value `id` is one number for each of `count` columns.
bool is_row(const Type& type, std::int64_t count) {
  const auto shape = type.shape();
  return type.dtype == DType::float32 && shape && shape->rank() > 0 && shape->size() == count &&
         shape->back() == count;
}

// Makes the node read the elements as they are held: where they are packed, the bytes.
void read_as_held(Node& node, std::size_t input, Graph& graph, const Uses& uses,
                  StoredForms& forms) {
  const ValueId elements = node.inputs[input];
  const Tensor tensor = uses.constant(elements);
  const auto packed = packed_elements(tensor);
  const auto known = forms.packed.find(elements);
  if (known == forms.packed.end() && !packed) return;
  if (known != forms.packed.end()) {
    node.inputs[input] = known->second;
  } else {
    auto* const bytes = const_cast<std::byte*>(packed->bytes.data());
    node.inputs[input] =
        add_constant(graph, graph[elements].name + "_packed",
                     Tensor::share(DType::uint8, {static_cast<std::int64_t>(packed->bytes.size())},
                                   bytes, std::const_pointer_cast<void>(packed->owner)));
    forms.packed.emplace(elements, node.inputs[input]);
  }
  node.attributes.emplace_back("packed_type", static_cast<std::int64_t>(tensor.dtype()));
  node.attributes.emplace_back("packed_shape",
                               std::vector<std::int64_t>{tensor.shape()[0], tensor.shape()[1]});
}

bool fuse_product(Node& node, Graph& graph, const Uses& uses, const PassContext& context,
                  StoredForms& forms) {
  const bool standard = node.op->domain.empty();
  const bool gemm = standard && node.op->name == "Gemm";
  const bool matmul = (standard && node.op->name == "MatMul") ||
                      (node.op->domain == ondine_domain && node.op->name == "MatMulT");
  if (!gemm && !matmul) return false;
  const OpDef* const fused = context.catalogue->find(ondine_domain, "DequantizeMatMul");
  if (fused == nullptr) return false;
  const NodeView view(node);
  if (gemm ? !is_plain_gemm(view) : view.attr_int("transA", 0) != 0) return false;
  const Type& a = graph[node.inputs[0]].type;
  if (!a.ranked() || a.rank() < 2 || graph[node.inputs[0]].constant->defined()) return false;
  const bool swapped = view.attr_int("transB", 0) != 0;
  const auto b = read_factor(node.inputs[1], swapped, graph, uses, context, forms);
  if (!b) return false;
  const bool transposed = b->transposed != swapped;
  ValueId bias = no_value;
  if (view.has_input(2)) {
    bias = node.inputs[2];
    const Shape shape = uses.constant(b->elements).shape();
    if (!is_row(graph[bias].type, shape[transposed ? 0 : 1])) return false;
  }
  node.op = fused;
  node.version = 1;
  node.inputs = {node.inputs[0], b->elements, b->scale, b->zero_point, bias};
  node.attributes = b->attributes;
  node.attributes.emplace_back("transB", std::int64_t{transposed});
  if (is_loss_derivative(node.inputs[0], uses)) {
    node.attributes.emplace_back("loss_derivative", std::int64_t{1});
  }
  read_as_held(node, 1, graph, uses, forms);
  return true;
}

// The loss of a frozen head.
bool fuse_head(Node& node, Graph& graph, const Uses& uses, const PassContext& context,
               StoredForms& forms) {
  if (node.op->name != "ProjectedCrossEntropy" || node.op->domain != ondine_domain) return false;
  constexpr std::size_t matrix = 2;
  if (graph[node.inputs[0]].type.dtype != DType::float32 || node.inputs.size() != matrix + 1) {
    return false;
  }
  const bool swapped = NodeView(node).attr_int("transposed", 0) != 0;
  const auto w = read_factor(node.inputs[matrix], swapped, graph, uses, context, forms);
  if (!w) return false;
  const bool class_rows = w->transposed != swapped;
  node.inputs = {node.inputs[0], node.inputs[1], w->elements};
  if (w->scale != no_value) node.inputs.insert(node.inputs.end(), {w->scale, w->zero_point});
  std::erase_if(node.attributes, [](const auto& one) { return one.name == "transposed"; });
  node.attributes.insert(node.attributes.end(), w->attributes.begin(), w->attributes.end());
  node.attributes.emplace_back("transposed", std::int64_t{class_rows});
  read_as_held(node, matrix, graph, uses, forms);
  return true;
}

bool is_row_lookup(const Node& node) {
  return node.op->domain.empty() && node.op->name == "Gather" &&
         NodeView(node).attr_int("axis", 0) == 0;
}

bool fuse_lookup(Node& node, Graph& graph, const Uses& uses, const PassContext& context,
                 StoredForms& forms) {
  if (!is_row_lookup(node)) return false;
  const OpDef* const fused = context.catalogue->find(ondine_domain, "DequantizeGather");
  if (fused == nullptr) return false;
  const auto table = read_frozen(node.inputs[0], graph, uses);
  if (!table || table->transposed) return false;
  node.op = fused;
  node.version = 1;
  node.inputs = {node.inputs[1], table->elements, table->scale, table->zero_point};
  node.attributes = table->attributes;
  read_as_held(node, 1, graph, uses, forms);
  return true;
}

}  // namespace

bool fuse_dequantized(Node& node, Graph& graph, const Uses& uses, const PassContext& context,
                      StoredForms& forms) {
  return fuse_product(node, graph, uses, context, forms) ||
         fuse_lookup(node, graph, uses, context, forms) ||
         fuse_head(node, graph, uses, context, forms);
}

bool fuse_rounded_lookup(Node& node, const Graph& graph, const PassContext& context,
                         const StoredForms& forms) {
  if (!is_row_lookup(node) || graph[node.outputs[0]].type.dtype != DType::float32) return false;
  const OpDef* const lookup = context.catalogue->find(ondine_domain, "DequantizeGather");
  if (lookup == nullptr) return false;
  const auto rounded = forms.rounded.find(node.inputs[0]);
  if (rounded == forms.rounded.end()) return false;
  const auto [elements, scale, axis] = rounded->second;
  if (elements == no_value) return false;
  node.op = lookup;
  node.version = 1;
  node.inputs = {node.inputs[1], elements, scale, no_value};
  node.attributes = {};
  if (scale != no_value) node.attributes.emplace_back("axis", axis);
  return true;
}

}  // namespace ondine::graph
