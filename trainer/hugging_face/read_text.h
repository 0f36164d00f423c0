// Small files of a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ondine::hugging_face {

// Error(io) where the file cannot be read, Error(limit) for one of more than `most` bytes.
std::string read_text(const std::filesystem::path& file, std::uint64_t most);

}  // namespace ondine::hugging_face
