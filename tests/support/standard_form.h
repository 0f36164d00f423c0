// Operators of Ondine's own by their kernels and in operators of the standard.
#pragma once

#include <string>
#include <vector>

#include "tests/support/op_harness.h"

namespace ondine::test {

struct OwnOperator {
  std::string op;
  std::vector<Value> inputs;  // Value() where omitted
  graph::Attributes attributes = {};
  std::vector<std::size_t> constants = {};  // inputs whose elements are known beforehand
  std::string domain = std::string(graph::ondine_domain);
  std::size_t outputs = 1;
};

std::vector<Value> run_kernel(const OwnOperator& own);
// Its expansion, and that of what this consists of, down to operators of the standard. With
// `dynamic` it is made without a dim of the inputs that are not constant, only with their ranks.
std::vector<Value> run_standard_form(const OwnOperator& own, bool dynamic = false);

// Both give the same but for rounding, with known dims and with dynamic ones.
void check_standard_form(const OwnOperator& own, Closeness closeness = {1e-12, 1e-12});

}  // namespace ondine::test
