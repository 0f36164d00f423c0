#include "trainer/data/split_words.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "core/text/letters.h"
#include "trainer/data/file_names.h"

namespace ondine::data {

Split split_of(std::string word) {
  word = lower_case(std::move(word));
  if (word == "train" || word == "training") return Split::train;
  if (word == "t10k" || word == "test") return Split::test;
  for (const char* known : {"val", "valid", "validation"}) {
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

SplitFiles split_files(std::span<const std::filesystem::path> files) {
  SplitFiles result;
  std::vector<std::filesystem::path> test;
  for (const std::filesystem::path& file : files) {
    std::string stem = content_stem(file);
    const Split split = cut_split(stem);
    (split == Split::test         ? test
     : split == Split::validation ? result.validation
                                  : result.train)
        .push_back(file);
  }
  if (result.validation.empty()) std::swap(result.validation, test);
  if (result.train.empty() && test.empty()) std::swap(result.train, result.validation);
  std::vector<std::string> names;
  for (const std::filesystem::path& file : test) names.push_back(file.string());
  if (!names.empty()) result.note = left_out_note(names);
  return result;
}

std::string left_out_note(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + quoted(names[i]);
  }
  if (names.size() > shown) text += cat(" and ", names.size() - shown, " more");
  return text + (names.size() == 1 ? " is" : " are") +
         " left out: test data, beside data for validation";
}

}  // namespace ondine::data
