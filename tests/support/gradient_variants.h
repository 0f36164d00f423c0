// Variants of a gradient case: other dims, and float32.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/gradient_check.h"

namespace ondine::test {

// The inputs with some dims 0 or 1, as far as the expression can be evaluated with them.
std::vector<std::pair<std::string, std::vector<Value>>> dim_variants(
    const Expression& expression, const std::vector<Value>& inputs);

// Evaluates the derivatives in float32 and in double at the same values and compares them: the
// difference is at most 1e-5 times the greatest derivative, however long the reductions are. Does
// nothing when the expression does not take float32. `like` says which derivatives there are.
void compare_with_floats(const Expression& expression, const std::vector<Value>& inputs,
                         const std::vector<std::size_t>& skip, const GradientSetup& like);

}  // namespace ondine::test
