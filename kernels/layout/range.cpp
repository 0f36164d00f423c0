// range.cpp — y_i = start + i delta while before limit;  d start = sum dy_i, d delta = sum i dy_i.
// Version 27 adds the 16-bit floats, computed in float.
#include <cmath>

#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

using Types =
    kernels::Types<float, double, std::int16_t, std::int32_t, std::int64_t, float16, bfloat16>;

constexpr std::int64_t longest = std::int64_t{1} << 48;

template <class T>
std::int64_t count(T start, T limit, T delta) {
  if (delta == T(0)) fail(ErrorCode::mismatch, "delta of a range is 0");
  if constexpr (std::is_integral_v<T>) {
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    // Unsigned differences do not overflow.
    const auto a = static_cast<std::uint64_t>(start);
    const auto b = static_cast<std::uint64_t>(limit);
    const auto step = static_cast<std::uint64_t>(delta);
    const std::uint64_t n = 1 + (delta > 0 ? (b - a - 1) / step : (a - b - 1) / (0 - step));
    if (n > static_cast<std::uint64_t>(longest)) fail(ErrorCode::limit, "a range of ", n);
    return static_cast<std::int64_t>(n);
  } else {
    const double n = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                               static_cast<double>(delta));
    if (!(n <= static_cast<double>(longest))) {
      fail(ErrorCode::limit, "a range from ", static_cast<double>(start), " to ",
           static_cast<double>(limit), " in steps of ", static_cast<double>(delta));
    }
    return n > 0 ? static_cast<std::int64_t>(n) : 0;
  }
}

template <class T>
compute_t<T> scalar(const Tensor& tensor) {
  if (tensor.size() != 1) {
    fail(ErrorCode::mismatch, "start, limit and delta must be scalars, not of shape ",
         tensor.shape());
  }
  return load(tensor.values<T>()[0]);
}

void infer(InferContext& context) {
  const DType dtype = context.dtype(0);
  for (std::size_t i = 1; i < 3; ++i) {
    if (context.dtype(i) != dtype) context.reject("start, limit and delta differ in dtype");
  }
  const Tensor* start = context.constant(0);
  const Tensor* limit = context.constant(1);
  const Tensor* delta = context.constant(2);
  Dim n;
  if (start != nullptr && limit != nullptr && delta != nullptr) {
    n = visit(dtype, Types{}, [&]<class T>() {
      return count(scalar<T>(*start), scalar<T>(*limit), scalar<T>(*delta));
    });
  } else if (dtype == DType::int64) {  // 0, 1, ... up to a dim
    const auto end = context.known_dims(1);
    const auto first = context.known_ints(0);
    const auto step = context.known_ints(2);
    const auto is = [](const auto& ints, std::int64_t v) {
      return ints && ints->size() == 1 && (*ints)[0] == v;
    };
    if (end && end->size() == 1 && is(first, 0) && is(step, 1)) n = (*end)[0];
  }
  context.set_output(0, dtype, Dims{n});
}

Kernel bind(BindContext& context) {
  const Output output(context, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (context.shape(i).size() != 1) {
      fail(ErrorCode::mismatch, "start, limit and delta must be scalars, not of shape ",
           context.shape(i));
    }
  }
  return visit(context.dtype(0), Types{}, [&]<class T>() -> Kernel {
    return [output](KernelContext& call) {
      const auto start = load(*call.in<T>(0));
      const auto delta = load(*call.in<T>(2));
      const std::int64_t n = count(start, load(*call.in<T>(1)), delta);
      T* y = output.memory<T>(call, Shape{n});
      call.pool().for_chunks(n, 16384, [&](std::int64_t first, std::int64_t last) {
        for (auto i = first; i < last; ++i) {
          if constexpr (std::is_integral_v<T>) {
            const auto at = static_cast<std::uint64_t>(start) +
                            static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta);
            y[i] = static_cast<T>(at);
          } else {
            const double at =
                static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(delta);
            y[i] = store<T>(static_cast<compute_t<T>>(at));
          }
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val dy = g.dy(0);
  Builder& b = g.builder();
  const Val numbers = b.node("Range", {b.int64(0), graph::size_of(dy), b.int64(1)});
  const Val weighted = dy * cast(numbers, dy.dtype());
  return {reshape_like(reduce_sum(dy, {}, false), g.x(0)), Val(),
          reshape_like(reduce_sum(weighted, {}, false), g.x(2))};
}

}  // namespace

extern const OpDef range{
    .name = "Range", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
