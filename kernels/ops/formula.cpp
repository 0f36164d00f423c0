// formula.cpp — several element-wise operators in one pass (ai.ondine). Inputs are tensors of the
// shape of input 0, and numbers: tensors of one element. Attributes: ops, the operators (Add, Sub,
// Mul, Div, Neg, Sqrt); operands, two for each of them (Formula); results, the steps that are
// outputs. An output may take the memory of any input. The derivative is that of the operators.
#include "kernels/ops/formula.h"

#include <algorithm>

#include "kernels/math/vector.h"
#include "kernels/ops/expansion.h"
#include "kernels/ops/infer_help.h"
#include "kernels/ops/op.h"

namespace ondine::kernels::ops {
namespace {

bool has_one_operand(const std::string& op) { return op == "Neg" || op == "Sqrt"; }

template <class T>
struct Step {
  void (*binary)(T*, const T*, const T*, std::int64_t) = nullptr;
  void (*unary)(T*, const T*, std::int64_t) = nullptr;
  std::size_t left = 0;
  std::size_t right = 0;
};

template <class T>
Step<T> bind_step(const FormulaStep& step) {
  const auto& rows = math::vector_kernels<T>();
  Step<T> bound{nullptr, nullptr, step.left, step.right};
  if (step.op == "Add") bound.binary = rows.add.vv;
  if (step.op == "Sub") bound.binary = rows.sub.vv;
  if (step.op == "Mul") bound.binary = rows.mul.vv;
  if (step.op == "Div") bound.binary = rows.div.vv;
  if (step.op == "Neg") bound.unary = rows.neg;
  if (step.op == "Sqrt") bound.unary = rows.sqrt;
  return bound;
}

// Of one block of elements: inputs where they lie, numbers and results in a first cache.
template <class T>
class Block {
 public:
  static constexpr std::int64_t size = 256;
  T* row(std::size_t operand) { return rows_[operand]; }

 private:
  alignas(64) T rows_[Formula::most_operands][size];
};

// What an operand is; only tensors have elements of their own in memory.
std::vector<char> find_numbers(const BindContext& context) {
  std::vector<char> numbers;
  const Shape shape = context.shape(0);
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    numbers.push_back(context.shape(i) == shape ? 0 : 1);
    if (numbers.back() != 0 && context.shape(i).size() != 1) {
      fail(ErrorCode::mismatch, "input ", i, " of shape ", context.shape(i), " is no number, nor ",
           shape, " as input 0");
    }
  }
  return numbers;
}

template <class T>
Kernel bind_formula(BindContext& context) {
  const Formula formula = Formula::read(context);
  std::vector<Step<T>> steps;
  for (const FormulaStep& step : formula.steps) steps.push_back(bind_step<T>(step));
  std::vector<std::size_t> results(context.output_count(), 0);
  std::vector<char> wanted(context.output_count(), 0);
  for (std::size_t k = 0; k < results.size(); ++k) {
    results[k] = formula.results[k];
    wanted[k] = context.has_output(k) ? 1 : 0;
  }
  const std::int64_t n = context.shape(0).size();
  return
      [=, numbers = find_numbers(context), rows = &math::vector_kernels<T>()](KernelContext& call) {
        call.pool().for_chunks(n, math::elementwise_grain, [&](std::int64_t at, std::int64_t last) {
          Block<T> block;
          const T* operands[Formula::most_operands];
          const std::size_t inputs = numbers.size();
          for (std::size_t i = 0; i < inputs; ++i) {
            if (numbers[i] != 0) rows->fill(block.row(i), *call.in<T>(i), Block<T>::size);
          }
          for (; at < last; at += Block<T>::size) {
            const std::int64_t count = std::min(Block<T>::size, last - at);
            for (std::size_t i = 0; i < inputs; ++i) {
              operands[i] = numbers[i] != 0 ? block.row(i) : call.in<T>(i) + at;
            }
            for (std::size_t s = 0; s < steps.size(); ++s) {
              const Step<T>& step = steps[s];
              T* const to = block.row(inputs + s);
              if (step.unary != nullptr) {
                step.unary(to, operands[step.left], count);
              } else {
                step.binary(to, operands[step.left], operands[step.right], count);
              }
              operands[inputs + s] = to;
            }
            for (std::size_t k = 0; k < results.size(); ++k) {
              if (wanted[k] == 0) continue;
              rows->copy(call.out<T>(k) + at, operands[inputs + results[k]], count);
            }
          }
        });
      };
}

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), Types<float, double>{},
               [&]<class T>() -> Kernel { return bind_formula<T>(context); });
}

void infer(InferContext& context) {
  const Formula formula = Formula::read(context);
  if (context.output_count() > formula.results.size()) {
    context.reject("there are ", context.output_count(), " outputs, attribute \"results\" has ",
                   formula.results.size());
  }
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.dtype(i) != context.dtype(0)) {
      context.reject("input ", i, " is ", context.dtype(i), ", input 0 is ", context.dtype(0));
    }
  }
  for (std::size_t k = 0; k < context.output_count(); ++k) context.set_output(k, context.input(0));
}

std::vector<Val> expand(ExpandContext& context) {
  const Formula formula = Formula::read(context);
  std::vector<Val> values;
  for (std::size_t i = 0; i < context.input_count(); ++i) values.push_back(context.x(i));
  for (const FormulaStep& step : formula.steps) {
    const Val left = values[step.left];
    values.push_back(has_one_operand(step.op)
                         ? context.builder().node(step.op, {left})
                         : context.builder().node(step.op, {left, values[step.right]}));
  }
  std::vector<Val> outputs;
  for (std::size_t k = 0; k < context.output_count(); ++k) {
    outputs.push_back(values[context.input_count() + formula.results[k]]);
  }
  return outputs;
}

}  // namespace

Formula Formula::read(const graph::NodeView& node) {
  const auto ops = node.attr_strings("ops");
  const auto operands = node.attr_ints("operands");
  const auto results = node.attr_ints("results");
  const std::size_t inputs = node.input_count();
  const auto require = [](bool holds, const auto&... parts) {
    if (!holds) fail(ErrorCode::invalid_model, parts...);
  };
  require(inputs > 0, "a formula has no inputs");
  require(!ops.empty() && inputs <= most_operands && ops.size() <= most_operands - inputs,
          "a formula has ", inputs, " inputs and ", ops.size(), " steps, possible are 1 to ",
          most_operands, " together");
  require(operands.size() == 2 * ops.size(), "attribute \"operands\" has ", operands.size(),
          " elements, needed: ", 2 * ops.size());
  for (std::size_t i = 0; i < inputs; ++i) {
    require(node.has_input(i), "input ", i, " of a formula is left out");
  }
  Formula formula;
  for (std::size_t s = 0; s < ops.size(); ++s) {
    const bool known = has_one_operand(ops[s]) || ops[s] == "Add" || ops[s] == "Sub" ||
                       ops[s] == "Mul" || ops[s] == "Div";
    require(known, "a formula cannot have ", quoted(ops[s]));
    for (const std::size_t k : {2 * s, 2 * s + 1}) {
      const bool before = operands[k] >= 0 && static_cast<std::uint64_t>(operands[k]) < inputs + s;
      require(before, "step ", s, " of a formula has operand ", operands[k]);
    }
    formula.steps.push_back({ops[s], static_cast<std::size_t>(operands[2 * s]),
                             static_cast<std::size_t>(operands[2 * s + 1])});
  }
  for (const std::int64_t result : results) {
    require(result >= 0 && static_cast<std::uint64_t>(result) < ops.size(),
            "a formula has no step ", result);
    formula.results.push_back(static_cast<std::size_t>(result));
  }
  require(!results.empty(), "a formula has no results");
  return formula;
}

extern const OpDef formula{.name = "Formula",
                           .domain = ondine_domain,
                           .infer = infer,
                           .bind = bind,
                           .grad = grad_of_expansion,
                           .expand = expand,
                           .facts = {.inplace = any_input}};

}  // namespace ondine::kernels::ops
