// Names in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ondine::data {

// Without those that begin with a dot.
std::vector<std::string> sorted_names(const std::filesystem::path& folder);
std::vector<std::string> folders_in(const std::filesystem::path& folder);

}  // namespace ondine::data
