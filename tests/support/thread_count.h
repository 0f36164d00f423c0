// How many threads the process has, on Linux.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace ondine::test {

// Whether the thread with this folder in /proc has not begun to end. A thread that was joined may
// be listed for a moment, which is long on a busy machine.
inline bool is_alive(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // proc(5): pid (comm) state ppid pgrp session tty_nr tpgid flags
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 6; ++i) fields >> skipped;
  unsigned flags = 0;
  fields >> flags;
  constexpr unsigned exiting = 4;  // PF_EXITING
  return (flags & exiting) == 0;
}

inline std::ptrdiff_t thread_count() {
  std::ptrdiff_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (is_alive(task.path())) ++count;
  }
  return count;
}

}  // namespace ondine::test
