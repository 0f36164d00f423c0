// Memory-mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
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

struct MapOptions {
  bool watched = true;    // keeps a descriptor for require_unchanged
  bool copied = false;    // also where the file system is local
  bool writable = false;  // what is written stays in this process
};

// A view of a whole regular file: a mapping, or where the file system is not local, so that others
// may change the file unseen, a copy in memory. A mapped file must not be modified or truncated:
// reading beyond a new end raises a signal. Replacing it by renaming is safe.
class MappedFile {
 public:
  // `name` is for messages. Throws Error(io) for anything but a regular file.
  MappedFile(const Descriptor& descriptor, const std::string& name, MapOptions options = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  // Throws Error(io) when a watched mapping's file has another size or was written to since it was
  // mapped. What happens while others read the bytes stays unseen until then.
  void require_unchanged() const;
  // Takes the pages of `part` out of the process's resident memory; they stay readable.
  void release(std::span<const std::byte> part) const noexcept;
  // Has the system read `part` ahead of its use.
  void announce(std::span<const std::byte> part) const noexcept;
  // Whether the bytes are a part of the mapped file, whose pages release() gives back.
  bool maps(std::span<const std::byte> part) const noexcept;

 private:
  // State of a file, which differs once the file was changed.
  struct Version {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };
  static std::optional<Version> version_of(const Descriptor& descriptor);
  void copy(const Descriptor& descriptor, std::size_t size);
  void advise(std::span<const std::byte> part, int advice) const noexcept;

  std::string name_;
  std::span<const std::byte> bytes_;
  bool copied_ = false;
  Descriptor watched_;  // not open where it is not
  Version version_;
};

// Whether other machines may change files of a file system of this type (statfs) unseen.
bool is_remote_file_system(std::uint32_t type) noexcept;

// Opens a file named by the user, following links. Throws Error(io).
Descriptor open_file(const std::filesystem::path& file);

// Opens the file `location` (relative, separated by '/') below `folder`. Never opens anything
// outside the folder, whatever the name and the folder's content. Throws Error(invalid_model) for a
// location that is absolute or contains "..", and for links that `limits` do not allow; Error(io)
// otherwise. `Resolver::walk` is the fallback for systems without openat2; it follows no links.
enum class Resolver { kernel, walk };
Descriptor open_below(const std::filesystem::path& folder, const std::string& location,
                      const Limits& limits, Resolver resolver = Resolver::kernel);

}  // namespace ondine
