#include "tests/support/cases.h"

#include <algorithm>
#include <cstdlib>

#include "tests/support/paths.h"

namespace ondine::test {

std::filesystem::path cases_folder() {
  if (const char* named = std::getenv("ONDINE_CASES")) return named;
  return source_folder().parent_path() / "shared" / "cases";
}

std::vector<std::filesystem::path> case_folders(const std::string& collection) {
  std::vector<std::filesystem::path> out;
  const auto folder = cases_folder() / collection;
  if (!std::filesystem::is_directory(folder)) return out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto has = [&](const char* name) { return std::filesystem::exists(entry.path() / name); };
    if (has("model.onnx") || has("expect")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ondine::test
