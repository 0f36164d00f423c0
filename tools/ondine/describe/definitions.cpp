#include "ondine/describe/definitions.h"

#include <algorithm>

namespace ondine::cli {
namespace {

constexpr std::size_t most_shown = 4;

// "a|b", "NAME" where there are many.
std::string placeholder(const OptionInfo& info) {
  if (info.positional || info.kind != OptionKind::choice) return info.value;
  if (info.choices.size() > most_shown) return "NAME";
  std::string text;
  for (const std::string& one : info.choices) text += (text.empty() ? "" : "|") + one;
  return text;
}

std::string help_of(const OptionInfo& info) {
  if (info.positional || info.choices.size() <= most_shown) return info.help;
  std::string text = info.help + ": ";
  for (std::size_t i = 0; i < info.choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == info.choices.size() ? " or " : ", ") + info.choices[i];
  }
  return text;
}

std::vector<std::string> names_of(const OptionInfo& info) {
  if (!info.positional) {
    std::vector<std::string> names{"--" + info.name};
    if (info.letter != 0) names.push_back(std::string("-") + info.letter);
    return names;
  }
  std::string name = info.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return {name};
}

}  // namespace

OptionDefinition definition_of(const OptionInfo& option) {
  return {names_of(option), help_of(option), placeholder(option), option.default_value,
          option.choices,   option.required, option.repeats,      option.positional};
}

}  // namespace ondine::cli
