// Names of many files in little memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ondine::data {

// Folders are stored once, the names of their files in one string.
class FileIndex {
 public:
  void add_folder(std::string folder) { folders_.push_back({std::move(folder), starts_.size()}); }
  // A file of the last folder, by its path from there, or of none.
  void add(const std::string& name);
  // Gives back memory that was reserved for more files.
  void shrink();
  std::uint64_t size() const noexcept { return starts_.size(); }
  std::string path(std::uint64_t i) const;
  // Taken by the index.
  std::uint64_t bytes() const noexcept;

 private:
  struct Folder {
    std::string path;
    std::uint64_t first;
  };
  std::vector<Folder> folders_;
  std::vector<std::uint64_t> starts_;
  std::string names_;
};

}  // namespace ondine::data
