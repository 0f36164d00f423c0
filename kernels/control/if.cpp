// if.cpp — the outputs of then_branch or else_branch. The derivative is another If on the same
// condition whose branches recompute the forward branches and differentiate them with respect to
// the captured values.
#include <algorithm>

#include "graph/contract/subgraph_builder.h"
#include "kernels/common/op.h"
#include "kernels/common/scalar_input.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (context.dtype(0) != DType::boolean) {
    context.reject("the condition is a ", graph::to_string(context.input(0)), ", not a bool");
  }
  const auto then_types = context.infer_subgraph(context.subgraph_index("then_branch"), {});
  const auto else_types = context.infer_subgraph(context.subgraph_index("else_branch"), {});
  const std::size_t count = context.output_count();
  if (then_types.size() != else_types.size() || then_types.size() < count) {
    context.reject("the branches have ", then_types.size(), " and ", else_types.size(),
                   " outputs, the node ", count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto type = join(then_types[i], else_types[i]);
    if (!type) {
      context.reject("output ", i, " is a ", graph::to_string(then_types[i]),
                     " in one branch and a ", graph::to_string(else_types[i]), " in the other");
    }
    context.set_output(i, std::move(*type));
  }
}

Kernel bind(BindContext& context) {
  SubgraphRunner* then_branch = context.subgraph(context.subgraph_index("then_branch"));
  SubgraphRunner* else_branch = context.subgraph(context.subgraph_index("else_branch"));
  const std::size_t count = context.output_count();
  require_one_element(context, 0, "the condition");
  return [=](KernelContext& call) {
    SubgraphRunner* branch = *call.in<bool>(0) ? then_branch : else_branch;
    auto outputs = branch->run(call, {}, 0);
    for (std::size_t i = 0; i < count; ++i) call.set_value(i, std::move(outputs[i]));
  };
}

// The derivatives of one branch by the outer values `wanted`; zeros where it does not use one.
Subgraph differentiate_branch(GradContext& g, std::size_t index, std::span<const Val> wanted) {
  const Subgraph& branch = g.node().subgraphs[index];
  SubgraphBuilder body(g.builder(), branch);
  std::vector<Val> ys;
  std::vector<Val> dys;
  const auto outputs = body.outputs();
  for (std::size_t k = 0; k < g.output_count(); ++k) {
    if (!g.dy(k)) continue;
    if (!compatible(outputs[k].type(), g.dy(k).type())) {
      fail(ErrorCode::mismatch, "output ", k, " of ", branch.attribute, " is a ",
           graph::to_string(outputs[k].type()), ", that of the node a ",
           graph::to_string(g.dy(k).type()), ": there is no derivative through this branch");
    }
    ys.push_back(outputs[k]);
    dys.push_back(body.capture(g.dy(k)));
  }
  std::vector<Val> xs;
  for (const Val outer : wanted) xs.push_back(body.capture(outer));
  auto derivatives = g.differentiate()(body.builder(), ys, dys, xs);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!derivatives[i]) derivatives[i] = zeros_like(xs[i]);
  }
  return body.finish(branch.attribute, derivatives);
}

std::vector<Val> grad(GradContext& g) {
  const auto inputs = g.node().all_inputs();
  std::vector<Val> wanted;
  std::vector<std::size_t> positions;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const bool seen =
        std::any_of(wanted.begin(), wanted.end(), [&](Val v) { return v.id() == inputs[i]; });
    if (!g.wants(i) || seen) continue;  // the first position gets the derivative of both branches
    wanted.push_back(g.builder().value(inputs[i]));
    positions.push_back(i);
  }
  std::vector<Subgraph> subgraphs;
  for (std::size_t b = 0; b < 2; ++b) subgraphs.push_back(differentiate_branch(g, b, wanted));
  const Val condition = g.x(0);
  const auto results =
      control_node(g.builder(), "If", {&condition, 1}, std::move(subgraphs), wanted.size());
  // Random operators draw the same numbers as in the forward pass.
  g.builder().graph().nodes.back().stream = g.node().stream;
  std::vector<Val> dx(inputs.size());
  for (std::size_t i = 0; i < positions.size(); ++i) dx[positions[i]] = results[i];
  return dx;
}

}  // namespace

extern const OpDef if_op{.name = "If",
                         .infer = infer,
                         .bind = bind,
                         .grad = grad,
                         .traits = {.takes_one_subgraph = true},
                         .no_gradient = 1};

}  // namespace ondine::kernels::ops
