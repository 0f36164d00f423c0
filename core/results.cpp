#include <ondine/results.h>

#include <algorithm>
#include <optional>

#include "core/float_formats.h"
#include "core/message.h"

namespace ondine {
namespace {

template <class T>
double as_double(const Tensor& tensor) {
  const T value = tensor.values<T>()[0];
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(to_float(value));
  }
}

// 4-bit and 2-bit integers take a byte each, with their sign extended.
template <class T>
double small_integer(const Tensor& tensor) {
  return static_cast<double>(*static_cast<const T*>(tensor.data()));
}

std::optional<double> only_element(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::float32:
      return as_double<float>(tensor);
    case DType::float64:
      return as_double<double>(tensor);
    case DType::float16:
      return as_double<float16>(tensor);
    case DType::bfloat16:
      return as_double<bfloat16>(tensor);
    case DType::float8e4m3fn:
      return as_double<float8e4m3fn>(tensor);
    case DType::float8e4m3fnuz:
      return as_double<float8e4m3fnuz>(tensor);
    case DType::float8e5m2:
      return as_double<float8e5m2>(tensor);
    case DType::float8e5m2fnuz:
      return as_double<float8e5m2fnuz>(tensor);
    case DType::float8e8m0:
      return as_double<float8e8m0>(tensor);
    case DType::float4e2m1:
      return as_double<float4e2m1>(tensor);
    case DType::uint8:
    case DType::uint4:
    case DType::uint2:
      return small_integer<std::uint8_t>(tensor);
    case DType::int8:
    case DType::int4:
    case DType::int2:
      return small_integer<std::int8_t>(tensor);
    case DType::boolean:
      return as_double<bool>(tensor);
    case DType::uint16:
      return as_double<std::uint16_t>(tensor);
    case DType::int16:
      return as_double<std::int16_t>(tensor);
    case DType::uint32:
      return as_double<std::uint32_t>(tensor);
    case DType::int32:
      return as_double<std::int32_t>(tensor);
    case DType::uint64:
      return as_double<std::uint64_t>(tensor);
    case DType::int64:
      return as_double<std::int64_t>(tensor);
    case DType::string:
    case DType::complex64:
    case DType::complex128:
    case DType::undefined:
      break;
  }
  return {};
}

}  // namespace

std::size_t Results::find(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const NamedValue& one) { return one.first == name; });
  if (found != values_.end()) return static_cast<std::size_t>(found - values_.begin());
  std::string names;
  for (const NamedValue& one : values_) names += " " + quoted(one.first);
  fail(ErrorCode::mismatch, "there is no result ", quoted(name), "; results are",
       names.empty() ? " none" : names);
}

const Value& Results::operator[](std::string_view name) const& {
  return values_[find(name)].second;
}
Value& Results::operator[](std::string_view name) & { return values_[find(name)].second; }
Value Results::operator[](std::string_view name) && {
  return std::move(values_[find(name)].second);
}

bool Results::contains(std::string_view name) const noexcept {
  return std::any_of(values_.begin(), values_.end(),
                     [&](const NamedValue& one) { return one.first == name; });
}

double Results::scalar(std::string_view name) const {
  const Value& value = (*this)[name];
  if (value.kind() != Value::Kind::tensor) {
    fail(ErrorCode::mismatch, "result ", quoted(name), " is a ", to_string(value.kind()),
         ", not one number");
  }
  const Tensor& tensor = value.tensor();
  if (tensor.size() == 1) {
    if (const auto number = only_element(tensor)) return *number;
  }
  fail(ErrorCode::mismatch, "result ", quoted(name), " is a ", tensor.dtype(), tensor.shape(),
       ", not one number");
}

}  // namespace ondine
