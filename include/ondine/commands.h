// The commands of the command line and their options, from the table of options: help, completion,
// manual pages, job files and docs/commands.md follow from it, and commands read values by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/export.h>
#include <ondine/options.h>

namespace ondine {

namespace options {
class GivenOptions;
}

// In the order of the help.
ONDINE_API std::span<const std::string_view> command_names() noexcept;

// Every option of a command, in the order of the help. Those of a structure keep its group; they
// may have another help, and conditions on options of the command. Others are of
// OptionGroup::command. Valid for the life of the program. Thread-safe. Error(not_found) for a name
// of no command.
ONDINE_API std::span<const OptionInfo> command_table(std::string_view command);

// The tables of all commands as JSON: an object with a list for each, whose entries are those of
// options_json() with the option's group.
ONDINE_API std::string commands_json();

// Options of a command that were given, checked. Copies share them. Const calls are thread-safe.
class ONDINE_API CommandOptions {
 public:
  // Error(invalid_option) as of check_options, and for a required option that is absent. Options
  // named in `shared` were given to several commands: those without effect are left out.
  CommandOptions(std::string_view command, const OptionValues& values,
                 OptionSpelling spelling = OptionSpelling::dashes,
                 std::span<const std::string> shared = {});

  std::string_view command() const noexcept { return command_; }
  // Whether the command has an option of this name.
  bool takes(std::string_view name) const noexcept;

  // Error(internal) for names that the table does not have.
  // Whether the option is given, a flag as true.
  bool has(std::string_view name) const;
  // The values; none if the option is not given.
  std::vector<std::string> texts(std::string_view name) const;
  // The last value, else the default of the table, else "" or 0.
  std::string text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  // A whole number that the table keeps from being negative.
  std::uint64_t count(std::string_view name) const {
    return static_cast<std::uint64_t>(integer(name));
  }
  // Nothing if the option is not given.
  std::optional<std::int64_t> find_integer(std::string_view name) const;
  // The given options of a group, for load_options() and the like.
  OptionValues of(OptionGroup group) const;

 private:
  const OptionInfo& info(std::string_view name) const;

  std::string command_;
  std::shared_ptr<const options::GivenOptions> given_;
};

}  // namespace ondine
