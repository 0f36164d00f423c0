#include "graph/training/quantize/frozen_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/float_formats.h"
#include "core/message.h"
#include "graph/contract/opsets.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/values.h"
#include "graph/training/quantize/blocks.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_elements = 1024;
constexpr std::int64_t block_size = 32;
constexpr std::int64_t first_with_blocks = 21;
constexpr std::int64_t first_with_axes = 13;  // and with bfloat16 in Cast
constexpr std::int64_t first_ir_with_int4 = 10;

std::int64_t opset_of(const ModelDef& model) {
  return Opsets(model.opsets).version("").value_or(0);
}

bool swaps_axes(const NodeDef& transpose) {
  const Attribute* perm = find(transpose.attributes, "perm");
  const auto* axes =
      perm == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&perm->data);
  return axes == nullptr || *axes == std::vector<std::int64_t>{1, 0};
}

// The readers of the values of a graph, those in subgraphs left out.
using Readers = std::multimap<std::string_view, std::pair<const NodeDef*, std::size_t>>;

Readers readers_of(const GraphDef& graph) {
  Readers readers;
  for (const NodeDef& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      readers.emplace(node.inputs[i], std::pair(&node, i));
    }
  }
  return readers;
}

// The dim of a matrix that its readers sum over, or of the rows that they look up; nullopt when
// something else reads it.
std::optional<std::size_t> summed_axis(const Readers& readers, std::string_view name,
                                       bool transposed = false) {
  std::optional<std::size_t> axis;
  const auto [first, last] = readers.equal_range(name);
  for (auto reader = first; reader != last; ++reader) {
    const auto& [node, input] = reader->second;
    if (!node->domain.empty()) return std::nullopt;
    std::optional<std::size_t> found;
    if ((node->op == "MatMul" || node->op == "Gemm") && input == 1) {
      const bool by_columns = node->op == "Gemm" && integer_attribute(*node, "transB", 0) != 0;
      found = by_columns != transposed ? 1 : 0;
    } else if (node->op == "Gather" && input == 0 && !transposed &&
               integer_attribute(*node, "axis", 0) == 0) {
      found = 1;
    } else if (node->op == "Transpose" && !transposed && swaps_axes(*node)) {
      found = summed_axis(readers, node->outputs[0], true);
    }
    if (!found) return std::nullopt;
    if (!axis || node->op != "Gather") axis = found;
  }
  return axis;
}

bool is_finite(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

Tensor rounded_to_bfloat16(const Tensor& weights) {
  Tensor result(DType::bfloat16, weights.shape());
  const auto from = weights.values<float>();
  std::transform(from.begin(), from.end(), result.mutable_values<bfloat16>().begin(),
                 [](float x) { return to_bfloat16(x); });
  return result;
}

double relative_error(const Tensor& weights, const Tensor& rounded) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < weights.values<float>().size(); ++i) {
    const double x = weights.values<float>()[i];
    const double y = to_float(rounded.values<bfloat16>()[i]);
    error += (x - y) * (x - y);
    norm += x * x;
  }
  return norm == 0 ? 0 : std::sqrt(error / norm);
}

class Writer {
 public:
  Writer(ModelDef& model, DType dtype)
      : model_(model), dtype_(dtype), names_(model), opset_(opset_of(model)) {}

  QuantizedWeight write(InitializerDef& weight, std::size_t summed) {
    QuantizedWeight report{weight.name, weight.value.bytes(), 0, 0};
    NodeDef node;
    node.outputs = {weight.name};
    node.name = names_.fresh(weight.name + ".dequantize");
    Tensor elements;
    if (dtype_ == DType::bfloat16) {
      elements = rounded_to_bfloat16(weight.value);
      report.error = relative_error(weight.value, elements);
      node.op = "Cast";
      node.attributes = {{"to", static_cast<std::int64_t>(DType::float32)}};
    } else {
      const bool blocks = opset_ >= first_with_blocks;
      QuantizedMatrix matrix = quantize_matrix(weight.value, dtype_, summed,
                                               blocks ? block_size : weight.value.shape()[summed]);
      elements = std::move(matrix.elements);
      report.error = matrix.error;
      node.op = "DequantizeLinear";
      node.attributes = {{"axis", static_cast<std::int64_t>(blocks ? summed : 1 - summed)}};
      if (blocks) node.attributes.emplace_back("block_size", block_size);
      if (!blocks) matrix.scale = matrix.scale.reshaped({matrix.scale.size()});
      report.bytes_after = matrix.scale.bytes();
      scales_.push_back({names_.fresh(weight.name + ".scale"), std::move(matrix.scale), {}, {}});
    }
    report.bytes_after += packed_bytes(elements);
    weight.name = names_.fresh(weight.name + ".quantized");
    weight.value = std::move(elements);
    node.inputs = {weight.name};
    if (dtype_ != DType::bfloat16) node.inputs.push_back(scales_.back().name);
    nodes_.push_back(std::move(node));
    return report;
  }

  void finish() {
    GraphDef& graph = model_.graph;
    graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(nodes_.begin()),
                       std::make_move_iterator(nodes_.end()));
    std::move(scales_.begin(), scales_.end(), std::back_inserter(graph.initializers));
    if (dtype_ == DType::int4) {
      model_.ir_version = std::max(model_.ir_version, first_ir_with_int4);
    }
  }

 private:
  static std::uint64_t packed_bytes(const Tensor& elements) {
    return (static_cast<std::uint64_t>(elements.size()) * packed_bits(elements.dtype()) + 7) / 8;
  }

  ModelDef& model_;
  DType dtype_;
  Names names_;
  std::int64_t opset_;
  std::vector<NodeDef> nodes_;
  std::vector<InitializerDef> scales_;
};

}  // namespace

void check_frozen_type(DType dtype, std::int64_t opset) {
  if (dtype != DType::int8 && dtype != DType::int4 && dtype != DType::bfloat16) {
    fail(ErrorCode::mismatch, "quantize_frozen is ", dtype, ", needed: int8, int4 or bfloat16");
  }
  const std::int64_t needed = dtype == DType::int4 ? first_with_blocks : first_with_axes;
  if (opset < needed) {
    fail(ErrorCode::unsupported, "frozen weights of ", dtype, " need ai.onnx ", needed,
         ", the model imports ai.onnx ", opset);
  }
}

std::vector<QuantizedWeight> quantize_frozen(ModelDef& model,
                                             const std::vector<std::string>& trained, DType dtype) {
  std::set<std::string_view> kept(trained.begin(), trained.end());
  for (const ValueDef& one : model.graph.inputs) kept.insert(one.name);
  for (const ValueDef& one : model.graph.outputs) kept.insert(one.name);
  std::vector<QuantizedWeight> report;
  Writer writer(model, dtype);
  {
    const Readers readers = readers_of(model.graph);
    for (InitializerDef& one : model.graph.initializers) {
      if (one.value.dtype() != DType::float32 || one.value.shape().rank() != 2 ||
          one.value.size() < least_elements || kept.contains(one.name)) {
        continue;
      }
      const auto axis = summed_axis(readers, one.name);
      if (axis && is_finite(one.value)) report.push_back(writer.write(one, *axis));
    }
  }
  writer.finish();
  return report;
}

}  // namespace ondine::graph
