// A file system in memory that knows what a power loss may leave of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files/file.h"

namespace ondine::test {

// File system of one folder. The model takes for durable no more than this:
// - the content of a file as it was when it was last synced; the bytes written since may
//   be absent, half there, all there, or zeros;
// - the names as they were when the folder was last synced; each change since may have happened or
//   not, whatever became of the others.
class CrashingDisk final : public FileSystem {
 public:
  using Contents = std::map<std::string, std::vector<std::byte>>;

  CrashingDisk() = default;
  // Durable files.
  explicit CrashingDisk(const Contents& files);

  // Called after every call that changes something.
  std::function<void()> on_change;

  // All that a power loss at this moment may leave.
  std::vector<Contents> after_power_loss() const;
  std::vector<std::string> names() const;

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

 private:
  struct Inode {
    std::vector<std::byte> content;
    std::vector<std::byte> durable;
  };
  using InodePtr = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodePtr>;
  // `name` now stands for `file` (nothing: for none); `gone` no longer exists.
  struct NameChange {
    std::string name;
    InodePtr file;
    std::string gone;
  };
  struct OpenFile {
    InodePtr file;
    std::size_t position = 0;
  };

  void change(NameChange change);
  IoResult open_handle(const std::string& path);
  static void apply(Names& names, const NameChange& change);

  Names names_;
  Names durable_names_;
  std::vector<NameChange> pending_;
  std::map<Handle, OpenFile> open_;
  Handle next_handle_ = 3;
};

}  // namespace ondine::test
