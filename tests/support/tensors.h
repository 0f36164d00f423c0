// Short ways to write tensors in tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <ondine/tensor.h>

namespace ondine::test {

inline Tensor int64s(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// 0, 1, 2, ... in the given shape.
template <class T = float>
Tensor iota(const Shape& shape) {
  std::vector<T> values;
  for (int i = 0; i < shape.size(); ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      values.push_back(static_cast<T>(i));
    } else {
      values.push_back(T(i));
    }
  }
  return Tensor::of<T>(shape, values);
}

inline Tensor iota_strings(const Shape& shape) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    values.push_back("element number " + std::to_string(i));
  }
  return Tensor::of<std::string>(shape, values);
}

// Row-major position of an index.
inline std::size_t position(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::int64_t at = 0;
  for (std::size_t a = 0; a < index.size(); ++a) at = at * shape[a] + index[a];
  return static_cast<std::size_t>(at);
}

// Calls body(index) for every index of a shape, in row-major order.
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  std::vector<std::int64_t> index(shape.rank());
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    std::int64_t rest = i;
    for (std::size_t a = shape.rank(); a-- > 0;) {
      index[a] = rest % shape[a];
      rest /= shape[a];
    }
    body(index);
  }
}

// The tensor y of shape `shape` with y[i] = x[source(i)], for iota tensors of any of the element
// sizes: what an operator that moves elements must give for `x = iota<T>(...)`.
template <class T, class Source>
Tensor moved(const Tensor& x, const Shape& shape, Source&& source) {
  std::vector<T> values;
  for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
    values.push_back(x.values<T>()[position(x.shape(), source(index))]);
  });
  return Tensor::of<T>(shape, values);
}

}  // namespace ondine::test
