#include "trainer/plan/place/static_bind.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

class StaticBind final : public BindContext {
 public:
  StaticBind(const Node& node, const Graph& graph, const BindOptions& options)
      : BindContext(node), graph_(&graph), options_(options) {}

  const Type& input_type(std::size_t i) const override { return value(node().inputs, i).type; }
  const Type& output_type(std::size_t i) const override { return value(node().outputs, i).type; }
  const Tensor* constant(std::size_t i) const override {
    if (!has_input(i)) return nullptr;
    const Tensor& tensor = (*graph_)[node().inputs[i]].constant;
    if (tensor.defined()) return &tensor;
    asked_in_vain_ = true;
    return nullptr;
  }
  void request_workspace(std::size_t bytes) override { bytes_ = std::max(bytes_, bytes); }
  SubgraphRunner* subgraph(std::size_t) override {
    fail(ErrorCode::internal, "a node with subgraphs is never static");
  }
  const Limits& limits() const override { return options_.limits; }
  int threads() const override { return options_.threads; }
  Precision precision() const override { return options_.precision; }

  std::size_t workspace_bytes() const noexcept { return bytes_; }
  bool asked_in_vain() const noexcept { return asked_in_vain_; }

 private:
  const GraphValue& value(const std::vector<ValueId>& ids, std::size_t i) const {
    if (i >= ids.size() || ids[i] == no_value) {
      static const GraphValue nothing;
      return nothing;
    }
    return (*graph_)[ids[i]];
  }

  const Graph* graph_;
  BindOptions options_;
  std::size_t bytes_ = 0;
  mutable bool asked_in_vain_ = false;
};

}  // namespace

std::optional<BoundNode> bind_static(const Node& node, const Graph& graph,
                                     const BindOptions& options) {
  StaticBind context(node, graph, options);
  try {
    if (node.op->bind == nullptr) {
      fail(ErrorCode::unsupported, "operator ", node.op->name, " has no kernel");
    }
    BoundNode bound;
    bound.kernel = node.op->bind(context);
    bound.workspace_bytes = context.workspace_bytes();
    bound.implementation = context.implementation();
    return bound;
  } catch (Error& error) {
    if (context.asked_in_vain()) return std::nullopt;
    error.add_context(describe(node, graph));
    throw;
  }
}

RoundedInputs rounded_inputs(const Node& node, const Graph& graph, const BindOptions& options) {
  const RoundedStorage& storage = node.op->rounded;
  if ((storage.reads == 0 && storage.inputs == nullptr) || !is_static(node, graph)) return {};
  if (storage.inputs != nullptr) return storage.inputs(StaticBind(node, graph, options));
  return {.read = storage.reads};
}

RoundedResult rounded_result(const Node& node, const Graph& graph, const BindOptions& options) {
  const RoundedStorage& storage = node.op->rounded;
  if ((!storage.writes && storage.result == nullptr) || !is_static(node, graph)) {
    return RoundedResult::never;
  }
  if (storage.result != nullptr) return storage.result(StaticBind(node, graph, options));
  return RoundedResult::where_rounded;
}

}  // namespace ondine::trainer
