#include "kernels/sequence/map_elements.h"

#include <vector>

#include "graph/contract/subgraph_builder.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels {
namespace {

using graph::Builder;
using graph::SubgraphBuilder;
using graph::Type;
using graph::TypeKind;
using graph::Val;

Val map_sequences(std::span<const Val> sequences, const ElementFunction& f) {
  Builder& outer = sequences[0].builder();
  SubgraphBuilder body(outer);
  std::vector<Val> elements;
  for (const Val sequence : sequences) {
    elements.push_back(body.add_formal("element", element_type(sequence.type())));
  }
  const Val output = map_elements(elements, f);
  return control_node(outer, "SequenceMap", sequences, {body.finish("body", {&output, 1})}, 1)[0];
}

Val map_optionals(std::span<const Val> optionals, const ElementFunction& f) {
  Builder& outer = optionals[0].builder();
  SubgraphBuilder full(outer);
  std::vector<Val> elements;
  for (const Val optional : optionals) {
    elements.push_back(graph::unary("OptionalGetElement", full.capture(optional)));
  }
  const Val mapped = graph::unary("Optional", map_elements(elements, f));
  SubgraphBuilder empty(outer);
  const Val same = graph::unary("Identity", empty.capture(optionals[0]));
  const Val filled = graph::unary("OptionalHasElement", optionals[0]);
  return control_node(
      outer, "If", {&filled, 1},
      {full.finish("then_branch", {&mapped, 1}), empty.finish("else_branch", {&same, 1})}, 1)[0];
}

}  // namespace

Val map_elements(std::span<const Val> values, const ElementFunction& f) {
  const TypeKind kind = values[0].type().kind;
  if (kind == TypeKind::sequence) return map_sequences(values, f);
  if (kind == TypeKind::optional) return map_optionals(values, f);
  return f(values);
}

Val from_start(Val position, Val sequence) {
  if (!position) return position;
  const Val at = graph::cast(position, DType::int64);
  return graph::where(graph::less(at, graph::scalar_like(at, 0)),
                      at + graph::unary("SequenceLength", sequence), at);
}

}  // namespace ondine::kernels
