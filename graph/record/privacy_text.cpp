#include "graph/record/privacy_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace ondine::graph {
namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <class T>
bool read(const char*& at, const char* end, T& value) {
  while (at != end && *at == ' ') ++at;
  const auto [next, error] = std::from_chars(at, end, value);
  at = next;
  return error == std::errc();
}

}  // namespace

std::string to_text(const Privacy& privacy) {
  return shortest(privacy.clip) + " " + shortest(privacy.noise) + " " +
         shortest(privacy.batch_size);
}

std::optional<Privacy> read_privacy(const std::string& text) {
  Privacy result;
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool holds = read(at, end, result.clip) && read(at, end, result.noise) &&
                     read(at, end, result.batch_size) && at == end;
  const bool fits = holds && std::isfinite(result.clip) && result.clip > 0 &&
                    std::isfinite(result.noise) && result.noise >= 0 && result.batch_size > 0;
  return fits ? std::optional<Privacy>(result) : std::nullopt;
}

}  // namespace ondine::graph
