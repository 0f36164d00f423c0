// The operators on quantized elements that fuse_quantized makes, against those they stand for.
#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor bytes(const Shape& shape, std::uint64_t seed, DType dtype) {
  const double low = dtype == DType::int8 ? -128 : 0;
  return as_dtype(random_tensor(shape, seed, low, low + 255), dtype);
}

Tensor byte(int number, DType dtype) {
  return dtype == DType::int8 ? Tensor::scalar(static_cast<std::int8_t>(number))
                              : Tensor::scalar(static_cast<std::uint8_t>(number));
}

// Against the operators that Int8Add or Int8Mul stand for.
void check_pair(const Shape& a_shape, const Shape& b_shape, const std::array<DType, 3>& types,
                const std::string& activation) {
  const auto& [a_type, b_type, y_type] = types;
  const Tensor a = bytes(a_shape, 1, a_type);
  const Tensor b = bytes(b_shape, 2, b_type);
  const Tensor za = byte(13, a_type);
  const Tensor zb = byte(100, b_type);
  const Tensor zy = byte(7, y_type);
  const auto scale = [](float s) { return Tensor::scalar(s); };
  for (const char* op : {"Add", "Mul"}) {
    INFO(op << " " << to_string(a_type) << " " << to_string(b_type) << " " << to_string(y_type)
            << " " << activation << ", rank " << a_shape.rank());
    // Results of many of these lie in the middle between two numbers.
    for (const float y_scale : {0.5F, 0.0371F, 1e-9F}) {
      const float a_scale = y_scale == 0.5F ? 0.25F : 0.0423F;
      const Tensor x = run_op_tensor({"DequantizeLinear", {a, scale(a_scale), za}});
      const Tensor w = run_op_tensor({"DequantizeLinear", {b, scale(0.0625F), zb}});
      Tensor y = run_op_tensor({op, {x, w}});
      graph::Attributes attributes;
      if (!activation.empty()) {
        attributes.emplace_back("activation", activation);
        y = run_op_tensor({"Relu", {y}});
      }
      if (activation == "Relu6") y = run_op_tensor({"Min", {y, scale(6)}});
      check_close(run_op_tensor({std::string("Int8") + op,
                                 {a, scale(a_scale), za, b, scale(0.0625F), zb, scale(y_scale), zy},
                                 attributes,
                                 1,
                                 "ai.ondine",
                                 1}),
                  run_op_tensor({"QuantizeLinear", {y, scale(y_scale), zy}}));
    }
  }
}

}  // namespace

TEST_CASE("Int8Add and Int8Mul have the bits of the operators one by one") {
  constexpr DType u = DType::uint8;
  constexpr DType i = DType::int8;
  for (const std::array<DType, 3>& types :
       {std::array{u, u, u}, std::array{i, i, i}, std::array{u, i, i}, std::array{i, u, u}}) {
    for (const char* activation : {"", "Relu", "Relu6"}) {
      check_pair({3, 331}, {3, 331}, types, activation);
      // One element of b for each row of a; more rows than fit one chunk.
      check_pair({2, 3, 7, 11}, {2, 3, 1, 1}, types, activation);
    }
  }
  check_pair({5, 9000}, {5, 1}, {u, u, u}, "");
  check_pair({40000, 3}, {40000, 1}, {u, i, u}, "");
  check_pair({3, 1}, {3, 1}, {u, u, u}, "");
  check_pair({2, 5}, {1, 1}, {u, u, u}, "");
  check_pair({0, 4}, {0, 1}, {u, u, u}, "");
}

TEST_CASE("Int8Mul refuses shapes that are neither equal nor those of rows") {
  const Tensor one = Tensor::scalar(1.0F);
  const Tensor zero = byte(0, DType::int8);
  for (const Shape& b : {Shape{1, 4}, Shape{3}, Shape{2, 1}, Shape{3, 2}}) {
    CHECK_THROWS_AS(run_op({"Int8Mul",
                            {bytes({3, 4}, 1, DType::int8), one, Value(), bytes(b, 2, DType::int8),
                             one, Value(), one, zero},
                            {},
                            1,
                            "ai.ondine",
                            1}),
                    Error);
  }
}

TEST_CASE("Int8Add without zero points, and of shapes that differ") {
  const Tensor a = bytes({5}, 1, DType::int8);
  const Tensor b = bytes({5}, 2, DType::int8);
  const Tensor one = Tensor::scalar(1.0F);
  const Tensor zero = byte(0, DType::int8);
  const Tensor got = run_op_tensor(
      {"Int8Add", {a, one, Value(), b, one, Value(), one, zero}, {}, 1, "ai.ondine", 1});
  for (std::size_t i = 0; i < 5; ++i) {
    const int sum = a.values<std::int8_t>()[i] + b.values<std::int8_t>()[i];
    CHECK(got.values<std::int8_t>()[i] == std::clamp(sum, -128, 127));
  }
  CHECK_THROWS_AS(run_op({"Int8Add",
                          {a, one, Value(), bytes({4}, 2, DType::int8), one, Value(), one, zero},
                          {},
                          1,
                          "ai.ondine",
                          1}),
                  Error);
}

TEST_CASE("Int8Lookup reads the element that the bits of each name, in every chunk of them") {
  for (const DType x_type : {DType::int8, DType::uint8}) {
    for (const DType y_type : {DType::int8, DType::uint8}) {
      const Tensor x = bytes({2, 20'000}, 3, x_type);
      const Tensor table = bytes({256}, 4, y_type);
      const Tensor got = run_op_tensor({"Int8Lookup", {x, table}, {}, 1, "ai.ondine", 1});
      const auto from = as_doubles(x);
      const auto entries = as_doubles(table);
      std::vector<double> want;
      for (const double each : from) {
        want.push_back(entries[static_cast<std::size_t>(each < 0 ? each + 256 : each)]);
      }
      check_close(got, numbers({2, 20'000}, want, y_type));
    }
  }
  CHECK_THROWS_AS(run_op({"Int8Lookup",
                          {bytes({3}, 1, DType::int8), bytes({255}, 1, DType::int8)},
                          {},
                          1,
                          "ai.ondine",
                          1}),
                  Error);
}
