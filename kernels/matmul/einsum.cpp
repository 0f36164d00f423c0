// einsum.cpp — y[out] = sum over all other labels of the products of the operands. Letters, `...`
// for broadcast dims, repeated letters for diagonals; without `->` the output has the letters that
// occur once, in alphabetical order.
// EinsumTo (ai.ondine): (shape of y, operands...) with a written output, in which letters may
// repeat (the rest is 0) or occur in no operand (repeated values); dims of 1 in y are summed
// over. It is every operand's derivative, its own ones included.
#include "kernels/matmul/einsum.h"
#include "kernels/common/expansion.h"

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

std::size_t first_operand(const NodeView& node) {
  return node.node().op->domain == ondine_domain ? 1 : 0;
}

EinsumEquation read(const NodeView& node) {
  const std::size_t operands = node.input_count() - first_operand(node);
  return parse_einsum(node.attr_string("equation", ""), operands, first_operand(node) == 1);
}

void infer(InferContext& context) {
  const EinsumEquation equation = read(context);
  const Type& first = context.input(0);
  std::vector<std::optional<Dims>> operands;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.dtype(i) != first.dtype) context.reject("operands differ in dtype");
    operands.push_back(context.input(i).dims);
  }
  context.set_output(0, first.dtype, einsum_dims(equation, operands));
}

void infer_to(InferContext& context) {
  const EinsumEquation equation = read(context);
  const DType dtype = context.dtype(1);
  std::vector<std::optional<Dims>> operands;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (context.dtype(i) != dtype) context.reject("operands differ in dtype");
    operands.push_back(context.input(i).dims);
  }
  einsum_dims(equation, operands);
  context.set_output(0, dtype, dims_from_input(context, 0));
}

Kernel bind(BindContext& context) {
  return bind_einsum(context, read(context), first_operand(context));
}

std::vector<Val> grad(GradContext& g) {
  const std::size_t first = first_operand(g);
  const EinsumEquation equation = read(g);
  std::vector<Val> result(g.input_count());
  for (std::size_t k = 0; k < equation.operands.size(); ++k) {
    if (!g.wants(first + k)) continue;
    // x_k and y exchange roles.
    std::vector<Val> inputs{graph::shape_of(g.x(first + k)), g.dy(0)};
    std::string text = to_string(equation.output);
    for (std::size_t i = 0; i < equation.operands.size(); ++i) {
      if (i == k) continue;
      inputs.push_back(g.x(first + i));
      text += ',' + to_string(equation.operands[i]);
    }
    text += "->" + to_string(equation.operands[k]);
    result[first + k] =
        g.builder().nodes("EinsumTo", inputs, {{"equation", text}}, 1, ondine_domain)[0];
  }
  return result;
}

// Einsum without the letters of the output that no operand has, along which it is repeated then;
// dims of 1 in the output are summed over afterwards.
std::vector<Val> expand_to(ExpandContext& context) {
  Builder& b = context.builder();
  const EinsumEquation equation = read(context);
  std::string text, output;
  std::vector<std::int64_t> missing;
  for (const EinsumTerm& term : equation.operands) {
    text += (text.empty() ? "" : ",") + to_string(term);
  }
  for (std::size_t i = 0; i < equation.output.size(); ++i) {
    const char letter = equation.output[i];
    if (output.find(letter) != std::string::npos) {
      fail(ErrorCode::unsupported, "the derivative of a diagonal has no expansion");
    }
    if (letter != '.' && text.find(letter) == std::string::npos) {
      missing.push_back(static_cast<std::int64_t>(i));
    } else {
      output += letter;
    }
  }
  if (!missing.empty() && output.find('.') != std::string::npos) {
    fail(ErrorCode::unsupported, "repetition along `...` has no expansion");
  }
  std::vector<Val> operands;
  for (std::size_t i = 1; i < context.input_count(); ++i) operands.push_back(context.x(i));
  Val y = b.nodes("Einsum", operands, {{"equation", text + "->" + to_string(output)}}, 1)[0];
  if (!missing.empty()) y = graph::expand(graph::unsqueeze(y, missing), context.x(0));
  const Type& wanted = result_type(context);
  const bool equal = y.ranked() && wanted.ranked() && y.rank() == wanted.rank() &&
                     std::equal(y.dims().begin(), y.dims().end(), wanted.dims->begin(),
                                [](Dim a, Dim c) { return a.same(c); });
  if (!equal) y = b.node("SumTo", {y, context.x(0)}, {}, ondine_domain);
  return {y};
}

}  // namespace

extern const OpDef einsum{.name = "Einsum", .infer = infer, .bind = bind, .grad = grad};
extern const OpDef einsum_to{.name = "EinsumTo",
                             .domain = ondine_domain,
                             .infer = infer_to,
                             .bind = bind,
                             .grad = grad,
                             .expand = expand_to,
                             .no_gradient = 1};

}  // namespace ondine::kernels::ops
