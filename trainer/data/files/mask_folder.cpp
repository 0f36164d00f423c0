#include "trainer/data/files/mask_folder.h"

#include <algorithm>
#include <map>

#include "core/files/file.h"
#include "core/message.h"
#include "trainer/data/files/file_kind.h"
#include "trainer/data/files/folder_names.h"
#include "trainer/data/files/row_cache.h"
#include "trainer/data/images/mask_column.h"
#include "trainer/data/split_words.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* images_name = "images";
constexpr const char* masks_name = "masks";

bool has_both(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / images_name, error) &&
         fs::is_directory(folder / masks_name, error);
}

// Files by their names without the extension.
std::map<std::string, std::string> pictures_in(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const std::string& name : sorted_names(folder)) {
    if (!image_files.has(name)) continue;
    const std::string stem = fs::path(name).stem().string();
    if (found.emplace(stem, name).second) continue;
    fail(ErrorCode::mismatch, "folder ", quoted(folder.string()), " has two pictures ",
         quoted(stem));
  }
  return found;
}

struct Pairs {
  FileIndex images;
  FileIndex masks;
};

Pairs pairs_in(const fs::path& folder, bool reads_masks) {
  const auto images = pictures_in(folder / images_name);
  if (images.empty()) {
    fail(ErrorCode::mismatch, "folder ", quoted((folder / images_name).string()), " has no images");
  }
  Pairs pairs;
  pairs.images.add_folder((folder / images_name).string());
  for (const auto& [stem, name] : images) pairs.images.add(name);
  if (!reads_masks) return pairs;
  const auto masks = pictures_in(folder / masks_name);
  pairs.masks.add_folder((folder / masks_name).string());
  for (const auto& [stem, name] : images) {
    const auto mask = masks.find(stem);
    if (mask == masks.end()) {
      fail(ErrorCode::mismatch, "image ", quoted((folder / images_name / name).string()),
           " has no mask of the same name in ", quoted((folder / masks_name).string()));
    }
    pairs.masks.add(mask->second);
  }
  for (const auto& [stem, name] : masks) {
    if (images.contains(stem)) continue;
    fail(ErrorCode::mismatch, "mask ", quoted((folder / masks_name / name).string()),
         " has no image of the same name");
  }
  pairs.images.shrink();
  pairs.masks.shrink();
  return pairs;
}

std::string note_of(const MaskClasses& classes) {
  if (classes.is_black_and_white) return "masks are black and white: white is class 1";
  if (classes.ignores_white) return "pixels of value 255 in masks do not count";
  return {};
}

Dataset::Part part_of(Pairs pairs, const MaskClasses& classes, std::vector<ImageSize> sizes,
                      const DatasetOptions& options) {
  Dataset::Part part;
  part.threads = options.threads;
  part.opened = {options.layout, options.image_fit, options.image_size};
  const bool has_masks = pairs.masks.size() != 0;
  part.columns.push_back(
      cached_rows(images_with_masks(image_files.column, std::move(pairs.images), sizes, options),
                  options.cache_bytes));
  if (!has_masks) return part;
  part.target = "mask";
  part.columns.push_back(
      cached_rows(mask_column("mask", std::move(pairs.masks), classes, std::move(sizes), options),
                  options.cache_bytes));
  for (std::int64_t i = 0; i < classes.count; ++i) part.classes.push_back(std::to_string(i));
  return part;
}

SplitFiles folders_of(const fs::path& folder) {
  if (has_both(folder)) return {{folder}, {}, {}};
  std::vector<fs::path> paths;
  for (const std::string& name : folders_in(folder)) paths.push_back(folder / name);
  return split_files(paths);
}

// Classes of both parts together.
MaskClasses join(const MaskClasses& a, const MaskClasses& b) {
  if (b.count == 0) return a;
  if (a.is_black_and_white != b.is_black_and_white && std::max(a.count, b.count) > 2) {
    fail(ErrorCode::mismatch, "masks of training are ",
         a.is_black_and_white ? "black and white" : "numbers of classes",
         ", those of validation are not");
  }
  return {std::max(a.count, b.count), a.is_black_and_white || b.is_black_and_white,
          a.ignores_white || b.ignores_white};
}

}  // namespace

bool is_mask_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  if (has_both(folder)) return true;
  const std::vector<std::string> names = folders_in(folder);
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return split_of(name) != Split::unknown && has_both(folder / name);
  });
}

Parts open_mask_folder(const fs::path& folder, const DatasetOptions& options) {
  if (options.skip_broken) {
    fail(ErrorCode::unsupported, "skip_broken (--skip-broken) does not apply to masks");
  }
  const SplitFiles split = folders_of(folder);
  const bool reads_masks = options.use != DataUse::inference;
  const auto pairs_of = [&](const std::vector<fs::path>& folders) {
    return folders.empty() ? Pairs() : pairs_in(folders[0], reads_masks);
  };
  Pairs training = pairs_of(split.train);
  Pairs validation = pairs_of(split.validation);
  MaskClasses classes;
  MaskSurvey of_training;
  MaskSurvey of_validation;
  if (reads_masks) {
    of_training = survey_masks(training.masks, options);
    of_validation = survey_masks(validation.masks, options);
    classes = join(of_training.classes, of_validation.classes);
    const auto known = static_cast<std::int64_t>(options.classes.size());
    if (known != 0 && classes.count > known) {
      fail(ErrorCode::mismatch, "masks have the class ", classes.count - 1, ", the model ", known,
           " classes");
    }
    classes.count = std::max(classes.count, known);
  }
  Parts parts;
  parts.train = part_of(std::move(training), classes, std::move(of_training.sizes), options);
  if (!split.validation.empty()) {
    parts.validation =
        part_of(std::move(validation), classes, std::move(of_validation.sizes), options);
  }
  add_note(parts, split.note);
  add_note(parts, note_of(classes));
  return parts;
}

}  // namespace ondine::data
