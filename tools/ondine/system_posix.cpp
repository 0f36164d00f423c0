#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <ondine/error.h>

#include "ondine/system.h"

namespace ondine::cli {

std::vector<std::string> program_arguments(int argc, char** argv) { return {argv, argv + argc}; }

std::filesystem::path program_file() { return std::filesystem::read_symlink("/proc/self/exe"); }

bool prepare_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one.
    if (::open("/dev/null", O_RDWR) != fd) return false;
  }
  return true;
}

bool is_terminal(Stream stream) noexcept {
  return ::isatty(stream == Stream::in ? STDIN_FILENO : STDOUT_FILENO) == 1;
}

// getrusage also counts the memory of the program that started this one, before it became this one.
std::uint64_t resident_peak() {
  std::ifstream status("/proc/self/status");
  const std::string field = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::filesystem::path make_temporary_folder(const std::string& prefix) {
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  std::string name = (parent / (prefix + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::io, "cannot make a folder in '" + parent.string() + "'");
  }
  return name;
}

}  // namespace ondine::cli
