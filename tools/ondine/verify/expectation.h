// Parser of the file `expect` of a hostile case.
#pragma once

#include <filesystem>
#include <string>

namespace ondine::cli {

struct Expectation {
  std::string verdict;  // reject, reject-run or accept
  std::string mention;  // a word of the error message; may be empty
  std::string call;     // initialize, train_step, infer or empty
};

// Throws Error(mismatch) for an unknown verdict or call.
Expectation read_expectation(const std::filesystem::path& file);

}  // namespace ondine::cli
