#include "proto/value.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/proto/wire.h"
#include "tests/support/same_value.h"

using namespace ondine;
using graph::TypeDef;
using graph::TypeKind;
using test::Wire;

namespace {

TypeDef tensor_type(DType dtype) {
  TypeDef type;
  type.kind = TypeKind::tensor;
  type.dtype = dtype;
  return type;
}

TypeDef holder(TypeKind kind, TypeDef element, DType key = DType::undefined) {
  TypeDef type;
  type.kind = kind;
  type.dtype = key;
  type.element = std::make_shared<const TypeDef>(std::move(element));
  return type;
}

Tensor floats(std::vector<float> values) {
  return Tensor::of(Shape{static_cast<std::int64_t>(values.size())}, values);
}

void check_kept(const Value& value, const TypeDef& type) {
  CHECK(test::same_value(load_value(export_value("v", value), type), value));
}

}  // namespace

TEST_CASE("sequences, maps, optionals and sparse tensors are read back as they were stored") {
  const TypeDef real = tensor_type(DType::float32);
  check_kept(floats({1, 2}), real);
  check_kept(Value::sequence({floats({1}), floats({2, 3})}), holder(TypeKind::sequence, real));
  check_kept(Value::sequence({}), holder(TypeKind::sequence, real));
  check_kept(Value::optional(), holder(TypeKind::optional, real));
  check_kept(Value::optional(floats({4})), holder(TypeKind::optional, real));
  check_kept(Value::optional(Value::sequence({floats({5})})),
             holder(TypeKind::optional, holder(TypeKind::sequence, real)));
  check_kept(Value::optional(Value::optional(floats({4}))),
             holder(TypeKind::optional, holder(TypeKind::optional, real)));
  const auto keys = Tensor::of(Shape{2}, std::vector<std::uint64_t>{1, UINT64_MAX});
  check_kept(Value::map(keys, {floats({1}), floats({2})}),
             holder(TypeKind::map, real, DType::uint64));
  const auto words = Tensor::of(Shape{1}, std::vector<std::string>{"a"});
  const Value map = Value::map(words, {floats({1})});
  check_kept(map, holder(TypeKind::map, real, DType::string));
  check_kept(Value::sequence({map, map}),
             holder(TypeKind::sequence, holder(TypeKind::map, real, DType::string)));
  check_kept(Value::optional(map),
             holder(TypeKind::optional, holder(TypeKind::map, real, DType::string)));
  TypeDef sparse = real;
  sparse.kind = TypeKind::sparse_tensor;
  const auto indices = Tensor::of(Shape{2}, std::vector<std::int64_t>{0, 5});
  const Value scattered = Value::sparse(floats({1, 2}), indices, {2, 3});
  check_kept(scattered, sparse);
  check_kept(Value::sequence({scattered}), holder(TypeKind::sequence, sparse));
  check_kept(Value::optional(scattered), holder(TypeKind::optional, sparse));
}

TEST_CASE("map keys of every integer type are kept") {
  const auto check = [](const Tensor& keys) {
    check_kept(Value::map(keys, {floats({1}), floats({2})}),
               holder(TypeKind::map, tensor_type(DType::float32), keys.dtype()));
  };
  check(Tensor::of(Shape{2}, std::vector<std::int8_t>{-1, 127}));
  check(Tensor::of(Shape{2}, std::vector<std::int16_t>{-1, 127}));
  check(Tensor::of(Shape{2}, std::vector<std::int32_t>{-1, 127}));
  check(Tensor::of(Shape{2}, std::vector<std::int64_t>{-1, 127}));
  check(Tensor::of(Shape{2}, std::vector<std::uint8_t>{1, 255}));
  check(Tensor::of(Shape{2}, std::vector<std::uint16_t>{1, 65535}));
  check(Tensor::of(Shape{2}, std::vector<std::uint32_t>{1, UINT32_MAX}));
}

TEST_CASE("stored values of another type than declared are refused") {
  const auto bytes = export_value("v", Value::sequence({floats({1})}));
  const auto check = [&](const TypeDef& type) {
    CHECK_THROWS_WITH(load_value(bytes, type), Catch::Contains("declared"));
  };
  check(holder(TypeKind::sequence, tensor_type(DType::float64)));
  check(holder(TypeKind::sequence, holder(TypeKind::sequence, tensor_type(DType::float32))));
}

TEST_CASE("stored values that contradict themselves are refused") {
  const TypeDef sequence = holder(TypeKind::sequence, tensor_type(DType::float32));
  const Wire tensor = Wire().number(1, 1).number(2, 1).block(9, "abcd");
  CHECK_NOTHROW(load_value(Wire().number(2, 1).message(3, tensor).bytes(), sequence));
  CHECK_THROWS_WITH(load_value(Wire().number(2, 3).message(3, tensor).bytes(), sequence),
                    "element type is 3, but there are elements of type 1");
  CHECK_THROWS_WITH(load_value(Wire().number(2, 6).bytes(), sequence), "element type 6 is unknown");

  const TypeDef map = holder(TypeKind::map, tensor_type(DType::float32), DType::int8);
  const Wire two = Wire().number(2, 1).message(3, tensor).message(3, tensor);
  const auto check = [&](Wire keys, const std::string& why) {
    CHECK_THROWS_WITH(load_value(keys.message(5, two).bytes(), map), why);
  };
  check(Wire().number(2, 3).number(3, 7), "a map has 1 keys and 2 values");
  check(Wire().number(2, 3).number(3, 7).number(3, 7), "a map has the same key twice");
  check(Wire().number(2, 8).block(4, "k").block(4, "k"), "a map has the same key twice");
  CHECK_THROWS_WITH(load_value(Wire()
                                   .number(2, 3)
                                   .number(3, 7)
                                   .number(3, 8)
                                   .number(3, 7)
                                   .message(5, Wire(two).message(3, tensor))
                                   .bytes(),
                               map),
                    "a map has the same key twice");
  check(Wire().number(2, 3).number(3, 7).number(3, 200), "key 200 is outside the range of int8");
  check(Wire().number(2, 1).number(3, 7).number(3, 8), "a map cannot have keys of type float");
  check(Wire().number(2, 8).number(3, 7).number(3, 8), "a map with keys of type string has others");
}

TEST_CASE("a sequence of different kinds is not stored") {
  CHECK_THROWS_WITH(export_value("v", Value::sequence({floats({1}), Value::sequence({})})),
                    "a sequence of different kinds of values cannot be stored");
  CHECK_THROWS_WITH(export_value("v", Value()), "value 'v' is nothing that could be stored");
}

TEST_CASE("an empty sequence and an empty optional say that they have no element type") {
  const std::string said = Wire().block(1, "v").number(2, 0).text();
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  CHECK(text(export_value("v", Value::optional())) == said);
  CHECK(text(export_value("v", Value::sequence({}))) == said);
}

TEST_CASE("a stored value has its name, a sparse one in its values") {
  const auto text = [](const Value& value) {
    const std::vector<std::byte> bytes = export_value("name", value);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto indices = Tensor::of(Shape{1}, std::vector<std::int64_t>{1});
  CHECK_THAT(text(floats({1})), Catch::Contains(Wire().block(8, "name").text()));
  CHECK_THAT(text(Value::sparse(floats({1}), indices, {2})),
             Catch::Contains(Wire().block(8, "name").text()));
}
