// All rows of a data set in batches, as inference takes them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <ondine/data.h>
#include <ondine/export.h>

namespace ondine {

// Receives the feeds of a batch, valid until it returns, and the rows of the feeder that they are.
using UseRows =
    std::function<void(std::span<const NamedValue> feeds, std::span<const std::uint64_t> rows)>;

// Calls `use` with one batch after the other, until every row was there in its order: batches of
// `size`, or of the size that the inputs fix, whose last one is filled up with the last row, or of
// one picture where these keep their own sizes. Images and recordings are decoded ahead of time by
// other threads; `use` runs on the caller's. No one else may use the feeder meanwhile.
// Error(mismatch) for size 0, and the errors of Feeder::take.
ONDINE_API void for_all_rows(Feeder& feeder, std::uint64_t size, const UseRows& use);

}  // namespace ondine
