#include "tests/fuzz/settings.h"

#include <algorithm>
#include <string_view>

namespace ondine::test {
namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr const char* key = "fuzz";

}  // namespace

std::vector<std::uint8_t> settings_of(const graph::ModelDef& model) {
  std::vector<std::uint8_t> bytes;
  for (const auto& [name, text] : model.metadata) {
    if (name != key) continue;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      const auto high = digits.find(text[i]);
      const auto low = digits.find(text[i + 1]);
      if (high == digits.npos || low == digits.npos) break;
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
  }
  return bytes;
}

void set_settings(graph::ModelDef& model, const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15U];
  }
  std::erase_if(model.metadata, [](const auto& entry) { return entry.first == key; });
  model.metadata.emplace_back(key, std::move(text));
}

}  // namespace ondine::test
