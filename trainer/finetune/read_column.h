// Numbers of one column of a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <ondine/data.h>

namespace ondine::tune {

// How rows become an input, and the pixels among them 0..1.
struct ColumnRead {
  PortInfo input;               // what the rows are read for
  std::string column;           // of the data
  bool is_target = false;       // keeps its numbers
  std::uint64_t most_rows = 0;  // evenly spaced ones where there are more; 0: all
};

// Calls `take` with batches of the training part's rows, in order, as tensors of the input's type.
// Returns whether bytes of pixels became 0..1.
bool read_column(const Dataset& data, const ColumnRead& read,
                 const std::function<void(const Tensor&)>& take);

// An input that takes rows of these dims.
PortInfo port_of(std::string name, DType dtype, std::span<const std::int64_t> row);

}  // namespace ondine::tune
