#include "trainer/data/files/file_kind.h"

#include <algorithm>

#include "core/text/letters.h"

namespace ondine::data {

bool FileKind::has(const std::string& name) const {
  const std::string extension = lower_case(std::filesystem::path(name).extension().string());
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

}  // namespace ondine::data
