// A column of texts that a model takes as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/data/column.h"

namespace ondine::data {

std::shared_ptr<const Column> string_column(std::string name, std::vector<std::string> texts);

}  // namespace ondine::data
