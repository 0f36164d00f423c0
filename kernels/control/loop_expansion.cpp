// loop_expansion.cpp — a Loop that collects outputs, as its derivative does, by a Loop that carries
// sequences.
#include <algorithm>

#include "graph/contract/subgraph_builder.h"
#include "kernels/common/op.h"
#include "kernels/control/loop.h"

namespace ondine::kernels::ops {
namespace {

bool draws_numbers(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op->traits.random ||
           std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [](const Subgraph& inner) { return draws_numbers(*inner.graph); });
  });
}

Val collect(Val sequence, Val element) {
  return element.builder().node("SequenceInsert", {sequence, element});
}

}  // namespace

std::vector<Val> expand_loop(ExpandContext& context) {
  Builder& b = context.builder();
  const Subgraph& given = context.node().subgraphs.at(0);
  if (draws_numbers(*given.graph)) {
    fail(ErrorCode::unsupported, "a loop cannot draw its random numbers a second time");
  }
  const std::size_t carried = context.input_count() < 2 ? 0 : context.input_count() - 2;
  SubgraphBuilder body(b, given);
  const auto outputs = body.outputs();
  const auto count = static_cast<std::int64_t>(outputs.size()) - 1;
  const auto from = static_cast<std::size_t>(context.attr_int("collect_from", count));
  std::vector<Val> inputs{context.x(0), context.x(1)};
  for (std::size_t i = 0; i < carried; ++i) inputs.push_back(context.x(i + 2));
  const auto first_scan = outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried);
  std::vector<Val> results(outputs.begin(), first_scan);
  std::vector<Val> scans(first_scan, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(from));
  for (std::size_t k = from; k + 1 < outputs.size(); ++k) {
    const Val element = outputs[k + 1];
    if (!element.type().is_tensor()) {
      fail(ErrorCode::unsupported, "the derivative of a loop that carries sequences or optionals");
    }
    const DType dtype = element.dtype();
    inputs.push_back(b.node("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(dtype)}}));
    const Val so_far = body.add_formal("collected", Type::sequence(Type::tensor(dtype)));
    results.push_back(collect(so_far, element));
  }
  results.insert(results.end(), scans.begin(), scans.end());
  const std::size_t made = results.size() - 1;
  const auto values = control_node(b, "Loop", inputs, {body.finish("body", results)}, made);
  // The sequences are carried, and so come before the stacks.
  const auto stacks = values.end() - static_cast<std::ptrdiff_t>(scans.size());
  std::vector<Val> ordered(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(carried));
  ordered.insert(ordered.end(), stacks, values.end());
  ordered.insert(ordered.end(), values.begin() + static_cast<std::ptrdiff_t>(carried), stacks);
  return ordered;
}

}  // namespace ondine::kernels::ops
