// Images and recordings in folders, one folder a class, and in lists.
#pragma once

#include <filesystem>
#include <span>

#include "trainer/data/files/file_kind.h"
#include "trainer/data/text_file.h"

namespace ondine::data {

// Whether a folder below holds files of that kind.
bool is_class_folder(const FileKind& kind, const std::filesystem::path& folder);
Parts open_class_folder(const FileKind& kind, const std::filesystem::path& folder,
                        const DatasetOptions& options);

// Files of that kind, and folders with such files in them.
bool are_files(const FileKind& kind, std::span<const std::filesystem::path> places);
Parts open_files(const FileKind& kind, std::span<const std::filesystem::path> places,
                 const DatasetOptions& options);

// .csv and .tsv files whose first row has the name of such a file in some column.
bool are_file_lists(const FileKind& kind, std::span<const TableStart> starts);
Parts open_file_lists(const FileKind& kind, std::span<const std::filesystem::path> files,
                      const DatasetOptions& options);

}  // namespace ondine::data
