#include "kernels/conv/primitives/int8_conv_primitive.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

// Operands as their elements lie in memory, and sums by the definition.
struct Int8Case {
  Int8ConvDesc desc;
  std::vector<std::uint8_t> x, w;
  std::int32_t zx = 0;           // of the elements themselves
  std::vector<std::int32_t> zw;  // the same
  std::vector<std::int32_t> bias;
  std::vector<std::int32_t> sums;
};

int number(std::uint8_t raw, DType dtype) {
  return dtype == DType::int8 ? static_cast<std::int8_t>(raw) : raw;
}

Int8Case make_case(const ConvShape& s, DType x, DType w, bool shifted_weights) {
  Int8Case c{{s, x, w, false}, {}, {}, 0, {}, {}, {}};
  Numbers numbers(11);
  const auto bytes = [&](Index n) {
    std::vector<std::uint8_t> row(static_cast<std::size_t>(n));
    for (auto& each : row) each = static_cast<std::uint8_t>(static_cast<int>(numbers.next() * 999));
    return row;
  };
  c.x = bytes(s.batch * s.in_channels * volume(s.in));
  c.w = bytes(s.out_channels * s.in_channels / s.groups * volume(s.kernel));
  c.zx = number(bytes(1)[0], x);
  for (const auto z : bytes(s.out_channels)) c.zw.push_back(shifted_weights ? number(z, w) : 0);
  for (Index o = 0; o < s.out_channels; ++o) {
    c.bias.push_back(static_cast<std::int32_t>(numbers.next() * 9999));
  }
  const Index plane = volume(s.out);
  for (Index i = 0; i < s.batch * s.out_channels * plane; ++i) {
    c.sums.push_back(c.bias[static_cast<std::size_t>(i / plane % s.out_channels)]);
  }
  for_products(s, [&](std::size_t i, std::size_t k, std::size_t o) {
    const auto channel = o / static_cast<std::size_t>(plane) % c.zw.size();
    c.sums[o] += (number(c.x[i], x) - c.zx) * (number(c.w[k], w) - c.zw[channel]);
  });
  return c;
}

void check_case(Int8Case c, const SimdTables& kernels, const Int8GemmKernels& gemm, int threads) {
  INFO(gemm.isa << " " << gemm.name << ", " << threads << " threads");
  // As the primitive sees them: x unsigned, w signed.
  std::vector<std::int32_t> zw;
  for (const std::int32_t z : c.zw) zw.push_back(c.desc.w == DType::uint8 ? z - 128 : z);
  const auto channels = static_cast<std::size_t>(c.desc.shape.out_channels);
  std::vector<double> scales;
  for (std::size_t o = 0; o < channels; ++o) {
    scales.push_back(0.001 * static_cast<double>(o % 3 + 1));
  }
  const double one = 0.5;
  kernels::Int8Epilogue::Values values{&one, scales.data(), 1,  static_cast<Index>(channels),
                                       0.25, -100,          90, 5};
  ThreadPool pool(threads);
  const bool symmetric = std::all_of(zw.begin(), zw.end(), [](auto z) { return z == 0; });
  for (const auto& [quantizes, told, prepared] : {std::tuple(false, false, false),
                                                  {true, false, false},
                                                  {true, true, false},
                                                  {true, true, true},
                                                  {false, true, true}}) {
    if (told && !symmetric) continue;
    c.desc.quantizes = quantizes;
    c.desc.symmetric = told;
    c.desc.prepared = prepared;
    const Int8ConvPrimitive primitive(c.desc, threads, kernels, gemm);
    INFO(primitive.name() << quantizes << told << prepared);
    const math::test::Scratch weights(primitive.prepared_bytes());
    auto* const ready = static_cast<std::byte*>(Workspace(weights).data);
    if (prepared) primitive.prepare(c.w.data(), ready);
    CHECK(weights.intact());
    const math::test::Scratch scratch(primitive.workspace());
    std::vector<std::int32_t> sums(c.sums.size());
    std::vector<std::int8_t> bytes(c.sums.size());
    primitive.run(
        pool,
        {c.x.data(), c.w.data(), c.desc.x == DType::int8 ? c.zx + 128 : c.zx, zw.data(),
         static_cast<Index>(zw.size()), c.bias.data(), values,
         quantizes ? static_cast<void*>(bytes.data()) : sums.data(), prepared ? ready : nullptr},
        scratch);
    CHECK(scratch.intact());
    if (!quantizes) {
      CHECK(sums == c.sums);
      continue;
    }
    const auto plane = static_cast<std::size_t>(volume(c.desc.shape.out));
    bool equal = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double scale = 0.5 * scales[i / plane % channels] / 0.25;
      const float v = std::nearbyint(static_cast<float>(c.sums[i]) * static_cast<float>(scale));
      equal = equal && bytes[i] == std::min(std::max(v, -100.0F), 90.0F) + 5;
      const double exact = std::min(std::max(c.sums[i] * scale, -100.0), 90.0);
      equal = equal && std::abs(bytes[i] - 5 - exact) <= 0.5001;
    }
    CHECK(equal);
  }
}

void check_shape(const ConvShape& s) {
  INFO(to_string(s));
  for (const auto& [x, w, shifted] : {std::tuple(DType::uint8, DType::int8, false),
                                      {DType::int8, DType::int8, true},
                                      {DType::int8, DType::int8, false},
                                      {DType::uint8, DType::uint8, true},
                                      {DType::int8, DType::uint8, true}}) {
    const Int8Case c = make_case(s, x, w, shifted);
    for (const SimdTables* kernels : all_kernels()) {
      const Int8GemmList list = int8_gemm_implementations(*kernels);
      check_case(c, *kernels, *list.first, 1);
      check_case(c, *kernels, *list.first, 3);
      if (list.second != nullptr) check_case(c, *kernels, *list.second, 1);
    }
  }
}

}  // namespace

TEST_CASE("convolutions of 8-bit integers are exact") {
  SECTION("pointwise") {
    check_shape(shape2(2, 5, 7, 1, 4, 6, 1, 1, 1, 1, 0, 0));
    check_shape(shape2(1, 33, 70, 1, 9, 9, 1, 1, 1, 1, 0, 0));
    check_shape(shape2(2, 6, 5, 1, 9, 8, 1, 1, 2, 1, 0, 0));
    check_shape(shape2(1, 6, 8, 2, 4, 4, 1, 1, 1, 1, 1, 2));
  }
  SECTION("windows") {
    check_shape(shape2(2, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1));
    check_shape(shape2(1, 3, 4, 1, 9, 8, 3, 3, 1, 1, 0, 0));
    check_shape(shape2(2, 3, 16, 1, 20, 17, 7, 7, 2, 1, 3, 3));
    check_shape(shape2(1, 4, 6, 2, 9, 10, 3, 3, 1, 2, 2, 2));
    check_shape(shape2(2, 4, 6, 2, 9, 10, 2, 4, 3, 1, 0, 3));
    check_shape(shape2(1, 3, 4, 1, 14, 11, 5, 3, 2, 3, 2, 1));
    check_shape(shape2(1, 40, 66, 1, 24, 23, 3, 3, 1, 1, 1, 1));  // several tiles
    check_shape(shape2(1, 2, 3, 1, 4, 4, 3, 3, 1, 1, 5, 5));
    check_shape(shape2(1, 2, 3, 1, 1, 1, 1, 1, 4, 1, 2, 3));
  }
  SECTION("so many taps and positions that tables of windows would be large") {
    const ConvShape s{1,         2,         1,        1, {1, 4099, 3}, {1, 100, 2}, {1, 4000, 2},
                      {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    CHECK(Int8BlockWindows::bytes_by_tap(s) > 16 << 20);
    check_shape(s);
  }
  SECTION("depthwise") {
    check_shape(shape2(2, 5, 5, 5, 9, 12, 3, 3, 1, 1, 1, 1));
    check_shape(shape2(1, 4, 8, 4, 9, 12, 3, 5, 2, 1, 1, 2));
    check_shape(shape2(1, 3, 3, 3, 80, 70, 3, 3, 1, 1, 0, 0));
    check_shape(shape2(1, 3, 3, 3, 8, 7, 3, 3, 1, 2, 2, 2));
    check_shape(shape2(1, 2, 12, 2, 8, 7, 3, 3, 2, 1, 1, 1));  // six channels of one
    check_shape(shape2(2, 3, 3, 3, 20, 37, 5, 5, 1, 1, 2, 2));
    check_shape(shape2(1, 3, 6, 3, 19, 40, 5, 5, 2, 1, 2, 2));
    check_shape(shape2(1, 3, 3, 3, 33, 35, 3, 3, 2, 1, 1, 1));
    check_shape(shape2(1, 3, 3, 3, 16, 70, 3, 7, 1, 2, 2, 6));
    check_shape(shape2(1, 3, 3, 3, 12, 40, 5, 8, 2, 2, 4, 7));
    check_shape(shape2(1, 3, 3, 3, 9, 40, 3, 9, 1, 1, 1, 4));
    check_shape(shape2(1, 3, 3, 3, 2, 3, 5, 5, 1, 1, 4, 4));
  }
  SECTION("one and three spatial dims") {
    check_shape({2, 3, 4, 1, {1, 1, 20}, {1, 1, 5}, {1, 1, 9}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}});
    check_shape({1, 2, 3, 1, {4, 5, 6}, {2, 3, 2}, {4, 3, 6}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}});
    check_shape({1, 2, 3, 1, {5, 5, 6}, {3, 3, 2}, {3, 3, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}});
  }
}
