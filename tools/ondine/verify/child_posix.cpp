#include "ondine/verify/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include <ondine/error.h>

namespace ondine::cli {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command, int out,
                         const std::filesystem::path& folder) {
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(126);
  std::vector<char*> arguments;
  for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                      const std::filesystem::path& working_directory) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw Error(ErrorCode::io, "cannot make a pipe");
  const pid_t pid = fork();
  if (pid < 0) throw Error(ErrorCode::io, "cannot start a process");
  if (pid == 0) become(command, pipe_ends[1], working_directory);
  close(pipe_ends[1]);

  ChildResult result;
  const auto end = std::chrono::steady_clock::now() + limit;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd wait{pipe_ends[0], POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      result.timed_out = true;
      kill(pid, SIGKILL);
      break;
    }
    const ssize_t bytes = read(pipe_ends[0], buffer.data(), buffer.size());
    if (bytes <= 0) break;
    if (result.output.size() < std::size_t{1} << 20) {
      result.output.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    result.exit_code = WEXITSTATUS(status);
  } else {
    result.signal = WTERMSIG(status);
  }
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

}  // namespace ondine::cli
