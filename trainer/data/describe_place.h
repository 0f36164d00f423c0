// What files and folders are that hold no data, for messages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ondine::data {

// By the first bytes and the extension: "a GIF image; ...", with what is needed instead.
std::string describe_content(std::span<const std::byte> content, const std::filesystem::path& file);

// Error(mismatch) for a folder without data, whose names are given.
[[noreturn]] void refuse_folder(const std::filesystem::path& folder,
                                const std::vector<std::string>& names);

}  // namespace ondine::data
