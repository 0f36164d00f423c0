// Job files: options in TOML, in sections.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ondine/commands.h>

namespace ondine::cli {

struct JobItem {
  std::string section;  // "train"; empty at the top of the file
  std::string key;
  std::vector<std::string> values;
};

// The options of a file. Regular files of at most 1 MiB: a device or a pipe
// may never end. Error(io) for others, Error(corrupt) with the line for what is no TOML and for
// values that no option has (dates, tables in tables).
std::vector<JobItem> read_job_file(const std::string& file);

// Whether the command has --config. The section of its options has its name; those of data are in
// the section "data", for all commands.
bool takes_job_file(std::string_view command);

// The option that an item of the file is of a command; null for one of other commands.
// Error(mismatch) for a section of no command and for a key that its commands do not have.
const OptionInfo* job_option(const std::string& file, const std::string& section,
                             const JobItem& item, std::string_view command);

// The options that were given as a job file, and the defaults of others as comments.
// Error(mismatch) for a text that TOML cannot hold.
std::string job_text(const CommandOptions& options, bool with_defaults);

}  // namespace ondine::cli
