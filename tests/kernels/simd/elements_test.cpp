// Views of elements that say how they are stored.
#include "kernels/simd/elements.h"

#include <array>
#include <vector>

#include "core/float_formats.h"
#include "kernels/common/stored_elements.h"
#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/norm/layer_norm_primitive.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr const char* refusal = "its kernel was planned for";

}  // namespace

TEST_CASE("a view counts elements as they are stored") {
  std::array<float, 4> wide{};
  std::array<bfloat16, 4> narrow{};
  const Elements<float> of_floats = wide.data();
  CHECK((of_floats + 3).plain() == &wide[3]);
  CHECK(of_floats.storage() == Storage::plain);
  Elements<const float> of_bf16 = narrow.data();
  CHECK(of_bf16.is_bf16());
  of_bf16 += 2;
  CHECK(of_bf16.memory() == &narrow[2]);
  CHECK((of_bf16 + -2).bf16() == &narrow[0].bits);
  CHECK(of_bf16.pairs() == static_cast<const void*>(&narrow[2]));
  of_bf16 = of_floats;
  CHECK(of_bf16.plain() == wide.data());
  CHECK(!Elements<const float>(nullptr));
  CHECK(!Elements<float>(Storage::bf16));
  CHECK(Elements<float>(Storage::bf16).is_bf16());
  CHECK(element_bytes<float>(Storage::bf16) == 2);
  CHECK(element_bytes<double>(Storage::plain) == 8);
}

TEST_CASE("primitives refuse operands that are stored in another way than planned") {
  ThreadPool pool(1);
  const std::vector<bfloat16> narrow(400, to_bfloat16(1));
  const std::vector<float> wide(400, 1);
  std::vector<float> result(400);
  const GemmPrimitive<float> gemm({.m = 4, .n = 4, .k = 4}, 1, 1);
  const Scratch scratch(gemm.workspace());
  const Workspace memory = scratch;
  CHECK_THROWS_WITH(gemm.run(pool, {}, narrow.data(), wide.data(), result.data(), {}, memory),
                    Catch::Contains(refusal));
  CHECK_THROWS_WITH(gemm.run(pool, {}, wide.data(), narrow.data(), result.data(), {}, memory),
                    Catch::Contains(refusal));
  std::vector<bfloat16> rounded(400);
  CHECK_THROWS_WITH(gemm.run(pool, {}, wide.data(), wide.data(), rounded.data(), {}, memory),
                    Catch::Contains(refusal));

  ConvShape shape;
  shape.in_channels = shape.out_channels = 3;
  const auto conv = ConvPrimitive<float>::make({.shape = shape}, 1);
  const Scratch work(conv.workspace());
  CHECK_THROWS_WITH(
      conv.run(pool, {.x = narrow.data(), .w = wide.data(), .result = result.data()}, work),
      Catch::Contains(refusal));

  const LayerNormPrimitive<float> norm({.rows = 2, .length = 8, .x_stored = Storage::bf16});
  CHECK_THROWS_WITH(norm.run(pool, {.x = wide.data(), .y = result.data()}),
                    Catch::Contains(refusal));
}
