#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "core/files/file.h"

namespace ondine {
namespace {

template <class Call>
IoResult outcome(Call call) {
  while (true) {
    const auto value = call();
    if (value >= 0) return {static_cast<std::int64_t>(value), 0};
    if (errno != EINTR) return {0, errno};
  }
}

int descriptor(FileSystem::Handle handle) { return static_cast<int>(handle); }

IoResult open_for_reading(const std::string& path, int more) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  return outcome([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | more); });
}

IoResult close_with(IoResult opened, int error) {
  ::close(descriptor(opened.value));
  return {0, error};
}

// Above this some systems refuse a single call.
constexpr std::size_t largest_call = std::size_t{1} << 30;

}  // namespace

IoResult PosixFileSystem::create(const std::string& path) {
  return outcome([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  });
}

IoResult PosixFileSystem::open(const std::string& path) {
  const IoResult opened = open_for_reading(path, 0);
  if (opened.error != 0) return opened;
  struct stat facts {};
  if (::fstat(descriptor(opened.value), &facts) != 0) return close_with(opened, errno);
  if (S_ISDIR(facts.st_mode)) return close_with(opened, EISDIR);
  if (!S_ISREG(facts.st_mode)) return close_with(opened, EINVAL);
  return opened;
}

IoResult PosixFileSystem::lock(const std::string& path) {
  const IoResult opened = open_for_reading(path, O_NOFOLLOW);
  if (opened.error != 0) return opened;
  const int fd = descriptor(opened.value);
  const IoResult locked = outcome([&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
  if (locked.error != 0) return close_with(opened, locked.error);
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return close_with(opened, errno);
  if (facts.st_nlink == 0) return close_with(opened, ENOENT);  // removed before it was locked
  return opened;
}

IoResult PosixFileSystem::write(Handle handle, std::span<const std::byte> bytes) {
  const std::size_t n = std::min(bytes.size(), largest_call);
  return outcome([&] { return ::write(descriptor(handle), bytes.data(), n); });
}

IoResult PosixFileSystem::read(Handle handle, std::span<std::byte> bytes) {
  const std::size_t n = std::min(bytes.size(), largest_call);
  return outcome([&] { return ::read(descriptor(handle), bytes.data(), n); });
}

IoResult PosixFileSystem::size(Handle handle) {
  struct stat facts {};
  if (::fstat(descriptor(handle), &facts) != 0) return {0, errno};
  return {static_cast<std::int64_t>(facts.st_size), 0};
}

IoResult PosixFileSystem::sync(Handle handle) {
#ifdef F_FULLFSYNC
  // fsync alone leaves the bytes in the drive's cache there.
  if (::fcntl(descriptor(handle), F_FULLFSYNC) == 0) return {};
#endif
  if (::fsync(descriptor(handle)) != 0) return {0, errno};
  return {};
}

IoResult PosixFileSystem::close(Handle handle) {
  // An interrupted close has closed: trying again could close another thread's file.
  if (::close(descriptor(handle)) != 0 && errno != EINTR) return {0, errno};
  return {};
}

IoResult PosixFileSystem::rename(const std::string& from, const std::string& to) {
  return outcome([&] { return std::rename(from.c_str(), to.c_str()); });
}

IoResult PosixFileSystem::link(const std::string& file, const std::string& name) {
  return outcome([&] { return ::link(file.c_str(), name.c_str()); });
}

IoResult PosixFileSystem::remove(const std::string& path) {
  return outcome([&] { return ::unlink(path.c_str()); });
}

IoResult PosixFileSystem::sync_folder(const std::string& path) {
  const IoResult opened = open_for_reading(path, O_DIRECTORY);
  if (opened.error != 0) return opened;
  const IoResult synced = sync(opened.value);
  // EINVAL: this file system has no notion of syncing a folder.
  return close_with(opened, synced.error == EINVAL ? 0 : synced.error);
}

IoResult PosixFileSystem::list(const std::string& folder, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return {0, errno};
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return {0, errno};
    names.emplace_back(entry->d_name);
  }
}

}  // namespace ondine
