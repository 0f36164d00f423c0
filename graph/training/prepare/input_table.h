// Tables of inputs of operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace ondine::graph {

struct InputRow {
  std::string_view op;
  std::uint32_t inputs;  // bit i: input i
};

constexpr std::uint32_t input_bits(std::initializer_list<unsigned> inputs) {
  std::uint32_t mask = 0;
  for (const unsigned i : inputs) mask |= 1U << i;
  return mask;
}

template <std::size_t N>
bool lists_input(const InputRow (&rows)[N], std::string_view op, std::size_t input) {
  const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                   [&](const InputRow& row) { return row.op == op; });
  return found != std::end(rows) && input < 32 && (found->inputs >> input & 1U) != 0;
}

}  // namespace ondine::graph
