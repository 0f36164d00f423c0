// Folders of images, one folder a class.
#pragma once

#include <filesystem>

#include "trainer/data/column.h"

namespace ondine::data {

// Whether a folder below holds images.
bool is_image_folder(const std::filesystem::path& folder);
Parts open_images(const std::filesystem::path& folder, const DatasetOptions& options);

// Names of many files in little memory: folders once, names in one string.
class FileIndex {
 public:
  void add_folder(std::string folder) { folders_.push_back({std::move(folder), starts_.size()}); }
  void add(const std::string& name);  // a file of the last folder
  std::uint64_t size() const noexcept { return starts_.size(); }
  std::string path(std::uint64_t i) const;

 private:
  struct Folder {
    std::string path;
    std::uint64_t first;
  };
  std::vector<Folder> folders_;
  std::vector<std::uint64_t> starts_;
  std::string names_;
};

std::shared_ptr<const Column> image_column(std::string name, FileIndex files,
                                           const DatasetOptions& options);

}  // namespace ondine::data
