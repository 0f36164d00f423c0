// Sizes of declared types.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace ondine::graph {

// A type of its own: libstdc++ takes a std::variant with a std::string for one that is never empty,
// and goes wrong when there is no memory to copy that string.
struct DimName : std::string {
  using std::string::string;
  DimName(std::string name) noexcept : std::string(std::move(name)) {}
};

// A dimension of a declared type: a size, a name, or neither.
using DimDef = std::variant<std::monostate, std::int64_t, DimName>;

}  // namespace ondine::graph
