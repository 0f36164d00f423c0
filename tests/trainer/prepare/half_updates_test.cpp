// Averages, groups of rates, clipping and accumulation where parameters are of low precision.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "core/float_formats.h"

using namespace ondine;

namespace {

Tensor half(float value) {
  Tensor result(DType::float16, {1, 1});
  result.mutable_values<float16>()[0] = to_float16(value);
  return result;
}

// y = x w, all of one element.
Model line(float w, PrepareOptions options) {
  ModelBuilder b("line", 17);
  b.input("x", DType::float16, {"N", 1});
  b.node("MatMul", {"x", b.initializer("w", half(w))}, {}, "y");
  b.output("y", DType::float16, {"N", 1});
  options.loss = Loss::mse;
  options.init = WeightInit::keep;
  return prepare(b.bytes(), options);
}

void step(Model& model, float x, float t) {
  model.train_step({{"x", half(x)}, {"label", Tensor::of<float>({1, 1}, {t})}});
}

float number(const Model& model, const std::string& name) {
  const Tensor value = model.get_state(name);
  return value.dtype() == DType::float16 ? to_float(value.item<float16>()) : value.item<float>();
}

}  // namespace

TEST_CASE("averages follow the masters, and a step that overflows leaves them") {
  Model model = line(0.5F, {.optimizer = Sgd{.learning_rate = 0.03F},
                            .loss_scale = DynamicLossScale{.initial = 1024},
                            .average = WeightAverage{.decay = 0.75F}});
  double average = 0;
  int done = 0;
  for (int i = 0; i < 12; ++i) {
    const bool overflows = i % 4 == 3;
    const float before = number(model, "w.average");
    step(model, overflows ? 60000.0F : 1.0F, -1.5F);
    if (overflows) {
      CHECK(number(model, "w.average") == before);
      continue;
    }
    ++done;
    const double share = std::max(0.25, 1.0 / done);
    average += share * (double{number(model, "w.master")} - average);
    CHECK(number(model, "w.average") == Approx(average).epsilon(1e-5));
  }
  CHECK(model.get_state("step").item<std::int64_t>() == done);
  take_averages(model);
  CHECK(number(model, "w") == to_float(to_float16(number(model, "w.average"))));
}

TEST_CASE("elements of scaled gradients are bounded after they were divided by the scale") {
  Model model = line(0.5F, {.optimizer = Sgd{.learning_rate = 0.5F},
                            .loss_scale = StaticLossScale{256},
                            .clip_value = 0.125F,
                            .rate_groups = {{.pattern = "w", .scale = 0.5F}}});
  step(model, 1, -1.5F);
  CHECK(number(model, "w.master") == 0.5F - 0.5F * 0.5F * 0.125F);
}

TEST_CASE("accumulation refuses scaled losses and parameters of low precision") {
  const auto error_of = [](const LossScale& scale) -> std::string {
    try {
      line(1, {.loss_scale = scale, .accumulate = 2});
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      return error.message();
    }
    return {};
  };
  CHECK(error_of({}).find("gradients of a scaled loss cannot be accumulated") == 0);
  CHECK(error_of(NoLossScale{}) ==
        "gradients of float16 parameters, such as 'w', cannot be accumulated");
}
