// The options of commands: their table, and what a choice of them means.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include <ondine/commands.h>
#include <ondine/error.h>

#include "tests/trainer/options/some_value.h"

using Catch::Contains;
using namespace ondine;
using test::some_value;

namespace {

// A table, with values that make options have an effect.
class CommandTable {
 public:
  explicit CommandTable(std::string_view name) : name_(name), table_(command_table(name)) {}

  const OptionInfo& at(const std::string& option) const {
    const auto found = std::ranges::find(table_, option, &OptionInfo::name);
    INFO(name_ << " " << option);
    REQUIRE(found != table_.end());
    return *found;
  }
  bool has(const std::string& option) const {
    return std::ranges::find(table_, option, &OptionInfo::name) != table_.end();
  }

  // The required options.
  OptionValues base() const {
    OptionValues values;
    for (const OptionInfo& option : table_) {
      if (option.required) values.emplace_back(option.name, some_value(option));
    }
    return values;
  }
  // Values of other options under which the option has an effect.
  OptionValues effective(const OptionInfo& option) const {
    if (option.applies.empty()) return {};
    const OptionCondition& one = option.applies.front();
    const OptionInfo& other = at(one.option);
    OptionValues values = effective(other);
    values.emplace_back(one.option, one.choices.empty() ? some_value(other) : one.choices.front());
    return values;
  }
  std::string refusal(const std::vector<OptionValues>& parts) const {
    OptionValues values = base();
    for (const OptionValues& part : parts) values.insert(values.end(), part.begin(), part.end());
    try {
      const CommandOptions options(name_, values);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_option);
      return error.message();
    }
    return {};
  }
  std::span<const OptionInfo> rows() const { return table_; }

 private:
  std::string_view name_;
  std::span<const OptionInfo> table_;
};

OptionValues given(const OptionInfo& option) { return {{option.name, some_value(option)}}; }

std::string shown(const OptionInfo& option) {
  if (!option.positional) return "--" + option.name;
  std::string name = option.name;
  for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
  return name;
}

}  // namespace

TEST_CASE("the rows of a command are consistent, and those of a group are the group's") {
  std::size_t own = 0;
  for (const std::string_view name : command_names()) {
    const CommandTable table(name);
    std::set<std::string> names{"help", "help-all"};
    std::set<char> letters{'h'};
    for (const OptionInfo& option : table.rows()) {
      CAPTURE(name, option.name);
      CHECK(names.insert(option.name).second);
      for (const std::string& former : option.former) CHECK(names.insert(former).second);
      CHECK((option.letter == 0 || letters.insert(option.letter).second));
      CHECK_FALSE(option.help.empty());
      CHECK((!option.help.ends_with(".") || option.help.ends_with("...")));
      CHECK_FALSE(option.heading.empty());
      for (const OptionCondition& one : option.applies) {
        const OptionInfo& other = table.at(one.option);
        for (const std::string& choice : one.choices) {
          CHECK((other.choices.empty() || std::ranges::count(other.choices, choice) == 1));
        }
      }
      for (const std::string& other : option.excludes) CHECK(table.has(other));
      for (const std::string& former : option.replaces) CHECK_FALSE(table.has(former));
      if (option.group == OptionGroup::command) {
        ++own;
        continue;
      }
      const OptionInfo* const row = find_option(option.group, option.name);
      REQUIRE(row != nullptr);
      CHECK(row->kind == option.kind);
      CHECK(row->default_value == option.default_value);
    }
  }
  CHECK(own > 100);
  CHECK_THROWS_WITH(command_table("trian"), Contains("there is no command 'trian'"));
}

TEST_CASE("every option of every command is taken where it has an effect") {
  for (const std::string_view name : command_names()) {
    const CommandTable table(name);
    for (const OptionInfo& option : table.rows()) {
      CAPTURE(name, option.name);
      CHECK(table.refusal({table.effective(option), given(option)}).empty());
    }
  }
}

TEST_CASE("an option of a command is an error with each choice under which it has no effect") {
  std::size_t count = 0;
  for (const std::string_view name : command_names()) {
    const CommandTable table(name);
    for (const OptionInfo& option : table.rows()) {
      CAPTURE(name, option.name);
      if (option.applies.empty()) continue;
      const OptionInfo& first = table.at(option.applies.front().option);
      if (!first.required && first.default_value.empty()) {
        CHECK_THAT(table.refusal({given(option)}), Contains(shown(option) + " needs "));
        ++count;
      }
      if (option.applies.size() != 1) continue;
      const std::vector<std::string>& choices = option.applies.front().choices;
      for (const std::string& choice : first.choices) {
        CAPTURE(choice);
        if (choices.empty()) break;
        const std::string said = table.refusal({{{first.name, choice}}, given(option)});
        if (std::ranges::find(choices, choice) != choices.end()) {
          CHECK(said.empty());
        } else {
          CHECK_THAT(said, Contains(shown(option) + " does not apply to " + choice + "; use " +
                                    shown(first) + " "));
        }
        ++count;
      }
    }
  }
  CHECK(count > 500);
}

TEST_CASE("options of a command that exclude each other are errors together") {
  std::size_t count = 0;
  for (const std::string_view name : command_names()) {
    const CommandTable table(name);
    for (const OptionInfo& option : table.rows()) {
      for (const std::string& other : option.excludes) {
        CAPTURE(name, option.name, other);
        const OptionInfo& second = table.at(other);
        const std::string said = table.refusal(
            {table.effective(second), table.effective(option), given(option), given(second)});
        CHECK_THAT(said, Contains(shown(option) + " excludes " + shown(second)));
        ++count;
      }
    }
  }
  CHECK(count > 60);
}

TEST_CASE("a command lacks each of its required options, and knows no others") {
  for (const std::string_view name : command_names()) {
    const CommandTable table(name);
    for (const OptionInfo& option : table.rows()) {
      if (!option.required) continue;
      OptionValues values = table.base();
      std::erase_if(values, [&](const auto& one) { return one.first == option.name; });
      CHECK_THROWS_WITH(CommandOptions(name, values), shown(option) + " is required");
    }
    CHECK_THAT(table.refusal({{{"zzzz", "1"}}}),
               Contains("'zzzz' is no option of " + std::string(name)));
  }
}

TEST_CASE("values are read by name, with the defaults of the table") {
  const CommandOptions bench("bench", {{"model", "a.onnx"},
                                       {"steps", "3"},
                                       {"json", "false"},
                                       {"shape", "x=1"},
                                       {"shape", "y=2"},
                                       {"threads", "2"}});
  CHECK(bench.command() == "bench");
  CHECK(bench.text("model") == "a.onnx");
  CHECK(bench.count("steps") == 3);
  CHECK(bench.integer("dim-size") == 32);
  CHECK_FALSE(bench.has("json"));
  CHECK_FALSE(bench.has("inference"));
  CHECK(bench.texts("shape") == std::vector<std::string>{"x=1", "y=2"});
  CHECK(bench.of(OptionGroup::load) == OptionValues{{"threads", "2"}});
  CHECK(bench.takes("strict"));
  CHECK_FALSE(bench.takes("batch"));
  CHECK_THROWS_WITH(bench.text("batch"), Contains("the command bench has no option 'batch'"));
  const CommandOptions lower("lower", {{"model", "a"}, {"output", "b"}, {"opset", "21"}});
  CHECK(lower.find_integer("opset") == 21);
  CHECK_FALSE(lower.find_integer("initialization-of"));
  const CommandOptions former(
      "differentiate",
      {{"model", "a"}, {"output", "b"}, {"of", "y"}, {"by", "x"}, {"seed-input", "true"}});
  CHECK(former.has("vector-jacobian"));
  const CommandOptions verify("verify", {});
  CHECK(verify.real("refusal-seconds") == 0.2);
}

TEST_CASE("options that several commands share are left out where they have no effect") {
  const OptionValues values{
      {"model", "a"}, {"output", "b"}, {"loss", "mse"}, {"data", "d"}, {"target", "t"}};
  CHECK_THROWS_WITH(CommandOptions("prepare", values), Contains("--data needs --class-weights"));
  const std::vector<std::string> shared{"data", "target"};
  const CommandOptions options("prepare", values, OptionSpelling::dashes, shared);
  CHECK_FALSE(options.has("data"));
  CHECK(options.of(OptionGroup::data).empty());
  OptionValues used = values;
  used.emplace_back("one-hot", "city");
  CHECK(CommandOptions("prepare", used, OptionSpelling::dashes, shared).has("target"));
}

TEST_CASE("the tables of commands in JSON have every option with its group") {
  const std::string text = commands_json();
  for (const std::string_view name : command_names()) {
    CHECK_THAT(text, Contains('"' + std::string(name) + "\":["));
  }
  CHECK_THAT(text, Contains("\"name\":\"hostile-child\"") && Contains("\"hidden\":true") &&
                       Contains("\"group\":\"command\"") && Contains("\"positional\":true"));
}
