// Weights of rows in .jsonl files.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/data/text/json_lines.h"
#include "trainer/data/weights.h"

namespace ondine::data {

// Adds the weight of a row that the options name. Objects need not have the same members, so that
// the first one says whether there are weights. Error(corrupt) as Weights::add().
void add_json_weight(Weights& weights, bool is_first, std::span<const JsonMember> members,
                     const DatasetOptions& options, std::uint64_t line);

}  // namespace ondine::data
