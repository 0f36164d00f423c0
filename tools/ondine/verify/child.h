// Running a part of this program in a process of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ondine::cli {

struct ChildResult {
  std::string output;            // what it wrote to its standard output and error
  std::optional<int> exit_code;  // absent when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::uint64_t peak_bytes = 0;  // largest resident size
};

// Runs a program with arguments and no input; kills it after `limit`.
ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const std::filesystem::path& working_directory = {});

}  // namespace ondine::cli
