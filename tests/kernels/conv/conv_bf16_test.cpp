#include <cmath>

#include "tests/kernels/common/lower_kernels.h"
#include "tests/kernels/conv/rounded_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

const SimdTables* lower_kernels() { return simd_tables_for(Isa::avx512, ProductMode::bf16); }

// Multiples of 1/256, so that transformed components are exact before they are rounded.
std::vector<float> coarse(std::vector<float> values) {
  for (float& v : values) v = std::round(v * 256) / 256;
  return values;
}

ConvCase<float> coarse_case(const ConvShape& s) {
  ConvCase<float> c(s);
  c.x = coarse(std::move(c.x));
  c.w = coarse(std::move(c.w));
  c.dy = coarse(std::move(c.dy));
  return c;
}

bool is_winograd(std::string_view name) { return name.starts_with("winograd"); }

std::vector<float> run(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias,
                       const ConvPrimitive<float>& primitive, int threads, std::size_t elements) {
  ThreadPool pool(threads);
  Scratch scratch(primitive.workspace());
  std::vector<float> result(elements, 5);
  primitive.run(pool, c.args(with_bias, result.data()), scratch);
  INFO("direction " << static_cast<int>(desc.direction));
  CHECK(scratch.intact());
  return result;
}

void check(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias, std::string_view name) {
  INFO(to_string(c.shape) << ", " << name << ", direction " << static_cast<int>(desc.direction));
  const Sums sums = is_winograd(name) ? rounded_components(c, desc.direction)
                                      : rounded_factors(c, desc.direction);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 4}) {
    const auto primitive = ConvPrimitive<float>::make(desc, threads, name, *lower_kernels());
    CHECK(primitive.name() == name);
    CHECK(primitive.isa() == "avx512_bf16");
    results.push_back(run(c, desc, with_bias, primitive, threads, sums.value.size()));
  }
  CHECK(same_bits(results[0], results[1]));
  CHECK(same_bits(results[0], results[2]));
  CHECK(worst_error(c, desc, with_bias, sums, results[0]) < 1e-6);
}

// Every implementation of lower precision that supports the shape; those named must.
using enum ConvDirection;

void check_all(const ConvShape& s, const std::vector<std::string_view>& wanted,
               const std::vector<ConvDirection>& directions = {forward, backward_data,
                                                               backward_weights}) {
  const ConvCase<float> c = coarse_case(s);
  for (const std::string_view name : wanted) {
    INFO(to_string(s) << ", " << name);
    bool found = false;
    for (const ConvDirection direction : directions) {
      for (const auto& entry : lower_conv_implementations<float>()) {
        const ConvDesc desc{s, direction};
        if (entry.name != name || !entry.supports(desc, *lower_kernels())) continue;
        found = true;
        check(c, desc, false, name);
        if (direction != backward_weights) check(c, desc, true, name);
        if (direction == forward) check(c, {s, forward, Activation::relu}, true, name);
      }
    }
    CHECK(found);
  }
}

}  // namespace

TEST_CASE("convolutions of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(2, 24, 40, 1, 9, 9, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(2, 24, 40, 1, 13, 11, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(8, 24, 40, 1, 3, 3, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(11, 24, 40, 1, 8, 13, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(19, 24, 40, 1, 1, 1, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(2, 3, 64, 1, 19, 17, 7, 7, 2, 1, 3, 3), {"im2col_bf16"});
  check_all(shape2(3, 20, 70, 1, 11, 10, 3, 3, 2, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(13, 20, 70, 1, 9, 10, 3, 3, 2, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(2, 40, 66, 2, 9, 10, 3, 3, 1, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(1, 70, 65, 1, 17, 18, 3, 3, 1, 2, 2, 2), {"im2col_bf16"});
  check_all({2, 17, 32, 1, {3, 6, 7}, {3, 3, 3}, {3, 6, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {"im2col_bf16"});
  check_all(shape2(1, 24, 600, 1, 20, 20, 3, 3, 3, 1, 1, 1), {"im2col_bf16"});
}

TEST_CASE("strided convolutions of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(2, 3, 32, 1, 40, 37, 3, 3, 2, 1, 1, 1), {"strided_bf16"}, {forward});
  check_all(shape2(1, 3, 64, 1, 65, 64, 7, 7, 2, 1, 3, 2), {"strided_bf16"}, {forward});
  check_all(shape2(3, 17, 14, 1, 21, 30, 3, 3, 2, 1, 0, 1), {"strided_bf16"}, {forward});
  check_all(shape2(2, 41, 70, 1, 20, 19, 4, 2, 2, 1, 1, 1), {"strided_bf16"}, {forward});
  check_all(shape2(1, 2, 30, 1, 33, 40, 5, 5, 2, 2, 4, 4), {"strided_bf16"}, {forward});
  check_all(shape2(9, 1, 27, 1, 12, 12, 2, 2, 2, 1, 0, 0), {"strided_bf16"}, {forward});
}

TEST_CASE("grouped convolutions of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(3, 42, 70, 7, 9, 8, 3, 2, 2, 1, 1, 0), {"grouped_bf16"});
  check_all(shape2(4, 40, 40, 5, 7, 7, 3, 3, 1, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(2, 33, 66, 3, 4, 5, 3, 3, 1, 2, 2, 2), {"grouped_bf16"});
  check_all(shape2(1, 128, 128, 4, 14, 15, 3, 3, 2, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(5, 20, 20, 5, 30, 90, 3, 3, 1, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(5, 16, 32, 1, 12, 10, 3, 5, 1, 1, 1, 2), {"grouped_bf16"});
}

TEST_CASE("joined columns of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(13, 20, 70, 1, 9, 10, 3, 3, 2, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(4, 300, 18, 1, 5, 5, 3, 3, 1, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(4, 40, 18, 1, 3, 3, 3, 3, 1, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(2, 17, 66, 1, 31, 31, 1, 1, 2, 1, 0, 0), {"joined_columns_bf16"});
  check_all({2, 4, 32, 1, {3, 6, 7}, {3, 3, 3}, {3, 6, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {"joined_columns_bf16"});
}

TEST_CASE("Winograd convolutions of lower precision round transformed components") {
  if (lower_kernels() == nullptr) return;
  for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {0, 2}, {2, 1}}) {
    check_all(shape2(3, 17, 19, 1, 9, 12, 3, 3, 1, 1, pad, pad_end), {"winograd_bf16"});
    check_all(shape2(2, 37, 18, 1, 10, 7, 3, 3, 1, 1, pad, pad_end), {"winograd_bf16"});
  }
  check_all(shape2(8, 70, 90, 1, 4, 4, 3, 3, 1, 1, 1, 1), {"winograd_bf16"});
  check_all(shape2(7, 141, 150, 1, 5, 4, 3, 3, 1, 1, 1, 1),
            {"winograd_bf16", "winograd_panels_bf16"});
  // More channels than a block of the product has.
  check_all(shape2(1, 518, 20, 1, 8, 9, 3, 3, 1, 1, 1, 1),
            {"winograd_bf16", "winograd_panels_bf16"});
  // An odd number of tiles in an image; more tiles and channels than are transformed at a time.
  check_all(shape2(3, 17, 300, 1, 22, 18, 3, 3, 1, 1, 1, 1), {"winograd_bf16"}, {backward_weights});
}

TEST_CASE("Winograd convolutions of stride 2 and lower precision round transformed components") {
  if (lower_kernels() == nullptr) return;
  for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {0, 1}, {2, 1}}) {
    check_all(shape2(3, 17, 19, 1, 13, 12, 3, 3, 2, 1, pad, pad_end), {"winograd_bf16"});
    check_all(shape2(2, 37, 18, 1, 16, 11, 3, 3, 2, 1, pad, pad_end), {"winograd_bf16"});
  }
  check_all(shape2(8, 70, 90, 1, 8, 8, 3, 3, 2, 1, 1, 1), {"winograd_bf16"});
  check_all(shape2(7, 141, 150, 1, 8, 7, 3, 3, 2, 1, 1, 1),
            {"winograd_bf16", "winograd_panels_bf16"});
  check_all(shape2(3, 17, 300, 1, 22, 18, 3, 3, 2, 1, 1, 1), {"winograd_bf16"}, {backward_weights});
}

TEST_CASE("joined images are multiplied by vectors and by tiles, from and to bfloat16") {
  const SimdTables* const given = each_lower_kernels();
  if (given == nullptr || simd_tables_for(Isa::avx512) == nullptr) return;
  const SimdTables set = as_rounding(*given);
  for (const ConvShape& s : {shape2(8, 24, 40, 1, 3, 3, 1, 1, 1, 1, 0, 0),
                             shape2(19, 33, 300, 1, 7, 9, 1, 1, 1, 1, 0, 0)}) {
    for (const ConvDirection direction : {forward, backward_data}) {
      const ConvDesc desc{s, direction};
      const ConvCase<float> c(s);
      const Sums sums = rounded_factors(c, direction);
      const auto primitive = ConvPrimitive<float>::make(desc, 2, "pointwise_bf16", set);
      const std::vector<float> result = run(c, desc, true, primitive, 2, sums.value.size());
      CHECK(worst_error(c, desc, true, sums, result) < 1e-6);
    }
    ConvCase<float> c(s);
    for (float& v : c.x) v = static_cast<float>(rounded(double{v}));
    ConvDesc desc{s, forward};
    const std::size_t elements = c.y.size();
    const std::vector<float> wide =
        run(c, desc, true, ConvPrimitive<float>::make(desc, 1, "pointwise_bf16", set), 1, elements);
    desc.x_stored = desc.y_stored = Storage::bf16;
    const auto narrow = ConvPrimitive<float>::make(desc, 1, "pointwise_bf16", set);
    REQUIRE((narrow.rounding().reads_x && narrow.rounding().writes_y));
    std::vector<std::uint16_t> x, y(elements);
    for (const float v : c.x) x.push_back(std::bit_cast<std::uint16_t>(to_bfloat16(v)));
    ConvArgs<float> args = c.args(true, nullptr);
    args.x = x.data();
    args.result = y.data();
    ThreadPool pool(1);
    const Scratch scratch(narrow.workspace());
    narrow.run(pool, args, scratch);
    CHECK(scratch.intact());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      wrong += std::bit_cast<std::uint16_t>(to_bfloat16(wide[i])) != y[i];
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("convolutions of lower precision are chosen where they pay, and only there") {
  const SimdTables* lower = lower_kernels();
  if (lower == nullptr) return;
  using enum ConvDirection;
  const auto name = [&](const ConvShape& s, ConvDirection direction) {
    return ConvPrimitive<float>::make({s, direction}, 1, *lower).name();
  };
  const ConvShape square = shape2(8, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1);
  for (const auto direction : {forward, backward_data, backward_weights}) {
    CHECK(name(square, direction) == "winograd_bf16");
    CHECK(name(shape2(8, 64, 128, 1, 32, 32, 3, 3, 2, 1, 1, 1), direction) == "winograd_bf16");
    CHECK(name(shape2(8, 64, 128, 1, 32, 32, 4, 4, 2, 1, 1, 1), direction) ==
          (direction == forward ? "strided_bf16" : "joined_columns_bf16"));
    CHECK(name(shape2(8, 64, 128, 1, 36, 36, 4, 4, 2, 1, 1, 1), direction) ==
          (direction == forward ? "strided_bf16" : "im2col_bf16"));
    CHECK(name(shape2(8, 32, 64, 1, 32, 32, 3, 3, 2, 1, 1, 1), direction) ==
          (direction == forward ? "strided_bf16" : "winograd_bf16"));
    CHECK(
        name(shape2(4, 32, 32, 32, 28, 28, 3, 3, 1, 1, 1, 1), direction).starts_with("depthwise"));
    CHECK(name(shape2(4, 8, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2), direction) ==
          (direction == backward_data ? "direct" : "grouped_bf16"));
    CHECK(name(shape2(4, 12, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2), direction) == "direct");
    CHECK(name(shape2(4, 64, 64, 8, 14, 14, 3, 3, 2, 1, 1, 1), direction) == "grouped_bf16");
    CHECK(name(shape2(1, 64, 64, 8, 14, 14, 3, 3, 2, 1, 1, 1), direction) ==
          (direction == backward_weights ? "grouped" : "grouped_bf16"));
    CHECK(name(shape2(4, 64, 128, 1, 1, 1, 1, 1, 1, 1, 0, 0), direction) == "pointwise");
    CHECK(name(shape2(4, 3, 64, 1, 64, 64, 3, 3, 2, 1, 1, 1), direction) == "im2col_bf16");
    for (const auto& entry : lower_conv_implementations<double>()) {
      CHECK_FALSE(entry.supports({square, direction}, *lower));
    }
    for (const auto& entry : lower_conv_implementations<float>()) {
      CHECK_FALSE(entry.supports({square, direction}, *simd_tables_for(Isa::avx512)));
    }
  }
}
