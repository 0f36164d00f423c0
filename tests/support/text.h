// Searching in printed graphs and reports.
#pragma once

#include <cstddef>
#include <string_view>

namespace ondine::test {

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// How often `part` stands in the text.
inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace ondine::test
