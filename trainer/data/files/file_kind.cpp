#include "trainer/data/files/file_kind.h"

#include <algorithm>
#include <cctype>

namespace ondine::data {

bool FileKind::has(const std::string& name) const {
  std::string extension = std::filesystem::path(name).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

}  // namespace ondine::data
