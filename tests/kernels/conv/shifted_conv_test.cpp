#include <cmath>

#include "tests/kernels/common/lower_kernels.h"
#include "tests/kernels/conv/rounded_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using enum ConvDirection;

void check(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias,
           const SimdTables& kernels) {
  INFO(to_string(c.shape) << ", direction " << static_cast<int>(desc.direction) << ", bias "
                          << with_bias << ", " << kernels.name);
  const Sums sums = rounded_factors(c, desc.direction);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    const auto primitive = ConvPrimitive<float>::make(desc, threads, "shifted_bf16", kernels);
    ThreadPool pool(threads);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::memset(work.data, 0xff, work.bytes);  // NaN
    results.emplace_back(sums.value.size(), 5.0F);
    primitive.run(pool, c.args(with_bias, results.back().data()), scratch);
    CHECK(scratch.intact());
  }
  CHECK(same_bits(results[0], results[1]));
  CHECK(worst_error(c, desc, with_bias, sums, results[0]) < 1e-6);
}

void check_all(const ConvShape& s, const SimdTables& kernels) {
  const ConvCase<float> c(s);
  check(c, {s, forward}, false, kernels);
  check(c, {s, forward, Activation::relu}, true, kernels);
  check(c, {s, backward_data}, true, kernels);
  check(c, {s, backward_weights}, false, kernels);
}

}  // namespace

TEST_CASE("convolutions of moved planes sum products of factors rounded to bfloat16") {
  const SimdTables* kernels = each_tile_kernels();
  if (kernels == nullptr) return;
  // Odd and even rows, windows of any shape, more than a block of channels, more than a band.
  check_all(shape2(2, 16, 16, 1, 16, 16, 3, 3, 1, 1, 1, 1), *kernels);
  check_all(shape2(3, 17, 35, 1, 18, 19, 3, 3, 1, 1, 0, 0), *kernels);
  check_all(shape2(1, 34, 18, 1, 16, 21, 3, 3, 1, 1, 2, 2), *kernels);
  check_all(shape2(2, 70, 20, 1, 18, 17, 5, 2, 1, 1, 1, 1), *kernels);
  check_all(shape2(1, 20, 24, 1, 19, 18, 3, 3, 1, 2, 2, 2), *kernels);
  check_all(shape2(2, 24, 33, 1, 1, 700, 1, 9, 1, 1, 0, 0), *kernels);
  check_all(shape2(1, 40, 16, 1, 75, 70, 3, 3, 1, 1, 1, 1), *kernels);
}

TEST_CASE("planes are moved where that pays") {
  const SimdTables* kernels = each_tile_kernels();
  if (kernels == nullptr) return;
  const auto name = [&](const ConvShape& s, ConvDirection direction) {
    return ConvPrimitive<float>::make({s, direction}, 1, *kernels).name();
  };
  const ConvShape fits = shape2(2, 64, 64, 1, 16, 16, 3, 3, 1, 1, 1, 1);
  for (const auto direction : {forward, backward_data, backward_weights}) {
    CHECK(name(fits, direction) == "shifted_bf16");
    CHECK(name(shape2(2, 64, 15, 1, 16, 16, 3, 3, 1, 1, 1, 1), direction) != "shifted_bf16");
    CHECK(name(shape2(2, 64, 64, 1, 16, 16, 3, 3, 2, 1, 1, 1), direction) != "shifted_bf16");
    CHECK(name(shape2(2, 64, 64, 1, 13, 15, 3, 3, 1, 1, 1, 1), direction) != "shifted_bf16");
    CHECK(name(shape2(2, 64, 64, 1, 16, 16, 1, 1, 1, 1, 0, 0), direction) != "shifted_bf16");
  }
  // Planes of few rows that are too large are not copied.
  for (const auto& [channels, moved] : {std::pair(40, true), {41, false}}) {
    const ConvShape wide = shape2(1, channels, 20, 1, 9, 4000, 5, 5, 1, 1, 2, 2);
    CHECK((name(wide, forward) == "shifted_bf16") == moved);
  }
  // Many channels are left to Winograd, sums of too many weights to columns.
  const ConvShape many = shape2(2, 65, 64, 1, 16, 16, 3, 3, 1, 1, 1, 1);
  CHECK(name(many, backward_weights) == "shifted_bf16");
  CHECK(name(many, forward) != "shifted_bf16");
  CHECK(name(shape2(2, 65, 64, 1, 16, 16, 5, 5, 1, 1, 2, 2), forward) == "shifted_bf16");
  CHECK(name(shape2(1, 256, 256, 1, 16, 16, 3, 3, 1, 1, 1, 1), backward_weights) != "shifted_bf16");
}

TEST_CASE("small groups of channels keep their precision where products have tiles") {
  const SimdTables* const tiles = simd_tables_for(Isa::amx, ProductMode::bf16);
  if (tiles == nullptr) return;
  for (const auto direction : {forward, backward_data, backward_weights}) {
    const ConvDesc groups{shape2(4, 64, 64, 4, 14, 14, 3, 3, 1, 1, 1, 1), direction};
    const auto chosen = ConvPrimitive<float>::make(groups, 1, *tiles);
    CHECK(chosen.name() == "grouped");
    CHECK(chosen.isa() == "avx512");
  }
}
