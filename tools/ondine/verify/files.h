// Files of a conformance case.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ondine/value.h>

namespace ondine::cli {

// PREFIX_0.SUFFIX, PREFIX_1.SUFFIX, ... in numeric order; also folders. An empty prefix: 0.SUFFIX.
struct NumberedFile {
  std::size_t number = 0;
  std::filesystem::path path;
};
std::vector<NumberedFile> numbered_files(const std::filesystem::path& folder,
                                         const std::string& prefix, const std::string& suffix);

std::string read_text(const std::filesystem::path& file);
// Tensors of files PREFIX0.pb, ... under their own names.
NamedValues load_named(const std::filesystem::path& folder, const std::string& prefix);

}  // namespace ondine::cli
