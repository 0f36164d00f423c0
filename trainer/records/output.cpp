#include "trainer/records/output.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/message.h"

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
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20) {
      result += std::string("\\u00") + digits[byte >> 4] + digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace ondine::records
