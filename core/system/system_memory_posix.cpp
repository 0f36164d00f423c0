#include "core/system/system_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string_view>

namespace ondine {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

using Text = std::array<char, 4096>;

// The beginning of a file; empty when it cannot be read.
std::string_view read_text(const char* file, Text& buffer) noexcept {
  const int fd = ::open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const auto count = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  return {buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

// The number in FOLDER/PATH/NAME; `unlimited` when there is none.
std::uint64_t number_in(const char* folder, std::string_view path, const char* name) noexcept {
  Text file{};
  const int length = std::snprintf(file.data(), file.size(), "%s%.*s/%s", folder,
                                   static_cast<int>(path.size()), path.data(), name);
  if (length <= 0 || static_cast<std::size_t>(length) >= file.size()) return unlimited;
  Text buffer{};
  const std::string_view text = read_text(file.data(), buffer);
  std::uint64_t value = unlimited;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : unlimited;
}

// The least limit of the group `path` and of those around it.
std::uint64_t least_limit(const char* folder, std::string_view path, const char* name) noexcept {
  std::uint64_t least = unlimited;
  for (;;) {
    if (path == "/") path = {};
    least = std::min(least, number_in(folder, path, name));
    if (path.empty()) return least;
    path = path.substr(0, std::min(path.rfind('/'), path.size()));
  }
}

}  // namespace

std::uint64_t control_group_bytes(const char* groups, const char* root) noexcept {
  Text buffer{};
  std::string_view rest = read_text(groups, buffer);
  Text version1{};
  if (std::snprintf(version1.data(), version1.size(), "%s/memory", root) <= 0) return unlimited;
  // In a container the paths may be those of the host, which are not mounted there.
  std::uint64_t least = std::min(number_in(root, {}, "memory.max"),
                                 number_in(version1.data(), {}, "memory.limit_in_bytes"));
  while (!rest.empty()) {
    // HIERARCHY:CONTROLLERS:PATH
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_limit(root, path, "memory.max"));
    } else if (controllers.find("memory") != controllers.npos) {
      least = std::min(least, least_limit(version1.data(), path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t system_memory_bytes() noexcept {
  std::uint64_t machine = unlimited;
#ifdef _SC_PHYS_PAGES
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    machine = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  }
#endif
  const std::uint64_t least =
      std::min(machine, control_group_bytes("/proc/self/cgroup", "/sys/fs/cgroup"));
  return least == unlimited ? 0 : least;
}

}  // namespace ondine
