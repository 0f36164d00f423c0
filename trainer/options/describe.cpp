#include <ondine/commands.h>

#include "graph/record/json_value.h"

namespace ondine {
namespace {

using graph::JsonValue;

JsonValue texts(const std::vector<std::string>& all) {
  JsonValue list = JsonValue::list();
  for (const std::string& one : all) list.items.push_back(JsonValue::of(one));
  return list;
}

JsonValue conditions(const std::vector<OptionCondition>& all) {
  JsonValue list = JsonValue::list();
  for (const OptionCondition& one : all) {
    JsonValue condition = JsonValue::object();
    condition.set("option", JsonValue::of(one.option));
    if (!one.choices.empty()) condition.set("choices", texts(one.choices));
    list.items.push_back(std::move(condition));
  }
  return list;
}

JsonValue synonyms(const OptionInfo& option) {
  JsonValue all = JsonValue::object();
  for (const auto& [word, choice] : option.synonyms) all.set(word, JsonValue::of(choice));
  return all;
}

JsonValue describe(const OptionInfo& option) {
  JsonValue result = JsonValue::object();
  const auto set = [&](const char* name, JsonValue value) {
    if (!value.is_empty()) result.set(name, std::move(value));
  };
  set("name", JsonValue::of(option.name));
  if (option.letter != 0) set("letter", JsonValue::of(std::string(1, option.letter)));
  set("former", texts(option.former));
  set("replaces", texts(option.replaces));
  set("heading", JsonValue::of(option.heading));
  set("kind", JsonValue::of(to_string(option.kind)));
  set("value", JsonValue::of(option.value));
  set("default", JsonValue::of(option.default_value));
  set("choices", texts(option.choices));
  set("synonyms", synonyms(option));
  if (option.low) set("low", JsonValue::of(*option.low));
  if (option.high) set("high", JsonValue::of(*option.high));
  for (const auto& [name, value] :
       {std::pair("above_low", option.above_low), std::pair("below_high", option.below_high),
        std::pair("repeats", option.repeats), std::pair("several", option.several),
        std::pair("rare", option.rare), std::pair("positional", option.positional),
        std::pair("required", option.required), std::pair("hidden", option.hidden)}) {
    if (value) set(name, JsonValue::of(true));
  }
  set("help", JsonValue::of(option.help));
  set("applies", conditions(option.applies));
  set("excludes", texts(option.excludes));
  return result;
}

}  // namespace

std::string commands_json() {
  JsonValue table = JsonValue::object();
  for (const std::string_view command : command_names()) {
    JsonValue list = JsonValue::list();
    for (const OptionInfo& option : command_table(command)) {
      JsonValue one = describe(option);
      one.set("group", JsonValue::of(to_string(option.group)));
      list.items.push_back(std::move(one));
    }
    table.set(std::string(command), std::move(list));
  }
  return graph::dump(table);
}

std::string options_json() {
  JsonValue table = JsonValue::object();
  for (const OptionGroup group : option_groups) {
    JsonValue list = JsonValue::list();
    for (const OptionInfo& option : option_table(group)) list.items.push_back(describe(option));
    table.set(to_string(group), std::move(list));
  }
  return graph::dump(table);
}

}  // namespace ondine
