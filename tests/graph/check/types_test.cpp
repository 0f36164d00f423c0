#include "graph/check/types.h"

#include <catch2/catch.hpp>

namespace ondine::graph {
namespace {

std::string check(std::string_view op, std::int64_t version, const std::vector<Type>& inputs,
                  const std::vector<Type>& outputs) {
  const Signature* signature = find_signature("", op, version);
  REQUIRE(signature != nullptr);
  const auto pointers = [](const std::vector<Type>& types) {
    std::vector<const Type*> out;
    for (const Type& type : types) {
      out.push_back(type.kind == TypeKind::unknown ? nullptr : &type);
    }
    return out;
  };
  Findings findings;
  check_types(pointers(inputs), pointers(outputs), *signature, "node 'n'", findings);
  std::string out;
  for (const auto& line : findings.texts()) out += line + "\n";
  return out;
}

const Type f32 = Type::tensor(DType::float32, Dims{2});
const Type f64 = Type::tensor(DType::float64, Dims{3});
const Type i64 = Type::tensor(DType::int64, Dims{1});

TEST_CASE("types are those that the constraint allows") {
  CHECK(check("Relu", 13, {f32}, {f32}) == "");
  CHECK_THAT(check("Relu", 13, {i64}, {i64}),
             Catch::Contains("node 'n' has input 0 ('X') of type tensor(int64), allowed are "
                             "tensor(float), tensor(float16)"));
  CHECK(check("Relu", 14, {i64}, {i64}) == "");
  CHECK_THAT(check("Not", 1, {f32}, {f32}), Catch::Contains("allowed are tensor(bool)"));
}

TEST_CASE("one constraint is one type in a node, whatever the shapes") {
  CHECK(check("Add", 14, {f32, Type::tensor(DType::float32, Dims{5, 2})}, {f32}) == "");
  CHECK_THAT(check("Add", 14, {f32, f64}, {f32}),
             Catch::Contains("has input 1 of type tensor(double) and input 0 of type "
                             "tensor(float), they must be the same (T)"));
  CHECK_THAT(check("Add", 14, {f32, f32}, {f64}), Catch::Contains("has output 0"));
  CHECK(check("Clip", 13, {f32, {}, f32}, {f32}) == "");
  CHECK_THAT(check("Concat", 13, {f32, f32, f64}, {f32}), Catch::Contains("has input 2"));
  CHECK(check("Loop", 13, {i64, {}, f32, f64, i64}, {f32, f64, i64}) == "");
}

TEST_CASE("sequences are compared by their elements") {
  const auto floats = Type::sequence(f32);
  const auto ints = Type::sequence(i64);
  CHECK(check("SequenceInsert", 11, {floats, f32}, {floats}) == "");
  CHECK_THAT(check("SequenceInsert", 11, {floats, f32}, {ints}),
             Catch::Contains("has output 0 of type seq(tensor(int64))"));
  CHECK_THAT(check("SequenceInsert", 11, {f32, f32}, {floats}), Catch::Contains("has input 0"));
}

}  // namespace
}  // namespace ondine::graph
