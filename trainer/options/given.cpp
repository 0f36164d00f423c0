#include "trainer/options/given.h"

#include <algorithm>
#include <sstream>

#include <ondine/error.h>
#include <ondine/printable.h>

#include "core/text/letters.h"
#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

std::string text_of(double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}

// "a number above 0", "a whole number from 1 to 1024", "a number from 0, below 1".
std::string needed_number(const OptionInfo& option, std::string text) {
  if (option.low) text += (option.above_low ? " above " : " from ") + text_of(*option.low);
  if (!option.high) return text + (option.low && !option.above_low ? " on" : "");
  const bool follows = option.low.has_value();
  if (option.below_high)
    return text + (follows ? " and below " : " below ") + text_of(*option.high);
  return text + (follows && !option.above_low ? " to " : " up to ") + text_of(*option.high);
}

bool is_inside(const OptionInfo& option, double value) {
  if (option.low && (option.above_low ? !(value > *option.low) : !(value >= *option.low))) {
    return false;
  }
  return !option.high || (option.below_high ? value < *option.high : value <= *option.high);
}

// The text as the table has it. Throws for one that does not fit.
std::string checked(const OptionInfo& option, const std::string& name, const std::string& text) {
  switch (option.kind) {
    case OptionKind::flag: {
      const std::string word = lower_case(text);
      if (word == "true" || word == "1") return "true";
      if (word == "false" || word == "0") return "false";
      refuse(name, "true or false", text);
    }
    case OptionKind::integer: {
      const auto value = integer(text);
      if (!value || !is_inside(option, static_cast<double>(*value))) {
        refuse(name, needed_number(option, "a whole number"), text);
      }
      return text;
    }
    case OptionKind::real: {
      const auto value = number(text);
      if (!value || !(is_inside(option, *value) && *value - *value == 0)) {
        refuse(name, needed_number(option, "a number"), text);
      }
      return text;
    }
    case OptionKind::choice: {
      std::string word = lower_case(text);
      for (const auto& [other, choice] : option.synonyms) {
        if (word == other) word = choice;
      }
      const auto& choices = option.choices;
      if (std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
      const std::string near = nearest_name(word, choices);
      throw Error(ErrorCode::invalid_option,
                  name + " needs " + alternatives(choices) + ", found '" + printable(text) + "'" +
                      (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    case OptionKind::bytes:
      if (!bytes(text)) refuse(name, "a size such as 4096, 512M or 2GiB", text);
      return text;
    case OptionKind::duration:
      if (!duration(text)) refuse(name, "a time such as 90s, 10m or 1.5h", text);
      return text;
    case OptionKind::text:
      break;
  }
  return text;
}

}  // namespace

double Given::real() const { return *options::number(text()); }
std::int64_t Given::integer() const { return *options::integer(text()); }
std::uint64_t Given::bytes() const { return *options::bytes(text()); }
std::chrono::milliseconds Given::duration() const { return *options::duration(text()); }

const OptionInfo* find_in(std::span<const OptionInfo> table, std::string_view name) noexcept {
  const auto is_name = [&](const std::string& other) {
    return std::equal(name.begin(), name.end(), other.begin(), other.end(),
                      [](char a, char b) { return a == b || (a == '_' && b == '-'); });
  };
  for (const OptionInfo& option : table) {
    if (is_name(option.name) || std::any_of(option.former.begin(), option.former.end(), is_name)) {
      return &option;
    }
  }
  return nullptr;
}

GivenOptions::GivenOptions(std::span<const OptionInfo> table, std::string_view owner,
                           const OptionValues& values, OptionSpelling spelling,
                           std::span<const std::string> shared)
    : table_(table), spelling_(spelling) {
  for (const auto& [name, text] : values) {
    const OptionInfo* option = find_in(table, name);
    if (option == nullptr) {
      std::vector<std::string> names;
      for (const OptionInfo& one : table) names.push_back(one.name);
      const std::string near = nearest_name(name, names);
      throw Error(ErrorCode::invalid_option,
                  "'" + printable(name) + "' is no option of " + std::string(owner) +
                      (near.empty() ? "" : "; did you mean " + spelled(near, spelling) + "?"));
    }
    take(*option, text);
  }
  check_effects(shared);
  require();
}

const Given* GivenOptions::find(const std::string& name) const noexcept {
  const auto found = given_.find(name);
  return found == given_.end() ? nullptr : &found->second;
}

void GivenOptions::take(const OptionInfo& option, const std::string& text) {
  const std::string name = spelled_name(option.name);
  std::vector<std::string> texts;
  if (const Given* before = find(option.name); before != nullptr && option.repeats) {
    texts = before->texts();
  }
  texts.push_back(checked(option, name, text));
  given_.insert_or_assign(option.name, Given(name, std::move(texts)));
}

const std::string& GivenOptions::value_of(const std::string& name) const {
  const Given* const given = find(name);
  return given != nullptr ? given->text() : find_in(table_, name)->default_value;
}

// The command line shows words without a name in capitals.
std::string GivenOptions::spelled_name(const std::string& name) const {
  const OptionInfo* const option = find_in(table_, name);
  if (option == nullptr || !option->positional || spelling_ != OptionSpelling::dashes) {
    return spelled(name, spelling_);
  }
  std::string text = name;
  std::ranges::transform(text, text.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  return text;
}

bool GivenOptions::holds(const OptionCondition& condition) const {
  const Given* const other = find(condition.option);
  if (condition.choices.empty()) return other != nullptr && other->text() != "false";
  const auto& choices = condition.choices;
  return std::find(choices.begin(), choices.end(), value_of(condition.option)) != choices.end();
}

void GivenOptions::refuse_without_effect(const OptionInfo& option) const {
  std::vector<std::string> alternative;
  std::string chosen;
  for (const OptionCondition& condition : option.applies) {
    const std::string name = spelled_name(condition.option);
    if (condition.choices.empty()) {
      alternative.push_back(name);
      continue;
    }
    alternative.push_back(name + " " + alternatives(condition.choices));
    if (chosen.empty()) chosen = value_of(condition.option);
  }
  const std::string name = spelled_name(option.name);
  throw Error(ErrorCode::invalid_option,
              chosen.empty()
                  ? name + " needs " + alternatives(alternative)
                  : name + " does not apply to " + chosen + "; use " + alternatives(alternative));
}

void GivenOptions::check_effects(std::span<const std::string> shared) {
  for (const OptionInfo& option : table_) {
    const Given* const given = find(option.name);
    if (given == nullptr || (option.kind == OptionKind::flag && !given->flag())) continue;
    const auto& applies = option.applies;
    if (!applies.empty() &&
        std::none_of(applies.begin(), applies.end(), [&](const auto& one) { return holds(one); })) {
      if (std::find(shared.begin(), shared.end(), option.name) == shared.end()) {
        refuse_without_effect(option);
      }
      given_.erase(option.name);
      continue;
    }
    for (const std::string& other : option.excludes) {
      if (!holds({other})) continue;
      throw Error(ErrorCode::invalid_option, given->option() + " excludes " + spelled_name(other));
    }
  }
}

void GivenOptions::require() const {
  for (const OptionInfo& option : table_) {
    if (!option.required || find(option.name) != nullptr) continue;
    throw Error(ErrorCode::invalid_option, spelled_name(option.name) + " is required");
  }
}

}  // namespace ondine::options
