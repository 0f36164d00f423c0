#include "proto/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/checked.h"
#include "core/files/file.h"
#include "core/message.h"

namespace ondine {

Descriptor::~Descriptor() {
  if (is_open()) ::close(fd_);
}

namespace {

// Type of the file system, by statfs; 0 if the system does not tell.
std::uint32_t file_system_of([[maybe_unused]] const Descriptor& descriptor) noexcept {
#ifdef __linux__
  struct statfs facts {};
  if (::fstatfs(descriptor.get(), &facts) == 0) return static_cast<std::uint32_t>(facts.f_type);
#endif
  return 0;
}

constexpr std::size_t largest_read = std::size_t{4} << 20;

}  // namespace

std::optional<MappedFile::Version> MappedFile::version_of(const Descriptor& descriptor) {
  struct stat facts {};
  if (::fstat(descriptor.get(), &facts) != 0) return std::nullopt;
#ifdef __APPLE__
  const timespec written = facts.st_mtimespec;
#else
  const timespec written = facts.st_mtim;
#endif
  return Version{facts.st_size, written.tv_sec, written.tv_nsec};
}

MappedFile::MappedFile(const Descriptor& descriptor, const std::string& name, MapOptions options)
    : name_(name) {
  struct stat facts {};
  if (::fstat(descriptor.get(), &facts) != 0) {
    fail_io("read", name, errno);
  }
  if (!S_ISREG(facts.st_mode)) fail(ErrorCode::io, quoted(name), " is not a regular file");
  const std::size_t size =
      size_in_memory(static_cast<std::uint64_t>(facts.st_size), "file " + quoted(name));
  if (size == 0) return;
  if (options.copied || is_remote_file_system(file_system_of(descriptor))) {
    copy(descriptor, size);
    return;
  }
  void* memory =
      ::mmap(nullptr, size, options.writable ? PROT_READ | PROT_WRITE : PROT_READ,
             options.writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_PRIVATE, descriptor.get(), 0);
  if (memory == MAP_FAILED) {
    fail_io("map", name, errno);
  }
  bytes_ = {static_cast<const std::byte*>(memory), size};
  if (!options.watched) return;
  const auto version = version_of(descriptor);
  if (!version) return;
  version_ = *version;
  version_.size = facts.st_size;  // a change since then is one
  watched_ = Descriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::copy(const Descriptor& descriptor, std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_io("read", name_, errno);
  const std::span<std::byte> whole(static_cast<std::byte*>(memory), size);
  for (std::span<std::byte> left = whole; !left.empty();) {
    const ssize_t count =
        ::pread(descriptor.get(), left.data(), std::min(left.size(), largest_read),
                static_cast<off_t>(size - left.size()));
    if (count > 0) {
      left = left.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      const int error = errno;
      ::munmap(memory, size);
      if (count < 0) fail_io("read", name_, error);
      fail(ErrorCode::io, quoted(name_), " became shorter while it was read");
    }
  }
  bytes_ = whole;
  copied_ = true;
}

void MappedFile::advise(std::span<const std::byte> part, int advice) const noexcept {
  if (part.empty() || copied_) return;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = begin / page * page;
  const std::size_t length = begin - first + part.size();
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, length, advice);
}

void MappedFile::release(std::span<const std::byte> part) const noexcept {
  advise(part, MADV_DONTNEED);
}

void MappedFile::announce(std::span<const std::byte> part) const noexcept {
  advise(part, MADV_WILLNEED);
}

Descriptor open_file(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor.is_open()) fail_to_find("open", file.string(), errno);
  return descriptor;
}

}  // namespace ondine
