#include "trainer/options/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <ondine/error.h>
#include <ondine/printable.h>

namespace ondine::options {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kibi = 1024;
constexpr Unit byte_units[] = {{"", 1},
                               {"B", 1},
                               {"K", kibi},
                               {"KiB", kibi},
                               {"KB", 1e3},
                               {"kB", 1e3},
                               {"M", kibi* kibi},
                               {"MiB", kibi* kibi},
                               {"MB", 1e6},
                               {"G", kibi* kibi* kibi},
                               {"GiB", kibi* kibi* kibi},
                               {"GB", 1e9},
                               {"T", kibi* kibi* kibi* kibi},
                               {"TiB", kibi* kibi* kibi* kibi},
                               {"TB", 1e12}};
constexpr Unit time_units[] = {{"", 1e3},     {"ms", 1},     {"s", 1e3},    {"m", 60e3},
                               {"min", 60e3}, {"h", 3600e3}, {"d", 86400e3}};

// The number at the start of a text times its unit.
std::optional<double> with_unit(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value)) return {};
  const std::string_view unit = text.substr(static_cast<std::size_t>(last - text.data()));
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == unit; });
  if (found == units.end()) return {};
  return value * found->factor;
}

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const char* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [last, error] = std::from_chars(first, end, value);
  if (error != std::errc() || last != end) return {};
  return value;
}

}  // namespace

void refuse(std::string_view option, std::string_view needed, std::string_view found) {
  throw Error(ErrorCode::invalid_option, std::string(option) + " needs " + std::string(needed) +
                                             ", found '" + printable(found) + "'");
}

std::string spelled(std::string_view name, OptionSpelling spelling) {
  std::string text(spelling == OptionSpelling::dashes ? "--" : "");
  text += name;
  if (spelling == OptionSpelling::keyword) std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::optional<double> number(std::string_view text) {
  const std::size_t bar = text.find('/');
  if (bar == std::string_view::npos) return whole_text<double>(text);
  const auto above = whole_text<double>(text.substr(0, bar));
  const auto below = whole_text<double>(text.substr(bar + 1));
  if (!above || !below || *below == 0) return {};
  return *above / *below;
}

// "1e6" and "3.0" are integers.
std::optional<std::int64_t> integer(std::string_view text) {
  if (const auto exact = whole_text<std::int64_t>(text)) return exact;
  const auto value = whole_text<double>(text);
  constexpr double exact_below = 9e15;
  if (!value || std::trunc(*value) != *value || std::fabs(*value) > exact_below) return {};
  return static_cast<std::int64_t>(*value);
}

std::optional<std::uint64_t> bytes(std::string_view text) {
  if (const auto exact = whole_text<std::uint64_t>(text)) return exact;
  const auto value = with_unit(text, byte_units);
  constexpr double too_many = 9.2e18;
  if (!value || *value < 0 || *value > too_many) return {};
  return static_cast<std::uint64_t>(std::llround(*value));
}

std::optional<std::chrono::milliseconds> duration(std::string_view text) {
  const auto value = with_unit(text, time_units);
  constexpr double longest = 1e15;
  if (!value || !(*value > 0 && *value < longest)) return {};
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*value)));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::pair<std::string, std::string> name_and_value(const std::string& text, std::string_view option,
                                                   std::span<const PortInfo> inputs) {
  auto parts = split_input_value(text, inputs);
  if (!parts) refuse(option, "NAME=VALUE", text);
  return std::move(*parts);
}

std::pair<std::string, double> pattern_and_number(const std::string& text,
                                                  const std::string& option) {
  const std::size_t at = text.rfind('=');
  const auto value =
      at == std::string::npos ? std::optional<double>() : number(text.substr(at + 1));
  if (at == 0 || !value) {
    throw Error(ErrorCode::invalid_option, option + " needs PATTERN=NUMBER, found " + text);
  }
  return {text.substr(0, at), *value};
}

}  // namespace ondine::options

namespace ondine {

std::optional<std::pair<std::string, std::string>> split_input_value(
    std::string_view text, std::span<const PortInfo> inputs) {
  std::size_t at = text.find('=');
  for (const PortInfo& input : inputs) {
    const std::size_t end = input.name.size();
    const bool named = text.starts_with(input.name) && end < text.size() && text[end] == '=';
    if (named && at != std::string_view::npos) at = std::max(at, end);
  }
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return {};
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

}  // namespace ondine
