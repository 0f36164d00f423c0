#include "kernels/optimizer/update_node.h"

#include <algorithm>

namespace ondine::kernels::ops {
namespace {

constexpr std::string_view of_update[] = {"optimizer", "gradient", "like"};

std::size_t index_attribute(const NodeView& node, std::string_view name, std::size_t first,
                            std::size_t last) {
  const std::int64_t index = node.attr_int(name, -1);
  if (index < 0 || static_cast<std::uint64_t>(index) < first ||
      static_cast<std::uint64_t>(index) >= last) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " is ", index, ", needed: ", first,
         " to ", last - 1);
  }
  return static_cast<std::size_t>(index);
}

}  // namespace

UpdateNode::UpdateNode(const NodeView& of, std::size_t sources)
    : node(&of), rule(&update_rule(of.attr_string("optimizer", ""))) {
  inputs.first = source_in + sources;
  if (of.input_count() < inputs.first) {
    fail(ErrorCode::invalid_model, "an update has ", of.input_count(),
         " inputs, needed: ", inputs.first, " and those of the optimizer");
  }
  count = of.input_count() - inputs.first + 1;
  inputs.gradient = index_attribute(of, "gradient", 0, count);
  variable = index_attribute(of, "like", inputs.first, of.input_count());
}

void infer_update(InferContext& context, std::size_t sources) {
  const UpdateNode node(context, sources);
  const std::size_t outputs = node.outputs();
  if (context.output_count() > outputs) {
    context.reject("the node has ", context.output_count(), " outputs, the optimizer has ",
                   outputs);
  }
  if (!node.rule->has_states() && context.has_input(decay_in)) {
    context.reject("decay goes with optimizers of the standard");
  }
  for (std::size_t i = node.inputs.first; i < context.input_count(); ++i) {
    if (!context.has_input(i)) context.reject("input ", i, " is missing");
  }
  const Type& variable = context.input(node.variable);
  for (std::size_t k = 0; k < context.output_count(); ++k) context.set_output(k, variable);
}

std::vector<Val> expand_update(ExpandContext& context, std::size_t sources, Val gradient,
                               const graph::Attributes& of_gradient) {
  graph::Builder& b = context.builder();
  const UpdateNode node(context, sources);
  const Val variable = context.x(node.variable);
  if (context.x(dy_in)) {
    gradient =
        b.node("GatherGrad",
               {context.x(dy_in), context.x(indices_in), graph::shape_of(variable), gradient},
               {{"axis", std::int64_t{0}}}, ondine_domain);
  }
  std::vector<Val> inputs;
  for (std::size_t i = 0; i < node.count; ++i) {
    inputs.push_back(i == node.inputs.gradient ? gradient : context.x(node.inputs.at(i)));
  }
  graph::Attributes attributes;
  for (const graph::Attribute& each : context.node().attributes) {
    const bool other = graph::find(of_gradient, each.name) == nullptr &&
                       std::ranges::find(of_update, each.name) == std::end(of_update);
    if (other) attributes.push_back(each);
  }
  std::vector<Val> results =
      b.nodes(node.rule->op, inputs, attributes, context.output_count(), node.rule->domain);
  if (context.x(decay_in)) results[0] = results[0] - variable * context.x(decay_in);
  return results;
}

}  // namespace ondine::kernels::ops
