// Memory charged for strings, compared with the sizes of their buffers.
#include "graph/evaluate/text_bytes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

namespace {

Tensor texts(const std::vector<std::string>& values) {
  return Tensor::of<std::string>({static_cast<std::int64_t>(values.size())}, values);
}

ErrorCode refusal(std::int64_t count, std::span<const Value> inputs, std::uint64_t limit) {
  Limits limits;
  limits.tensor_bytes = limit;
  try {
    graph::require_text_fits(count, inputs, limits);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;  // for none
}

}  // namespace

TEST_CASE("strings count only where they do not fit into the string object") {
  CHECK(graph::text_bytes(texts({"", "short", "15 letters long"})) == 0);
  CHECK(graph::text_bytes(Tensor(DType::float32, {100})) == 0);
  const std::string long_one(100, 'x');
  const std::string longer(1000, 'y');
  const std::uint64_t counted = graph::text_bytes(texts({long_one, "short", longer}));
  CHECK(counted >= 100 + 1000 + 2);
  CHECK(counted < 2 * (100 + 1000 + 2));
}

TEST_CASE("new strings are bounded by their number times the longest texts of all inputs") {
  const std::string ten(10, 'x');
  const std::vector<Value> inputs{texts({"ab", ten}), Tensor(DType::float32, {3}),
                                  Value::sequence({texts({"abc"}), texts({"abcde", ""})})};
  // 10 + 5 letters each.
  CHECK(refusal(4, inputs, 60) == ErrorCode::internal);
  CHECK(refusal(4, inputs, 59) == ErrorCode::limit);
  CHECK(refusal(0, inputs, 0) == ErrorCode::internal);
  const std::vector<Value> optional{Value::optional(texts({"abcd"}))};
  CHECK(refusal(2, optional, 8) == ErrorCode::internal);
  CHECK(refusal(2, optional, 7) == ErrorCode::limit);
}

TEST_CASE("strings that an operator creates are charged until their last copy goes") {
  const auto budget = std::make_shared<MemoryBudget>(10'000);
  const Tensor made = texts({std::string(4000, 'x')});
  const std::uint64_t bytes = graph::text_bytes(made);
  std::vector<Value> outputs{made};
  graph::charge_new_text({}, outputs, budget);
  CHECK(budget->used() == bytes);
  Value copy = outputs[0];
  outputs.clear();
  CHECK(budget->used() == bytes);
  // An input that is handed on was charged before.
  std::vector<Value> passed{made};
  const std::vector<Value> inputs{made};
  graph::charge_new_text(inputs, passed, budget);
  CHECK(budget->used() == bytes);
  std::vector<Value> second{texts({std::string(7000, 'x')})};
  CHECK_THROWS_AS(graph::charge_new_text({}, second, budget), Error);
  copy = Value();
  CHECK(budget->used() == 0);
}

TEST_CASE("strings made of a sequence are charged, elements that it hands on are not") {
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{1} << 20);
  const Tensor held = texts({std::string(1000, 'x')});
  const std::vector<Value> inputs{Value::sequence({held}),
                                  Value::optional(Value::sequence({held}))};
  std::vector<Value> handed_on{held};
  graph::charge_new_text(inputs, handed_on, budget);
  CHECK(budget->used() == 0);
  std::vector<Value> joined{texts({std::string(1000, 'x')})};
  graph::charge_new_text(inputs, joined, budget);
  CHECK(budget->used() >= 1000);
}
