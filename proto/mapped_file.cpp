#include "proto/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/files/file.h"
#include "core/message.h"

namespace ondine {

Descriptor::~Descriptor() {
  if (is_open()) ::close(fd_);
}

MappedFile::MappedFile(const Descriptor& descriptor, const std::string& name, MapAccess access) {
  struct stat facts {};
  if (::fstat(descriptor.get(), &facts) != 0) {
    fail_io("read", name, errno);
  }
  if (!S_ISREG(facts.st_mode)) fail(ErrorCode::io, quoted(name), " is not a regular file");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return;
  const bool is_read_only = access == MapAccess::read;
  void* memory =
      ::mmap(nullptr, size, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE,
             is_read_only ? MAP_PRIVATE : MAP_PRIVATE | MAP_NORESERVE, descriptor.get(), 0);
  if (memory == MAP_FAILED) {
    fail_io("map", name, errno);
  }
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::span<const std::byte> part) const noexcept {
  if (part.empty()) return;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  const std::size_t first = begin / page * page;
  const std::size_t length = begin - first + part.size();
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, length, MADV_DONTNEED);
}

Descriptor open_file(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!descriptor.is_open()) fail_io("open", file.string(), errno);
  return descriptor;
}

}  // namespace ondine
