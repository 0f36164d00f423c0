// Source of an input of a model, row by row.
#pragma once

#include <memory>
#include <string>

#include "trainer/data/column.h"

namespace ondine::data {

struct RowSource {
  std::string input;
  std::shared_ptr<const Column> column;
  RowType type;
};

}  // namespace ondine::data
