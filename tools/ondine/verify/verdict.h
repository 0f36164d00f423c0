// The verdict on a conformance case.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <ondine/model.h>

namespace ondine::cli {

enum class Outcome { passed, failed, skipped };

// The cost of rejecting a model.
struct Refusal {
  double seconds = 0;       // processor time of loading
  std::uint64_t bytes = 0;  // peak resident size of the process, without the model file
};

struct Verdict {
  Outcome outcome = Outcome::passed;
  std::string reason;
  std::optional<Refusal> refusal = {};
};

inline Verdict failed(std::string reason) { return {Outcome::failed, std::move(reason), {}}; }
inline Verdict skipped(std::string reason) { return {Outcome::skipped, std::move(reason), {}}; }

enum class CaseKind { backend, real, training, hostile };

struct Case {
  CaseKind kind = CaseKind::backend;
  std::filesystem::path folder;
};

struct VerifyOptions {
  LoadOptions load = {.strict = true};  // the time limit is of loading and of each call
  // Limits on the cost of rejecting a model. Processor time does not depend on the machine's load.
  double refusal_seconds = 0.2;
  double refusal_mib = 64;  // beyond the file
  std::string emulator;     // runs the executables of a cross build
  // Runs setup.sh of hostile cases: a program that came with them, under the user's rights.
  bool run_setup = false;
};

Verdict run_backend_case(const std::filesystem::path& folder, const VerifyOptions& options);
// A model with generated inputs; the folder holds data.json.
Verdict run_real_case(const std::filesystem::path& folder, const VerifyOptions& options);
Verdict run_training_case(const std::filesystem::path& folder, const VerifyOptions& options);
// Runs a copy of the case in a child process.
Verdict run_hostile_case(const std::filesystem::path& folder, const VerifyOptions& options);
// Runs in the child process: loads and runs the case in `folder` and prints one line of JSON.
int run_hostile_child(const std::filesystem::path& folder, const VerifyOptions& options);

}  // namespace ondine::cli
