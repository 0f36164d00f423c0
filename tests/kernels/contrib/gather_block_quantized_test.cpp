// Rows of quantized tables against sums written out, and against values of onnxruntime 1.32.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Attributes = graph::Attributes;
using Indices = std::vector<std::int64_t>;

constexpr Closeness tolerance{1e-6, 2e-6};

Attributes attributes(std::int64_t bits, std::int64_t block, std::int64_t gather = 0,
                      std::int64_t quantize = 1) {
  return {
      {"bits", bits}, {"block_size", block}, {"gather_axis", gather}, {"quantize_axis", quantize}};
}

// element i: (i step) % modulus + shift
Tensor counted(DType dtype, const Shape& shape, std::int64_t step, std::int64_t modulus = 256,
               std::int64_t shift = 0) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(i * step % modulus + shift);
  return run_op_tensor({"Cast",
                        {Tensor::of<std::int64_t>(shape, values)},
                        {{"to", static_cast<std::int64_t>(dtype)}}});
}

Tensor indices(const Shape& shape, const Indices& values) {
  return Tensor::of<std::int64_t>(shape, values);
}

OpCase table(std::vector<Value> inputs, Attributes attributes) {
  return {"GatherBlockQuantized", std::move(inputs), std::move(attributes), 1, contrib};
}

Tensor run(std::vector<Value> inputs, Attributes attributes) {
  return run_op_tensor(table(std::move(inputs), std::move(attributes)));
}

// Number k of a row of bytes.
int number_at(const std::uint8_t* row, std::int64_t k, std::int64_t bits) {
  const std::int64_t per_byte = 8 / bits;
  return row[k / per_byte] >> (k % per_byte * bits) & ((1 << bits) - 1);
}

// The rows of a table of bytes, dequantized first and looked up then.
Tensor looked_up(const Tensor& q, const Tensor& rows, const Tensor& scales, const Tensor* points,
                 std::int64_t bits, std::int64_t block) {
  const std::int64_t width = q.shape()[1] * 8 / bits;
  const std::int64_t blocks = scales.shape()[1];
  std::vector<float> all;
  for (std::int64_t row = 0; row < q.shape()[0]; ++row) {
    for (std::int64_t k = 0; k < width; ++k) {
      const int x = number_at(q.values<std::uint8_t>().data() + row * q.shape()[1], k, bits);
      int point = 1 << (bits - 1);
      if (points != nullptr) {
        const auto* at = points->values<std::uint8_t>().data() + row * points->shape()[1];
        point = number_at(at, k / block, bits);
      }
      const auto scale = scales.values<float>()[static_cast<std::size_t>(row * blocks + k / block)];
      all.push_back(static_cast<float>(x - point) * scale);
    }
  }
  std::vector<float> found;
  for (const std::int64_t row : rows.values<std::int64_t>()) {
    const auto first = all.begin() + (row < 0 ? row + q.shape()[0] : row) * width;
    found.insert(found.end(), first, first + width);
  }
  return Tensor::of<float>({rows.shape()[0], rows.shape()[1], width}, found);
}

}  // namespace

TEST_CASE("GatherBlockQuantized gives the rows of a table that is dequantized first") {
  for (const std::int64_t bits : {2, 4, 8}) {
    for (const std::int64_t width : {32, 40}) {  // whole blocks of 16, and a part of one
      CAPTURE(bits, width);
      const std::int64_t blocks = (width + 15) / 16;
      const Tensor q = counted(DType::uint8, {5, width * bits / 8}, 37);
      const Tensor scales = wave({5, blocks}, 1);
      const Tensor points = counted(DType::uint8, {5, (blocks * bits + 7) / 8}, 83);
      const Tensor rows = indices({2, 3}, {4, -5, 1, 1, -1, 2});
      check_close(run({q, rows, scales, points}, attributes(bits, 16)),
                  looked_up(q, rows, scales, &points, bits, 16), tolerance);
      check_close(run({q, rows, scales}, attributes(bits, 16)),
                  looked_up(q, rows, scales, nullptr, bits, 16), tolerance);
    }
  }
}

TEST_CASE("GatherBlockQuantized of bytes gives what onnxruntime gives") {
  const Tensor rows = indices({2}, {2, -3});
  const Tensor q = counted(DType::uint8, {3, 10}, 7);
  const Tensor scales = wave({3, 2}, 1);
  const Tensor columns = Tensor::of<std::int64_t>({5}, {0, 1, 15, 16, 19});
  const auto picked = [&](const Tensor& y) {
    return run_op_tensor({"Gather", {y, columns}, {{"axis", std::int64_t{1}}}});
  };
  check_close(picked(run({q, rows, scales, counted(DType::uint8, {3, 1}, 83)}, attributes(4, 16))),
              Tensor::of<float>({2, 5}, {-3.6711473F, -1.2237158F, -3.0592895F, 5.865181F,
                                         -1.9550602F, 0, 0, 2.5244129F, 7.9333186F, 2.9749944F}),
              tolerance);
  check_close(picked(run({q, rows, scales}, attributes(4, 16))),
              Tensor::of<float>({2, 5}, {-2.4474316F, 0, -1.8355737F, 3.9101205F, -3.9101205F,
                                         -6.7317677F, -6.7317677F, -4.2073545F, 0, -4.958324F}),
              tolerance);
  check_close(
      picked(run({counted(DType::uint8, {3, 20}, 7), rows, scales}, attributes(8, 16))),
      Tensor::of<float>({2, 5}, {63.63322F, 59.350216F, -0.6118579F, -7.820241F, -28.348373F,
                                 -107.70828F, -101.817986F, -19.353832F, -15.866637F, 4.958324F}),
      tolerance);
}

TEST_CASE("GatherBlockQuantized of 4-bit integers takes any axes, as onnxruntime does") {
  const Tensor q = counted(DType::int4, {2, 20, 3}, 5, 16, -8);
  const Tensor scales = wave({2, 2, 3}, 2);
  const Tensor points = counted(DType::int4, {2, 2, 3}, 3, 16, -8);
  const Tensor other = run({q, indices({2, 1}, {1, 0}), scales, points}, attributes(4, 16, 2, 1));
  REQUIRE(other.shape() == Shape{2, 20, 2, 1});
  const Tensor rows = Tensor::of<std::int64_t>({4}, {20, 35, 36, 39});
  check_close(run_op_tensor({"Gather", {other.reshaped({40, 2}), rows}}),
              Tensor::of<float>({4, 2}, {-2.3137591F, -0.83089405F, -1.7353194F, -0.91398346F,
                                         -5.3575406F, 0.90217185F, 0, -1.8043437F}),
              tolerance);
  check_close(run({q, indices({2}, {17, 3}), scales, points}, attributes(4, 16, 1, 1)),
              Tensor::of<float>({2, 2, 3}, {-4.9096627F, 7.969317F, 4.233242F, 11.8208666F,
                                            -0.42737988F, -0.25554112F, 0, -5.769659F, -1.08704245F,
                                            -0.58162582F, 5.20595789F, -4.83959818F}),
              tolerance);
  const Tensor row =
      run({counted(DType::uint4, {4, 16}, 5, 16), Tensor::scalar(std::int64_t{2}), wave({4, 1}, 0)},
          attributes(4, 16));
  REQUIRE(row.shape() == Shape{16});
  CHECK(row.values<float>()[3] == Approx(14.781745910644531));
}

TEST_CASE("No row of a quantized table is none") {
  const Tensor y = run({counted(DType::uint8, {3, 8}, 7), indices({0, 2}, {}), wave({3, 1}, 1)},
                       attributes(4, 16));
  CHECK(y.shape() == Shape{0, 2, 16});
}

TEST_CASE("Derivatives of GatherBlockQuantized") {
  check_gradient(table({counted(DType::uint8, {3, 10}, 7), indices({4}, {2, 0, 2, -2}),
                        random_tensor({3, 2}, 2, 0.1, 0.2), counted(DType::uint8, {3, 1}, 83)},
                       attributes(4, 16)),
                 {.elements = 6, .variants = false});
}

TEST_CASE("Calls of GatherBlockQuantized that it does not have are refused by what is wrong") {
  const Tensor q = counted(DType::uint8, {3, 10}, 7);
  const Tensor rows = indices({2}, {2, 1});
  const Tensor scales = wave({3, 2}, 1);
  const auto refused = [&](std::vector<Value> inputs, Attributes given, const char* text) {
    CHECK_THROWS_WITH(run(std::move(inputs), std::move(given)), Catch::Contains(text));
  };
  refused({q, rows, scales}, attributes(3, 16), "bits is 3 with data of uint8");
  refused({counted(DType::int4, {3, 20}, 5, 16, -8), rows, scales}, attributes(8, 16),
          "bits is 8 with data of int4");
  refused({q, rows, scales}, attributes(4, 24), "block_size is 24, needed: a power of 2");
  refused({q, rows, scales}, attributes(4, 16, 1, 0), "gather_axis is 1 and quantize_axis 0");
  refused({q, rows, wave({3, 3}, 1)}, attributes(4, 16),
          "dims of scales and of data in blocks differ: 2 and 3");
  refused({q, rows, wave({6}, 1)}, attributes(4, 16), "differ in rank");
  refused({q, rows, scales, counted(DType::uint8, {3, 2}, 83)}, attributes(4, 16),
          "dims of zero_points and scales differ: 1 and 2");
  refused({q, rows, scales, counted(DType::int8, {3, 1}, 3)}, attributes(4, 16),
          "data is uint8, zero_points int8");
  refused({counted(DType::int8, {3, 10}, 7), rows, scales}, attributes(4, 16),
          "data is int8, supported are int4, uint4 and uint8");
  refused({q, Tensor::of<float>({2}, {2, 1}), scales}, attributes(4, 16), "indices are float");
  refused({q, indices({1}, {3}), scales}, attributes(4, 16), "3");
}
