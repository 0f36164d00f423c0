// MatMulNBits by constant weights becomes DequantizeLinear of the same bytes and MatMulT, whose
// derivatives and kernels read them as they are held; its expansion would keep them in float32.
// Rows that are filled up to whole blocks, blocks by g_idx and zero points that are floats stay.
#include <algorithm>
#include <functional>
#include <span>

#include "core/packed_elements.h"
#include "graph/passes/quantization.h"

namespace ondine::graph {
namespace {

constexpr std::string_view contrib_domain = "com.microsoft";

enum Input : std::size_t { a_in, q_in, scales_in, points_in, group_in, bias_in };

// Blocks and zero points of 4 bits came with it.
constexpr std::int64_t dequantize_version = 21;

class Recognizer {
 public:
  Recognizer(Graph& graph, const Catalogue& catalogue)
      : graph_(&graph),
        dequantize_(catalogue.find("", "DequantizeLinear")),
        product_(catalogue.find(ondine_domain, "MatMulT")),
        add_(catalogue.find("", "Add")) {}

  bool is_complete() const {
    return dequantize_ != nullptr && product_ != nullptr && add_ != nullptr;
  }

  bool operator()(Node& node, const Uses& uses, std::vector<Node>& before) {
    if (node.op->name != "MatMulNBits" || node.op->domain != contrib_domain) return false;
    const NodeView view(node);
    const Type& a = (*graph_)[node.inputs[a_in]].type;
    if (!a.ranked() || a.rank() < 2 || a.dtype != DType::float32) return false;
    if (view.has_input(group_in) || !read_sizes(view)) return false;
    const Tensor q = constant(node.inputs[q_in], uses);
    const Tensor scales = constant(node.inputs[scales_in], uses);
    if (!q.defined() || q.dtype() != DType::uint8 || !scales.defined() ||
        scales.dtype() != DType::float32 || scales.size() != rows_ * blocks_) {
      return false;
    }
    const Tensor elements = elements_of(q, {rows_, columns_});
    const Tensor points = zero_points(view, node, uses);
    if (!elements.defined() || !points.defined()) return false;
    rewrite(node, elements, scales.reshaped({rows_, blocks_}), points, before);
    return true;
  }

 private:
  bool read_sizes(const NodeView& view) {
    rows_ = view.attr_int("N", 0);
    columns_ = view.attr_int("K", 0);
    block_ = view.attr_int("block_size", 0);
    const std::int64_t bits = view.attr_int("bits", 4);
    if (rows_ < 1 || columns_ < 1 || block_ < 1 || columns_ % block_ != 0) return false;
    if (bits != 2 && bits != 4 && bits != 8) return false;
    blocks_ = columns_ / block_;
    dtype_ = bits == 2 ? DType::uint2 : bits == 4 ? DType::uint4 : DType::uint8;
    return true;
  }

  // Undefined for what a Gradient node names.
  Tensor constant(ValueId id, const Uses& uses) const {
    return uses.is_named(id) ? Tensor() : uses.constant(id);
  }

  // The elements in the memory of `bytes`; undefined if the bytes are not those of the elements.
  Tensor elements_of(const Tensor& bytes, const Shape& shape) const {
    if (static_cast<std::uint64_t>(bytes.size()) != packed_size(dtype_, shape.size())) return {};
    if (dtype_ == DType::uint8) return bytes.reshaped(shape);
    const auto owner = std::make_shared<const Tensor>(bytes);
    const auto* const data = static_cast<const std::byte*>(owner->data());
    return share_packed(dtype_, shape, {{data, owner->bytes()}, owner});
  }

  // [N, blocks]: half of all numbers where there are none. Undefined for floats. Each row of packed
  // ones begins with a byte.
  Tensor zero_points(const NodeView& view, const Node& node, const Uses& uses) const {
    Tensor points(dtype_, Shape{rows_, blocks_});
    const auto bits = static_cast<std::int64_t>(packed_bits(dtype_));
    auto* const to = static_cast<std::byte*>(points.mutable_data());
    if (!view.has_input(points_in)) {
      std::fill_n(to, points.size(), static_cast<std::byte>(1U << (bits - 1)));
      return points;
    }
    const Tensor given = constant(node.inputs[points_in], uses);
    const std::int64_t row_bytes = (blocks_ * bits + 7) / 8;
    if (!given.defined() || given.dtype() != DType::uint8 || given.size() != rows_ * row_bytes) {
      return {};
    }
    const auto* const from = static_cast<const std::byte*>(given.data());
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::span packed(from + row * row_bytes, static_cast<std::size_t>(row_bytes));
      const std::span elements(to + row * blocks_, static_cast<std::size_t>(blocks_));
      if (bits == 8) {
        std::copy(packed.begin(), packed.end(), elements.begin());
      } else {
        unpack(dtype_, packed, elements);
      }
    }
    return points;
  }

  void rewrite(Node& node, const Tensor& elements, const Tensor& scales, const Tensor& points,
               std::vector<Node>& before) {
    const std::string name = (*graph_)[node.inputs[q_in]].name;
    Node weights = node;
    weights.op = dequantize_;
    weights.version = dequantize_version;
    weights.inputs = {add_constant(*graph_, name + "_elements", elements),
                      add_constant(*graph_, name + "_scales", scales),
                      add_constant(*graph_, name + "_zero_points", points)};
    weights.outputs = {
        graph_->add_temporary(name + "_weights", Type::tensor(DType::float32, elements.shape()))};
    weights.attributes = {{"axis", std::int64_t{1}}, {"block_size", block_}};
    const ValueId bias = NodeView(node).has_input(bias_in) ? node.inputs[bias_in] : no_value;
    Node product = node;
    product.op = product_;
    product.version = 1;
    product.inputs = {node.inputs[a_in], weights.outputs[0]};
    product.attributes = {{"transB", std::int64_t{1}}};
    before.push_back(std::move(weights));
    if (bias == no_value) {
      node = std::move(product);
      return;
    }
    product.outputs = {graph_->add_temporary(name + "_product", (*graph_)[node.outputs[0]].type)};
    node.op = add_;
    node.version = 14;
    node.inputs = {product.outputs[0], bias};
    node.attributes = {};
    before.push_back(std::move(product));
  }

  Graph* graph_;
  const OpDef* dequantize_;
  const OpDef* product_;
  const OpDef* add_;
  std::int64_t rows_ = 0, columns_ = 0, block_ = 0, blocks_ = 0;
  DType dtype_ = DType::undefined;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  Recognizer recognizer(graph, *context.catalogue);
  if (!recognizer.is_complete()) return false;
  return fuse_inserting(graph, std::ref(recognizer));
}

}  // namespace

const Pass recognize_block_weights{"recognize_block_weights", run};

}  // namespace ondine::graph
