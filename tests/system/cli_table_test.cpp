// Help, manual pages, completion and docs have the options of the library's table, and no others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <ondine/commands.h>

#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Workshop;
using ondine::OptionGroup;
using ondine::OptionInfo;

namespace {

using Names = std::set<std::string>;

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(ondine::test::source_folder() / file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The text between two others.
std::string part_of(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  INFO(from);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find(to, begin + from.size());
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<OptionInfo> shown_options(std::string_view command) {
  std::vector<OptionInfo> result;
  for (const OptionInfo& option : ondine::command_table(command)) {
    if (!option.hidden) result.push_back(option);
  }
  return result;
}

// "--name" and "-n", or "NAME".
std::vector<std::string> spellings(const OptionInfo& option) {
  if (option.positional) {
    std::string name = option.name;
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
    return {name};
  }
  std::vector<std::string> names{"--" + option.name};
  if (option.letter != 0) names.push_back(std::string("-") + option.letter);
  return names;
}

Names spellings(const std::vector<OptionInfo>& options, bool with_arguments) {
  Names names;
  for (const OptionInfo& option : options) {
    if (option.positional && !with_arguments) continue;
    for (std::string& one : spellings(option)) names.insert(std::move(one));
  }
  return names;
}

// The words in front of the texts of a help.
Names names_in_help(const std::string& help) {
  Names names;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("  -") && !line.starts_with("  ondine")) continue;
    if (line.starts_with("  ondine")) break;  // examples
    std::istringstream words(line.substr(2, line.find_first_of(" =", 2) - 2));
    for (std::string name; std::getline(words, name, ',');) names.insert(name);
  }
  return names;
}

std::string in_troff(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '-' ? std::string("\\-") : std::string(1, c);
  return result;
}

std::string without_bars(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

// Values for the options that a command cannot be without.
std::string required_words(std::string_view command) {
  std::string words(command);
  for (const OptionInfo& option : ondine::command_table(command)) {
    if (!option.required) continue;
    const std::string value = option.choices.empty() ? "absent" : option.choices.back();
    words += (option.positional ? " " : " --" + option.name + "=") + value;
  }
  return words;
}

std::string some_word(const OptionInfo& option) {
  if (option.kind == ondine::OptionKind::flag) return "--" + option.name;
  const bool is_number = option.kind == ondine::OptionKind::integer;
  const std::string value = !option.choices.empty() ? option.choices.back()
                            : is_number             ? std::to_string(option.low ? 2 : 1)
                            : option.kind == ondine::OptionKind::real     ? "0.5"
                            : option.kind == ondine::OptionKind::bytes    ? "4KiB"
                            : option.kind == ondine::OptionKind::duration ? "90s"
                                                                          : "x=1";
  return "--" + option.name + "=" + value;
}

}  // namespace

TEST_CASE("the help of every command has the options of the table and their meanings") {
  const Workshop shop;
  for (const std::string_view name : ondine::command_names()) {
    const std::string command(name);
    CAPTURE(command);
    const std::string all = shop.succeed(command + " --help-all").out;
    const std::vector<OptionInfo> options = shown_options(name);
    Names expected = spellings(options, false);
    for (const char* const help : {"-h", "--help", "--help-all"}) expected.insert(help);
    CHECK(names_in_help(all) == expected);
    for (const OptionInfo& option : options) {
      CHECK_THAT(all, Contains(option.help));
      if (option.positional) CHECK_THAT(all, Contains("\n  " + spellings(option).front()));
      if (option.rare) expected.erase("--" + option.name);
    }
    CHECK(names_in_help(shop.succeed(command + " --help").out) == expected);
  }
}

TEST_CASE("the manual page of every command has the options of the table in their order") {
  const Workshop shop;
  for (const std::string_view name : ondine::command_names()) {
    const std::string command(name);
    CAPTURE(command);
    const std::string page =
        part_of(shop.succeed("man " + command).out, ".SH OPTIONS\n", ".SH EXIT STATUS");
    std::size_t at = 0;
    std::size_t count = 0;
    for (const OptionInfo& option : shown_options(name)) {
      std::string entry = ".TP\n";
      for (const std::string& one : spellings(option)) {
        entry += (entry.back() == '\n' ? "\\fB" : ", \\fB") + in_troff(one) + "\\fR";
      }
      CAPTURE(entry);
      at = page.find(entry, at);
      REQUIRE(at != std::string::npos);
      const std::string rest = page.substr(at, page.find("\n.TP", at) - at);
      CHECK_THAT(rest, Contains("\n" + in_troff(option.help)));
      CHECK((rest.find("\nRequired.") != std::string::npos) == option.required);
      CHECK((rest.find("\nApplies with ") != std::string::npos) == !option.applies.empty());
      for (const std::string& other : option.excludes) {
        const auto table = ondine::command_table(name);
        const OptionInfo& second = *std::ranges::find(table, other, &OptionInfo::name);
        CHECK_THAT(rest.substr(std::min(rest.find("xcludes "), rest.size())),
                   Contains(in_troff(spellings(second).front())));
      }
      ++count;
    }
    for (at = page.find(".TP\n"); at != std::string::npos; at = page.find(".TP\n", at + 1)) --count;
    CHECK(count == 0);
  }
}

TEST_CASE("the docs have the options of the table for every command") {
  const std::string commands = file_text("docs/commands.md") + "\n## ";
  const std::string own = part_of(file_text("docs/options.md"), "\n## Commands\n", "\n\n\n\n");
  for (const std::string_view name : ondine::command_names()) {
    const std::string command(name);
    CAPTURE(command);
    const std::string page = part_of(commands, "\n## " + command + "\n", "\n## ");
    const std::string rows = part_of(own + "\n### ", "\n### " + command + "\n", "\n### ");
    std::size_t count = 0;
    std::size_t own_count = 0;
    for (const OptionInfo& option : shown_options(name)) {
      CAPTURE(option.name);
      const std::string first = "\n| `" + spellings(option).front() + "`";
      CHECK_THAT(part_of(page, first, " |\n"), Contains(without_bars(option.help)));
      ++count;
      if (option.group == OptionGroup::command) {
        CHECK_THAT(part_of(rows, "\n| `" + option.name + "`", " |\n"), Contains(option.help));
        ++own_count;
      } else {
        CHECK_THAT(rows, Contains(std::string("\n| [") + to_string(option.group) + "]("));
      }
    }
    const auto rows_of = [](const std::string& text) {
      return std::ranges::count_if(lines_of(text),
                                   [](const std::string& line) { return line.starts_with("| `"); });
    };
    CHECK(static_cast<std::size_t>(rows_of(page)) == count);
    CHECK(static_cast<std::size_t>(rows_of(rows)) == own_count);
  }
}

TEST_CASE("shells complete the options of the table for every command") {
  const Workshop shop;
  const std::string bash = shop.succeed("completion bash").out;
  const std::string zsh = shop.succeed("completion zsh").out;
  std::map<std::string, Names> fish;
  for (const std::string& line : lines_of(shop.succeed("completion fish").out)) {
    const std::string seen = "'__fish_seen_subcommand_from ";
    if (line.find(seen) == std::string::npos) continue;
    std::istringstream words(line.substr(0, line.find(" -d ")));
    const std::string command = part_of(line, seen, "'");
    for (std::string word; words >> word;) {
      const std::string mark = word;
      if (mark == "-l" && words >> word) fish[command].insert("--" + word);
      if (mark == "-s" && words >> word) fish[command].insert("-" + word);
    }
  }
  for (const std::string_view name : ondine::command_names()) {
    const std::string command(name);
    CAPTURE(command);
    const Names expected = spellings(shown_options(name), false);
    Names with_help = expected;
    with_help.insert("--help");
    std::istringstream words(
        part_of(bash, "\n    " + command + ") COMPREPLY=($(compgen -W '", "'"));
    CHECK(Names(std::istream_iterator<std::string>(words), {}) == with_help);
    Names of_zsh;
    const std::string arguments =
        part_of(zsh, "\n    " + command + ")\n      _arguments", "'*:file:_files'");
    for (const std::string& line : lines_of(arguments)) {
      const std::size_t at = line.find('-');
      if (at == std::string::npos) continue;
      of_zsh.insert(line.substr(at, line.find('[') - at));
    }
    CHECK(of_zsh == expected);
    CHECK(fish[command] == expected);
  }
}

TEST_CASE("the table in JSON has every option of every command") {
  const Workshop shop;
  const auto commands = nlohmann::json::parse(shop.succeed("options --json").out).at("commands");
  CHECK(commands.size() == ondine::command_names().size());
  for (const std::string_view name : ondine::command_names()) {
    std::vector<std::string> names;
    for (const auto& one : commands.at(std::string(name))) names.push_back(one.at("name"));
    std::vector<std::string> expected;
    for (const OptionInfo& one : ondine::command_table(name)) expected.push_back(one.name);
    CHECK(names == expected);
  }
}

TEST_CASE("each command refuses its options where they have no effect") {
  const Workshop shop;
  std::size_t count = 0;
  for (const std::string_view name : ondine::command_names()) {
    for (const OptionInfo& option : ondine::command_table(name)) {
      if (option.group != OptionGroup::command) continue;
      const auto& applies = option.applies;
      const bool holds = std::ranges::any_of(applies, [&](const auto& one) {
        const auto& table = ondine::command_table(name);
        const auto other = std::ranges::find(table, one.option, &OptionInfo::name);
        return other->required && std::ranges::count(one.choices, other->choices.back()) != 0;
      });
      if (applies.empty() || holds) continue;
      shop.misuse(required_words(name) + " " + some_word(option), "--" + option.name + " needs --");
      ++count;
    }
    for (const OptionInfo& option : ondine::command_table(name)) {
      if (option.group != OptionGroup::command || option.positional) continue;
      for (const std::string& other : option.excludes) {
        const auto& table = ondine::command_table(name);
        const auto second = std::ranges::find(table, other, &OptionInfo::name);
        if (second->positional || !second->applies.empty() || !option.applies.empty()) continue;
        shop.misuse(required_words(name) + " " + some_word(option) + " " + some_word(*second),
                    "--" + option.name + " excludes --" + other);
        ++count;
      }
    }
  }
  CHECK(count > 25);
}

TEST_CASE("each option that only a command has is read by its name") {
  std::string code;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           ondine::test::source_folder() / "tools/ondine")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream in(entry.path());
    code += std::string(std::istreambuf_iterator<char>(in), {});
  }
  for (const std::string_view name : ondine::command_names()) {
    for (const OptionInfo& option : ondine::command_table(name)) {
      if (option.group == OptionGroup::command) CHECK_THAT(code, Contains('"' + option.name + '"'));
    }
  }
}
