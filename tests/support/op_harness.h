// Running one operator, and checking its derivatives numerically in double.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ondine/value.h>

#include "graph/contract/builder.h"
#include "graph/ir/graph.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {

struct OpCase {
  std::string op;
  std::vector<Value> inputs;  // Value() where omitted
  graph::Attributes attributes = {};
  std::size_t outputs = 1;
  std::string domain = {};
  std::int64_t version = graph::Builder::latest_version;
};

// The operators of this build.
const graph::Catalogue& catalogue();

// Infers, binds and runs the operator; all outputs.
std::vector<Value> run_op(const OpCase& op_case);
Tensor run_op_tensor(const OpCase& op_case);  // output 0

struct Closeness {
  double rtol = 1e-6;
  double atol = 1e-7;
};
// Same dtype and shape, elements close (floats; NaN equals NaN, infinities by sign) or equal (all
// others). Reports the first differing element through Catch.
void check_close(const Tensor& got, const Tensor& want, Closeness closeness = {});

struct GradientCheck {
  // 2 checks the derivative of the derivative too; use it for every smooth operator.
  int order = 2;
  Closeness closeness = {1e-5, 1e-7};
  // Repeats everything with dims that are dynamic while the rule runs.
  bool dynamic_dims = true;
  std::size_t elements = 40;  // of each input, at the most
  double step = 1e-5;
  // Repeats the first order with dims 0 and 1 instead of each dim, for all inputs that have
  // it and for each alone (which broadcasts), as far as the operator takes it.
  bool variants = true;
  // Compares with the derivatives in float32: 1e-5 times the root of the longest reduction.
  bool floats = true;
  // Operands by which no derivative is taken although they are double.
  std::vector<std::size_t> skip = {};
};

// Central differences of sum_k <w_k, y_k> with random w_k by every double input against the rule,
// for all inputs together and for each subset. The case's float inputs must be double.
void check_gradient(const OpCase& op_case, const GradientCheck& check = {});

// Checks the gradient of an expression of inputs likewise.
using Expression =
    std::function<std::vector<graph::Val>(graph::Builder&, std::span<const graph::Val>)>;
void check_gradient(const Expression& expression, const std::vector<Value>& inputs,
                    const GradientCheck& check = {});

// Inputs, order and error that the checks of this process covered, by (domain, operator).
struct CheckedGradient {
  std::set<std::size_t> inputs;  // positions; of variadic ones as far as they were used
  int order = 0;
  double error = 0;  // the greatest one, relative to max(|derivative|, 1)
};
using CheckedGradients = std::map<std::pair<std::string, std::string>, CheckedGradient>;
CheckedGradients& checked_gradients();

// (domain, operator) of every case that this process ran or checked.
std::set<std::pair<std::string, std::string>>& exercised_operators();

// Any numeric tensor (also float16, bool) as double, string tensors excepted.
std::vector<double> as_doubles(const Tensor& tensor);

}  // namespace ondine::test
