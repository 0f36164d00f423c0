// Image files as a column: decoded and resized when a batch is taken.
#pragma once

#include "trainer/data/column.h"
#include "trainer/data/images/file_index.h"

namespace ondine::data {

std::shared_ptr<const Column> image_column(std::string name, FileIndex files,
                                           const DatasetOptions& options);

// The images that cannot be decoded, by position, and what is wrong with each. Decodes all of them,
// on options.threads threads.
std::vector<std::pair<std::uint64_t, std::string>> find_broken(const FileIndex& files,
                                                               const DatasetOptions& options);

}  // namespace ondine::data
