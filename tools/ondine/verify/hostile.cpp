// Hostile cases, parent process: copies the case, runs it in a child process and judges the result.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <ondine/error.h>

#include "ondine/common.h"
#include "ondine/system.h"
#include "ondine/verify/child.h"
#include "ondine/verify/expectation.h"
#include "ondine/verify/files.h"
#include "ondine/verify/verdict.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds deadline{20};
constexpr std::uint64_t peak_limit = std::uint64_t{3} << 29;

// A temporary folder, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(make_temporary_folder("ondine-verify-")) {}
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

std::set<std::string> ignored_names(const fs::path& folder) {
  std::set<std::string> names;
  if (!fs::exists(folder / ".gitignore")) return names;
  std::istringstream text(read_text(folder / ".gitignore"));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() == '/') line.erase(0, 1);
    if (!line.empty()) names.insert(line);
  }
  return names;
}

// Copies regular files and folders; setup.sh creates the rest in the copy.
void copy_case(const fs::path& from, const fs::path& to) {
  const std::set<std::string> ignored = ignored_names(from);
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    if (ignored.contains(name.string()) || entry.is_symlink()) continue;
    if (entry.is_directory()) {
      copy_case(entry.path(), to / name);
    } else if (entry.is_regular_file()) {
      fs::copy_file(entry.path(), to / name);
    }
  }
}

// Whether this build's times and sizes are not comparable (sanitizers, emulation).
bool sanitized() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  return true;
#else
  return false;
#endif
}

Verdict check_refusal(const Refusal& refusal, const VerifyOptions& options) {
  Verdict verdict;
  if (!sanitized() && refusal.seconds > options.refusal_seconds) {
    verdict = failed("refused after " + number(refusal.seconds) + " s of processor time, allowed " +
                     "are " + number(options.refusal_seconds));
  } else if (!sanitized() && static_cast<double>(refusal.bytes) > options.refusal_mib * 1048576) {
    verdict = failed("refused with " + human_bytes(refusal.bytes) + " beyond the file, allowed " +
                     "are " + number(options.refusal_mib) + " MiB");
  }
  verdict.refusal = refusal;
  return verdict;
}

Verdict check_error(const json& report, const Expectation& expected) {
  const std::string message = report.at("message").get<std::string>();
  const std::string code = report.at("code").get<std::string>();
  if (code == to_string(ErrorCode::internal)) return failed("internal error: " + message);
  if (!expected.mention.empty() && message.find(expected.mention) == std::string::npos) {
    return failed("the message does not contain '" + expected.mention + "': " + message);
  }
  return {};
}

Verdict judge(const json& report, const Expectation& expected, std::uint64_t peak,
              std::uint64_t file_bytes, const VerifyOptions& options) {
  const std::string stage = report.at("stage").get<std::string>();
  const bool refused = stage == "load";
  if (!sanitized() && peak > peak_limit) return failed("took " + human_bytes(peak));
  if (expected.verdict == "accept") {
    if (stage == "done") return {};
    return failed("refused: " + report.at("message").get<std::string>());
  }
  if (stage == "done") return failed("accepted");
  if (expected.verdict == "reject" && !refused) {
    return failed("loaded; the call failed: " + report.at("message").get<std::string>());
  }
  Verdict verdict = check_error(report, expected);
  if (verdict.outcome != Outcome::passed) return verdict;
  if (!refused && !report.at("state_kept").get<bool>())
    return failed("the failed call changed the state");
  if (!refused && !report.at("usable").get<bool>()) {
    return failed("after the failed call the model cannot be used");
  }
  if (!refused) return verdict;
  return check_refusal(
      {report.at("load_seconds").get<double>(), peak > file_bytes ? peak - file_bytes : 0},
      options);
}

json parse_report(const std::string& output) {
  const std::size_t start = output.rfind("{\"");
  return start == std::string::npos ? json() : json::parse(output.substr(start), nullptr, false);
}

}  // namespace

Verdict run_hostile_case(const fs::path& folder, const VerifyOptions& options) {
  const Expectation expected = read_expectation(folder / "expect");
  if (!options.run_setup && fs::exists(folder / "setup.sh")) {
    return skipped("it is made by its setup.sh, a program that only --run-setup runs");
  }
  const TemporaryFolder temporary;
  const fs::path copy = temporary.path() / folder.filename();
  copy_case(folder, copy);
  const fs::path outside = fs::absolute(folder).parent_path() / "outside";
  if (fs::is_directory(outside)) copy_case(outside, temporary.path() / "outside");
  if (fs::exists(copy / "setup.sh")) {
    const ChildResult setup = run_child({"/bin/sh", "setup.sh"}, deadline, copy);
    if (setup.exit_code != 0) return skipped("setup.sh: " + setup.output);
  }
  std::vector<std::string> command{program_file().string(), "verify", "--hostile-child",
                                   copy.string()};
  for (const fs::path& set : options.load.operator_sets) {
    command.insert(command.end(), {"--operator-set", set.string()});
  }
  if (!options.emulator.empty()) command.insert(command.begin(), options.emulator);
  const auto limit = options.emulator.empty() ? deadline : 15 * deadline;
  const ChildResult child = run_child(command, limit);
  if (child.timed_out) return failed("still running after " + std::to_string(limit.count()) + " s");
  if (!child.exit_code) {
    return failed("ended by signal " + std::to_string(child.signal) + ": " +
                  child.output.substr(0, 2000));
  }
  const json report = parse_report(child.output);
  if (!report.is_object()) return failed("no result: " + child.output.substr(0, 2000));
  std::error_code missing;
  const auto file_bytes = fs::file_size(copy / "model.onnx", missing);
  return judge(report, expected, child.peak_bytes, missing ? 0 : file_bytes, options);
}

}  // namespace ondine::cli
