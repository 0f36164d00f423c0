#include "kernels/sequence/sequence.h"

namespace ondine::kernels {

graph::Type element_type(const graph::Type& type) {
  return type.element ? *type.element : graph::Type();
}

std::vector<Value> sequence_elements(graph::KernelContext& call, std::size_t i) {
  const Value value = call.value(i);
  if (value.kind() != Value::Kind::sequence) {
    fail(ErrorCode::mismatch, "input ", i, " is a ", to_string(value.kind()), ", not a sequence");
  }
  return value.elements();
}

PositionInput::PositionInput(const graph::BindContext& context, std::size_t input)
    : input_(input), given_(context.has_input(input)) {
  if (!given_) return;
  dtype_ = context.dtype(input);
  if (dtype_ != DType::int32 && dtype_ != DType::int64) {
    fail(ErrorCode::unsupported, "a position of dtype ", dtype_);
  }
  if (context.shape(input).size() != 1) {
    fail(ErrorCode::mismatch, "the position must have one element, found shape ",
         context.shape(input));
  }
}

std::size_t PositionInput::read(const graph::KernelContext& call, std::size_t count,
                                std::size_t bound, std::size_t otherwise) const {
  const auto n = static_cast<std::int64_t>(count);
  auto at = static_cast<std::int64_t>(otherwise);
  if (given_) {
    at = dtype_ == DType::int32 ? *call.in<std::int32_t>(input_) : *call.in<std::int64_t>(input_);
    const std::int64_t top = static_cast<std::int64_t>(bound) - 1;
    if (at < -n || at > top) {
      fail(ErrorCode::mismatch, "position ", at, " is outside [", -n, ", ", top,
           "] for a sequence of ", n, " elements");
    }
    if (at < 0) at += n;
  } else if (otherwise >= bound) {
    fail(ErrorCode::mismatch, "the sequence has no elements");
  }
  return static_cast<std::size_t>(at);
}

}  // namespace ondine::kernels
