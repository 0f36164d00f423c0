// Images and their masks in two folders.
#pragma once

#include <filesystem>

#include "trainer/data/column.h"

namespace ondine::data {

// Whether the folder, or each of its folders train, val and the like, has folders images and masks.
bool is_mask_folder(const std::filesystem::path& folder);
Parts open_mask_folder(const std::filesystem::path& folder, const DatasetOptions& options);

}  // namespace ondine::data
