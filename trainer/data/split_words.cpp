#include "trainer/data/split_words.h"

#include <algorithm>
#include <cctype>

namespace ondine::data {

Split split_of(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "train" || word == "training") return Split::train;
  for (const char* known : {"t10k", "test", "val", "valid", "validation"}) {
    if (word == known) return Split::validation;
  }
  return Split::unknown;
}

Split cut_split(std::string& name) {
  if (const Split whole = split_of(name); whole != Split::unknown) {
    name.clear();
    return whole;
  }
  const std::size_t first = name.find_first_of("-_.");
  if (first == std::string::npos) return Split::unknown;
  if (const Split front = split_of(name.substr(0, first)); front != Split::unknown) {
    name.erase(0, first + 1);
    return front;
  }
  const std::size_t last = name.find_last_of("-_.");
  const Split back = split_of(name.substr(last + 1));
  if (back != Split::unknown) name.resize(last);
  return back;
}

}  // namespace ondine::data
