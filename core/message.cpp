#include "core/message.h"

#include <array>
#include <charconv>

namespace ondine {

void message::append(std::string& out, double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end.ptr);
}

void message::append_integer(std::string& out, std::int64_t value) { out += std::to_string(value); }
void message::append_integer(std::string& out, std::uint64_t value) {
  out += std::to_string(value);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 120;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\'' || c == '\\') {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  if (text.size() > longest) out += cat("...(", text.size(), " bytes)");
  return out + "'";
}

}  // namespace ondine
