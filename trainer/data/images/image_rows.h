// Image files and their labels as a part of a data set.
#pragma once

#include "trainer/data/images/image_column.h"

namespace ondine::data {

// Columns "image" and, unless `labels` is undefined, that of the labels. Without what skip_broken
// leaves out; Error(mismatch) when nothing is left.
Dataset::Part image_part(FileIndex files, std::string label, Tensor labels,
                         std::vector<std::string> classes, const DatasetOptions& options);

}  // namespace ondine::data
