// Strings are allocated one by one, behind the back of the tensor that holds them.
#pragma once

#include <memory>
#include <span>

#include <ondine/limits.h>
#include <ondine/value.h>

#include "core/budget.h"

namespace ondine::graph {

// Throws Error(limit) when `count` strings, each as long as the longest ones of all inputs
// together, would take more than Limits::tensor_bytes. To be asked before an operator makes them.
void require_text_fits(std::int64_t count, std::span<const Value> inputs, const Limits& limits);

// The bytes of the strings in `outputs` are charged to `budget` while the tensor or a copy lives;
// not those of an input that is handed on, which were charged when it was made. Error(limit) when
// they do not fit.
void charge_new_text(std::span<const Value> inputs, std::span<Value> outputs,
                     const std::shared_ptr<MemoryBudget>& budget);

}  // namespace ondine::graph
