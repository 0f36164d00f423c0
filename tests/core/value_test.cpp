#include <ondine/value.h>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/budget.h"
#include "core/value_bytes.h"

using namespace ondine;

namespace {

Value number(float value) { return Tensor::scalar(value); }
Tensor keys_of(std::int64_t count) { return Tensor(DType::int64, {count}); }

}  // namespace

TEST_CASE("values of every kind hold what they were made of") {
  CHECK(Value().kind() == Value::Kind::none);
  CHECK(number(2).kind() == Value::Kind::tensor);
  const Value sequence = Value::sequence({number(1), number(2)});
  CHECK(sequence.kind() == Value::Kind::sequence);
  REQUIRE(sequence.elements().size() == 2);
  CHECK(sequence.elements()[1].tensor().item<float>() == 2);
  const Value map =
      Value::map(Tensor::of<std::int64_t>({2}, {7, 9}), {number(1), Value::sequence({})});
  CHECK(map.kind() == Value::Kind::map);
  CHECK(map.keys().item<std::int64_t>(1) == 9);
  CHECK(map.elements()[1].kind() == Value::Kind::sequence);
  CHECK(Value::optional().kind() == Value::Kind::optional);
  CHECK(Value::optional().elements().empty());
  const Value some = Value::optional(number(3));
  CHECK(some.kind() == Value::Kind::optional);
  REQUIRE(some.elements().size() == 1);
  CHECK(some.elements()[0].tensor().item<float>() == 3);
  const Value sparse = Value::sparse(Tensor::of<float>({1}, {5}), keys_of(1), {4, 6});
  CHECK(sparse.kind() == Value::Kind::sparse_tensor);
  CHECK(sparse.tensor().item<float>() == 5);
  CHECK(sparse.keys().size() == 1);
  CHECK(sparse.dense_shape() == Shape{4, 6});
}

TEST_CASE("parts of temporary values do not dangle") {
  const Tensor tensor = number(4).tensor();
  const Tensor keys = Value::map(keys_of(1), {number(1)}).keys();
  const std::vector<Value> elements = Value::sequence({number(8)}).elements();
  CHECK(tensor.item<float>() == 4);
  CHECK(keys.size() == 1);
  CHECK(elements[0].tensor().item<float>() == 8);
}

TEST_CASE("what a value does not hold is an error that says what it is") {
  CHECK_THROWS_WITH(Value().tensor(), "value is a nothing, not a tensor");
  CHECK_THROWS_WITH(Value::sequence({}).tensor(), "value is a sequence, not a tensor");
  CHECK_THROWS_WITH(Value::map(keys_of(0), {}).tensor(), "value is a map, not a tensor");
  CHECK_THROWS_WITH(Value::optional().tensor(), "value is a optional, not a tensor");
  CHECK_THROWS_WITH(number(1).elements(), "value is a tensor, which has no elements");
  CHECK_THROWS_WITH(Value().keys(), "value is a nothing, which has no elements");
}

TEST_CASE("a map needs a vector of keys, one for each value") {
  CHECK(Value::map(keys_of(2), {number(1), number(2)}).elements().size() == 2);
  const auto refuse = [](const Tensor& keys, const std::string& message) {
    CHECK_THROWS_WITH(Value::map(keys, {number(1), number(2)}), message);
  };
  refuse(keys_of(1), "map has keys of shape [1] and 2 values");
  refuse(keys_of(3), "map has keys of shape [3] and 2 values");
  refuse(Tensor(DType::int64, {2, 1}), "map has keys of shape [2, 1] and 2 values");
  refuse(Tensor(DType::int64, {}), "map has keys of shape [] and 2 values");
}

TEST_CASE("a list of values is charged for itself and for each value that it holds") {
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{1} << 20);
  const auto charged = [&](const Value& value) {
    value.charge_holders(budget);
    return budget->used();
  };
  CHECK(charged(number(1)) == 0);
  CHECK(charged(Value::sequence({})) == compound_bytes);
  CHECK(budget->used() == 0);
  CHECK(charged(Value::sequence({number(1), number(2), number(3)})) ==
        compound_bytes + 3 * held_value_bytes);
  CHECK(charged(Value::sequence({Value::optional(number(1)), Value::optional()})) ==
        3 * compound_bytes + 3 * held_value_bytes);
  CHECK(budget->used() == 0);
  Value::sequence({number(1)}).charge_holders(nullptr);
}
