#include "graph/training/prepare/notes.h"

#include "core/message.h"

namespace ondine::graph {

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
