// Rows that take long to make, kept in memory.
#pragma once

#include "trainer/data/column.h"

namespace ondine::data {

// The same rows as those of `column`, of which those that are taken first stay in memory, with what
// it takes to find them up to `bytes`. All are of the type that is asked for first; `column` itself
// gives rows of another type. `column` itself where bytes is 0.
std::shared_ptr<const Column> cached_rows(std::shared_ptr<const Column> column,
                                          std::uint64_t bytes);

}  // namespace ondine::data
