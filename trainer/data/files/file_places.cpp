#include "trainer/data/files/file_places.h"

#include <algorithm>

#include "core/message.h"
#include "trainer/data/files/file_rows.h"
#include "trainer/data/files/folder_names.h"
#include "trainer/data/split_words.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

bool holds_files(const FileKind& kind, const fs::path& folder) {
  const std::vector<std::string> names = sorted_names(folder);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return kind.has(name); });
}

bool holds_classes(const FileKind& kind, const fs::path& folder) {
  const std::vector<std::string> names = folders_in(folder);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return holds_files(kind, folder / name); });
}

// All folders are named train, val and the like.
bool is_split(const std::vector<std::string>& folders) {
  return !folders.empty() && std::all_of(folders.begin(), folders.end(), [](const auto& name) {
    return split_of(name) != Split::unknown;
  });
}

// `classes` is taken from the folder when it is empty; else `owner` says whose they are.
Dataset::Part open_part(const FileKind& kind, const fs::path& folder,
                        std::vector<std::string> classes, const char* owner,
                        const DatasetOptions& options) {
  const std::vector<std::string> found = folders_in(folder);
  if (classes.empty()) classes = found;
  FileIndex files;
  std::vector<std::int64_t> labels;
  const bool reads_labels = options.use != DataUse::inference;
  for (const std::string& name : found) {
    const auto position = std::find(classes.begin(), classes.end(), name);
    if (reads_labels && position == classes.end()) {
      fail(ErrorCode::mismatch, "class ", quoted(name), " in folder ", quoted(folder.string()),
           " is none of the ", owner);
    }
    files.add_folder((folder / name).string());
    for (const std::string& file : sorted_names(folder / name)) {
      if (kind.has(file)) files.add(file);
    }
    if (reads_labels && files.size() == labels.size()) {
      fail(ErrorCode::mismatch, "class ", quoted(name), " has no ", kind.nouns, " in folder ",
           quoted((folder / name).string()));
    }
    labels.resize(files.size(), position - classes.begin());
  }
  if (!reads_labels) return file_part(kind, std::move(files), {}, {}, {}, options);
  const Shape rows{static_cast<std::int64_t>(labels.size())};
  return file_part(kind, std::move(files), "label", Tensor::of(rows, labels), std::move(classes),
                   options);
}

// Folders that are all named for a part of the data.
SplitFiles split_folders(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (split_of(names[other]) != split_of(names[i])) continue;
      fail(ErrorCode::mismatch, "folders ", quoted(names[other]), " and ", quoted(names[i]), " in ",
           quoted(folder.string()), " are both the same part of the data");
    }
    paths.push_back(folder / names[i]);
  }
  return split_files(paths);
}

}  // namespace

bool is_class_folder(const FileKind& kind, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  const std::vector<std::string> names = folders_in(folder);
  if (!is_split(names)) return holds_classes(kind, folder);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return holds_classes(kind, folder / name); });
}

Parts open_class_folder(const FileKind& kind, const fs::path& folder,
                        const DatasetOptions& options) {
  const char* owner = "model's classes";
  const std::vector<std::string> names = folders_in(folder);
  if (!is_split(names)) return {open_part(kind, folder, options.classes, owner, options), {}};
  const SplitFiles split = split_folders(folder, names);
  Parts parts;
  std::vector<std::string> classes = options.classes;
  if (!split.train.empty()) {
    parts.train = open_part(kind, split.train[0], classes, owner, options);
    if (classes.empty()) {
      classes = parts.train.classes;
      owner = "training data";
    }
  }
  if (!split.validation.empty()) {
    parts.validation =
        open_part(kind, split.validation[0], classes, owner, options_like(parts.train, options));
  }
  add_note(parts, split.note);
  return parts;
}

bool are_files(const FileKind& kind, std::span<const fs::path> places) {
  return !places.empty() && std::all_of(places.begin(), places.end(), [&](const fs::path& place) {
    std::error_code error;
    return fs::is_directory(place, error) ? holds_files(kind, place) : kind.has(place.string());
  });
}

Parts open_files(const FileKind& kind, std::span<const fs::path> places,
                 const DatasetOptions& options) {
  FileIndex files;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error)) {
      const fs::path folder = place.parent_path();
      files.add_folder(folder.empty() ? "." : folder.string());
      files.add(place.filename().string());
      continue;
    }
    files.add_folder(place.string());
    for (const std::string& name : sorted_names(place)) {
      if (kind.has(name)) files.add(name);
    }
  }
  return {file_part(kind, std::move(files), {}, {}, options.classes, options), {}};
}

}  // namespace ondine::data
