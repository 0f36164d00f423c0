#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include <ondine/printable.h>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/train/progress.h"
#include "ondine/verify/files.h"
#include "ondine/verify/verdict.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;

std::optional<CaseKind> kind_of(const fs::path& folder) {
  if (fs::is_regular_file(folder / "expect")) return CaseKind::hostile;
  if (fs::is_regular_file(folder / "data.json")) return CaseKind::real;
  if (!fs::exists(folder / "model.onnx")) return {};
  if (!numbered_files(folder, "train_data_set_", "").empty()) return CaseKind::training;
  if (!numbered_files(folder, "test_data_set_", "").empty()) return CaseKind::backend;
  return {};
}

void find_cases(const fs::path& folder, std::vector<Case>& cases) {
  if (const auto kind = kind_of(folder)) {
    cases.push_back({*kind, folder});
    return;
  }
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) inside.push_back(entry.path());
  }
  std::sort(inside.begin(), inside.end());
  for (const fs::path& one : inside) find_cases(one, cases);
}

Verdict run_case(const Case& one, const VerifyOptions& options) {
  try {
    switch (one.kind) {
      case CaseKind::backend:
        return run_backend_case(one.folder, options);
      case CaseKind::real:
        return run_real_case(one.folder, options);
      case CaseKind::training:
        return run_training_case(one.folder, options);
      case CaseKind::hostile:
        return run_hostile_case(one.folder, options);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported && one.kind != CaseKind::hostile) {
      return skipped(error.what());
    }
    return failed(error.what());
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  return failed("unknown kind of case");
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

VerifyOptions verify_of(const CommandOptions& options) {
  VerifyOptions result;
  result.load = load_of(options, result.load);
  result.refusal_seconds = options.real("refusal-seconds");
  result.refusal_mib = options.real("refusal-mib");
  result.emulator = options.text("emulator");
  result.run_setup = options.has("run-setup");
  return result;
}

// The largest costs of rejecting a model, for the report.
class Worst {
 public:
  void add(const Verdict& verdict, const std::string& name) {
    if (!verdict.refusal) return;
    if (verdict.refusal->seconds >= slowest_.first) slowest_ = {verdict.refusal->seconds, name};
    if (verdict.refusal->bytes >= largest_.first) largest_ = {verdict.refusal->bytes, name};
  }
  std::string text() const {
    if (largest_.second.empty()) return "";
    return "slowest refusal: " + number(slowest_.first) + " s (" + printable(slowest_.second) +
           "), largest: " + human_bytes(largest_.first) + " (" + printable(largest_.second) + ")";
  }

 private:
  std::pair<double, std::string> slowest_;
  std::pair<std::uint64_t, std::string> largest_;
};

std::vector<Case> cases_of(const CommandOptions& options) {
  if (!options.has("path")) throw WrongUsage("PATH is required");
  std::vector<Case> cases;
  for (const std::string& path : options.texts("path")) {
    if (!fs::is_directory(path)) throw Error(ErrorCode::io, "no folder '" + path + "'");
    // A trailing slash would hide the name of the case.
    const fs::path clean = fs::path(path) / "";
    find_cases(clean.parent_path(), cases);
  }
  if (cases.empty()) throw Error(ErrorCode::mismatch, "no cases found");
  return cases;
}

int run_verify(const CommandOptions& options) {
  const VerifyOptions verify = verify_of(options);
  if (options.has("hostile-child")) {
    return run_hostile_child(options.text("hostile-child"), verify);
  }
  const std::vector<Case> cases = cases_of(options);
  std::map<Outcome, std::size_t> counts;
  Progress progress;
  Worst worst;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].folder.string();
    progress.update("verify", i, cases.size(), printable(cases[i].folder.filename().string()));
    const Verdict verdict = run_case(cases[i], verify);
    ++counts[verdict.outcome];
    worst.add(verdict, cases[i].folder.filename().string());
    if (verdict.outcome == Outcome::passed) continue;
    progress.line((verdict.outcome == Outcome::failed ? "FAILED  " : "SKIPPED ") + printable(name) +
                  ": " + one_line(verdict.reason));
  }
  if (!worst.text().empty()) progress.line(worst.text());
  progress.line(std::to_string(counts[Outcome::passed]) + " passed, " +
                std::to_string(counts[Outcome::failed]) + " failed, " +
                std::to_string(counts[Outcome::skipped]) + " skipped");
  const bool complete = counts[Outcome::skipped] == 0 || !options.has("none-skipped");
  return counts[Outcome::failed] == 0 && complete ? 0 : 1;
}

}  // namespace

void add_verify(Parser& parser) {
  parser.add(
      "verify", "Run conformance cases and compare with their expected results",
      "  ondine verify cases/training\n"
      "  ondine verify cases/backend/simple cases/hostile/tensor-negative-dim\n"
      "A case is skipped when it needs an operator that this build lacks. Models that must be "
      "rejected are loaded\nin a child process, which may take at most 0.2 s of processor time "
      "for loading and 64 MiB beyond the file.\n",
      run_verify);
}

}  // namespace ondine::cli
