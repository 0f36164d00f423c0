#include "trainer/records/output.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "core/message.h"
#include "core/text/printable.h"

namespace ondine::records {

void require_written(const std::ofstream& out, const std::filesystem::path& file) {
  if (out) return;
  const int error = errno;
  fail(ErrorCode::io, "cannot write ", quoted(file.string()),
       error == 0 ? "" : ": " + std::generic_category().message(error));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string json_number(double value) { return std::isfinite(value) ? number_text(value) : "null"; }

std::string json_text(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string result = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    const NextCharacter character = next_character(rest);
    if (character.is_shown) {
      if (rest[0] == '"' || rest[0] == '\\') result += '\\';
      result += rest.substr(0, character.bytes);
    } else {
      // JSON cannot hold bytes that are no UTF-8: U+FFFD replaces them.
      const char32_t code = character.is_utf8 ? character.code_point : 0xfffd;
      result += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) result += digits[code >> shift & 15];
    }
    rest.remove_prefix(character.bytes);
  }
  return result + "\"";
}

}  // namespace ondine::records
