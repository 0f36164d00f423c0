// Models of float16 and bfloat16: updates in float32 and loss scaling, beside a simulation of both.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include <ondine/build.h>
#include <ondine/doctor.h>
#include <ondine/error.h>
#include <ondine/gradcheck.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor half(const Shape& shape, const std::vector<float>& values) {
  Tensor result(DType::float16, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.mutable_values<float16>()[i] = to_float16(values[i]);
  }
  return result;
}

Tensor rounded(const Tensor& values, DType dtype) {
  Tensor result(dtype, values.shape());
  for (std::size_t i = 0; i < values.values<float>().size(); ++i) {
    const float value = values.values<float>()[i];
    if (dtype == DType::float32) result.mutable_values<float>()[i] = value;
    if (dtype == DType::float16) result.mutable_values<float16>()[i] = to_float16(value);
    if (dtype == DType::bfloat16) result.mutable_values<bfloat16>()[i] = to_bfloat16(value);
  }
  return result;
}

float nearest(float value) { return to_float(to_float16(value)); }

// y = x w, all of one element.
Model line(float w, const PrepareOptions& options, std::int64_t opset = 17) {
  ModelBuilder b("line", opset);
  b.input("x", DType::float16, {"N", 1});
  b.node("MatMul", {"x", b.initializer("w", half({1, 1}, {w}))}, {}, "y");
  b.output("y", DType::float16, {"N", 1});
  PrepareOptions all = options;
  all.loss = Loss::mse;
  all.init = WeightInit::keep;
  return prepare(b.bytes(), all);
}

NamedValues feeds(float x, float t) {
  return {{"x", half({1, 1}, {x})}, {"label", Tensor::of<float>({1, 1}, {t})}};
}

float number(const Model& model, const std::string& name) {
  const Tensor value = model.get_state(name);
  return value.dtype() == DType::float16 ? to_float(value.item<float16>()) : value.item<float>();
}

// Momentum's method on y = x w under a dynamic scale, every operation rounded as the model's types
// are. PyTorch's GradScaler with these figures does the same.
struct Simulation {
  float master = 0;
  float velocity = 0;
  std::int64_t step = 0;
  float scale = 65536;
  std::int64_t good = 0;
  std::int64_t interval = 2000;
  int skipped = 0;

  void train(float x, float t, float rate, float alpha) {
    const float y = nearest(nearest(master) * x);
    const float dy = nearest(2 * (y - t) * scale);
    const float gradient = nearest(x * dy) / scale;
    if (!std::isfinite(gradient)) {
      scale *= 0.5F;
      good = 0;
      ++skipped;
      return;
    }
    // The first gradient counts whole.
    velocity = alpha * velocity + gradient;
    master -= rate * velocity;
    ++step;
    if (++good == interval) {
      scale *= 2;
      good = 0;
    }
  }
};

// y = tanh(x w) b
void save_half_network(const std::filesystem::path& file) {
  ModelBuilder b("network", 17);
  b.input("x", DType::float16, {"N", 3});
  b.node("MatMul", {"x", b.initializer("w", rounded(random_floats({3, 2}, 3), DType::float16))}, {},
         "h");
  b.node("Tanh", {"h"}, {}, "t");
  b.node("Mul", {"t", b.initializer("b", half({2}, {1.5F, -0.5F}))}, {}, "y");
  b.output("y", DType::float16, {"N", 2});
  b.save(file);
}

bool has_state(const Model& model, const std::string& name) {
  for (const StateInfo& one : model.state()) {
    if (one.name == name) return true;
  }
  return false;
}

std::string error_of(const PrepareOptions& options) {
  try {
    line(1, options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("overflow skips steps and halves the scale, finite steps double it, as in a simulation") {
  constexpr float rate = 0.03F;
  constexpr float alpha = 0.5F;
  Model model = line(0.5F, {.optimizer = Momentum{.learning_rate = rate, .momentum = alpha},
                            .loss_scale = DynamicLossScale{.growth_interval = 3}});
  Simulation expected{.master = 0.5F, .interval = 3};
  for (int i = 0; i < 60; ++i) {
    INFO("step " << i);
    const float x = 1 + 0.25F * static_cast<float>(i % 3);
    const float before = number(model, "w.master");
    const int skipped = expected.skipped;
    expected.train(x, -1.5F, rate, alpha);
    model.train_step(feeds(x, -1.5F));
    CHECK(number(model, "w.master") == Approx(expected.master).epsilon(1e-5));
    CHECK(number(model, "w") == nearest(number(model, "w.master")));
    CHECK(number(model, "w.momentum") == Approx(expected.velocity).epsilon(1e-5).margin(1e-7));
    CHECK(number(model, "loss_scale") == expected.scale);
    CHECK(model.get_state("loss_scale.good_steps").item<std::int64_t>() == expected.good);
    CHECK(model.get_state("step").item<std::int64_t>() == expected.step);
    if (expected.skipped > skipped) CHECK(number(model, "w.master") == before);
  }
  CHECK(expected.skipped > 3);
  CHECK(expected.step > 20);
}

TEST_CASE("before version 9, which has no Where, an overflow is skipped too") {
  for (const std::int64_t opset : {7, 8, 9, 10}) {
    INFO("opset " << opset);
    Model model = line(0.5F, {.optimizer = Adam{}}, opset);
    model.train_step(feeds(1, -1.5F));
    CHECK(number(model, "w") == 0.5F);
    CHECK(number(model, "w.mean") == 0);
    CHECK(number(model, "loss_scale") == 32768);
    CHECK(model.get_state("step").item<std::int64_t>() == 0);
    for (int i = 0; i < 5; ++i) model.train_step(feeds(1, -1.5F));
    CHECK(number(model, "w") < 0.5F);
    CHECK(number(model, "w") == nearest(number(model, "w.master")));
  }
}

TEST_CASE("infinite activations change no weight and no statistic, and later batches train") {
  ModelBuilder b("normalized", 17);
  b.input("x", DType::float16, {"N", 2});
  b.node("MatMul", {"x", b.initializer("w", half({2, 2}, {2, -1, 0.5F, 2}))}, {}, "h");
  std::vector<std::string> inputs{"h"};
  for (const std::string name : {"scale", "bias", "mean", "var"}) {
    const float value = name == "scale" || name == "var" ? 1.0F : 0.0F;
    inputs.push_back(b.initializer(name, half({2}, {value, value})));
  }
  b.node("BatchNormalization", inputs, {}, "y");
  b.output("y", DType::float16, {"N", 2});
  Model model = prepare(
      b.bytes(),
      {.loss = Loss::mse, .optimizer = Adam{.learning_rate = 0.01F}, .init = WeightInit::keep});
  const auto batch = [](float first) {
    return NamedValues{{"x", half({3, 2}, {first, 1, -1, 0.5F, 2, 1})},
                       {"label", random_floats({3, 2}, 4)}};
  };
  std::vector<std::pair<std::string, Tensor>> before;
  for (const StateInfo& one : model.state()) {
    before.emplace_back(one.name, model.get_state(one.name).clone());
  }
  const double loss = model.train_step(batch(65504)).scalar("loss");
  CHECK_FALSE(std::isfinite(loss));
  for (const auto& [name, value] : before) {
    if (name == "loss_scale") continue;
    INFO(name);
    const Tensor now = model.get_state(name);
    CHECK(std::memcmp(now.data(), value.data(), value.bytes()) == 0);
  }
  CHECK(number(model, "loss_scale") == 32768);
  const double first = model.train_step(batch(1)).scalar("loss");
  double last = first;
  for (int i = 0; i < 60; ++i) last = model.train_step(batch(1)).scalar("loss");
  CHECK(last < 0.7 * first);
  const Tensor mean = model.get_state("mean");
  CHECK(to_float(mean.values<float16>()[0]) != 0);
}

TEST_CASE("gradients below the smallest float16 number train with a scale and vanish without") {
  const auto trained = [](const LossScale& scale) {
    Model model = line(0, {.optimizer = Sgd{.learning_rate = 1e8F}, .loss_scale = scale});
    model.train_step(feeds(0x1p-8F, 0x1p-20F));  // gradient -2^-27, the least number is 2^-24
    return number(model, "w.master");
  };
  CHECK(trained(NoLossScale{}) == 0);
  CHECK(trained(DynamicLossScale{}) == Approx(1e8 * 0x1p-27));
  CHECK(trained(StaticLossScale{1000}) == Approx(1e8 * 0x1p-27).epsilon(0.01));
}

TEST_CASE("changes smaller than a rounding of float16 add up") {
  Model model = line(1, {.optimizer = Sgd{.learning_rate = 1e-5F}});
  for (int i = 0; i < 100; ++i) model.train_step(feeds(1, 0));
  // w <- w (1 - 2e-5), whose half step of 2.4e-4 needs 12 of them.
  CHECK(number(model, "w.master") == Approx(std::pow(1 - 2e-5, 100)).epsilon(1e-4));
  CHECK(number(model, "w") == nearest(number(model, "w.master")));
  CHECK(number(model, "w") < 0.9985F);
}

TEST_CASE("a weight that is set between steps is where the next step starts") {
  Model model = line(1, {.optimizer = Sgd{.learning_rate = 0.125F}, .loss_scale = NoLossScale{}});
  model.train_step(feeds(1, 0));
  CHECK(number(model, "w.master") == 0.75F);
  model.set_state("w", half({1, 1}, {4}));
  model.train_step(feeds(1, 0));
  CHECK(number(model, "w.master") == 3);
  CHECK(number(model, "w") == 3);
}

TEST_CASE("initial weights of low precision are their masters, rounded") {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (const WeightInit init : {WeightInit::he_uniform, WeightInit::xavier_normal}) {
      ModelBuilder b("layer", 17);
      b.input("x", dtype, {"N", 3});
      b.node("MatMul", {"x", b.initializer("w", Tensor(dtype, {3, 4}))}, {}, "y");
      b.output("y", dtype, {"N", 4});
      Model model = prepare(b.bytes(), {.loss = Loss::mse, .init = init});
      const Tensor master = model.get_state("w.master");
      const Tensor w = model.get_state("w");
      const Tensor wanted = rounded(master, dtype);
      CHECK(std::memcmp(w.data(), wanted.data(), w.bytes()) == 0);
      float largest = 0;
      for (const float value : master.values<float>())
        largest = std::max(largest, std::fabs(value));
      CHECK(largest > 0.1F);
    }
  }
}

TEST_CASE("every optimizer trains low precision close to float32") {
  const auto trained = [](DType dtype, const Optimizer& optimizer) {
    ModelBuilder b("network", 17);
    b.input("x", dtype, {"N", 6});
    const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
      return b.initializer(name, rounded(random_floats(shape, seed, -0.5F, 0.5F), dtype));
    };
    b.node("Gemm", {"x", weight("w", {6, 8}, 1), weight("b", {8}, 2)}, {}, "h");
    b.node("Tanh", {"h"}, {}, "t");
    b.node("Gemm", {"t", weight("v", {8, 3}, 3), weight("c", {3}, 4)}, {}, "y");
    b.output("y", dtype, {"N", 3});
    Model model =
        prepare(b.bytes(), {.optimizer = optimizer, .clip_norm = 0.5F, .init = WeightInit::keep});
    Tensor labels(DType::int64, {12});
    for (std::size_t i = 0; i < 12; ++i) {
      labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * i % 3);
    }
    double loss = 0;
    for (int i = 0; i < 40; ++i) {
      const Results step =
          model.train_step({{"x", rounded(random_floats({12, 6}, 9), dtype)}, {"label", labels}});
      CHECK(step["loss"].tensor().dtype() == DType::float32);
      loss = step.scalar("loss");
    }
    CHECK(has_state(model, "loss_scale") == (dtype == DType::float16));
    CHECK(has_state(model, "w.master") == (dtype != DType::float32));
    return loss;
  };
  for (const Optimizer& optimizer : std::vector<Optimizer>{
           Sgd{.learning_rate = 0.1F, .weight_decay = 0.01F}, Momentum{.learning_rate = 0.05F},
           Nesterov{.learning_rate = 0.05F, .weight_decay = 0.01F}, Adagrad{.learning_rate = 0.05F},
           Adam{.learning_rate = 0.01F}, AdamW{.learning_rate = 0.01F, .weight_decay = 0.1F},
           Lion{.learning_rate = 0.01F, .weight_decay = 0.1F},
           Adafactor{.learning_rate = 0.02F, .weight_decay = 0.1F}}) {
    INFO("optimizer " << optimizer.index());
    const double full = trained(DType::float32, optimizer);
    CHECK(trained(DType::float16, optimizer) == Approx(full).epsilon(0.01));
    CHECK(trained(DType::bfloat16, optimizer) == Approx(full).epsilon(0.05));
  }
}

TEST_CASE("a loss model in float32 reads values of float16") {
  ModelBuilder loss("loss", 17);
  loss.input("y", DType::float32, {"N", 1});
  loss.input("t", DType::float32, {"N", 1});
  loss.node("Sub", {"y", "t"}, {}, "d");
  loss.node("Mul", {"d", "d"}, {}, "squares");
  loss.node("ReduceMean", {"squares"}, {{"keepdims", std::int64_t{0}}}, "value");
  loss.output("value", DType::float32, {});
  ModelBuilder b("line", 17);
  b.input("x", DType::float16, {"N", 1});
  b.node("MatMul", {"x", b.initializer("w", half({1, 1}, {1}))}, {}, "y");
  b.output("y", DType::float16, {"N", 1});
  Model model = prepare(b.bytes(), {.loss_model = loss.bytes(),
                                    .optimizer = Sgd{.learning_rate = 0.125F},
                                    .loss_scale = StaticLossScale{1024},
                                    .init = WeightInit::keep});
  const Results step =
      model.train_step({{"x", half({1, 1}, {1})}, {"t", Tensor::of<float>({1, 1}, {0})}});
  CHECK(step.scalar("loss") == 1);
  CHECK(number(model, "w") == 0.75F);
}

TEST_CASE("derivatives of a float16 model are checked in double") {
  const TemporaryFolder folder;
  save_half_network(folder / "half.onnx");
  prepare(folder / "half.onnx", folder / "train.onnx", {.loss = Loss::mse});
  const ondine::GradientCheck check(folder / "train.onnx");
  CHECK(check.widened());
  for (const PortInfo& input : check.inputs()) {
    CHECK(input.dtype == DType::float64);
  }
  const auto widened = [](const Tensor& values) {
    Tensor result(DType::float64, values.shape());
    for (std::size_t i = 0; i < values.values<float>().size(); ++i) {
      result.mutable_values<double>()[i] = double{values.values<float>()[i]};
    }
    return result;
  };
  const auto results = check.run(
      {{"x", widened(random_floats({4, 3}, 1))}, {"label", widened(random_floats({4, 2}, 2))}});
  REQUIRE(results.size() == 2);
  for (const GradcheckResult& one : results) {
    INFO(one.variable);
    CHECK(one.passed);
    CHECK(one.analytic != 0);
  }
}

TEST_CASE("a gradient that overflows in float16 is told from a flaw of the loss") {
  const Model model = line(0.5F, {});
  const std::vector<Finding> findings = diagnose(model, feeds(1, -1.5F));
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& one) { return one.check == "not-finite"; });
  REQUIRE(found != findings.end());
  CHECK_THAT(found->message, Catch::Contains("gradient of 'w'"));
  CHECK_THAT(found->remedy, Catch::Contains("loss scale"));
}

TEST_CASE("loss scales out of range are refused") {
  CHECK_THAT(error_of({.loss_scale = StaticLossScale{0}}), Catch::Contains("2^64"));
  CHECK_THAT(error_of({.loss_scale = StaticLossScale{std::nanf("")}}), Catch::Contains("2^64"));
  CHECK_THAT(error_of({.loss_scale = DynamicLossScale{.initial = 1e30F}}), Catch::Contains("2^64"));
  CHECK_THAT(error_of({.loss_scale = DynamicLossScale{.growth_interval = 0}}),
             Catch::Contains("positive"));
}

TEST_CASE("a scale of all-zero gradients stays within its bounds") {
  Model model = line(1, {.loss_scale = DynamicLossScale{.initial = 0x1p62F, .growth_interval = 1}});
  for (int i = 0; i < 4; ++i) model.train_step(feeds(0, 0));
  CHECK(number(model, "loss_scale") == 0x1p64F);
  CHECK(number(model, "w") == 1);
}
