// einsum.cpp — y[out] = sum over all other labels of the products of the operands. Letters, `...`
// for broadcast dims, repeated letters for diagonals; without `->` the output has the letters that
// occur once, in alphabetical order.
// EinsumTo (ai.ondine): (shape of y, operands...) with a written output, in which letters may
// repeat (the rest is 0) or occur in no operand (repeated values); dims of 1 in y are summed
// over. It is every operand's derivative, its own ones included.
#include "kernels/matmul/einsum.h"

#include <map>

#include "core/message.h"
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

// The letters of an output of EinsumTo beside what Einsum can write.
struct OutputLetters {
  EinsumTerm once;                    // all of them
  EinsumTerm known;                   // those of operands, each once
  std::vector<std::int64_t> missing;  // axes of the letters that no operand has, counting each once
  std::vector<std::int64_t> first;    // axes in the output where letters come for the first time
  struct Repeat {
    std::int64_t axis = 0;   // in the output
    std::int64_t first = 0;  // of the letter's first axis, counting each letter once
  };
  std::vector<Repeat> repeats;
};

// `dots`: the number of axes that `...` stands for.
OutputLetters letters_of(const EinsumTerm& output, const std::string& operands, std::int64_t dots) {
  OutputLetters result;
  std::map<char, std::int64_t> places;
  std::int64_t axis = 0;
  for (const char letter : output) {
    const std::int64_t count = letter == '.' ? dots : 1;
    const auto place = static_cast<std::int64_t>(result.first.size());
    const auto [known, fresh] = places.emplace(letter, place);
    if (fresh) result.once += letter;
    if (!fresh) {
      result.repeats.push_back({axis, known->second});
    } else if (letter != '.' && operands.find(letter) == std::string::npos) {
      result.missing.push_back(place);
    } else {
      result.known += letter;
    }
    for (std::int64_t i = 0; fresh && i < count; ++i) result.first.push_back(axis + i);
    axis += count;
  }
  return result;
}

// y with the repeated letters: its elements on their diagonals, 0 elsewhere.
Val on_diagonals(Val y, const OutputLetters& letters) {
  Builder& b = y.builder();
  const auto rank = static_cast<std::int64_t>(letters.first.size() + letters.repeats.size());
  std::vector<std::int64_t> added;
  Val mask;
  for (const auto& [axis, first] : letters.repeats) {
    added.push_back(axis);
    const Val size = graph::squeeze(graph::dim_of(y, first), {0});
    const Val index = b.node("Range", {b.int64(0), size, b.int64(1)});
    const auto along = [&](std::int64_t only) {
      std::vector<std::int64_t> others;
      for (std::int64_t i = 0; i < rank; ++i) {
        if (i != only) others.push_back(i);
      }
      return graph::unsqueeze(index, others);
    };
    const Val same =
        graph::equal(along(letters.first[static_cast<std::size_t>(first)]), along(axis));
    mask = mask ? graph::logical_and(mask, same) : same;
  }
  return graph::where(mask, graph::unsqueeze(y, added), b.scalar(0, y.dtype()));
}

// Whether the axes of `...` have the dims that the operands give them: the result's own in one
// operand, and the same, 1 or none in the others.
bool dots_fit(ExpandContext& context, const EinsumEquation& equation, const Type& wanted) {
  const auto dims_of = [](const EinsumTerm& term, const Dims& dims) {
    const auto first = dims.begin() + static_cast<std::ptrdiff_t>(term.find('.'));
    return Dims(first, first + static_cast<std::ptrdiff_t>(dims.size() + 1 - term.size()));
  };
  const Dims needed = dims_of(equation.output, *wanted.dims);
  bool found = false;
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    const EinsumTerm& term = equation.operands[i];
    if (term.find('.') == EinsumTerm::npos) continue;
    const Val x = context.x(1 + i);
    if (!x.ranked()) return false;
    const Dims dims = dims_of(term, x.dims());
    if (dims.size() > needed.size()) return false;
    bool equal = dims.size() == needed.size();
    for (std::size_t k = 1; k <= dims.size(); ++k) {
      const Dim one = dims[dims.size() - k];
      const bool is_same = one.same(needed[needed.size() - k]);
      if (!is_same && !one.same(Dim(1))) return false;
      equal = equal && is_same;
    }
    found = found || equal;
  }
  return found;
}

// The result with each letter once. Ones of its shape give it dims that no operand has; `...` comes
// first meanwhile, so that what is too large is summed over.
Val with_ones(ExpandContext& context, const std::string& text, const OutputLetters& letters,
              const std::string& once, std::int64_t dots) {
  Builder& b = context.builder();
  const auto before = static_cast<std::int64_t>(once.find("..."));
  std::vector<std::int64_t> order;
  const auto rank = static_cast<std::int64_t>(letters.first.size());
  for (std::int64_t i = 0; i < dots; ++i) order.push_back(before + i);
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i < before || i >= before + dots) order.push_back(i);
  }
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    axes.push_back(letters.first[static_cast<std::size_t>(order[i])]);
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  const Val shape = graph::gather(context.x(0), b.int64s(axes), 0);
  std::string front = once;
  front = "..." + front.erase(static_cast<std::size_t>(before), 3);
  std::vector<Val> operands;
  for (std::size_t i = 1; i < context.input_count(); ++i) operands.push_back(context.x(i));
  operands.push_back(graph::expand(b.scalar(1, operands[0].dtype()), shape));
  const std::string equation = text + ',' + front + "->" + front;
  const Val y = b.nodes("Einsum", operands, {{"equation", equation}}, 1)[0];
  return graph::transpose(b.node("SumTo", {y, shape}, {}, ondine_domain), back);
}

// Einsum of the letters that it can write. Along others the result is repeated, repeated letters
// take it to their diagonal, and dims of 1 in the output are summed over at the end.
std::vector<Val> expand_to(ExpandContext& context) {
  Builder& b = context.builder();
  const EinsumEquation equation = read(context);
  const Type& wanted = result_type(context);
  const bool has_dots = equation.output.find('.') != std::string::npos;
  const std::int64_t dots = has_dots && wanted.ranked()
                                ? static_cast<std::int64_t>(wanted.rank() + 1) -
                                      static_cast<std::int64_t>(equation.output.size())
                                : 0;
  std::string text;
  for (std::size_t i = 0; i < equation.operands.size(); ++i) {
    text += (i == 0 ? "" : ",") + to_string(equation.operands[i]);
  }
  const OutputLetters letters = letters_of(equation.output, text, dots);
  if (has_dots && !wanted.ranked() && (!letters.missing.empty() || !letters.repeats.empty())) {
    fail(ErrorCode::unsupported, "the derivative of ", quoted(text), " along `...` has no ",
         "expansion where the rank is unknown");
  }
  if (has_dots && wanted.ranked() && !dots_fit(context, equation, wanted)) {
    const Val y = with_ones(context, text, letters, to_string(letters.once), dots);
    return {letters.repeats.empty() ? y : on_diagonals(y, letters)};
  }
  std::vector<Val> operands;
  for (std::size_t i = 1; i < context.input_count(); ++i) operands.push_back(context.x(i));
  const std::string known = to_string(letters.known);
  Val y = operands[0];
  if (text != known) y = b.nodes("Einsum", operands, {{"equation", text + "->" + known}}, 1)[0];
  if (!letters.missing.empty()) {
    const Val shape = letters.repeats.empty()
                          ? context.x(0)
                          : graph::gather(context.x(0), b.int64s(letters.first), 0);
    y = graph::expand(graph::unsqueeze(y, letters.missing), shape);
  }
  if (!letters.repeats.empty()) y = on_diagonals(y, letters);
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
