// fused_elementwise.cpp — several element-wise operators in one pass (ai.ondine). Inputs are
// tensors of the shape of input 0, and numbers: tensors of one element. Attributes: ops, the
// operators (Add, Sub, Mul, Div, Neg, Sqrt); operands, two for each of them (FusedElementwise);
// results, the steps that are outputs, each once. An output may take the memory of any input. The
// derivative is that of the single operators.
#include "kernels/elementwise/fused_elementwise.h"

#include <algorithm>

#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/fused_blocks.h"

namespace ondine::kernels::ops {
namespace {

bool has_one_operand(const std::string& op) { return op == "Neg" || op == "Sqrt"; }

// Only tensors have elements of their own in memory.
std::vector<char> find_numbers(const BindContext& context) {
  std::vector<char> numbers;
  const Shape shape = context.shape(0);
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    numbers.push_back(context.shape(i) == shape ? 0 : 1);
    if (numbers.back() != 0 && context.shape(i).size() != 1) {
      fail(ErrorCode::mismatch, "input ", i, " of shape ", context.shape(i),
           " must have one element or shape ", shape, " as input 0");
    }
  }
  return numbers;
}

template <class T>
Kernel bind_fused(BindContext& context) {
  std::vector<char> wanted;
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    wanted.push_back(context.has_output(k) ? 1 : 0);
  }
  FusedBlocks<T> blocks(FusedElementwise::read(context), find_numbers(context), wanted);
  return [n = context.shape(0).size(), inputs = context.input_count(), wanted,
          blocks = std::move(blocks)](KernelContext& call) {
    const T* in[FusedElementwise::max_operands];
    T* out[FusedElementwise::max_operands];
    for (std::size_t i = 0; i < inputs; ++i) in[i] = call.in<T>(i);
    for (std::size_t k = 0; k < wanted.size(); ++k) out[k] = call.out<T>(k);
    call.pool().for_chunks(n, math::elementwise_grain, [&](std::int64_t first, std::int64_t last) {
      blocks.run(in, out, first, last);
    });
  };
}

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), Types<float, double>{},
               [&]<class T>() -> Kernel { return bind_fused<T>(context); });
}

void infer(InferContext& context) {
  const FusedElementwise fused = FusedElementwise::read(context);
  if (context.output_count() > fused.results.size()) {
    context.reject("the node has ", context.output_count(), " outputs, attribute \"results\" has ",
                   fused.results.size());
  }
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.dtype(i) != context.dtype(0)) {
      context.reject("input ", i, " is ", context.dtype(i), ", input 0 is ", context.dtype(0));
    }
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) context.set_output(k, context.input(0));
}

std::vector<Val> expand(ExpandContext& context) {
  const FusedElementwise fused = FusedElementwise::read(context);
  std::vector<Val> values;
  for (std::size_t i = 0; i < context.input_count(); ++i) values.push_back(context.x(i));
  for (const ElementwiseStep& step : fused.steps) {
    const Val left = values[step.left];
    values.push_back(has_one_operand(step.op)
                         ? context.builder().node(step.op, {left})
                         : context.builder().node(step.op, {left, values[step.right]}));
  }
  std::vector<Val> outputs;
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    outputs.push_back(values[context.input_count() + fused.results[k]]);
  }
  return outputs;
}

}  // namespace

FusedElementwise FusedElementwise::read(const graph::NodeView& node) {
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) {
      fail(ErrorCode::invalid_model, "input ", i, " of a FusedElementwise is missing");
    }
  }
  return read(node, node.input_count());
}

FusedElementwise FusedElementwise::read(const graph::NodeView& node, std::size_t inputs) {
  const auto ops = node.attr_strings("ops");
  const auto operands = node.attr_ints("operands");
  const auto results = node.attr_ints("results");
  const auto require = [](bool holds, const auto&... parts) {
    if (!holds) fail(ErrorCode::invalid_model, parts...);
  };
  require(inputs > 0, "a FusedElementwise has no inputs");
  require(!ops.empty() && inputs <= max_operands && ops.size() <= max_operands - inputs,
          "a FusedElementwise has ", inputs, " inputs and ", ops.size(), " steps, needed: 1 to ",
          max_operands, " together");
  require(operands.size() == 2 * ops.size(), "attribute \"operands\" has ", operands.size(),
          " elements, needed: ", 2 * ops.size());
  FusedElementwise fused;
  for (std::size_t s = 0; s < ops.size(); ++s) {
    const bool known = has_one_operand(ops[s]) || ops[s] == "Add" || ops[s] == "Sub" ||
                       ops[s] == "Mul" || ops[s] == "Div";
    require(known, "FusedElementwise does not support operator ", quoted(ops[s]));
    for (const std::size_t k : {2 * s, 2 * s + 1}) {
      const bool before = operands[k] >= 0 && static_cast<std::uint64_t>(operands[k]) < inputs + s;
      require(before, "step ", s, " of a FusedElementwise has operand ", operands[k]);
    }
    fused.steps.push_back({ops[s], static_cast<std::size_t>(operands[2 * s]),
                           static_cast<std::size_t>(operands[2 * s + 1])});
  }
  for (const std::int64_t result : results) {
    require(result >= 0 && static_cast<std::uint64_t>(result) < ops.size(),
            "a FusedElementwise has no step ", result);
    const auto step = static_cast<std::size_t>(result);
    const bool twice =
        std::find(fused.results.begin(), fused.results.end(), step) != fused.results.end();
    require(!twice, "step ", result,
            " of a FusedElementwise is listed twice in attribute \"results\"");
    fused.results.push_back(step);
  }
  require(!results.empty(), "a FusedElementwise has no results");
  return fused;
}

extern const OpDef fused_elementwise{
    .name = "FusedElementwise",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad_of_expansion,
    .expand = expand,
    .traits = {.inplace = any_input, .cannot_fail = true, .inplace_every_output = true}};

}  // namespace ondine::kernels::ops
