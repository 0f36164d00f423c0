#include "kernels/common/compute_type.h"

#include "kernels/common/convert_rows.h"
#include "kernels/common/element_conversion.h"

namespace ondine::kernels {

namespace {
using Stored = Types<float, double, float16, bfloat16, std::int8_t, std::uint8_t>;
}

template <class C>
ReadRow<C> read_row(DType dtype) {
  if (dtype == dtype_of<C>) return nullptr;
  return visit(dtype, Stored{}, []<class T>() -> ReadRow<C> {
    return [](C* to, const void* from, std::int64_t n) {
      const auto* x = static_cast<const T*>(from);
      if constexpr (requires { convert_row(to, x, n); }) {
        convert_row(to, x, n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(load(x[i]));
      }
    };
  });
}

template <class C>
WriteRow<C> write_row(DType dtype) {
  if (dtype == dtype_of<C>) return nullptr;
  return visit(dtype, Stored{}, []<class T>() -> WriteRow<C> {
    return [](void* to, const C* from, std::int64_t n) {
      auto* y = static_cast<T*>(to);
      if constexpr (requires { convert_row(y, from, n); }) {
        convert_row(y, from, n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) y[i] = store<T>(static_cast<compute_t<T>>(from[i]));
      }
    };
  });
}

template ReadRow<float> read_row<float>(DType);
template ReadRow<double> read_row<double>(DType);
template WriteRow<float> write_row<float>(DType);
template WriteRow<double> write_row<double>(DType);

}  // namespace ondine::kernels
