#include "core/text/base64.h"

#include <algorithm>
#include <array>

#include "core/message.h"

namespace ondine {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> digit_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}

}  // namespace

std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < size ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= size ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::string to_base64(std::string_view bytes) {
  return to_base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string from_base64(std::string_view text) {
  static constexpr std::array<std::int8_t, 256> values = digit_values();
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::string_view group = text.substr(i, 4);
    const std::size_t used = std::min(group.find('='), group.size());
    const bool is_last = i + 4 >= text.size();
    bool is_valid = group.size() == 4 && used >= (is_last ? 2U : 4U) &&
                    group.find_first_not_of('=', used) == std::string_view::npos;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int value = k < used ? values[static_cast<unsigned char>(group[k])] : 0;
      is_valid = is_valid && value >= 0;
      bits = bits << 6 | (static_cast<std::uint32_t>(value) & 63U);
    }
    // Bits past the last byte are zero.
    is_valid = is_valid && (bits & ((1U << 8 * (4 - used)) - 1)) == 0;
    if (!is_valid) fail(ErrorCode::corrupt, "no base64 at byte ", i);
    for (std::size_t k = 0; k + 1 < used; ++k) {
      bytes += static_cast<char>(bits >> (16 - 8 * k) & 0xffU);
    }
  }
  return bytes;
}

}  // namespace ondine
