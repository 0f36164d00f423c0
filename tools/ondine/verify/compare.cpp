#include "ondine/verify/compare.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

std::string describe(const Tensor& tensor) {
  return std::string(to_string(tensor.dtype())) + tensor.shape().to_string();
}

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  if (std::isinf(want) || std::isinf(got)) return false;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

template <class T>
bool close_complex(const Tensor& got, const Tensor& want, std::int64_t i, const Tolerance& limit) {
  const auto at = static_cast<std::size_t>(i);
  const std::complex<T> a = got.values<std::complex<T>>()[at];
  const std::complex<T> b = want.values<std::complex<T>>()[at];
  return close(static_cast<double>(a.real()), static_cast<double>(b.real()), limit) &&
         close(static_cast<double>(a.imag()), static_cast<double>(b.imag()), limit);
}

bool equal_element(const Tensor& got, const Tensor& want, std::int64_t i, const Tolerance& limit) {
  const DType dtype = want.dtype();
  const auto at = static_cast<std::size_t>(i);
  if (dtype == DType::string) {
    return got.values<std::string>()[at] == want.values<std::string>()[at];
  }
  if (dtype == DType::complex64) return close_complex<float>(got, want, i, limit);
  if (dtype == DType::complex128) return close_complex<double>(got, want, i, limit);
  if (is_float(dtype)) return close(element_of(got, i), element_of(want, i), limit);
  const std::size_t width = size_of(dtype);
  return std::memcmp(static_cast<const std::byte*>(got.data()) + at * width,
                     static_cast<const std::byte*>(want.data()) + at * width, width) == 0;
}

std::string show(const Tensor& tensor, std::int64_t i) {
  if (tensor.dtype() != DType::string) return element_text(tensor, i);
  return "'" + tensor.values<std::string>()[static_cast<std::size_t>(i)] + "'";
}

std::optional<std::string> tensor_difference(const Tensor& got, const Tensor& want,
                                             const Tolerance& tolerance) {
  std::int64_t wrong = 0;
  std::int64_t first = 0;
  for (std::int64_t i = want.size(); i-- > 0;) {
    if (equal_element(got, want, i, tolerance)) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(want.size()) +
         " elements differ, the first at " + std::to_string(first) + ": got " + show(got, first) +
         ", want " + show(want, first);
}

template <class Leaf>
std::optional<std::string> walk(const Value& got, const Value& want, const Leaf& leaf);

template <class Leaf>
std::optional<std::string> walk_sparse(const Value& got, const Value& want, const Leaf& leaf) {
  if (!(got.dense_shape() == want.dense_shape())) {
    return "got a sparse tensor of shape " + got.dense_shape().to_string() + ", want one of " +
           want.dense_shape().to_string();
  }
  if (auto text = walk(Value(got.keys()), Value(want.keys()), leaf)) return "indices: " + *text;
  if (auto text = walk(Value(got.tensor()), Value(want.tensor()), leaf)) return "values: " + *text;
  return {};
}

// Walks both values in parallel; `leaf` compares two tensors of equal type.
template <class Leaf>
std::optional<std::string> walk(const Value& got, const Value& want, const Leaf& leaf) {
  if (got.kind() != want.kind()) {
    return std::string("got a ") + to_string(got.kind()) + ", want a " + to_string(want.kind());
  }
  if (want.is_tensor()) {
    const Tensor& a = got.tensor();
    const Tensor& b = want.tensor();
    if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
      return "got " + describe(a) + ", want " + describe(b);
    }
    return leaf(a, b);
  }
  if (want.kind() == Value::Kind::none) return {};
  if (want.kind() == Value::Kind::sparse_tensor) return walk_sparse(got, want, leaf);
  const auto& a = got.elements();
  const auto& b = want.elements();
  if (a.size() != b.size()) {
    return "got " + std::to_string(a.size()) + " elements, want " + std::to_string(b.size());
  }
  if (want.kind() == Value::Kind::map) {
    if (auto text = walk(Value(got.keys()), Value(want.keys()), leaf)) return "keys: " + *text;
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (auto text = walk(a[i], b[i], leaf)) return "element " + std::to_string(i) + ": " + *text;
  }
  return {};
}

}  // namespace

std::optional<std::string> difference(const Value& got, const Value& want,
                                      const Tolerance& tolerance) {
  return walk(got, want,
              [&](const Tensor& a, const Tensor& b) { return tensor_difference(a, b, tolerance); });
}

std::optional<std::string> type_difference(const Value& got, const Value& want) {
  return walk(got, want, [](const Tensor&, const Tensor&) { return std::optional<std::string>(); });
}

}  // namespace ondine::cli
