// Which arrays are training, validation and test data, by their names.
#pragma once

#include <string>
#include <vector>

#include <ondine/data.h>

#include "trainer/data/arrays.h"
#include "trainer/data/split_words.h"

namespace ondine::data {

struct NamedArray {
  std::string whole;  // the name as the file has it
  std::string name;   // without the word for a part, where the name has one
  Split split = Split::unknown;
  std::string file;  // for messages
  Tensor array;
};

// As load_splits says.
ArrayParts split_arrays(std::vector<NamedArray> arrays);

}  // namespace ondine::data
