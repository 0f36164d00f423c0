#include "trainer/data/file_names.h"

#include <algorithm>
#include <cctype>

namespace ondine::data {
namespace {

std::filesystem::path without_gz(const std::filesystem::path& file) {
  const std::filesystem::path name = file.filename();
  return extension_of(name) == ".gz" ? name.stem() : name;
}

}  // namespace

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string extension_of(const std::filesystem::path& file) {
  return lower(file.extension().string());
}

std::string content_extension(const std::filesystem::path& file) {
  return extension_of(without_gz(file));
}

std::string content_stem(const std::filesystem::path& file) {
  return without_gz(file).stem().string();
}

}  // namespace ondine::data
