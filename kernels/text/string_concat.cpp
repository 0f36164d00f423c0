// string_concat.cpp — z = x followed by y, broadcast.
#include "core/stop.h"
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

std::string concatenate(const std::string& a, const std::string& b) {
  checkpoint(static_cast<std::int64_t>((a.size() + b.size()) / 4) + 32);
  return a + b;
}

// Bytes of all elements of an operand that is broadcast to n elements.
std::uint64_t bytes_of(const std::string* elements, std::int64_t count, std::int64_t n) {
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < count; ++i) bytes += elements[i].size();
  return count == 0 ? 0 : bytes * static_cast<std::uint64_t>(n / count);
}

Kernel bind(BindContext& context) {
  const std::int64_t a = context.shape(0).size();
  const std::int64_t b = context.shape(1).size();
  const std::int64_t n = context.output_shape(0)->size();
  const Kernel run = bind_binary_op<concatenate, Types<std::string>>(context);
  return [=](KernelContext& call) {
    const std::uint64_t bytes =
        bytes_of(call.in<std::string>(0), a, n) + bytes_of(call.in<std::string>(1), b, n);
    call.budget()->charge(bytes);  // strings are not charged while they are kept, but must fit
    call.budget()->release(bytes);
    run(call);
  };
}

}  // namespace

extern const OpDef string_concat{.name = "StringConcat", .infer = infer_binary, .bind = bind};

}  // namespace ondine::kernels::ops
