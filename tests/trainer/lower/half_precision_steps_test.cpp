// Lowered steps of float16 models keep masters and loss scale as the training model does.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/float_formats.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor half(const Tensor& values) {
  Tensor result(DType::float16, values.shape());
  for (std::size_t i = 0; i < values.values<float>().size(); ++i) {
    result.mutable_values<float16>()[i] = to_float16(values.values<float>()[i]);
  }
  return result;
}

}  // namespace

TEST_CASE("a lowered step of a float16 model scales its loss and skips overflows") {
  ModelBuilder b("network", 17);
  b.input("x", DType::float16, {"N", 3});
  b.node("Gemm", {"x", b.initializer("w", half(random_floats({3, 4}, 3)))}, {}, "h");
  b.node("Relu", {"h"}, {}, "r");
  b.node("Gemm", {"r", b.initializer("v", half(random_floats({4, 2}, 4)))}, {}, "y");
  b.output("y", DType::float16, {"N", 2});
  Model model = prepare(b.bytes(), {.loss = Loss::mse,
                                    .optimizer = Adam{.learning_rate = 0.01F},
                                    .loss_scale = DynamicLossScale{.growth_interval = 2},
                                    .init = WeightInit::keep});
  const NamedValues feeds{{"x", half(random_floats({1, 3}, 5, 1, 2))},
                          {"label", random_floats({1, 2}, 6, 3, 4)}};
  check_lowered(model, feeds, {}, 8);
  const Tensor steps = model.get_state("step");
  CHECK(steps.item<std::int64_t>() > 0);
  CHECK(steps.item<std::int64_t>() < 8);
}

TEST_CASE("a lowered step computes the learning rate of its schedule") {
  for (const std::int64_t opset : {8, 17}) {
    CAPTURE(opset);
    const bool is_half = opset == 17;
    const auto values = [&](const Shape& shape, std::uint64_t seed) {
      const Tensor drawn = random_floats(shape, seed, 1, 2);
      return is_half ? half(drawn) : drawn;
    };
    const DType dtype = is_half ? DType::float16 : DType::float32;
    ModelBuilder b("network", opset);
    b.input("x", dtype, {2, 3});
    b.node("MatMul", {"x", b.initializer("w", values({3, 4}, 3))}, {}, "h");
    b.node("Relu", {"h"}, {}, "r");
    b.node("MatMul", {"r", b.initializer("v", values({4, 2}, 4))}, {}, "y");
    b.output("y", dtype, {2, 2});
    const NamedValues feeds{{"x", values({2, 3}, 5)}, {"label", random_floats({2, 2}, 6, 3, 4)}};
    for (const Schedule& schedule :
         std::vector<Schedule>{CosineSchedule{.warmup = 0.3}, OneCycleSchedule{.final_rate = 0.001},
                               PolynomialSchedule{.power = 2}, StepSchedule{.factor = 0.5}}) {
      Model model =
          prepare(b.bytes(),
                  {.loss = Loss::mse,
                   .optimizer = AdamW{.learning_rate = 0.01F},
                   .init = WeightInit::keep,
                   .schedule = ModelSchedule{.schedule = schedule, .steps = 8, .epoch_steps = 2}});
      const LowerReport report = check_lowered(model, feeds, {}, 10);
      const auto& results = report.results;
      CHECK(std::find(results.begin(), results.end(), "learning_rate.scheduled") != results.end());
    }
  }
}
