#include "kernels/cast/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/message.h"
#include "core/text/letters.h"
#include "kernels/common/convert_rows.h"

namespace ondine::kernels {
namespace {

template <class T>
bool parse_all(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A decimal number whose magnitude no double has: 0 or infinity, by its exponent.
double out_of_range(std::string_view text) {
  const auto e = text.find_first_of("eE");
  const bool small = e != text.npos ? text.substr(e + 1, 1) == "-" : text.find('.') != text.npos;
  const double size = small ? 0.0 : std::numeric_limits<double>::infinity();
  return text.front() == '-' ? -size : size;
}

// Digits enough that the value is read back as the same one of a narrow format.
std::size_t shortest(char* first, char* last, double value, DType format) {
  const ConvertRow to_float = row_to_float(format);
  for (int digits = 1; digits < 9; ++digits) {
    const auto end = std::to_chars(first, last, value, std::chars_format::scientific, digits).ptr;
    double back = 0;
    parse_all(std::string_view(first, static_cast<std::size_t>(end - first)), back);
    // Every value of a narrow format is a float, so reading back to the nearest one is enough.
    std::array<std::byte, 4> stored{};
    float read = 0;
    const auto nearest = static_cast<float>(back);
    row_from_float(format)(stored.data(), &nearest, 1);
    to_float(&read, stored.data(), 1);
    if (static_cast<double>(read) == value) {
      double rounded = back;
      const bool plain = std::fabs(value) >= 1e-5 && std::fabs(value) < 1e16;
      const auto kind = plain ? std::chars_format::fixed : std::chars_format::scientific;
      return static_cast<std::size_t>(std::to_chars(first, last, rounded, kind).ptr - first);
    }
  }
  return 0;
}

bool has_narrow_row(DType format) {
  return format == DType::float16 || format == DType::bfloat16 || format == DType::float8e4m3fn ||
         format == DType::float8e4m3fnuz || format == DType::float8e5m2 ||
         format == DType::float8e5m2fnuz;
}

}  // namespace

ParsedNumber parse_number(std::string_view text) {
  const std::string_view whole = text;
  constexpr std::string_view spaces = " \t\r\n";
  const auto first = text.find_first_not_of(spaces);
  text = first == text.npos ? std::string_view() : text.substr(first);
  text = text.substr(0, text.find_last_not_of(spaces) + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t integer = 0;
  if (parse_all(text, integer)) return integer;
  std::uint64_t natural = 0;
  if (parse_all(text, natural)) return natural;
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view letters = negative ? text.substr(1) : text;
  if (is_word(letters, "inf") || is_word(letters, "infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  if (is_word(letters, "nan")) return std::numeric_limits<double>::quiet_NaN();
  double real = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    fail(ErrorCode::mismatch, "string ", quoted(whole), " is not a number");
  }
  return error == std::errc::result_out_of_range ? out_of_range(text) : real;
}

std::string format_number(double value, DType format) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  std::array<char, 64> buffer{};
  char* const first = buffer.data();
  char* const last = first + buffer.size();
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  if (has_narrow_row(format)) return std::string(first, shortest(first, last, value, format));
  const bool plain = std::fabs(value) >= 1e-5 && std::fabs(value) < 1e16;
  const auto kind = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const char* const end = format == DType::float64
                              ? std::to_chars(first, last, value, kind).ptr
                              : std::to_chars(first, last, static_cast<float>(value), kind).ptr;
  return std::string(static_cast<const char*>(first), end);
}

}  // namespace ondine::kernels
