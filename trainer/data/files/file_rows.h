// Files and their labels as a part of a data set.
#pragma once

#include "trainer/data/files/file_kind.h"

namespace ondine::data {

// The kind's column and, unless `labels` is undefined, that of the labels. Without what skip_broken
// leaves out; Error(mismatch) when nothing is left.
Dataset::Part file_part(const FileKind& kind, FileIndex files, std::string label, Tensor labels,
                        std::vector<std::string> classes, const DatasetOptions& options);

// For validation data: recordings have the rate of the training data.
DatasetOptions options_like(const Dataset::Part& training, const DatasetOptions& options);

}  // namespace ondine::data
