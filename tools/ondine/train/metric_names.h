// The option --metrics: names of metrics and, where the command writes one, a file.
#pragma once

#include <string>
#include <vector>

namespace ondine::cli {

// "a,b" and "c" as a, b and c. Throws Error(mismatch) for an empty name.
std::vector<std::string> split_names(const std::vector<std::string>& lists);

// Takes out what is a file by its '.' or '/'. Throws WrongUsage for two of them.
std::string take_file(std::vector<std::string>& lists);

}  // namespace ondine::cli
