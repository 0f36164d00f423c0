// Writes operators that take the columns of a table into a main graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/table.h>

#include "graph/ir/document.h"

namespace ondine::graph {

// Numbers that the network takes of a column.
std::int64_t width_of(const TableColumn& column);

// Replaces an input of the main graph by one for each column and records the plan. Returns the new
// parameters. Errors as PrepareOptions::table; the model is unspecified then.
std::vector<std::string> write_table(ModelDef& model, const TablePlan& plan);

}  // namespace ondine::graph
