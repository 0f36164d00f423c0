// Tables of numbers in .csv and .tsv files.
#pragma once

#include <filesystem>
#include <span>

#include "trainer/data/column.h"

namespace ondine::data {

// Every place is a .csv or .tsv file.
bool are_tables(std::span<const std::filesystem::path> places);
Parts open_tables(std::span<const std::filesystem::path> files, const DatasetOptions& options);

}  // namespace ondine::data
