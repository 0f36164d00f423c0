// Tensors of any number type from doubles, and naive references for element-wise operators.
#pragma once

#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "kernels/common/element_conversion.h"
#include "kernels/common/saturate.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

// Rounded or cut to the dtype; anything but 0 is true.
inline Tensor as_dtype(const Tensor& doubles, DType dtype) {
  Tensor out(dtype, doubles.shape());
  const auto from = doubles.values<double>();
  if (dtype == DType::boolean) {
    auto to = out.mutable_values<bool>();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] != 0;
    return out;
  }
  kernels::visit(dtype, kernels::Numbers{}, [&]<class T>() {
    auto to = out.mutable_values<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i] = kernels::store<T>(kernels::saturate<kernels::compute_t<T>>(from[i]));
    }
  });
  return out;
}

inline Tensor numbers(const Shape& shape, const std::vector<double>& values,
                      DType dtype = DType::float64) {
  return as_dtype(Tensor::of<double>(shape, values), dtype);
}

inline Closeness closeness_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return {1e-12, 1e-13};
    case DType::float16:
      return {1e-3, 1e-6};
    case DType::bfloat16:
      return {8e-3, 1e-6};
    default:
      return {1e-6, 1e-6};
  }
}

inline const std::vector<DType> float_dtypes{DType::float64, DType::float32, DType::float16,
                                             DType::bfloat16};
inline const std::vector<DType> integer_dtypes{DType::int8,   DType::int16, DType::int32,
                                               DType::int64,  DType::uint8, DType::uint16,
                                               DType::uint32, DType::uint64};

// f of every element of the operands, laid over `out` one element at a time.
inline Tensor reference(const Shape& out, const std::vector<Tensor>& operands,
                        const std::function<double(const std::vector<double>&)>& f) {
  Tensor result(DType::float64, out);
  std::vector<std::vector<double>> values;
  for (const Tensor& operand : operands) values.push_back(as_doubles(operand));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    std::vector<double> arguments;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Shape& shape = operands[k].shape();
      std::int64_t rest = i;
      std::int64_t at = 0;
      std::int64_t stride = 1;
      for (std::size_t a = 0; a < out.rank(); ++a) {
        const std::size_t axis = out.rank() - 1 - a;
        const std::int64_t index = rest % out[axis];
        rest /= out[axis];
        if (a >= shape.rank()) continue;
        const std::int64_t size = shape[shape.rank() - 1 - a];
        if (size != 1) at += index * stride;
        stride *= size;
      }
      arguments.push_back(values[k][static_cast<std::size_t>(at)]);
    }
    result.mutable_values<double>()[static_cast<std::size_t>(i)] = f(arguments);
  }
  return result;
}

}  // namespace ondine::test
