// The derivatives by sequences in operators of the standard give what their kernels give.
#include <catch2/catch.hpp>

#include "tests/support/same_value.h"
#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

void check(const std::string& op, const std::vector<Value>& inputs,
           const Attributes& attributes = {}) {
  CAPTURE(op);
  const OwnOperator own{op, inputs, attributes};
  CHECK(same_value(run_standard_form(own)[0], run_kernel(own)[0]));
}

Value sequence(std::vector<Tensor> elements) {
  std::vector<Value> values;
  for (Tensor& element : elements) values.emplace_back(std::move(element));
  return Value::sequence(std::move(values));
}

const Tensor a = random_floats({2, 3}, 1);
const Tensor b = random_floats({1, 3}, 2);
const Tensor c = random_floats({4, 3}, 3);
const Tensor d = Tensor::of<float>({2, 3}, {INFINITY, NAN, 1, 2, -INFINITY, 0});

Value position(std::int64_t at) { return Tensor::scalar(at); }

}  // namespace

TEST_CASE("the derivative of SequenceAt has a standard form at each position") {
  for (const std::int64_t at : {0, 1, 2, -1, -2, -3}) {
    CAPTURE(at);
    const Tensor& like = at == 0 || at == -3 ? a : at == 1 || at == -2 ? b : c;
    check("SequenceAtGrad", {like, sequence({a, b, c}), position(at)});
  }
  check("SequenceAtGrad", {a, sequence({d}), position(0)});
  check("SequenceAtGrad", {a, sequence({d, d}), Tensor::scalar(std::int32_t{-1})});
}

TEST_CASE("sums and zeros of sequences have a standard form") {
  check("SequenceAdd", {sequence({a, b, c}), sequence({d, b, c})});
  check("SequenceZeros", {sequence({a, b, d})});
  check("SequenceZeros", {sequence({d})});
}

TEST_CASE("sums and zeros of optionals have a standard form") {
  const auto held = [](Value value) { return Value::optional(std::move(value)); };
  check("SequenceAdd", {held(a), held(d)});
  check("SequenceZeros", {held(d)});
  check("SequenceAdd", {held(sequence({a, b})), held(sequence({a, b}))});
  check("SequenceZeros", {held(sequence({c, b}))});
}

TEST_CASE("the derivative of ConcatFromSequence has a standard form") {
  const Tensor joined = random_floats({7, 3}, 4);
  for (const std::int64_t axis : {0, -2}) {
    check("SplitLike", {joined, sequence({a, b, c})}, {{"axis", axis}});
  }
  const Tensor wide = random_floats({2, 9}, 5);
  for (const std::int64_t axis : {1, -1}) {
    check("SplitLike", {wide, sequence({a, d, a})}, {{"axis", axis}});
  }
  const Tensor stacked = random_floats({2, 2, 3}, 6);
  check("SplitLike", {stacked, sequence({a, d})},
        {{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}});
}
