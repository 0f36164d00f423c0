// Derivatives by sequences and optionals have the same structure as these: zeros and sums, element
// by element.
#pragma once

#include <memory>

#include <ondine/value.h>

#include "core/budget.h"

namespace ondine::kernels {

// Zeros in the structure of `like`: tensors of its shapes in sequences of its lengths.
Value zero_value(const Value& like, const std::shared_ptr<MemoryBudget>& budget);

// Element by element. Error(mismatch) when structures, shapes or dtypes differ.
Value add_values(const Value& a, const Value& b, const std::shared_ptr<MemoryBudget>& budget);

}  // namespace ondine::kernels
