#include "ondine/train/duration.h"

#include <ondine/error.h>

namespace ondine::cli {
namespace {

// The length of a unit in seconds; 0 for an unknown unit.
double seconds_of(const std::string& unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  return 0;
}

}  // namespace

LeadingNumber leading_number(const std::string& text) {
  LeadingNumber number;
  try {
    number.value = std::stod(text, &number.length);
  } catch (const std::exception&) {
    return {};
  }
  return number;
}

std::chrono::milliseconds parse_duration(const std::string& text, const char* option) {
  const auto [value, used] = leading_number(text);
  const double milliseconds = value * seconds_of(text.substr(used)) * 1e3;
  if (used == 0 || !(milliseconds > 0 && milliseconds < 1e15)) {
    throw Error(ErrorCode::mismatch,
                std::string(option) + " needs a time like 90s, 10m or 1.5h, found '" + text + "'");
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(milliseconds));
}

}  // namespace ondine::cli
