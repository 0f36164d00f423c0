#include "core/files/atomic_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/separators.h"

namespace ondine {
namespace {

constexpr std::string_view temporary_mark = ".ondine-tmp-";
constexpr std::size_t buffer_size = std::size_t{64} << 10;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of(separators);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

bool is_temporary_of(std::string_view target, std::string_view name) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(temporary_mark)) return false;
  name.remove_prefix(temporary_mark.size());
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<std::uint64_t> number{0};
  return cat(path, temporary_mark, ::getpid(), "-", number.fetch_add(1));
}

// Best effort: what cannot be removed does not keep a save from succeeding.
void remove_abandoned(FileSystem& files, const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string target = path.substr(path.find_last_of(separators) + 1);
  std::vector<std::string> names;
  if (files.list(folder, names).error != 0) return;
  for (const std::string& name : names) {
    if (!is_temporary_of(target, name)) continue;
    const std::string stale = path.substr(0, path.size() - target.size()) + name;
    std::string held_name = stale;
    const IoResult locked = files.lock(stale);
    if (locked.error != 0) continue;
    const File held(files, locked.value, std::move(held_name));
    files.remove(stale);
  }
}

// Large pieces go straight to the file, small ones are collected.
class BufferedSink final : public Sink {
 public:
  explicit BufferedSink(File& file) : file_(file) {}

  void write(std::span<const std::byte> bytes) override {
    if (buffer_.size() + bytes.size() > buffer_size) flush();
    if (bytes.size() >= buffer_size) {
      file_.write(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

 private:
  File& file_;
  std::vector<std::byte> buffer_;
};

// A temporary name beside PATH, removed when it goes.
class Temporary {
 public:
  Temporary(FileSystem& files, const std::string& target) : files_(files), target_(target) {}
  ~Temporary() {
    if (!path_.empty()) files_.remove(path_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const noexcept { return path_; }

  // A new durable file with what `writer` writes, locked until *this goes.
  void fill(const std::function<void(Sink&)>& writer) {
    File file = create();
    BufferedSink sink(file);
    writer(sink);
    sink.flush();
    file.sync();
    file.close();
  }

  // A second name for `existing`, or a copy where the file system has no such thing. False when
  // there is no such file.
  bool duplicate(const std::string& existing) {
    std::string name = temporary_name(target_);
    const int error = files_.link(existing, name).error;
    if (error == ENOENT) return false;
    switch (error) {
      case 0:
        path_ = std::move(name);
        return true;
      case EPERM:
      case EACCES:
      case ENOSYS:
      case EOPNOTSUPP:
      case EMLINK:
        return copy(existing);
      default:
        fail_io("link", existing, error);
    }
  }

  // After this the name is no longer ours.
  void rename_to(const std::string& name) {
    require_io(files_.rename(path_, name), "rename", path_);
    path_.clear();
  }

  // As rename_to, for a name that has no lock: another writer may have removed it.
  void rename_if_there(const std::string& name) {
    const IoResult renamed = files_.rename(path_, name);
    if (renamed.error != 0 && renamed.error != ENOENT) fail_io("rename", path_, renamed.error);
    // Not cleared: a rename between two names of one file does nothing, so the first must still go.
  }

 private:
  File create() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string name = temporary_name(target_);
      // Copied before there are handles to lose.
      std::string file_name = name;
      std::string lock_name = name;
      const IoResult created = files_.create(name, target_);
      if (created.error == EEXIST) continue;
      if (created.error != 0) fail_io("write", target_, created.error);
      path_ = std::move(name);
      File file(files_, created.value, std::move(file_name));
      const IoResult locked = files_.lock(path_);
      if (locked.error == 0) lock_ = File(files_, locked.value, std::move(lock_name));
      // Between its creation and its lock another writer took it for abandoned.
      if (locked.error == EWOULDBLOCK || locked.error == ENOENT) {
        files_.remove(path_);
        continue;
      }
      return file;  // without a lock where the file system has none
    }
    fail(ErrorCode::io, "no free temporary name beside ", quoted(target_));
  }

  bool copy(const std::string& existing) {
    std::string name = existing;
    const IoResult opened = files_.open(existing);
    if (opened.error == ENOENT) return false;
    File source(files_, require_io(opened, "open", existing), std::move(name));
    fill([&source](Sink& sink) {
      std::vector<std::byte> buffer(buffer_size);
      while (const std::size_t got = source.read(buffer)) sink.write(std::span(buffer).first(got));
    });
    return true;
  }

  FileSystem& files_;
  std::string target_;
  std::string path_;
  File lock_;
};

}  // namespace

std::string previous_generation(const std::string& path) { return path + ".prev"; }

std::string follow_link(const std::string& path) {
  std::filesystem::path at = path;
  for (int links = 0; links < 40; ++links) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error) return at.string();  // no link
    at = at.parent_path() / next;
  }
  fail(ErrorCode::io, quoted(path), " is a symbolic link that leads to no file");
}

void require_replaceable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_other(std::filesystem::symlink_status(path, ignored))) {
    fail(ErrorCode::io, "cannot write ", quoted(path), ": it is a device, a pipe or a socket");
  }
}

void require_writable(FileSystem& files, const std::string& path) {
  require_replaceable(path);
  const std::string probe = temporary_name(path);
  const IoResult created = files.create(probe, path);
  if (created.error != 0) fail_io("write", path, created.error);
  files.close(created.value);
  files.remove(probe);
}

void atomic_write(FileSystem& files, const std::string& path,
                  const std::function<void(Sink&)>& writer, AtomicWriteOptions options) {
  if (path.empty() || path.find_last_of(separators) == path.size() - 1 ||
      path.find('\0') != std::string::npos) {
    fail(ErrorCode::io, quoted(path), " does not name a file");
  }
  require_replaceable(path);
  const std::string folder = folder_of(path);
  const std::string previous = previous_generation(path);
  const auto sync_names = [&] { require_io(files.sync_folder(folder), "sync", folder); };

  remove_abandoned(files, path);
  Temporary fresh(files, path);
  fresh.fill(writer);
  Temporary old(files, path);
  const bool has_old = options.keep_previous && old.duplicate(path);
  fresh.rename_to(path);
  sync_names();
  // Only now that PATH is durable may PATH.prev go: the old PATH may have been damaged.
  if (has_old) {
    old.rename_if_there(previous);
    sync_names();
  }
}

}  // namespace ondine
