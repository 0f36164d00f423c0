#include "trainer/data/files/folder_names.h"

#include <algorithm>

#include "core/files/file.h"
#include "core/message.h"

namespace ondine::data {

std::vector<std::string> sorted_names(const std::filesystem::path& folder) {
  PosixFileSystem files;
  std::vector<std::string> names;
  require_found(files.list(folder.string(), names), "list", folder.string());
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> folders_in(const std::filesystem::path& folder) {
  std::vector<std::string> names = sorted_names(folder);
  std::erase_if(names, [&](const std::string& name) {
    std::error_code error;
    return !std::filesystem::is_directory(folder / name, error);
  });
  return names;
}

}  // namespace ondine::data
