// Files that are read by mapping them into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <ondine/limits.h>

namespace ondine {

// A file descriptor, closed by the destructor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  bool is_open() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

// A whole regular file, read-only. Its content must not change and the file not shrink while it is
// mapped: the system answers reading behind a new end with a signal. Renaming over it is fine.
class MappedFile {
 public:
  // `name` is for messages. Throws Error(io) for anything but a regular file.
  MappedFile(const Descriptor& descriptor, const std::string& name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// Opens a file that the user named; links are followed. Throws Error(io).
Descriptor open_file(const std::filesystem::path& file);

// Opens what `location` (relative, separated by '/') names below `folder`, and never anything
// outside of it, whatever the name is and whatever lies below the folder. Throws
// Error(invalid_model) for a name that is absolute or contains "..", and for links that `limits` do
// not allow; Error(io) for the rest.
// `Resolver::walk` stands in for systems without openat2 and follows no links at all.
enum class Resolver { kernel, walk };
Descriptor open_below(const std::filesystem::path& folder, const std::string& location,
                      const Limits& limits, Resolver resolver = Resolver::kernel);

}  // namespace ondine
