// Rows of .jsonl files for models of the next token.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "trainer/data/column.h"

namespace ondine::data {

// Kind of the rows of .jsonl files, by the members of the first object. Nothing if they are texts
// of classes, texts without anything else that inference reads, or no such rows.
std::optional<NextTokenRows> next_token_rows(std::span<const std::filesystem::path> places,
                                             const DatasetOptions& options);
// Ids and labels; of inference the ids alone, up to where an answer is to begin.
Parts open_next_tables(std::span<const std::filesystem::path> files, const DatasetOptions& options,
                       NextTokenRows rows);
// Error(mismatch) for options of such rows that have no effect on the data.
void require_next_effect(const Dataset& data, const DatasetOptions& options);

}  // namespace ondine::data
