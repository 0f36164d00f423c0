// The steps of a FusedElementwise on blocks of elements whose intermediate values stay in a
// first-level cache. float and double.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/elementwise/fused_elementwise.h"
#include "kernels/elementwise/vector.h"

namespace ondine::kernels::ops {

template <class T>
class FusedBlocks {
 public:
  // `numbers`, by input: one element that all elements of the tensors meet. `wanted`, by output.
  FusedBlocks(const FusedElementwise& fused, std::vector<char> numbers,
              const std::vector<char>& wanted)
      : numbers_(std::move(numbers)),
        wanted_(wanted),
        last_read_(numbers_.size() + fused.steps.size()),
        output_of_(fused.steps.size(), none) {
    for (std::size_t s = 0; s < fused.steps.size(); ++s) {
      steps_.push_back(bind_step(fused.steps[s]));
      last_read_[steps_[s].left] = last_read_[steps_[s].right] = s;
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (wants(k)) output_of_[fused.results[k]] = k;
    }
  }

  bool is_number(std::size_t input) const { return numbers_[input] != 0; }
  bool wants(std::size_t output) const { return wanted_[output] != 0; }

  // Elements [first, last) of the tensors that begin at `in` and `out`. An output may have the
  // memory of any input.
  void run(const T* const* in, T* const* out, std::int64_t first, std::int64_t last) const {
    alignas(64) T rows[FusedElementwise::max_operands][size];
    const T* operands[FusedElementwise::max_operands];
    bool copied[FusedElementwise::max_operands];
    const std::size_t inputs = numbers_.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      if (is_number(i)) kernels_->fill(rows[i], *in[i], size);
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) copied[s] = must_copy(in, out, s);
    for (std::int64_t at = first; at < last; at += size) {
      const std::int64_t count = std::min(size, last - at);
      for (std::size_t i = 0; i < inputs; ++i) operands[i] = is_number(i) ? rows[i] : in[i] + at;
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        const bool direct = output_of_[s] != none && !copied[s];
        T* const to = direct ? out[output_of_[s]] + at : rows[inputs + s];
        run_step(steps_[s], to, operands, count);
        operands[inputs + s] = to;
      }
      for (std::size_t s = 0; s < steps_.size(); ++s) {
        if (copied[s]) kernels_->copy(out[output_of_[s]] + at, operands[inputs + s], count);
      }
    }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::int64_t size = 2048 / sizeof(T);

  struct Step {
    typename math::VectorKernels<T>::Binary binary = {};
    typename math::VectorKernels<T>::Unary unary = nullptr;
    std::size_t left = 0;
    std::size_t right = 0;
  };

  static Step bind_step(const ElementwiseStep& step) {
    const auto& rows = math::vector_kernels<T>();
    Step bound{{}, nullptr, step.left, step.right};
    if (step.op == "Add") bound.binary = rows.add;
    if (step.op == "Sub") bound.binary = rows.sub;
    if (step.op == "Mul") bound.binary = rows.mul;
    if (step.op == "Div") bound.binary = rows.div;
    if (step.op == "Neg") bound.unary = rows.neg;
    if (step.op == "Sqrt") bound.unary = rows.sqrt;
    return bound;
  }

  // Whether a later step still reads the input whose memory the result overwrites.
  bool must_copy(const T* const* in, T* const* out, std::size_t s) const {
    if (output_of_[s] == none) return false;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (in[i] == out[output_of_[s]] && last_read_[i] > s) return true;
    }
    return false;
  }

  void run_step(const Step& step, T* to, const T* const* operands, std::int64_t count) const {
    const T* const left = operands[step.left];
    const T* const right = operands[step.right];
    const auto repeated = [&](std::size_t o) { return o < numbers_.size() && is_number(o); };
    if (step.unary != nullptr) {
      step.unary(to, left, count);
    } else if (repeated(step.right)) {
      step.binary.vs(to, left, *right, count);
    } else if (repeated(step.left)) {
      step.binary.sv(to, *left, right, count);
    } else {
      step.binary.vv(to, left, right, count);
    }
  }

  const math::VectorKernels<T>* kernels_ = &math::vector_kernels<T>();
  std::vector<char> numbers_;  // by input
  std::vector<char> wanted_;   // by output
  std::vector<Step> steps_;
  std::vector<std::size_t> last_read_;  // by operand: the last step that reads it
  std::vector<std::size_t> output_of_;  // by step
};

}  // namespace ondine::kernels::ops
