#include <array>
#include <thread>

#include <ondine/error.h>

#include "ondine/verify/child.h"
#include "ondine/windows.h"
// After windows.h.
#include <psapi.h>

namespace ondine::cli {
namespace {

// A handle, closed by the destructor.
class Owned {
 public:
  explicit Owned(HANDLE handle = nullptr) noexcept : handle_(handle) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { close(); }
  void close() noexcept {
    if (is_open()) ::CloseHandle(handle_);
    handle_ = nullptr;
  }
  bool is_open() const noexcept { return handle_ != nullptr && handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const noexcept { return handle_; }
  HANDLE* place() noexcept { return &handle_; }

 private:
  HANDLE handle_;
};

// As CommandLineToArgvW takes it apart: backslashes before a quotation mark count twice.
std::wstring command_line(const std::vector<std::string>& command) {
  std::wstring line;
  for (const std::string& argument : command) {
    line += line.empty() ? L"\"" : L" \"";
    std::size_t backslashes = 0;
    for (const wchar_t c : utf16_of(argument)) {
      if (c == L'"') line.append(backslashes + 1, L'\\');
      backslashes = c == L'\\' ? backslashes + 1 : 0;
      line += c;
    }
    line.append(backslashes, L'\\');
    line += L'"';
  }
  return line;
}

// Kills what runs in it when the last handle is closed, also when this process is killed.
HANDLE make_job() {
  HANDLE const job = ::CreateJobObjectW(nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
  ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
  return job;
}

// The process, in `job`, with `out` as its output and error and nothing as its input. None where
// the system cannot start it.
HANDLE start(const std::vector<std::string>& command, HANDLE out, HANDLE job,
             const std::filesystem::path& folder) {
  SECURITY_ATTRIBUTES inherited{sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
  const Owned null(::CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                 &inherited, OPEN_EXISTING, 0, nullptr));
  STARTUPINFOW with{};
  with.cb = sizeof(with);
  with.dwFlags = STARTF_USESTDHANDLES;
  with.hStdInput = null.get();
  with.hStdOutput = out;
  with.hStdError = out;
  PROCESS_INFORMATION made{};
  std::wstring line = command_line(command);
  if (!::CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr,
                        folder.empty() ? nullptr : folder.c_str(), &with, &made)) {
    return nullptr;
  }
  const Owned thread(made.hThread);
  ::AssignProcessToJobObject(job, made.hProcess);
  ::ResumeThread(thread.get());
  return made.hProcess;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const std::filesystem::path& working_directory) {
  SECURITY_ATTRIBUTES inherited{sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
  Owned from;
  Owned to;
  if (!::CreatePipe(from.place(), to.place(), &inherited, 0)) {
    throw Error(ErrorCode::io, "cannot make a pipe");
  }
  ::SetHandleInformation(from.get(), HANDLE_FLAG_INHERIT, 0);
  const Owned job(make_job());
  const Owned process(start(command, to.get(), job.get(), working_directory));
  to.close();

  ChildResult result;
  if (!process.is_open()) {
    result.exit_code = 127;
    result.output = "cannot start '" + command.front() + "'";
    return result;
  }
  std::thread reader([&] {
    std::array<char, 4096> buffer{};
    DWORD bytes = 0;
    while (
        ::ReadFile(from.get(), buffer.data(), static_cast<DWORD>(buffer.size()), &bytes, nullptr) &&
        bytes > 0) {
      if (result.output.size() < std::size_t{1} << 20) result.output.append(buffer.data(), bytes);
    }
  });
  result.timed_out =
      ::WaitForSingleObject(process.get(), static_cast<DWORD>(limit.count())) == WAIT_TIMEOUT;
  if (result.timed_out) ::TerminateProcess(process.get(), 1);
  ::WaitForSingleObject(process.get(), INFINITE);
  reader.join();
  DWORD code = 0;
  ::GetExitCodeProcess(process.get(), &code);
  // An exception of the processor (0xC0000005 and the like) is what a signal is elsewhere.
  if (code < 0x80000000) {
    result.exit_code = static_cast<int>(code);
  } else {
    result.signal = static_cast<int>(code);
  }
  PROCESS_MEMORY_COUNTERS counters{};
  counters.cb = sizeof(counters);
  if (::K32GetProcessMemoryInfo(process.get(), &counters, sizeof(counters))) {
    result.peak_bytes = counters.PeakWorkingSetSize;
  }
  return result;
}

}  // namespace ondine::cli
