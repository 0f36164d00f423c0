// Limits for reading data sets.
#pragma once

#include <ondine/export.h>
#include <ondine/limits.h>

namespace ondine {

// Limits whose tensor_bytes and weight_bytes are no more than default_arena_bytes(), so that they
// follow from the memory of the machine. They bound these parts of a data set:
// - a file, an array, and what a compressed file becomes: tensor_bytes each;
// - everything that is decoded at the same time, by all threads together: a quarter of arena_bytes,
//   and no more than tensor_bytes;
// - a batch: arena_bytes.
ONDINE_API Limits data_limits() noexcept;

}  // namespace ondine
