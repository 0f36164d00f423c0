// Tensors and calls with which the cases are written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/deadline/worst_cases.h"

namespace ondine::test {

using Ints = std::vector<std::int64_t>;
using graph::Attributes;

inline constexpr const char* ondine_domain = "ai.ondine";
inline constexpr const char* ml_domain = "ai.onnx.ml";

inline Tensor floats(Shape shape) { return zeros(DType::float32, std::move(shape)); }
inline Tensor bytes(Shape shape) { return zeros(DType::uint8, std::move(shape)); }
inline Tensor shape_of(const Ints& dims) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims);
}
inline Tensor text(std::string value) { return Tensor::of<std::string>({1}, {std::move(value)}); }

inline OpCase op(std::string name, std::vector<Value> inputs, Attributes attributes = {},
                 std::size_t outputs = 1, std::string domain = {}) {
  return {.op = std::move(name),
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = std::move(domain)};
}

}  // namespace ondine::test
