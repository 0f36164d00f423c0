// Parsers of numbers, and of durations such as "90s", "10m" and "1.5h"; a plain number is in
// seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace ondine::cli {

// A number at the start of a text.
struct LeadingNumber {
  double value = 0;
  std::size_t length = 0;  // of its text; 0 where there is none
};
LeadingNumber leading_number(const std::string& text);

// Throws Error(mismatch), naming the option.
std::chrono::milliseconds parse_duration(const std::string& text, const char* option);

}  // namespace ondine::cli
