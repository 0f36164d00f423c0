// Operators that return input 0 as it is, where their infer does not refuse it: checks of an
// expansion that only a run can make.
#pragma once

#include <cstring>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {

inline Kernel bind_identity(BindContext& context) {
  if (context.dtype(0) == DType::string) {
    return [](KernelContext& call) { call.set_value(0, call.value(0)); };
  }
  const auto bytes = static_cast<std::size_t>(context.shape(0).size()) * size_of(context.dtype(0));
  return [bytes](KernelContext& call) {
    if (bytes > 0 && call.out<void>(0) != call.in<void>(0)) {
      std::memcpy(call.out<void>(0), call.in<void>(0), bytes);
    }
  };
}

inline std::vector<Val> identity_grad(GradContext& g) { return {g.dy(0)}; }

// The standard has no such checks.
inline std::vector<Val> expand_to_identity(ExpandContext& context) {
  return {unary("Identity", context.x(0))};
}

}  // namespace ondine::kernels::ops
