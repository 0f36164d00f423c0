#include "ondine/verify/files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include <ondine/data.h>

namespace ondine::cli {

std::vector<NumberedFile> numbered_files(const std::filesystem::path& folder,
                                         const std::string& prefix, const std::string& suffix) {
  std::vector<NumberedFile> result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
        name.size() <= prefix.size() + suffix.size()) {
      continue;
    }
    const char* first = name.data() + prefix.size();
    const char* last = name.data() + name.size() - suffix.size();
    std::size_t number = 0;
    const auto parsed = std::from_chars(first, last, number);
    if (parsed.ec == std::errc() && parsed.ptr == last) result.push_back({number, entry.path()});
  }
  std::sort(result.begin(), result.end(),
            [](const NumberedFile& a, const NumberedFile& b) { return a.number < b.number; });
  return result;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorCode::io, "cannot read '" + file.string() + "'");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

NamedValues load_named(const std::filesystem::path& folder, const std::string& prefix) {
  NamedValues result;
  for (const NumberedFile& file : numbered_files(folder, prefix, ".pb")) {
    result.push_back(load_value(file.path, ""));
  }
  return result;
}

}  // namespace ondine::cli
