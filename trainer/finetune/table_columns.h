// Columns of a table that the tuned model takes as they are written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <ondine/dataset.h>
#include <ondine/table.h>

namespace ondine::tune {

// How the columns of a table at these places are to be read: those that `table` names, and, if
// `finds` is set, all that hold texts or lack numbers. Nothing where "features" can hold all of
// them, and for other data.
std::optional<RawTable> raw_columns(std::span<const std::filesystem::path> places,
                                    const DatasetOptions& options, const TableOptions& table,
                                    bool finds);

// Adds what `table` leaves open for data that were opened with raw columns: a category of at most
// 32 values becomes one-hot, one of more an embedding, numbers that are missing the median;
// columns of numbers are standardized unless the table names some. Error(mismatch) for a category
// that takes another value in most rows.
TableOptions complete_table(const Dataset& training, TableOptions table);

// "one-hot for 'color' (3 values); the median for missing numbers of 'age'; mean and deviation of
// columns of numbers over training rows"
std::string describe(const TablePlan& plan);

}  // namespace ondine::tune
