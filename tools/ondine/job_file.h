// Job files: options in TOML, in sections.
#pragma once

#include <string>
#include <utility>
#include <vector>

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

// A line "key = value", or of several values "key = [value, value]". Numbers and booleans stay bare
// unless `is_text`. Error(mismatch) for a text that TOML cannot hold.
std::string job_line(const std::string& key, const std::vector<std::string>& values, bool is_list,
                     bool is_text);

}  // namespace ondine::cli
