// Runs child processes under limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ondine::cli {

struct ChildResult {
  std::string output;            // its standard output and error
  std::optional<int> exit_code;  // absent when a signal killed it
  int signal = 0;
  bool timed_out = false;
  std::uint64_t peak_bytes = 0;  // largest resident size
};

// Runs a program with arguments and empty input; kills it after `limit`.
ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const std::filesystem::path& working_directory = {});

}  // namespace ondine::cli
