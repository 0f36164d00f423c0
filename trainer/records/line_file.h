// A file of lines that grow with the steps of a run and go back with it when it is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace ondine::records {

class LineFile {
 public:
  // prefix: what precedes the number of the step in each line that has one. resumed_at: keeps the
  // lines of steps up to it of a file that is there; else the file begins anew.
  LineFile(std::filesystem::path file, std::string prefix, std::optional<std::uint64_t> resumed_at);

  // Writes the header of a file that has no line; Error(mismatch) where it has another one.
  void header(const std::string& line);
  void line(const std::string& text);
  void flush();

 private:
  void keep_until(std::uint64_t step);

  std::filesystem::path file_;
  std::string prefix_;
  std::string first_;  // line of a file that was there
  std::ofstream out_;
};

}  // namespace ondine::records
