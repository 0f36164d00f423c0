// Columns of rows that the caller makes.
#pragma once

#include <memory>
#include <vector>

#include "trainer/data/column.h"

namespace ondine::data {

// They share the reader: the rows of a batch are read once for all of them. Throws Error(mismatch)
// as Dataset::from_rows says.
std::vector<std::shared_ptr<const Column>> rows_columns(std::vector<RowColumn> columns,
                                                        std::uint64_t rows, ondine::RowReader read,
                                                        Layout layout);

}  // namespace ondine::data
