// Rows that take long to make, kept in memory.
#pragma once

#include "trainer/data/column.h"

namespace ondine::data {

// Wraps `column` and keeps rows in memory, first come first kept, up to `bytes`, which includes the
// index of the rows. All kept rows have the type that is asked for first; rows of another type come
// from `column`. Returns `column` itself if bytes is 0.
std::shared_ptr<const Column> cached_rows(std::shared_ptr<const Column> column,
                                          std::uint64_t bytes);

}  // namespace ondine::data
