#include "trainer/data/files/file_index.h"

#include <algorithm>
#include <iterator>

namespace ondine::data {

void FileIndex::add(const std::string& name) {
  starts_.push_back(names_.size());
  names_ += name;
}

void FileIndex::shrink() {
  starts_.shrink_to_fit();
  names_.shrink_to_fit();
}

std::string FileIndex::path(std::uint64_t i) const {
  const std::uint64_t end = i + 1 < starts_.size() ? starts_[i + 1] : names_.size();
  const std::string name = names_.substr(starts_[i], end - starts_[i]);
  const auto after =
      std::upper_bound(folders_.begin(), folders_.end(), i,
                       [](std::uint64_t row, const Folder& folder) { return row < folder.first; });
  if (after == folders_.begin() || name.starts_with('/')) return name;
  return std::prev(after)->path + "/" + name;
}

std::uint64_t FileIndex::bytes() const noexcept {
  std::uint64_t bytes = starts_.capacity() * sizeof(starts_[0]) + names_.capacity();
  for (const Folder& folder : folders_) bytes += sizeof(Folder) + folder.path.capacity();
  return bytes;
}

}  // namespace ondine::data
