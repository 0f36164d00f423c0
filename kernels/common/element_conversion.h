// Conversion of single elements to and from the type in which arithmetic is done.
#pragma once

#include "core/float_formats.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

template <class T>
inline compute_t<T> load(const T& x) {
  if constexpr (std::is_same_v<compute_t<T>, T>) {
    return x;
  } else {
    return to_float(x);
  }
}

template <class T>
inline T store(compute_t<T> x) {
  if constexpr (std::is_same_v<T, float16>) {
    return to_float16(x);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(x);
  } else {
    return x;
  }
}

}  // namespace ondine::kernels
