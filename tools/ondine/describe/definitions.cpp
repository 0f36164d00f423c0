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

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string conditions_of(const OptionInfo& info, std::span<const OptionInfo> table) {
  const auto name_of = [&](const std::string& option) {
    return names_of(*std::ranges::find(table, option, &OptionInfo::name)).front();
  };
  std::string text;
  for (const OptionCondition& one : info.applies) {
    text += (text.empty() ? "applies with " : " or ") + name_of(one.option) +
            (one.choices.empty() ? "" : " " + listed(one.choices));
  }
  std::vector<std::string> others;
  for (const std::string& other : info.excludes) others.push_back(name_of(other));
  if (others.empty()) return text;
  return text + (text.empty() ? "excludes " : "; excludes ") + listed(others);
}

}  // namespace

OptionDefinition definition_of(const OptionInfo& option, std::span<const OptionInfo> table) {
  OptionDefinition result;
  result.names = names_of(option);
  result.help = help_of(option);
  result.value = placeholder(option);
  result.default_value = option.default_value;
  result.choices = option.choices;
  result.required = option.required;
  result.repeats = option.repeats;
  result.positional = option.positional;
  result.conditions = conditions_of(option, table);
  return result;
}

}  // namespace ondine::cli
