// Texts in files.
#pragma once

#include <filesystem>
#include <span>

#include "trainer/data/column.h"
#include "trainer/data/text_file.h"

namespace ondine::data {

// The column of second texts, where rows are pairs.
inline constexpr const char* usual_pair = "text_pair";

// Every place is a .txt file, or the only one is a folder with such files.
bool are_texts(std::span<const std::filesystem::path> places);
// Windows of ids and the ids that follow them.
Parts open_texts(std::span<const std::filesystem::path> places, const DatasetOptions& options);

// Every place is a .jsonl file, or a .csv or .tsv file that has the column of texts.
bool are_text_tables(std::span<const std::filesystem::path> places,
                     std::span<const TableStart> starts, const DatasetOptions& options);
Parts open_text_tables(std::span<const std::filesystem::path> files, const DatasetOptions& options);

}  // namespace ondine::data
