// Reactions of a run to a loss that is not finite.
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// out = exp(x w)
Model exponential() {
  ModelBuilder b("exponential", 17);
  const std::string x = b.input("x", DType::float32, {"N", 1});
  const std::string h =
      b.node("MatMul", {x, b.initializer("w", Tensor::of<float>({1, 1}, {1}))}, {}, "h");
  b.node("Exp", {h}, {}, "out");
  b.output("out", DType::float32, {"N", 1});
  return prepare(
      b.bytes(),
      {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = 1e-6F}, .init = WeightInit::keep});
}

NamedValues data_of(std::vector<float> x) {
  const auto rows = static_cast<std::int64_t>(x.size());
  return {{"x", Tensor::of<float>({rows, 1}, x)}, {"label", Tensor(DType::float32, {rows, 1})}};
}

std::string message_of(Model& model, const NamedValues& data, TrainerOptions options = {}) {
  options.batch_size = 2;
  try {
    Trainer(model, options).fit(Dataset::from(data));
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("a run stops where a loss is not finite, names the tensor and keeps the state before") {
  Model model = exponential();
  // exp(200) is infinite in float32. Rows are shuffled: all steps have one.
  const std::string message = message_of(model, data_of({200, 200, 200, 200}));
  CHECK_THAT(message, Contains("epoch 1, step 1") && Contains("loss is inf") &&
                          Contains("'out' of shape [2, 1]") && Contains("Exp") &&
                          Contains("element 0"));
  CHECK(model.steps() == 0);
  CHECK(same_state(model, exponential()));
}

TEST_CASE("an input with NaN is named before what it spoils") {
  Model model = exponential();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(message_of(model, data_of({nan, nan, nan, nan})),
             Contains("loss is nan") && Contains("input 'x'") && Contains("element 0 is nan"));
}

TEST_CASE("a weight that is not finite is named") {
  Model model = exponential();
  model.set_state("w", Tensor::of<float>({1, 1}, {std::numeric_limits<float>::infinity()}));
  CHECK_THAT(message_of(model, data_of({1, 1, 1, 1})), Contains("state variable 'w'"));
}

TEST_CASE("a run goes on when told to, and stop_on_nan still stops it") {
  Model model = exponential();
  TrainerOptions options;
  options.on_nan = OnNan::proceed;
  CHECK(message_of(model, data_of({200, 200, 200, 200}), options).empty());
  CHECK(model.steps() == 2);
  options.stop_on_nan = true;
  Model other = exponential();
  CHECK_THAT(message_of(other, data_of({200, 200, 200, 200}), options), Contains("loss is"));
}

TEST_CASE("nothing is saved over the last checkpoint when a loss is not finite") {
  const TemporaryFolder folder;
  Model model = exponential();
  TrainerOptions options;
  options.checkpoint = folder / "run.ckpt";
  CHECK(message_of(model, data_of({1, 2, 1, 2}), options).empty());
  options.epochs = 2;
  options.resume = true;
  CHECK_THAT(message_of(model, data_of({200, 200, 200, 200}), options),
             Contains("epoch 2, step 1") && Contains("nothing was saved"));
  Model restored = exponential();
  CHECK(restored.restore_checkpoint(folder / "run.ckpt").cursor.epoch == 1);
}
