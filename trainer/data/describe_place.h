// Descriptions, for messages, of files and folders that hold no data.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ondine::data {

// Names the content by its first bytes and the extension, with the formats that are needed instead:
// "a GIF image; ...".
std::string describe_content(std::span<const std::byte> content, const std::filesystem::path& file);

// Error(mismatch) for a folder without data, whose names are given.
[[noreturn]] void refuse_folder(const std::filesystem::path& folder,
                                const std::vector<std::string>& names);

}  // namespace ondine::data
