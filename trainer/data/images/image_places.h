// Images in folders, one folder a class, and in lists.
#pragma once

#include <filesystem>
#include <span>

#include "trainer/data/column.h"

namespace ondine::data {

// Whether a folder below holds images.
bool is_image_folder(const std::filesystem::path& folder);
Parts open_image_folder(const std::filesystem::path& folder, const DatasetOptions& options);

// Images, and folders with images in them.
bool are_images(std::span<const std::filesystem::path> places);
Parts open_images(std::span<const std::filesystem::path> places, const DatasetOptions& options);

// .csv and .tsv files whose first row has the name of an image file in some column.
bool are_image_lists(std::span<const std::filesystem::path> places);
Parts open_image_lists(std::span<const std::filesystem::path> files, const DatasetOptions& options);

// By the extension.
bool is_image_name(const std::string& name);

}  // namespace ondine::data
