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

constexpr mode_t permission_bits = 0777;

// Owner, group and mode of another file. A group that cannot be kept may do no more than others.
void adopt(int fd, const struct stat& facts) {
  struct stat own {};
  if (::fstat(fd, &own) != 0) return;
  mode_t mode = facts.st_mode & permission_bits;
  const bool differs = own.st_uid != facts.st_uid || own.st_gid != facts.st_gid;
  const auto keep_owner = static_cast<uid_t>(-1);
  if (differs && ::fchown(fd, facts.st_uid, facts.st_gid) != 0 && own.st_gid != facts.st_gid &&
      ::fchown(fd, keep_owner, facts.st_gid) != 0) {
    mode &= ~mode_t{S_IRWXG} | (mode & S_IRWXO) << 3;
  }
  // A file system without modes refuses; the file is then no wider than it was created.
  ::fchmod(fd, mode);
}

// Above this some systems refuse a single call.
constexpr std::size_t largest_call = std::size_t{1} << 30;

}  // namespace

IoResult PosixFileSystem::create(const std::string& path, const std::string& like) {
  struct stat facts {};
  const bool known = ::stat(like.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  // Never wider than the end, also while the file is empty.
  const mode_t mode = known ? facts.st_mode & permission_bits : 0666;
  const IoResult created = outcome([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  });
  // A link is replaced, not followed: what it points to only narrows the mode.
  struct stat named {};
  const bool replaces = known && ::lstat(like.c_str(), &named) == 0 && S_ISREG(named.st_mode);
  if (replaces && created.error == 0) adopt(descriptor(created.value), facts);
  return created;
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
  // NFS locks only what is open for writing.
  IoResult opened =
      outcome([&] { return ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW); });
  if (opened.error == EACCES || opened.error == EROFS) opened = open_for_reading(path, O_NOFOLLOW);
  if (opened.error != 0) return opened;
  const int fd = descriptor(opened.value);
  const IoResult locked = outcome([&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
  if (locked.error != 0) return close_with(opened, locked.error);
  struct stat facts {};
  struct stat named {};
  if (::fstat(fd, &facts) != 0) return close_with(opened, errno);
  // Removed, or removed and made anew, before it was locked.
  const bool same = ::lstat(path.c_str(), &named) == 0 && named.st_dev == facts.st_dev &&
                    named.st_ino == facts.st_ino;
  return same ? opened : close_with(opened, ENOENT);
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
