// Names of the record's enumerations in JSON.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include <ondine/data_record.h>

namespace ondine::graph {

inline constexpr std::array<const char*, 10> meaning_names{
    "unknown", "logits",    "probabilities", "log-probabilities", "margins",
    "numbers", "embedding", "sequence",      "reconstruction",    "next-token"};
inline constexpr std::array<const char*, 2> layout_names{"nchw", "nhwc"};
inline constexpr std::array<const char*, 2> fit_names{"crop", "stretch"};
inline constexpr std::array<const char*, 3> next_rows_names{"text", "prompt", "messages"};
inline constexpr std::array<const char*, 2> loss_on_names{"answer", "all"};
inline constexpr std::array<const char*, 3> column_kind_names{"number", "one-hot", "embedding"};

template <class Enum, std::size_t N>
const char* name_in(const std::array<const char*, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// Nothing for a name that this version does not know.
template <class Enum, std::size_t N>
std::optional<Enum> find_in(const std::array<const char*, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return {};
}

}  // namespace ondine::graph
