// Parser of durations such as "90s", "10m" and "1.5h"; a plain number is in seconds.
#pragma once

#include <chrono>
#include <string>

namespace ondine::cli {

// Throws Error(mismatch), naming the option.
std::chrono::milliseconds parse_duration(const std::string& text, const char* option);

}  // namespace ondine::cli
