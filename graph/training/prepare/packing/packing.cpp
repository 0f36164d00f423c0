#include "graph/training/prepare/packing/packing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/message.h"
#include "core/scalar.h"
#include "core/stop.h"
#include "graph/contract/opsets.h"
#include "graph/training/prepare/packing/segments.h"
#include "graph/training/prepare/packing/sources.h"
#include "graph/training/prepare/parameters/initializers.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t needed_opset = 13;

std::string describe(const NodeDef& node) {
  return cat(node.op, " of node ", quoted(node.name.empty() ? node.outputs.at(0) : node.name));
}

class Packer {
 public:
  Packer(const ModelDef& model, const ValueTypes& types, Names& names)
      : model_(&model),
        types_(known_types(model.graph, types)),
        names_(&names),
        initializers_(model.graph),
        uses_(model.graph),
        sources_(model.graph),
        segments_(names, Opsets(model.opsets).version("").value_or(0)) {}

  PackedNetwork run() {
    PackedNetwork network;
    network.model = *model_;
    for (const NodeDef& node : model_->graph.nodes) {
      checkpoint(64);
      write(node, network);
    }
    if (attentions_ == 0) {
      fail(ErrorCode::unsupported,
           "packing keeps attention within each text; no attention is recognized in the network");
    }
    if (network.tokens.empty()) {
      fail(ErrorCode::unsupported, "packing needs an input of ids that are looked up in a table");
    }
    network.model.graph.nodes = std::move(nodes_);
    const auto& inputs = model_->graph.inputs;
    const auto ids = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const ValueDef& one) { return one.name == network.tokens; });
    segments_.finish(network, ids == inputs.end() ? nullptr : &*ids);
    return network;
  }

 private:
  void write(const NodeDef& original, PackedNetwork& network) {
    refuse_others(original);
    NodeDef node = original;
    if (weighs_values(node)) {
      node.inputs[0] = within_segments(node);
    } else if (is_standard(node, "Attention")) {
      mask_operator(node);
    } else if (looks_up_rows(node)) {
      if (sources_.counts_tokens(node.inputs[1])) {
        node.inputs[1] = from_segment(node.inputs[1]);
      } else if (network.tokens.empty()) {
        network.tokens = sources_.input_of(node.inputs[1]);
        network.ids = initializers_.find(node.inputs[0])->value.shape()[0];
      }
    }
    nodes_.push_back(std::move(node));
  }

  static void refuse_others(const NodeDef& node) {
    const bool is_contrib = node.domain == "com.microsoft" &&
                            (node.op.ends_with("Attention") || node.op == "QAttention");
    const bool is_other =
        node.domain.empty() && one_of(node.op, {"FlexAttention", "LinearAttention"});
    if (is_contrib || is_other) {
      fail(ErrorCode::unsupported, "packing: ", describe(node),
           " takes no mask that keeps it within each text");
    }
  }

  const TypeDef& type_of(const std::string& value, const NodeDef& node) const {
    const auto found = types_.find(value);
    if (found == types_.end() || found->second.kind != TypeKind::tensor || !found->second.dims) {
      fail(ErrorCode::unsupported, "packing: the rank of ", quoted(value), " is not known, which ",
           describe(node), " reads");
    }
    return found->second;
  }

  // Whether the node is a Softmax whose results are factors of a product.
  bool weighs_values(const NodeDef& node) const {
    if (!is_standard(node, "Softmax") || !reaches_product(node.outputs[0], 8)) return false;
    const std::size_t rank = type_of(node.inputs[0], node).dims->size();
    const std::int64_t axis = integer_attribute(node, "axis", -1);
    return axis == -1 || axis + 1 == static_cast<std::int64_t>(rank);
  }

  bool reaches_product(const std::string& value, int steps) const {
    if (steps == 0) return false;
    const auto uses = uses_.direct(value);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      const NodeDef& node = *use.node;
      if (!node.domain.empty()) return false;
      if ((node.op == "MatMul" && use.input == 0) || node.op == "Einsum") return true;
      const bool passes =
          one_of(node.op, {"Cast", "Dropout", "Identity", "Mul", "Reshape", "Where"});
      return passes && reaches_product(node.outputs[0], steps - 1);
    });
  }

  // Every node that is added reads one of the values of segments, so that it is copied with what
  // follows from these.
  std::string add(const char* op, std::vector<std::string> inputs, const std::string& hint) {
    NodeDef& node = nodes_.emplace_back();
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {names_->fresh(hint)};
    return node.outputs[0];
  }

  // The scores that a Softmax reads, far below others between segments.
  std::string within_segments(const NodeDef& softmax) {
    ++attentions_;
    const std::string& scores = softmax.inputs[0];
    const TypeDef& type = type_of(scores, softmax);
    const std::size_t rank = type.dims->size();
    const std::string hint = scores + ".packed";
    if (rank >= 4) return add("Add", {scores, segments_.bias(type.dtype, rank)}, hint);
    if (rank < 3) {
      fail(ErrorCode::unsupported, "packing: scores of rank ", rank, " in ", describe(softmax));
    }
    // Samples and heads are one axis.
    const std::string by_heads =
        add("Reshape", {scores, segments_.dims_by_heads()}, scores + ".by_heads");
    const std::string sum = add("Add", {by_heads, segments_.bias(type.dtype, 4)}, scores + ".sum");
    return add("Reshape", {sum, segments_.dims()}, hint);
  }

  void mask_operator(NodeDef& node) {
    ++attentions_;
    if (node.inputs.size() < 4) node.inputs.resize(4);
    const std::string mask = node.inputs[3];
    if (mask.empty()) {
      node.inputs[3] = segments_.same();
      return;
    }
    const DType dtype = type_of(mask, node).dtype;
    const std::string hint = mask + ".packed";
    node.inputs[3] = dtype == DType::boolean ? add("And", {mask, segments_.same()}, hint)
                                             : add("Add", {mask, segments_.bias(dtype, 4)}, hint);
  }

  // Rows of a matrix of weights by numbers of tokens.
  bool looks_up_rows(const NodeDef& node) const {
    if (!is_standard(node, "Gather") || integer_attribute(node, "axis", 0) != 0) return false;
    const InitializerDef* table = initializers_.find(node.inputs[0]);
    if (table == nullptr || table->value.shape().rank() != 2) return false;
    const auto found = types_.find(node.inputs[1]);
    if (found == types_.end() || !found->second.dims) return false;
    const std::vector<DimDef>& dims = *found->second.dims;
    const auto* last = dims.empty() ? nullptr : std::get_if<std::int64_t>(&dims.back());
    if (dims.size() > 2 || dims.empty() || (last != nullptr && *last == 1)) return false;
    // [T, T] are distances.
    const bool is_named = std::holds_alternative<DimName>(dims.back());
    return dims.size() == 1 || !is_named || dims[0] != dims[1];
  }

  // Positions from the beginning of each segment on. Those of padding may be before it.
  std::string from_segment(const std::string& positions) {
    const DType dtype = types_.find(positions)->second.dtype;
    const std::string moved =
        add("Sub", {positions, segments_.first(dtype)}, positions + ".in_segment");
    return add("Max", {moved, segments_.zero(dtype)}, positions + ".packed");
  }

  const ModelDef* model_;
  ValueTypes types_;
  Names* names_;
  InitializerIndex initializers_;
  DocumentUses uses_;
  IntegerSources sources_;
  Segments segments_;
  std::vector<NodeDef> nodes_;
  std::size_t attentions_ = 0;
};

}  // namespace

PackedNetwork pack_network(const ModelDef& model, const ValueTypes& types, Names& names) {
  const std::int64_t opset = Opsets(model.opsets).version("").value_or(0);
  if (opset < needed_opset) {
    fail(ErrorCode::unsupported, "packing needs ai.onnx ", needed_opset,
         ", the model imports ai.onnx ", opset);
  }
  if (names.contains(segments_name)) {
    fail(ErrorCode::mismatch, "the model has a value ", quoted(std::string_view(segments_name)),
         " already, which packing adds");
  }
  return Packer(model, types, names).run();
}

namespace {

// The ids again, since no segment is below 0, in a value of its own: equal nodes of the step and of
// inference would be merged, and scores that both read are not fused.
std::string write_ids(GraphWriter& writer, const PackedNetwork& packed, const GraphDef& main) {
  const auto ids = std::find_if(main.inputs.begin(), main.inputs.end(),
                                [&](const ValueDef& one) { return one.name == packed.tokens; });
  std::string segments = packed.segments.name;
  const DType dtype = ids->type.dtype;
  if (dtype != DType::int64) segments = writer.cast(segments, dtype, "segments.typed");
  const std::string zero = writer.initializer("segments.least", scalar_tensor(0, dtype));
  const std::string least = writer.node("Min", {segments, zero}, "segments.none");
  return writer.node("Max", {packed.tokens, least}, "segments.tokens");
}

}  // namespace

PackedNetwork write_packed(GraphWriter& writer, const ModelDef& model, const ValueTypes& types,
                           Renaming& instead) {
  PackedNetwork packed = pack_network(model, types, writer.names());
  GraphDef& graph = writer.graph();
  std::move(packed.nodes.begin(), packed.nodes.end(), std::back_inserter(graph.nodes));
  std::move(packed.constants.begin(), packed.constants.end(),
            std::back_inserter(graph.initializers));
  graph.inputs.push_back(packed.segments);
  instead.insert(packed.values.begin(), packed.values.end());
  instead.emplace(packed.tokens, write_ids(writer, packed, model.graph));
  return packed;
}

}  // namespace ondine::graph
