// fused_elementwise.cpp — several element-wise operators in one pass (ai.ondine). Inputs are
// tensors of the shape of input 0, and numbers: tensors of one element. Attributes: ops, the
// operators (Add, Sub, Mul, Div, Neg, Sqrt); operands, two for each of them (FusedElementwise);
// results, the steps that are outputs, each once. An output may take the memory of any input. The
// derivative is that of the single operators.
#include "kernels/elementwise/fused_elementwise.h"

#include <algorithm>

#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/vector.h"

namespace ondine::kernels::ops {
namespace {

bool has_one_operand(const std::string& op) { return op == "Neg" || op == "Sqrt"; }

template <class T>
struct Step {
  typename math::VectorKernels<T>::Binary binary = {};
  typename math::VectorKernels<T>::Unary unary = nullptr;
  std::size_t left = 0;
  std::size_t right = 0;
};

template <class T>
Step<T> bind_step(const ElementwiseStep& step) {
  const auto& rows = math::vector_kernels<T>();
  Step<T> bound{{}, nullptr, step.left, step.right};
  if (step.op == "Add") bound.binary = rows.add;
  if (step.op == "Sub") bound.binary = rows.sub;
  if (step.op == "Mul") bound.binary = rows.mul;
  if (step.op == "Div") bound.binary = rows.div;
  if (step.op == "Neg") bound.unary = rows.neg;
  if (step.op == "Sqrt") bound.unary = rows.sqrt;
  return bound;
}

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

// The steps on blocks of elements whose intermediate values stay in a first cache.
template <class T>
class Blocks {
 public:
  Blocks(const FusedElementwise& fused, const BindContext& context)
      : numbers_(find_numbers(context)),
        last_read_(numbers_.size() + fused.steps.size()),
        output_of_(fused.steps.size(), none) {
    for (std::size_t s = 0; s < fused.steps.size(); ++s) {
      steps_.push_back(bind_step<T>(fused.steps[s]));
      last_read_[steps_[s].left] = last_read_[steps_[s].right] = s;
    }
    for (std::size_t k = 0; k < context.output_count(); ++k) {
      if (context.has_output(k)) output_of_[fused.results[k]] = k;
    }
  }

  void run(const KernelContext& call, std::int64_t first, std::int64_t last) const {
    alignas(64) T rows[FusedElementwise::max_operands][size];
    const T* operands[FusedElementwise::max_operands];
    bool copied[FusedElementwise::max_operands];
    const std::size_t inputs = numbers_.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      if (numbers_[i] != 0) kernels_->fill(rows[i], *call.in<T>(i), size);
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) copied[s] = must_copy(call, s);
    for (std::int64_t at = first; at < last; at += size) {
      const std::int64_t count = std::min(size, last - at);
      for (std::size_t i = 0; i < inputs; ++i) {
        operands[i] = numbers_[i] != 0 ? rows[i] : call.in<T>(i) + at;
      }
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        const bool direct = output_of_[s] != none && !copied[s];
        T* const to = direct ? call.out<T>(output_of_[s]) + at : rows[inputs + s];
        run_step(steps_[s], to, operands, count);
        operands[inputs + s] = to;
      }
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        if (copied[s]) kernels_->copy(call.out<T>(output_of_[s]) + at, operands[inputs + s], count);
      }
    }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::int64_t size = 2048 / sizeof(T);

  // Whether a later step still reads the input whose memory the result overwrites.
  bool must_copy(const KernelContext& call, std::size_t s) const {
    if (output_of_[s] == none) return false;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (call.in<T>(i) == call.out<T>(output_of_[s]) && last_read_[i] > s) return true;
    }
    return false;
  }

  void run_step(const Step<T>& step, T* to, const T* const* operands, std::int64_t count) const {
    const T* const left = operands[step.left];
    const T* const right = operands[step.right];
    const auto is_number = [&](std::size_t o) { return o < numbers_.size() && numbers_[o] != 0; };
    if (step.unary != nullptr) {
      step.unary(to, left, count);
    } else if (is_number(step.right)) {
      step.binary.vs(to, left, *right, count);
    } else if (is_number(step.left)) {
      step.binary.sv(to, *left, right, count);
    } else {
      step.binary.vv(to, left, right, count);
    }
  }

  const math::VectorKernels<T>* kernels_ = &math::vector_kernels<T>();
  std::vector<char> numbers_;  // by input
  std::vector<Step<T>> steps_;
  std::vector<std::size_t> last_read_;  // by operand: the last step that reads it
  std::vector<std::size_t> output_of_;  // by step
};

template <class T>
Kernel bind_fused(BindContext& context) {
  const std::int64_t n = context.shape(0).size();
  return [n, blocks = Blocks<T>(FusedElementwise::read(context), context)](KernelContext& call) {
    call.pool().for_chunks(n, math::elementwise_grain, [&](std::int64_t first, std::int64_t last) {
      blocks.run(call, first, last);
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
  const auto ops = node.attr_strings("ops");
  const auto operands = node.attr_ints("operands");
  const auto results = node.attr_ints("results");
  const std::size_t inputs = node.input_count();
  const auto require = [](bool holds, const auto&... parts) {
    if (!holds) fail(ErrorCode::invalid_model, parts...);
  };
  require(inputs > 0, "a FusedElementwise has no inputs");
  require(!ops.empty() && inputs <= max_operands && ops.size() <= max_operands - inputs,
          "a FusedElementwise has ", inputs, " inputs and ", ops.size(), " steps, needed: 1 to ",
          max_operands, " together");
  require(operands.size() == 2 * ops.size(), "attribute \"operands\" has ", operands.size(),
          " elements, needed: ", 2 * ops.size());
  for (std::size_t i = 0; i < inputs; ++i) {
    require(node.has_input(i), "input ", i, " of a FusedElementwise is missing");
  }
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
