// Dimensions of the types that a model declares.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace ondine::graph {

// Not std::string itself: libstdc++ assumes that a std::variant with a std::string never becomes
// valueless, which is wrong when copying the string runs out of memory.
struct DimName : std::string {
  using std::string::string;
  DimName(std::string name) noexcept : std::string(std::move(name)) {}
};

// A declared dimension: a size, a symbolic name, or neither (dynamic).
using DimDef = std::variant<std::monostate, std::int64_t, DimName>;

}  // namespace ondine::graph
