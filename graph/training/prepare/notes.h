// The text of notes on a model under preparation.
#pragma once

#include <string>
#include <vector>

namespace ondine::graph {

// Appends `text` unless the list has it.
void add_once(std::vector<std::string>& list, std::string text);
// The first few, and how many more there are.
std::string listed(const std::vector<std::string>& names);

}  // namespace ondine::graph
