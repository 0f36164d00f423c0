#include "graph/training/prepare/parameters/metadata.h"

#include <utility>

namespace ondine::graph {

std::string_view property(const Properties& properties, std::string_view key) {
  for (const auto& [name, text] : properties) {
    if (name == key || (name.ends_with(key) && name[name.size() - key.size() - 1] == '.')) {
      return text;
    }
  }
  return {};
}

std::vector<std::string_view> listed_names(std::string_view text) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t first = text.find_first_of("'\"");
    if (first == std::string_view::npos) return names;
    const std::size_t last = text.find(text[first], first + 1);
    if (last == std::string_view::npos) return names;
    names.push_back(text.substr(first + 1, last - first - 1));
    text.remove_prefix(last + 1);
  }
}

Properties kind_metadata(std::string kind) { return {{std::string(kind_key), std::move(kind)}}; }

Properties folded_metadata(const std::string& parameter) {
  return {{std::string(folded_key), "['" + parameter + "']"}};
}

}  // namespace ondine::graph
