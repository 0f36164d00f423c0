#include "tests/support/temporary_folder.h"

#include <stdexcept>
#include <string>

#include "core/system/windows.h"

namespace ondine::test {

TemporaryFolder::TemporaryFolder() {
  static int number = 0;
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  const std::string process = std::to_string(::GetCurrentProcessId());
  path_ = parent / ("ondine-test " + process + "-" + std::to_string(number++));
  if (!std::filesystem::create_directory(path_)) throw std::runtime_error("cannot make a folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ondine::test
