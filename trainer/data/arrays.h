// Arrays of files as parts of a data set.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ondine/data.h>

#include "trainer/data/open_data.h"

namespace ondine::data {

struct ArrayParts {
  DataSplits splits;
  std::vector<LeftOutArray> left_out;
  std::string note;  // of test data that is left out; may be empty
};

// As load_splits says.
ArrayParts read_arrays(std::span<const std::filesystem::path> places, const Limits& limits);

}  // namespace ondine::data
