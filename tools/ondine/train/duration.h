// Times as people write them: "90s", "10m", "1.5h"; a number alone is in seconds.
#pragma once

#include <chrono>
#include <string>

namespace ondine::cli {

// Error(mismatch) that names the option.
std::chrono::milliseconds parse_duration(const std::string& text, const char* option);

}  // namespace ondine::cli
