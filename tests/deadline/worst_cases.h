// Longest work that a small file may ask of the kernel of each operator.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/op_harness.h"

namespace ondine::test {

// A case is made when it is run because its operands are large.
using MakeCase = std::function<OpCase()>;

// Cases whose work is a product of sizes, so that small operands take long, by "domain:operator".
const std::map<std::string, std::vector<MakeCase>>& worst_cases();
// Cases of pooling and convolutions, by "domain:operator".
std::map<std::string, std::vector<MakeCase>> window_cases();
// Operators that work element by element; they run on one large tensor of float.
const std::set<std::string>& unary_operators();
// Operators that need no case: their work is proportional to the elements of inputs and outputs,
// the bodies of loops do it, or it shares the loops of an operator with a case (fused and quantized
// products and convolutions).
const std::set<std::string>& linear_operators();

// Tensor of zeros that takes no memory until it is written.
Tensor zeros(DType dtype, Shape shape);

}  // namespace ondine::test
