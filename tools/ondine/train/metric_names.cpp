#include "ondine/train/metric_names.h"

#include <algorithm>
#include <utility>

#include <ondine/error.h>

#include "ondine/command.h"
#include "ondine/common.h"

namespace ondine::cli {

std::vector<std::string> split_names(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::string& name : split_commas(list)) {
      if (name.empty()) {
        throw Error(ErrorCode::mismatch, "--metrics needs NAME,NAME,..., found '" + list + "'");
      }
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::string take_file(std::vector<std::string>& lists) {
  const auto first_file = std::stable_partition(lists.begin(), lists.end(), [](const auto& text) {
    return text.find_first_of("./") == std::string::npos;
  });
  if (lists.end() - first_file > 1) throw WrongUsage("--metrics names two files");
  std::string file = first_file == lists.end() ? "" : *first_file;
  lists.erase(first_file, lists.end());
  return file;
}

}  // namespace ondine::cli
