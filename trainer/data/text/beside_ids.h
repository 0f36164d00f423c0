// Inputs that follow from the ids of texts: masks, positions and types of tokens.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "trainer/data/column.h"

namespace ondine::data {

// Tells the texts of a row apart.
inline constexpr const char* segment_ids = "segment_ids";

// The only column of ids; nullptr where there is none or more than one.
std::shared_ptr<const Column> only_ids(std::span<const std::shared_ptr<const Column>> columns);

// The column for an input that has such a name, beside the only column of ids: `attention_mask` has
// 1 where a row has an id and 0 where it is padded, `position_ids` the numbers 0, 1, 2, ...,
// `token_type_ids` and, where a row is one text, `segment_ids` 0 everywhere. nullptr for other
// names, and where there is no such column or more than one.
std::shared_ptr<const Column> column_beside_ids(
    std::span<const std::shared_ptr<const Column>> columns, const std::string& name);

}  // namespace ondine::data
