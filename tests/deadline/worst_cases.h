// For each operator, what a small file may ask of its kernel that takes longest.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/op_harness.h"

namespace ondine::test {

// Made when it is run, for operands are large.
using MakeCase = std::function<OpCase()>;

// By "domain:operator": work that is a product of sizes, so that small operands take long.
const std::map<std::string, std::vector<MakeCase>>& worst_cases();
// Those of pooling and convolutions.
std::map<std::string, std::vector<MakeCase>> window_cases();
// Element by element; run on one large tensor of float.
const std::set<std::string>& unary_operators();
// Work that is proportional to the elements of inputs and outputs, that is done by the bodies of
// loops, or that shares the loops of an operator with a case: fused and quantized products and
// convolutions.
const std::set<std::string>& linear_operators();

// Zeros that take no memory until they are written.
Tensor zeros(DType dtype, Shape shape);

}  // namespace ondine::test
