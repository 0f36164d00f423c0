// Facts about the commands that CLI11 does not keep. For command.cpp and parser.cpp alone.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ondine/options.h>

namespace ondine::cli {

struct ParserTable {
  std::function<int()> chosen;
  std::map<const CLI::Option*, std::vector<std::string>> choices;
  std::set<std::string> from_job;                 // options that the job file gives
  std::list<std::string> files;                   // of --config and --write-config
  std::map<const CLI::Option*, OptionInfo> rows;  // of the library's table
  std::map<CLI::App*, std::string> sections;      // of job files
  std::map<CLI::App*, std::vector<std::function<void()>>> checks;  // after parsing
  // Present names of renamed options, by their former names.
  std::map<const CLI::App*, std::map<std::string, std::string>> renamed;

  // Whether job files have the option in the section of data.
  bool is_data(const CLI::Option& option) const {
    const auto row = rows.find(&option);
    return row != rows.end() ? row->second.group == OptionGroup::data : option.check_lname("data");
  }
};

constexpr const char* job_option = "--config";
constexpr const char* write_option = "--write-config";

std::vector<std::string> option_names(const CLI::Option& option);
// As in a job file: without dashes, positional arguments in lower case.
std::string key_of(const CLI::Option& option);
bool is_shown(const CLI::Option& option);
bool is_help(const CLI::Option& option);
bool is_in_jobs(const CLI::Option& option);

}  // namespace ondine::cli
