// Containment: the kernel resolves the name below the folder (openat2); without that, each
// component is opened in turn without following links.
#include <fcntl.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "core/files/file.h"
#include "core/message.h"
#include "proto/location_parts.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

#ifdef __linux__
// From linux/openat2.h, which older systems lack.
struct OpenHow {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};
constexpr long openat2_call = 437;
constexpr std::uint64_t no_magic_links = 0x02;
constexpr std::uint64_t no_symlinks = 0x04;
constexpr std::uint64_t beneath = 0x08;
#endif

constexpr int read_flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

int open_beneath([[maybe_unused]] int folder, [[maybe_unused]] const std::string& name,
                 [[maybe_unused]] const Limits& limits) {
#ifdef __linux__
  OpenHow how{};
  how.flags = static_cast<std::uint64_t>(read_flags);
  how.resolve = beneath | no_magic_links | (limits.allow_symlinks ? 0 : no_symlinks);
  return static_cast<int>(::syscall(openat2_call, folder, name.c_str(), &how, sizeof(how)));
#else
  errno = ENOSYS;
  return -1;
#endif
}

int walk(int folder, const std::vector<std::string>& parts) {
  Descriptor current;
  int at = folder;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    Descriptor next(
        ::openat(at, parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) {
      // With O_DIRECTORY a link gives the same errno as any other file that is not a folder.
      struct stat facts {};
      const int error = errno;
      const bool link = ::fstatat(at, parts[i].c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(facts.st_mode);
      errno = link ? ELOOP : error;
      return -1;
    }
    current = std::move(next);
    at = current.get();
  }
  return ::openat(at, parts.back().c_str(), read_flags | O_NOFOLLOW);
}

}  // namespace

Descriptor open_below(const std::filesystem::path& folder, const std::string& location,
                      const Limits& limits, Resolver resolver) {
  const auto parts = location_parts(location);
  const Descriptor base(
      ::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base.is_open()) fail_to_find("open", folder.string(), errno);
  Descriptor file;
  if (resolver == Resolver::kernel) file = Descriptor(open_beneath(base.get(), location, limits));
  const bool lacking = !file.is_open() && (errno == ENOSYS || errno == EPERM || errno == EINVAL);
  if (resolver == Resolver::walk || lacking) file = Descriptor(walk(base.get(), parts));
  if (!file.is_open()) {
    const int error = errno;
    if (error == ELOOP || error == EXDEV) {
      fail(ErrorCode::invalid_model, "location ", quoted(location),
           error == EXDEV ? " leaves the model's folder" : " is reached through a symbolic link");
    }
    fail_to_find("open", location, error);
  }
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    fail(ErrorCode::io, quoted(location), " is not a regular file");
  }
  if (facts.st_nlink != 1 && !limits.allow_hard_links) {
    fail(ErrorCode::invalid_model, quoted(location), " is a file with ", facts.st_nlink,
         " names (hard links)");
  }
  return file;
}

}  // namespace ondine
