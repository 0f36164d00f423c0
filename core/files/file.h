// Checkpoints and exported files are written and read through FileSystem, so that a test can fail
// or record every call. Two other ways to files exist, both for reading: mapping models and
// arrays (proto/mapped_file.h) and opening below a folder (proto/open_below.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stream.h"

namespace ondine {

// The result of an operation: a handle or a count, or errno on failure.
struct IoResult {
  std::int64_t value = 0;
  int error = 0;
};

// The plain operations of the operating system. No call throws Error.
class FileSystem {
 public:
  using Handle = std::int64_t;
  virtual ~FileSystem() = default;

  // A new empty file for writing, with the mode of the file `like` where there is one (and its
  // owner and group, as far as the process may give them). EEXIST when the name is taken.
  virtual IoResult create(const std::string& path, const std::string& like) = 0;
  // A regular file for reading. EINVAL for a device, pipe or socket.
  virtual IoResult open(const std::string& path) = 0;
  // A handle that keeps others from locking the file until it is closed or its process ends.
  // EWOULDBLOCK while another handle has it, ENOENT when there is no such file.
  virtual IoResult lock(const std::string& path) = 0;
  // The number of bytes written, which may be fewer than given.
  virtual IoResult write(Handle handle, std::span<const std::byte> bytes) = 0;
  // The number of bytes read, which may be fewer than asked for; 0 at the end.
  virtual IoResult read(Handle handle, std::span<std::byte> bytes) = 0;
  virtual IoResult size(Handle handle) = 0;
  // Makes the file's content durable.
  virtual IoResult sync(Handle handle) = 0;
  virtual IoResult close(Handle handle) = 0;
  // Replaces `to` atomically.
  virtual IoResult rename(const std::string& from, const std::string& to) = 0;
  // A second name for the same file. EEXIST when the name is taken.
  virtual IoResult link(const std::string& file, const std::string& name) = 0;
  virtual IoResult remove(const std::string& path) = 0;
  // Makes the names in a folder durable.
  virtual IoResult sync_folder(const std::string& path) = 0;
  // Appends the names in a folder, "." and ".." included.
  virtual IoResult list(const std::string& folder, std::vector<std::string>& names) = 0;
};

class PosixFileSystem final : public FileSystem {
 public:
  IoResult create(const std::string& path, const std::string& like) override;
  IoResult open(const std::string& path) override;
  IoResult lock(const std::string& path) override;
  IoResult write(Handle handle, std::span<const std::byte> bytes) override;
  IoResult read(Handle handle, std::span<std::byte> bytes) override;
  IoResult size(Handle handle) override;
  IoResult sync(Handle handle) override;
  IoResult close(Handle handle) override;
  IoResult rename(const std::string& from, const std::string& to) override;
  IoResult link(const std::string& file, const std::string& name) override;
  IoResult remove(const std::string& path) override;
  IoResult sync_folder(const std::string& path) override;
  IoResult list(const std::string& folder, std::vector<std::string>& names) override;
};

// Throws Error(io): "cannot write 'a/b': No space left on device".
[[noreturn]] void fail_io(std::string_view verb, std::string_view path, int error);
// fail_io for a file that must exist: Error(not_found) if it does not.
[[noreturn]] void fail_to_find(std::string_view verb, std::string_view path, int error);
// result.value, or fail_io.
std::int64_t require_io(IoResult result, std::string_view verb, std::string_view path);

// result.value, or fail_to_find.
std::int64_t require_found(IoResult result, std::string_view verb, std::string_view path);

// An open handle, closed by the destructor. Every method throws Error(io) with the path and the
// reason.
class File {
 public:
  File() = default;
  // Takes over a handle of `files`, which must outlive it.
  File(FileSystem& files, FileSystem::Handle handle, std::string path);
  static File open(FileSystem& files, const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  bool is_open() const noexcept { return files_ != nullptr; }
  const std::string& path() const noexcept { return path_; }

  // Writes all the bytes: continues after a short write.
  void write(std::span<const std::byte> bytes);
  // Fills `bytes`; returns fewer than bytes.size() only at the end of the file.
  std::size_t read(std::span<std::byte> bytes);
  std::uint64_t size() const;
  // A failure is final: bytes that could not be made durable must be written to another file.
  void sync();
  void close();

 private:
  FileSystem* files_ = nullptr;
  FileSystem::Handle handle_ = 0;
  std::string path_;
};

class FileSource final : public Source {
 public:
  FileSource(FileSystem& files, const std::string& path);
  std::uint64_t size() const override { return size_; }
  std::uint64_t position() const override { return position_; }
  void read(std::span<std::byte> bytes) override;

 private:
  File file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
};

}  // namespace ondine
