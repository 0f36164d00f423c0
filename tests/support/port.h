// Declarations of inputs, without a model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ondine/model.h>

namespace ondine::test {

inline PortInfo port(const std::string& name, DType dtype, std::vector<std::int64_t> dims) {
  PortInfo result;
  result.name = name;
  result.dtype = dtype;
  result.dims = std::move(dims);
  return result;
}

}  // namespace ondine::test
