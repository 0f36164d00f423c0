// What running a case comes to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ondine::cli {

enum class Outcome { passed, failed, skipped };

// What it took to refuse a model.
struct Refusal {
  double seconds = 0;       // of processor time, in loading
  std::uint64_t bytes = 0;  // largest resident size of the process, without that of the model file
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
  int threads = 1;
  // What refusing a model may take at most. Processor time, so that it is the same on a machine
  // that is busy with other things.
  double refusal_seconds = 0.2;
  double refusal_mib = 64;  // beyond the file
  std::string emulator;     // runs the processes of a build for another machine
};

Verdict run_backend_case(const std::filesystem::path& folder, const VerifyOptions& options);
// A model of the light suite with generated inputs; the folder holds data.json.
Verdict run_real_case(const std::filesystem::path& folder, const VerifyOptions& options);
Verdict run_training_case(const std::filesystem::path& folder, const VerifyOptions& options);
// In a child process, on a copy of the case.
Verdict run_hostile_case(const std::filesystem::path& folder, const VerifyOptions& options);
// The child's part: loads and runs the case in `folder`, prints one line of JSON.
int run_hostile_child(const std::filesystem::path& folder);

}  // namespace ondine::cli
