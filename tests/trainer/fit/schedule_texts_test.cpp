// Schedules of very short runs, their descriptions and the rate that a model has of its own.
#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "trainer/fit/schedule.h"

using namespace ondine;
using namespace ondine::fit;
using namespace ondine::test;

namespace {

std::vector<double> rates(const Schedule& schedule, std::uint64_t steps, std::uint64_t epoch = 1) {
  std::vector<double> all;
  for (std::uint64_t i = 0; i < steps; ++i) {
    all.push_back(rate_at(schedule, 8, i, {epoch, steps}));
  }
  return all;
}

using Rates = std::vector<double>;

// A model whose metadata name `output` as the rate of a step.
Model scheduled(const std::string& output, DType dtype, const Shape& shape) {
  graph::ModelDef def = linear_regression(0.1F);
  def.metadata = {{"ondine.schedule", "cosine"}, {"ondine.scheduled_rate", output}};
  graph::GraphDef& step = *def.training[0].algorithm;
  std::vector<graph::DimDef> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) dims.emplace_back(shape[i]);
  step.initializers.push_back({"current", Tensor(dtype, shape), "", {}});
  step.nodes.push_back(node("Identity", {"current"}, {"now"}));
  step.outputs.push_back(tensor_value("now", dtype, dims));
  return Model::load(encode(def));
}

}  // namespace

TEST_CASE("runs of one and two steps end at the final rate as far as they fall at all") {
  CHECK(rates(PolynomialSchedule{0, 2, 1}, 1) == Rates{8});
  CHECK(rates(PolynomialSchedule{0, 2, 1}, 2) == Rates{8, 2});
  CHECK(rates(PolynomialSchedule{0, 2, 1}, 3) == Rates{8, 5, 2});
  CHECK(rates(CosineSchedule{0, 2}, 2) == Rates{8, 2});
  CHECK(rates(OneCycleSchedule{0, 0.25, 2}, 2) == Rates{8, 2});
}

TEST_CASE("a warm-up that takes all steps, or all but one, leaves no fall") {
  CHECK(rates(PolynomialSchedule{1, 2, 1}, 3) == Rates{2, 4, 6});
  CHECK(rates(PolynomialSchedule{0.75, 2, 1}, 4) == Rates{2, 4, 6, 8});
  CHECK(rates(PolynomialSchedule{0.5, 2, 1}, 4) == Rates{8.0 / 3, 16.0 / 3, 8, 2});
}

TEST_CASE("beyond the end of the run the rate stays at its final value") {
  const RunLength length{2, 4};
  CHECK(rate_at(CosineSchedule{0, 2}, 8, 9, length) == 2);
  CHECK(rate_at(PolynomialSchedule{0, 2, 2}, 8, 9, length) == 2);
}

TEST_CASE("a step schedule falls at the first step of an epoch") {
  CHECK(rates(StepSchedule{0, 0.5, 1}, 6, 2) == Rates{8, 8, 4, 4, 2, 2});
  CHECK(rates(StepSchedule{0, 0.5, 2}, 6, 2) == Rates{8, 8, 8, 8, 4, 4});
}

TEST_CASE("a plateau's least rate never raises a rate that is below it from the start") {
  const RunLength length{2, 4};
  PlateauSchedule plateau;
  plateau.factor = 0.5;
  plateau.min_rate = 3;
  CHECK(rate_at(plateau, 8, 3, length, 0) == 8);
  CHECK(rate_at(plateau, 8, 3, length, 1) == 4);
  CHECK(rate_at(plateau, 8, 3, length, 2) == 3);
  CHECK(rate_at(plateau, 1, 3, length, 2) == 1);
}

TEST_CASE("a rate is constant without warm-up and falls only") {
  CHECK(is_constant(ConstantSchedule{}));
  CHECK_FALSE(is_constant(ConstantSchedule{0.5}));
  CHECK_FALSE(is_constant(StepSchedule{}));
}

TEST_CASE("a schedule is described by all that a resumed run must have in common") {
  const RunLength length{5, 20};
  CHECK(describe(ConstantSchedule{}, length).empty());
  CHECK(describe(ConstantSchedule{0.5}, length) == "constant, warm-up 0.5, over 20 steps");
  CHECK(describe(StepSchedule{0, 0.25, 3}, length) ==
        "step, factor 0.25 every 3 epochs of 5 steps");
  CHECK(describe(StepSchedule{0.5, 0.25, 3}, length) ==
        "step, factor 0.25 every 3 epochs of 5 steps, warm-up 0.5, over 20 steps");
  CHECK(describe(CosineSchedule{0, 0.125}, length) == "cosine, final rate 0.125, over 20 steps");
  CHECK(describe(PolynomialSchedule{0, 0.125, 2}, length) ==
        "polynomial, power 2, final rate 0.125, over 20 steps");
  CHECK(describe(OneCycleSchedule{0.25, 0.5, 0}, length) ==
        "one-cycle, start 0.5, final rate 0, warm-up 0.25, over 20 steps");
  CHECK(describe(PlateauSchedule{0, "val_f1", 0.5, 4, 0.25, 0.125}, length) ==
        "plateau of val_f1, factor 0.5 after 4 epochs, least change 0.25, least rate 0.125");
  // No digit is lost.
  CHECK(describe(CosineSchedule{0, 0.1}, length) ==
        "cosine, final rate 0.10000000000000001, over 20 steps");
}

TEST_CASE("a model's own rate is a number that its algorithm has as output") {
  const auto found = find_model_rate(scheduled("now", DType::float32, {}), 0);
  REQUIRE(found);
  CHECK(found->schedule == "cosine");
  CHECK(found->output == "now");
  CHECK_FALSE(find_model_rate(scheduled("", DType::float32, {}), 0));
  CHECK_FALSE(find_model_rate(scheduled("other", DType::float32, {}), 0));
  CHECK_FALSE(find_model_rate(scheduled("now", DType::float32, {1}), 0));
  CHECK_FALSE(find_model_rate(scheduled("now", DType::float64, {}), 0));
  // There is one algorithm.
  CHECK_FALSE(find_model_rate(scheduled("now", DType::float32, {}), 1));
}
