// bit_cast.cpp — the same bits read as another dtype of the same width. No derivative.
#include <algorithm>
#include <cstring>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const std::int64_t code = context.attr_int("to", 0);
  const DType to = code > 0 && code < dtype_count ? static_cast<DType>(code) : DType::undefined;
  const DType from = context.dtype(0);
  if (packed_bits(to) == 0 || packed_bits(from) != packed_bits(to)) {
    fail(ErrorCode::invalid_model, "bits of ", from, " cannot be read as dtype ", code, " (", to,
         ")");
  }
  Type type = context.input(0);
  type.dtype = to;
  context.set_output(0, std::move(type));
}

// In memory the upper bits of a narrow signed integer repeat its sign, all others have zeros there.
std::uint8_t extend(std::uint8_t x, std::size_t bits, bool is_signed) {
  const auto mask = static_cast<std::uint8_t>((1U << bits) - 1);
  const bool negative = is_signed && (x >> (bits - 1) & 1U) != 0;
  return static_cast<std::uint8_t>(negative ? x | ~mask : x & mask);
}

Kernel bind(BindContext& context) {
  const auto n = static_cast<std::size_t>(context.shape(0).size());
  const DType to = context.output_dtype(0);
  const std::size_t bits = packed_bits(to);
  if (bits < 8) {
    return [n, bits, is_signed = is_signed_integer(to)](KernelContext& call) {
      const auto* x = call.in<std::uint8_t>(0);
      auto* y = call.out<std::uint8_t>(0);
      std::transform(x, x + n, y, [&](std::uint8_t one) { return extend(one, bits, is_signed); });
    };
  }
  if (to == DType::boolean) {  // any bits but 0 are true
    return [n](KernelContext& call) {
      const auto* x = call.in<std::uint8_t>(0);
      std::transform(x, x + n, call.out<bool>(0), [](std::uint8_t one) { return one != 0; });
    };
  }
  return [bytes = n * size_of(to)](KernelContext& call) {
    if (bytes > 0 && call.out<void>(0) != call.in<void>(0)) {
      std::memcpy(call.out<void>(0), call.in<void>(0), bytes);
    }
  };
}

}  // namespace

extern const OpDef bit_cast{.name = "BitCast",
                            .infer = infer,
                            .bind = bind,
                            .traits = {.inplace = 1, .cheap = true},
                            .no_gradient = 1};

}  // namespace ondine::kernels::ops
