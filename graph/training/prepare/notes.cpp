#include "graph/training/prepare/notes.h"

#include <algorithm>
#include <utility>

#include "core/message.h"

namespace ondine::graph {

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most_named = 6;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most_named; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most_named) text += cat(" and ", names.size() - most_named, " more");
  return text;
}

}  // namespace ondine::graph
