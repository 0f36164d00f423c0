#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace ondine::test {

// A new folder whose names are texts, with the separator of Windows.
class Folder {
 public:
  std::string path() const { return folder_.path().string(); }
  std::string operator/(const std::string& name) const { return path() + "\\" + name; }
  void make(const std::string& folder) const { std::filesystem::create_directory(folder); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace ondine::test
