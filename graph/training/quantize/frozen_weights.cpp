#include "graph/training/quantize/frozen_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "core/float_formats.h"
#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/opsets.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/values.h"
#include "graph/training/quantize/blocks.h"
#include "graph/training/quantize/raise_opset.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t least_elements = 1024;
constexpr std::int64_t block_size = 32;
constexpr std::int64_t normal_block_size = 64;
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
  Writer(ModelDef& model, const FrozenFormat& format)
      : model_(model), format_(format), names_(model), opset_(opset_of(model)) {}

  QuantizedWeight write(InitializerDef& weight, std::size_t summed) {
    QuantizedWeight report{weight.name, weight.value.bytes(), 0, 0};
    const std::string name = weight.name;
    const Tensor floats = weight.value;
    weight.name = names_.fresh(name + ".quantized");
    if (format_.dtype() == DType::bfloat16) {
      weight.value = rounded_to_bfloat16(floats);
      report.error = relative_error(floats, weight.value);
      add("Cast", {weight.name}, name, {{"to", static_cast<std::int64_t>(DType::float32)}});
    } else {
      const bool blocks = opset_ >= first_with_blocks;
      const std::int64_t block = format_.is_nf4() ? normal_block_size
                                 : blocks         ? block_size
                                                  : floats.shape()[summed];
      QuantizedMatrix matrix = quantize_matrix(floats, format_, summed, block);
      weight.value = std::move(matrix.elements);
      report.error = matrix.error;
      if (!blocks) matrix.scale = matrix.scale.reshaped({matrix.scale.size()});
      report.bytes_after = matrix.scale.bytes();
      const std::string scale = add(name + ".scale", std::move(matrix.scale));
      if (format_.is_nf4()) {
        look_up(name, weight.name, scale, summed, floats.shape()[summed]);
      } else {
        Attributes attributes{{"axis", static_cast<std::int64_t>(blocks ? summed : 1 - summed)}};
        if (blocks) attributes.emplace_back("block_size", block_size);
        add("DequantizeLinear", {weight.name, scale}, name, std::move(attributes));
      }
    }
    report.bytes_after += packed_bytes(weight.value);
    return report;
  }

  void finish() {
    GraphDef& graph = model_.graph;
    graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(nodes_.begin()),
                       std::make_move_iterator(nodes_.end()));
    std::move(added_.begin(), added_.end(), std::back_inserter(graph.initializers));
    if (format_.dtype() == DType::int4 || format_.dtype() == DType::uint4) {
      model_.ir_version = std::max(model_.ir_version, first_ir_with_int4);
    }
  }

 private:
  static std::uint64_t packed_bytes(const Tensor& elements) {
    return (static_cast<std::uint64_t>(elements.size()) * packed_bits(elements.dtype()) + 7) / 8;
  }

  std::string add(const std::string& hint, Tensor value) {
    added_.push_back({names_.fresh(hint), std::move(value), {}, {}});
    return added_.back().name;
  }

  void add(const char* op, std::vector<std::string> inputs, const std::string& output,
           Attributes attributes) {
    NodeDef node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    node.name = names_.fresh(output + ".dequantize");
    node.attributes = std::move(attributes);
    nodes_.push_back(std::move(node));
  }

  // weight = levels[elements] scale[i / block], i along the axis.
  void look_up(const std::string& weight, const std::string& elements, const std::string& scale,
               std::size_t axis, std::int64_t size) {
    if (levels_.empty()) {
      levels_ = add("nf4.levels", Tensor::of<float>({16}, std::span<const float>(normal_levels)));
    }
    std::string& blocks = blocks_[size];
    if (blocks.empty()) {
      std::vector<std::int64_t> block_of(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < block_of.size(); ++i) {
        block_of[i] = static_cast<std::int64_t>(i) / normal_block_size;
      }
      blocks = add(cat("nf4.blocks.", size), Tensor::of<std::int64_t>({size}, block_of));
    }
    const std::string indices = names_.fresh(weight + ".indices");
    const std::string numbers = names_.fresh(weight + ".numbers");
    const std::string scales = names_.fresh(weight + ".scales");
    add("Cast", {elements}, indices, {{"to", static_cast<std::int64_t>(DType::int32)}});
    add("Gather", {levels_, indices}, numbers, {{"axis", std::int64_t{0}}});
    add("Gather", {scale, blocks}, scales, {{"axis", static_cast<std::int64_t>(axis)}});
    add("Mul", {numbers, scales}, weight, {});
  }

  ModelDef& model_;
  FrozenFormat format_;
  Names names_;
  std::int64_t opset_;
  std::vector<NodeDef> nodes_;
  std::vector<InitializerDef> added_;
  std::string levels_;                          // nf4: the initializer with the levels
  std::map<std::int64_t, std::string> blocks_;  // and those with the blocks of a dim
};

std::string name_of(const FrozenFormat& format) {
  return format.is_nf4() ? "nf4" : cat(format.dtype());
}

}  // namespace

void check_frozen_format(const FrozenFormat& format, std::int64_t opset) {
  const DType dtype = format.dtype();
  const bool known = format.is_nf4()
                         ? dtype == DType::uint4
                         : dtype == DType::int8 || dtype == DType::int4 || dtype == DType::bfloat16;
  if (!known) {
    fail(ErrorCode::mismatch, "quantize_frozen is ", dtype,
         ", needed: int8, int4, nf4 or bfloat16");
  }
  if (opset < first_with_axes) {
    fail(ErrorCode::unsupported, "frozen weights of ", name_of(format), " need ai.onnx ",
         first_with_axes, ", the model imports ai.onnx ", opset);
  }
}

std::optional<std::string> raise_for_frozen(ModelDef& model, const FrozenFormat& format) {
  const bool has_4_bits = format.dtype() == DType::int4 || format.dtype() == DType::uint4;
  const std::int64_t opset = opset_of(model);
  if (!has_4_bits || opset >= first_with_blocks) return std::nullopt;
  const std::string need =
      cat("frozen weights of ", name_of(format), " need ai.onnx ", first_with_blocks);
  with_context([&] { raise_opset(model, first_with_blocks); }, [&] { return need; });
  return cat(need, ": the import was raised from ", opset);
}

std::vector<QuantizedWeight> quantize_frozen(ModelDef& model,
                                             const std::vector<std::string>& trained,
                                             const FrozenFormat& format) {
  std::set<std::string_view> kept(trained.begin(), trained.end());
  for (const ValueDef& one : model.graph.inputs) kept.insert(one.name);
  for (const ValueDef& one : model.graph.outputs) kept.insert(one.name);
  std::vector<QuantizedWeight> report;
  Writer writer(model, format);
  {
    const Readers readers = readers_of(model.graph);
    for (InitializerDef& one : model.graph.initializers) {
      checkpoint(64 + 64 * one.value.size());
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
