#include "graph/training/prepare/head/cut.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/prediction/logits.h"

namespace ondine::graph {
namespace {

bool has_parameters(const NodeDef& node) {
  return one_of(node.op, {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum", "RNN", "GRU", "LSTM",
                          "DeformConv", "ConvInteger", "MatMulInteger", "QLinearConv",
                          "QLinearMatMul", "FusedConv", "FusedGemm", "FusedMatMul"});
}

bool makes_any(const NodeDef& node, const Strings& values) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& name) {
    return !name.empty() && values.contains(name);
  });
}

// Values that hold initializers and constants alone.
Strings constant_values(const GraphDef& graph) {
  Strings result;
  for (const InitializerDef& one : graph.initializers) result.insert(one.name);
  for (const NodeDef& node : graph.nodes) {
    const std::vector<std::string> reads = reads_of(node);
    if (std::all_of(reads.begin(), reads.end(),
                    [&](const std::string& name) { return result.contains(name); })) {
      result.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  result.erase("");
  return result;
}

const NodeDef* layer_in(const GraphDef& body, const Strings& constants);

// A layer in a subgraph of the node.
const NodeDef* inner_layer(const NodeDef& node, const Strings& constants) {
  for (const auto& subgraph : subgraphs_of(node)) {
    if (const NodeDef* found = layer_in(*subgraph, constants)) return found;
  }
  return nullptr;
}

const NodeDef* layer_in(const GraphDef& body, const Strings& constants) {
  for (const NodeDef& node : body.nodes) {
    if (has_parameters(node)) return &node;
    if (const NodeDef* found = inner_layer(node, constants)) return found;
  }
  return nullptr;
}

class CutFinder {
 public:
  CutFinder(const GraphDef& main, const PrepareOptions& options, const ValueTypes& types)
      : main_(&main),
        options_(&options),
        types_(known_types(main, types)),
        constants_(constant_values(main)),
        output_(options.output.empty() ? first_output() : options.output) {}

  Cut find() {
    Cut cut = options_->head->cut.empty() ? before_last_layer() : named();
    const auto type = types_.find(cut.value);
    if (type != types_.end()) {
      cut.dtype = type->second.dtype;
      cut.dims = type->second.dims;
    }
    require_tensor(cut, type == types_.end() ? nullptr : &type->second);
    if (options_->head->cut.empty()) {
      measure(cut);
    } else {
      shape_named(cut);
      measure(cut);
    }
    if (cut.is_convolution) cut.pools = !keeps_positions(cut);
    require_rank(cut);
    return cut;
  }

 private:
  // The first one that layers reach.
  std::string first_output() const {
    if (main_->outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
    for (const ValueDef& output : main_->outputs) {
      if (is_differentiable(output.type.dtype) && output.type.kind == TypeKind::tensor) {
        return output.name;
      }
    }
    return main_->outputs.front().name;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::mismatch, "no head can be put before output ", quoted(output_), ": ", why);
  }

  Strings values_before(const std::string& value, const NodeDef* without = nullptr) const {
    Strings result{value};
    for (auto node = main_->nodes.rbegin(); node != main_->nodes.rend(); ++node) {
      if (&*node == without || !makes_any(*node, result)) continue;
      for (const std::string& name : reads_of(*node)) result.insert(name);
    }
    return result;
  }

  // The input that is data while the other is a weight; nothing for products of data.
  std::optional<std::size_t> data_input(const NodeDef& node) const {
    for (std::size_t i = 0; i < 2 && node.inputs.size() > 1; ++i) {
      if (!constants_.contains(node.inputs[i]) && constants_.contains(node.inputs[1 - i])) return i;
    }
    return std::nullopt;
  }

  Cut before_last_layer() {
    const Strings needed = values_before(output_);
    const NodeDef* layer = nullptr;
    for (const NodeDef& node : main_->nodes) {
      if (!makes_any(node, needed)) continue;
      if (const NodeDef* inner = inner_layer(node, constants_)) {
        layer = nullptr;
        hidden_ = named_operator(*inner) + " lies inside " + named_operator(node);
      }
      if (!has_parameters(node)) continue;
      if (one_of(node.op, {"MatMul", "Gemm", "Einsum"}) && !data_input(node)) continue;
      layer = &node;
    }
    if (layer == nullptr) {
      refuse(hidden_.empty() ? "it depends on no layer with parameters" : hidden_ + advice());
    }
    if (!one_of(layer->op, {"MatMul", "Gemm", "Conv", "FusedConv", "FusedGemm", "FusedMatMul"}) ||
        data_input(*layer) != std::size_t{0}) {
      refuse("its last layer is " + named_operator(*layer) + advice());
    }
    require_only_layer(*layer);
    Cut cut;
    cut.value = layer->inputs[0];
    cut.is_convolution = layer->op == "Conv" || layer->op == "FusedConv";
    cut.width = cut.is_convolution ? 0 : width_of_weight(*layer);
    return cut;
  }

  static const char* advice() { return "; name the value that the head is to read (cut)"; }

  // Layers that reach the output without passing the last one would be removed, too.
  void require_only_layer(const NodeDef& layer) const {
    const Strings around = values_before(output_, &layer);
    for (const NodeDef& node : main_->nodes) {
      if (&node == &layer || !makes_any(node, around)) continue;
      if (has_parameters(node) || inner_layer(node, constants_) != nullptr) {
        refuse(named_operator(node) + " reaches it around its last layer, " +
               named_operator(layer) + advice());
      }
    }
  }

  std::int64_t width_of_weight(const NodeDef& layer) const {
    const InitializerDef* weight = find_initializer(*main_, layer.inputs[1]);
    if (weight == nullptr || weight->value.shape().rank() < 2) return 0;
    const Shape& shape = weight->value.shape();
    const bool transposed = integer_attribute(layer, "transB", 0) != 0;
    return shape[shape.rank() - (transposed ? 1 : 2)];
  }

  Cut named() const {
    Cut cut;
    cut.value = options_->head->cut;
    const bool is_made = std::any_of(main_->nodes.begin(), main_->nodes.end(), [&](auto& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), cut.value) != node.outputs.end();
    });
    const bool is_input = std::any_of(main_->inputs.begin(), main_->inputs.end(),
                                      [&](auto& input) { return input.name == cut.value; });
    if (!is_made && !is_input) {
      fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value),
           ", but the main graph has no such value");
    }
    if (constants_.contains(cut.value)) {
      fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value), ", which is constant");
    }
    return cut;
  }

  void require_tensor(const Cut& cut, const TypeDef* type) const {
    if (type == nullptr) return;
    if (type->kind == TypeKind::tensor && is_differentiable(type->dtype)) return;
    fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value),
         ", which is no floating point tensor");
  }

  void shape_named(Cut& cut) const {
    if (!cut.dims) {
      fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value),
           ", whose rank is unknown");
    }
    cut.is_convolution = cut.dims->size() > 3 || (cut.dims->size() == 3 && touches_images(cut));
  }

  bool touches_images(const Cut& cut) const {
    return std::any_of(main_->nodes.begin(), main_->nodes.end(), [&](const NodeDef& node) {
      const bool reads = !node.inputs.empty() && node.inputs[0] == cut.value;
      const bool makes =
          std::find(node.outputs.begin(), node.outputs.end(), cut.value) != node.outputs.end();
      return (reads || makes) &&
             one_of(node.op, {"Conv", "BatchNormalization", "MaxPool", "AveragePool",
                              "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization"});
    });
  }

  void measure(Cut& cut) const {
    if (cut.dims && cut.dims->size() >= 2) {
      const DimDef& dim = cut.is_convolution ? (*cut.dims)[1] : cut.dims->back();
      if (const auto* size = std::get_if<std::int64_t>(&dim)) cut.width = *size;
    }
    if (cut.dtype == DType::undefined) cut.dtype = DType::float32;
    if (cut.width > 0) return;
    fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value), ", whose number of ",
         cut.is_convolution ? "channels" : "features", " is unknown");
  }

  // Whether the output has the positions of the cut, too.
  bool keeps_positions(const Cut& cut) const {
    const auto output = types_.find(output_);
    if (output == types_.end() || !output->second.dims || !cut.dims) return false;
    const std::vector<DimDef>& dims = *output->second.dims;
    if (dims.size() != cut.dims->size()) return false;
    return std::any_of(dims.begin() + 2, dims.end(),
                       [](const DimDef& dim) { return dim != DimDef(std::int64_t{1}); });
  }

  void require_rank(const Cut& cut) const {
    if (!cut.dims) return;
    const std::size_t rank = cut.dims->size();
    const auto output = types_.find(output_);
    const bool one_score = output != types_.end() && output->second.dims &&
                           output->second.dims->size() == 2 && rank == 3 && !cut.is_convolution;
    if (rank >= 2 && !one_score) return;
    fail(ErrorCode::mismatch, "the head is to read ", quoted(cut.value), " of rank ", rank,
         one_score ? ", but the output has one row for each example; name a value of rank 2"
                   : "; it needs a batch of features");
  }

  const GraphDef* main_;
  const PrepareOptions* options_;
  ValueTypes types_;
  Strings constants_;
  std::string output_;
  std::string hidden_;
};

}  // namespace

Cut find_cut(const GraphDef& main, const PrepareOptions& options, const ValueTypes& types) {
  return CutFinder(main, options, types).find();
}

Strings values_after(const GraphDef& graph, const std::string& value) {
  Strings result{value};
  for (const NodeDef& node : graph.nodes) {
    const std::vector<std::string> reads = reads_of(node);
    if (std::any_of(reads.begin(), reads.end(),
                    [&](const std::string& name) { return result.contains(name); })) {
      result.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return result;
}

}  // namespace ondine::graph
