#include "graph/training/quantize/raise_opset.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/added_versions.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"
#include "graph/training/lower/opset.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_ir_of_21 = 10;

std::string describe(const NodeDef& node) {
  return node.name.empty()
             ? cat("node that computes ",
                   quoted(node.outputs.empty() ? std::string() : node.outputs.front()))
             : cat("node ", quoted(node.name));
}

// Raises the nodes of one list of imports.
class Raiser {
 public:
  Raiser(Names& names, std::int64_t from, std::int64_t to) : names_(&names), from_(from), to_(to) {}

  void raise(std::vector<NodeDef>& nodes) {
    std::vector<NodeDef> raised;
    raised.reserve(nodes.size());
    for (NodeDef& node : nodes) {
      checkpoint(64);
      raise_subgraphs(node);
      if (node.domain.empty() && !is_same(node)) rewrite(node, raised);
      raised.push_back(std::move(node));
    }
    nodes = std::move(raised);
  }

 private:
  void raise_subgraphs(NodeDef& node) {
    const auto raised = [&](const std::shared_ptr<const GraphDef>& graph) {
      if (graph == nullptr) return graph;
      auto copy = std::make_shared<GraphDef>(*graph);
      raise(copy->nodes);
      return std::shared_ptr<const GraphDef>(std::move(copy));
    };
    for (Attribute& one : node.attributes) {
      if (auto* graph = std::get_if<std::shared_ptr<const GraphDef>>(&one.data)) {
        *graph = raised(*graph);
      } else if (auto* all = std::get_if<std::vector<std::shared_ptr<const GraphDef>>>(&one.data)) {
        std::transform(all->begin(), all->end(), all->begin(), raised);
      }
    }
  }

  bool is_same(const NodeDef& node) const {
    return find_signature("", node.op, from_) == find_signature("", node.op, to_);
  }

  // Leaves a form of the node that means in `to_` what it meant in `from_`; nodes that it needs
  // are appended to `before`.
  void rewrite(NodeDef& node, std::vector<NodeDef>& before) {
    const Signature* present = find_signature("", node.op, to_);
    if (present == nullptr || present->deprecated() || !is_defined(node)) refuse(node);
    if (find_opset_rule(node.op, from_, to_) != nullptr) {
      if (!apply_rule(node, before)) refuse(node);
    } else if (!same_meaning(node.op, from_, to_) && !is_inferring(node)) {
      refuse(node);
    }
    for (const Attribute& one : node.attributes) {
      if (present->attribute(one.name) == nullptr) refuse(node);
    }
    for (const AttributeSpec& spec : present->attributes()) {
      if (spec.required && find(node.attributes, spec.name) == nullptr) refuse(node);
    }
  }

  // Whether the present version defines the operator, itself or as onnxruntime does beside it.
  bool is_defined(const NodeDef& node) const {
    if (find_signature("", node.op, from_) != nullptr) return true;
    return is_added("", node.op, from_) && defining_version("", node.op, from_) != from_;
  }

  // A normalization that trains is told by its outputs before version 14, by an attribute since.
  static bool is_inferring(const NodeDef& node) {
    return node.op == "BatchNormalization" && node.outputs.size() == 1;
  }

  // False where the rule has no form for nodes as they are written.
  bool apply_rule(NodeDef& node, std::vector<NodeDef>& before) {
    if (node.op.starts_with("Reduce")) {
      return move_to_input(node, before);
    }
    if (node.op == "Split") {
      // Without sizes, the number of equal parts is an attribute since version 18.
      if (node.inputs.size() < 2 || node.inputs[1].empty()) {
        node.attributes.emplace_back("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
      }
      return true;
    }
    if (node.op == "RoiAlign") {
      node.attributes.emplace_back("coordinate_transformation_mode",
                                   std::string("output_half_pixel"));
      return true;
    }
    return false;
  }

  // The attribute `axes` becomes the second input. False where callers of a function decide on it,
  // who may leave it out.
  bool move_to_input(NodeDef& node, std::vector<NodeDef>& before) {
    const auto axes = std::find_if(node.attributes.begin(), node.attributes.end(),
                                   [](const Attribute& one) { return one.name == "axes"; });
    if (axes == node.attributes.end()) return true;
    if (!axes->ref->empty()) return false;
    NodeDef constant;
    constant.op = "Constant";
    constant.outputs = {
        names_->fresh((node.outputs.empty() ? node.op : node.outputs.front()) + ".axes")};
    constant.name = names_->fresh(constant.outputs.front());
    constant.attributes.push_back(std::move(*axes));
    constant.attributes.back().name = "value_ints";
    node.attributes.erase(axes);
    node.inputs.resize(1);
    node.inputs.push_back(constant.outputs.front());
    before.push_back(std::move(constant));
    return true;
  }

  [[noreturn]] void refuse(const NodeDef& node) const {
    fail(ErrorCode::unsupported, describe(node), " hinders raising ai.onnx from ", from_, " to ",
         to_, ": ", node.op, " means something else there");
  }

  Names* names_;
  std::int64_t from_;
  std::int64_t to_;
};

void raise(std::vector<OpsetImport>& imports, std::vector<NodeDef>& nodes, Names& names,
           std::int64_t opset) {
  const std::int64_t from = Opsets(imports).version("").value_or(opset);
  if (from >= opset) return;
  Raiser(names, from, opset).raise(nodes);
  for (OpsetImport& one : imports) {
    if (one.domain.empty()) one.version = std::max(one.version, opset);
  }
}

}  // namespace

void raise_opset(ModelDef& model, std::int64_t opset) {
  Names names(model);
  raise(model.opsets, model.graph.nodes, names, opset);
  for (FunctionDef& one : model.functions) {
    ModelDef scope;  // names of functions are their own
    scope.graph.nodes = one.nodes;
    for (const std::string& input : one.inputs) scope.graph.inputs.push_back({input, {}, {}, {}});
    Names inner(scope);
    raise(one.opsets, one.nodes, inner, opset);
  }
  if (opset >= 21) model.ir_version = std::max(model.ir_version, first_ir_of_21);
}

}  // namespace ondine::graph
