#include "trainer/data/file_names.h"

#include "core/text/letters.h"

namespace ondine::data {
namespace {

std::filesystem::path without_gz(const std::filesystem::path& file) {
  const std::filesystem::path name = file.filename();
  return extension_of(name) == ".gz" ? name.stem() : name;
}

}  // namespace

std::string extension_of(const std::filesystem::path& file) {
  return lower_case(file.extension().string());
}

std::string content_extension(const std::filesystem::path& file) {
  return extension_of(without_gz(file));
}

std::string content_stem(const std::filesystem::path& file) {
  return without_gz(file).stem().string();
}

}  // namespace ondine::data
