// Tables of numbers in .csv and .tsv files.
#pragma once

#include <filesystem>
#include <span>

#include "trainer/data/column.h"

namespace ondine::data {

// Every place is a .csv or .tsv file.
bool are_tables(std::span<const std::filesystem::path> places);
// Whether Dataset::open reads these places as tables of features, and not as lists of files or as
// texts.
bool are_feature_tables(std::span<const std::filesystem::path> places,
                        const DatasetOptions& options);
// Columns of texts among the features of these tables, and columns of numbers that lack some.
RawTable find_raw_columns(std::span<const std::filesystem::path> files,
                          const DatasetOptions& options);
Parts open_tables(std::span<const std::filesystem::path> files, const DatasetOptions& options);

}  // namespace ondine::data
