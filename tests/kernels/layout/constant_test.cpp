#include "core/stop.h"
#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Constant gives its one value") {
  const auto run = [](graph::Attributes attributes) {
    return run_op_tensor({.op = "Constant", .inputs = {}, .attributes = std::move(attributes)});
  };
  const Tensor tensor = random_tensor({2, 3}, 1);
  CHECK(run({{"value", tensor}}).identical(tensor));
  const Tensor text = Tensor::of<std::string>({2}, std::vector<std::string>{"a", "b"});
  CHECK(run({{"value", text}}).identical(text));
  CHECK(run({{"value_float", 2.5F}}).identical(Tensor::scalar(2.5F)));
  CHECK(run({{"value_int", std::int64_t{-7}}}).identical(Tensor::scalar(std::int64_t{-7})));
  CHECK(run({{"value_string", std::string("x")}}).identical(Tensor::scalar(std::string("x"))));
  CHECK(
      run({{"value_floats", std::vector<float>{1, 2}}}).identical(Tensor::of<float>({2}, {1, 2})));
  CHECK(run({{"value_ints", std::vector<std::int64_t>{3, 4}}})
            .identical(Tensor::of<std::int64_t>({2}, {3, 4})));
  CHECK(run({{"value_strings", std::vector<std::string>{"a", "b"}}}).identical(text));
  graph::SparseTensorDef sparse{.name = {},
                                .values = Tensor::of<float>({1}, {5}),
                                .indices = Tensor::of<std::int64_t>({1}, {2}),
                                .dims = {2, 2}};
  CHECK(run({{"sparse_value", sparse}}).identical(Tensor::of<float>({2, 2}, {0, 0, 5, 0})));
  CHECK_THROWS_AS(run({}), Error);
  CHECK_THROWS_AS(run({{"value_int", std::int64_t{1}}, {"value_float", 1.0F}}), Error);
}

TEST_CASE("ConstantOfShape fills a shape that is known or read") {
  const Tensor shape = Tensor::of<std::int64_t>({2}, {3, 5});
  check_close(run_op_tensor({.op = "ConstantOfShape", .inputs = {shape}}),
              Tensor(DType::float32, {3, 5}));
  for (const DType dtype : {DType::float64, DType::int8, DType::boolean, DType::bfloat16}) {
    const Tensor one = numbers({1}, {1}, dtype);
    check_close(run_op_tensor({.op = "ConstantOfShape",
                               .inputs = {Tensor::of<std::int64_t>({1}, {3})},
                               .attributes = {{"value", one}}}),
                numbers({3}, {1, 1, 1}, dtype));
  }
  CHECK(run_op_tensor({.op = "ConstantOfShape", .inputs = {Tensor(DType::int64, {0})}})
            .shape()
            .rank() == 0);
  CHECK_THROWS_AS(
      run_op({.op = "ConstantOfShape", .inputs = {Tensor::of<std::int64_t>({1}, {-3})}}), Error);
  CHECK_THROWS_AS(run_op({.op = "ConstantOfShape",
                          .inputs = {shape},
                          .attributes = {{"value", random_tensor({2}, 1)}}}),
                  Error);
}

TEST_CASE("ConstantOfShape fills large shapes to their last element, unless it is stopped") {
  for (const std::int64_t size : {65535, 65536, 65537, 3 * 65536 - 1, 20 * 65536 + 7}) {
    for (const DType dtype : {DType::int8, DType::float64}) {
      const Tensor y = run_op_tensor({.op = "ConstantOfShape",
                                      .inputs = {Tensor::of<std::int64_t>({1}, {size})},
                                      .attributes = {{"value", numbers({1}, {3}, dtype)}}});
      CHECK(y.identical(
          numbers({size}, std::vector<double>(static_cast<std::size_t>(size), 3), dtype)));
    }
  }
  CancelFlag cancelled = true;
  const StopScope scope({&cancelled, {}});
  CHECK_THROWS_WITH(run_op({.op = "ConstantOfShape",
                            .inputs = {Tensor::of<std::int64_t>({2}, {1 << 10, 1 << 12})}}),
                    Catch::Contains("cancelled"));
}
