// Evaluates nodes whose inputs are constant and infers the types of their readers again. Before
// derivatives are appended only small results are worth it, as shapes and factors are.
#include <algorithm>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "graph/contract/op_def.h"
#include "graph/evaluate/text_bytes.h"
#include "graph/passes/refined_types.h"
#include "graph/passes/rewrite.h"

namespace ondine::graph {
namespace {

// The elements that fold_shapes may compute.
constexpr std::int64_t max_integers = 256;
constexpr std::int64_t max_floats = 1;

bool is_small(const Type& type) {
  if (!type.is_tensor() || !type.ranked()) return false;
  const std::int64_t most = is_float(type.dtype) ? max_floats : max_integers;
  std::int64_t elements = 1;
  for (const Dim dim : *type.dims) {
    // Also of shapes that no tensor could have.
    if (!dim.known() || dim.size() > most) return false;
    elements *= dim.size();
    if (elements > most) return false;
  }
  return true;
}

class Folder {
 public:
  Folder(Graph& graph, const PassContext& context, bool small)
      : graph_(graph),
        context_(context),
        small_(small),
        refined_(graph),
        named_(named_flags(graph)) {}

  bool run() {
    keep_nodes(graph_, [&](Node& node, std::size_t) {
      check_stop();
      changed_ = refined_.infer_readers(node) || changed_;
      const bool folded = fold(node);
      changed_ = changed_ || folded;
      return !folded;
    });
    return changed_;
  }

 private:
  // A Gradient node may be given another value for what it names.
  bool constant(ValueId id) const {
    if (id == no_value) return true;
    return graph_[id].constant->defined() && !named_[static_cast<std::size_t>(id)];
  }

  // Bytes of all outputs, without the contents of strings; nullopt when unknown or too many.
  std::optional<std::uint64_t> output_bytes(const Node& node) const {
    std::uint64_t total = 0;
    for (const ValueId id : node.outputs) {
      if (id == no_value) continue;
      std::uint64_t elements = 0;
      try {
        const auto shape = graph_[id].type.shape();
        if (!shape) return std::nullopt;
        elements = static_cast<std::uint64_t>(shape->size());
      } catch (const Error&) {
        return std::nullopt;
      }
      if (elements > context_.fold_bytes) return std::nullopt;
      total += elements * size_of(graph_[id].type.dtype);
    }
    return total;
  }

  // Nodes with subgraphs are not evaluated here: loops may run for any time.
  bool foldable(const Node& node) const {
    return node.op->bind != nullptr && !node.op->traits.random && node.subgraphs.empty() &&
           node.references.empty() && !node.outputs.empty() &&
           (!small_ || all_outputs(node, [&](ValueId id) { return is_small(graph_[id].type); })) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return constant(id); });
  }

  bool fold(const Node& node) {
    if (node.op->traits.random || node.outputs.empty()) return false;
    if (all_outputs(node, [&](ValueId id) { return constant(id); })) return true;
    if (!context_.evaluate || !foldable(node)) return false;
    if (fold_view(node)) return true;
    const auto bytes = output_bytes(node);
    if (!bytes || *bytes > context_.fold_bytes - added_) return false;
    std::vector<Tensor> results;
    try {
      results = context_.evaluate(node, graph_);
    } catch (const OutOfMemory&) {
      throw;  // otherwise the result of the passes would depend on how much memory there is
    } catch (const Error&) {
      return false;  // the run that needs the node fails with the same error
    }
    std::uint64_t text = 0;
    for (const Tensor& result : results) text += text_bytes(result);
    if (text > context_.fold_bytes - added_ - *bytes) return false;
    if (results.size() != node.outputs.size()) {
      fail(ErrorCode::internal, "folding ", describe(node, graph_), " returned ", results.size(),
           " values");
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] != no_value) set_constant(node.outputs[i], std::move(results[i]));
    }
    added_ += *bytes + text;
    return true;
  }

  // A view shares the elements of the constant that it views.
  bool fold_view(const Node& node) {
    if (!node.op->traits.view || node.outputs.size() != 1 || node.inputs[0] == no_value) {
      return false;
    }
    const Type& type = graph_[node.outputs[0]].type;
    const Tensor& viewed = graph_[node.inputs[0]].constant;
    const auto shape = type.shape();
    if (!shape || type.dtype != viewed.dtype() || shape->size() != viewed.size()) return false;
    set_constant(node.outputs[0], viewed.reshaped(*shape));
    return true;
  }

  void set_constant(ValueId id, Tensor tensor) {
    GraphValue& value = graph_[id];
    value.type = Type::tensor(tensor.dtype(), tensor.shape());
    value.constant = std::move(tensor);
    value.known_dims = {};
    refined_.add(id);
  }

  Graph& graph_;
  const PassContext& context_;
  const bool small_;         // results alone
  RefinedTypes refined_;     // than before the pass
  std::vector<bool> named_;  // values that Gradient nodes name
  std::uint64_t added_ = 0;
  bool changed_ = false;
};

bool run(Graph& graph, const PassContext& context) { return Folder(graph, context, false).run(); }

bool run_small(Graph& graph, const PassContext& context) {
  return Folder(graph, context, true).run();
}

}  // namespace

const Pass fold_constants{"fold_constants", run, Visit::outermost_first, true};
const Pass fold_shapes{"fold_shapes", run_small, Visit::outermost_first, true};

}  // namespace ondine::graph
