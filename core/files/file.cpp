#include "core/files/file.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace ondine {

namespace {

[[noreturn]] void fail_with(ErrorCode code, std::string_view verb, std::string_view path,
                            int error) {
  fail(code, "cannot ", verb, " ", quoted(path), ": ", std::generic_category().message(error));
}

}  // namespace

void fail_io(std::string_view verb, std::string_view path, int error) {
  fail_with(ErrorCode::io, verb, path, error);
}

void fail_to_find(std::string_view verb, std::string_view path, int error) {
  const bool is_absent = error == ENOENT || error == ENOTDIR;
  fail_with(is_absent ? ErrorCode::not_found : ErrorCode::io, verb, path, error);
}

std::int64_t require_found(IoResult result, std::string_view verb, std::string_view path) {
  if (result.error != 0) fail_to_find(verb, path, result.error);
  return result.value;
}

std::int64_t require_io(IoResult result, std::string_view verb, std::string_view path) {
  if (result.error != 0) fail_io(verb, path, result.error);
  return result.value;
}

File::File(FileSystem& files, FileSystem::Handle handle, std::string path)
    : files_(&files), handle_(handle), path_(std::move(path)) {}

File File::open(FileSystem& files, const std::string& path) {
  std::string name = path;  // copied before there is a handle to lose
  const auto handle = require_found(files.open(path), "open", path);
  return {files, handle, std::move(name)};
}

File::File(File&& other) noexcept
    : files_(std::exchange(other.files_, nullptr)),
      handle_(other.handle_),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (is_open()) files_->close(handle_);
    files_ = std::exchange(other.files_, nullptr);
    handle_ = other.handle_;
    path_ = std::move(other.path_);
  }
  return *this;
}

File::~File() {
  if (is_open()) files_->close(handle_);
}

void File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t taken = require_io(files_->write(handle_, bytes), "write", path_);
    if (taken <= 0) fail_io("write", path_, EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(taken));
  }
}

std::size_t File::read(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto got = static_cast<std::size_t>(
        require_io(files_->read(handle_, bytes.subspan(filled)), "read", path_));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

std::uint64_t File::size() const {
  return static_cast<std::uint64_t>(require_io(files_->size(handle_), "measure", path_));
}

void File::sync() { require_io(files_->sync(handle_), "sync", path_); }

void File::close() {
  FileSystem* files = std::exchange(files_, nullptr);
  require_io(files->close(handle_), "close", path_);
}

FileSource::FileSource(FileSystem& files, const std::string& path)
    : file_(File::open(files, path)), size_(file_.size()) {}

void FileSource::read(std::span<std::byte> bytes) {
  const std::size_t got = file_.read(bytes);
  position_ += got;
  if (got < bytes.size()) fail(ErrorCode::corrupt, "ends at byte ", position_);
}

}  // namespace ondine
