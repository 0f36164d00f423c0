// Memory of string elements, which lies outside the buffer of their tensor.
#pragma once

#include <memory>
#include <span>

#include <ondine/limits.h>
#include <ondine/value.h>

#include "core/budget.h"

namespace ondine::graph {

// Throws Error(limit) when `count` strings, each as long as the longest strings of all inputs
// together, would exceed Limits::tensor_bytes. To be called before an operator creates strings.
void require_text_fits(std::int64_t count, std::span<const Value> inputs, const Limits& limits);

// Bytes of the strings of a tensor beyond the tensor itself; 0 for other types.
std::uint64_t text_bytes(const Tensor& tensor);

// Charges the strings of `outputs` to `budget` for as long as the tensor or a copy of it lives.
// Outputs that are inputs passed through were charged before. Throws Error(limit) when the budget
// is exceeded.
void charge_new_text(std::span<const Value> inputs, std::span<Value> outputs,
                     const std::shared_ptr<MemoryBudget>& budget);

}  // namespace ondine::graph
