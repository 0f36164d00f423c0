// sequence_map.cpp — outputs_i = body(element i of each sequence, each tensor unchanged). Written
// as a Loop, from which the derivative follows.
#include "kernels/control/loop_body.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

bool is_sequence(const Type& type) { return type.kind == TypeKind::sequence; }

std::vector<Type> formal_types(const NodeView& node, auto&& input) {
  std::vector<Type> formals;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const Type& type = input(i);
    formals.push_back(is_sequence(type) ? element_type(type) : type);
  }
  return formals;
}

void infer(InferContext& context) {
  if (!is_sequence(context.input(0))) {
    context.reject("input 0 is a ", graph::to_string(context.input(0)), ", not a sequence");
  }
  const std::vector<Type> formals =
      formal_types(context, [&](std::size_t i) -> const Type& { return context.input(i); });
  const auto outputs = context.infer_subgraph(context.subgraph_index("body"), formals);
  if (outputs.size() < context.output_count()) {
    context.reject("the body has ", outputs.size(), " outputs, the node ", context.output_count());
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    if (!outputs[k].is_tensor()) context.reject("output ", k, " of the body is not a tensor");
    Type element = outputs[k];
    // Elements may differ where the elements of the inputs do.
    if (element.dims) {
      for (Dim& dim : *element.dims) {
        if (!dim.known()) dim = Dim();
      }
    }
    context.set_output(k, Type::sequence(std::move(element)));
  }
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& outer = context.builder();
  LoopBody body(outer, context.node().subgraphs[0]);
  Builder& inner = body.builder();
  const std::vector<Val> results = body.outputs();
  const Val length = outer.node("SequenceLength", {context.x(0)});
  std::vector<Val> inputs{length, Val()};
  std::vector<Val> carried;
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    const DType dtype = results[k].dtype();
    inputs.push_back(
        outer.node("SequenceEmpty", {}, {{"dtype", static_cast<std::int64_t>(dtype)}}));
    carried.push_back(body.add_formal("mapped", Type::sequence(Type::tensor(dtype))));
  }
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const Val input = body.capture(context.x(i));
    const bool sliced = is_sequence(context.x(i).type());
    inner.alias(sliced ? inner.node("SequenceAt", {input, body.iteration}) : input, body.inputs[i]);
  }
  body.append_nodes();
  std::vector<Val> outputs{inner.node("Identity", {body.condition})};
  for (std::size_t k = 0; k < carried.size(); ++k) {
    outputs.push_back(inner.node("SequenceInsert", {carried[k], results[k]}));
  }
  return control_node(outer, "Loop", inputs, {body.finish("body", outputs)}, carried.size());
}

}  // namespace

extern const OpDef sequence_map{.name = "SequenceMap", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
