// Model::gradients against derivatives computed here, and its effect on the model: none.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::vector<std::byte> line(DType dtype) {
  ModelBuilder b("line", 15);
  b.input("x", DType::float32, {"N", 2});
  std::string x = "x";
  if (dtype != DType::float32) {
    x = b.node("Cast", {"x"}, {{"to", static_cast<std::int64_t>(dtype)}});
  }
  const Tensor w = Tensor::of<float>({2, 1}, {0.5F, -1});
  if (dtype == DType::float32) {
    b.initializer("w", w);
  } else {
    Tensor half(DType::float16, {2, 1});
    half.mutable_values<float16>()[0] = {0x3800};
    half.mutable_values<float16>()[1] = {0xbc00};
    b.initializer("w", half);
  }
  b.node("MatMul", {x, "w"}, {}, "y");
  b.output("y", dtype, {"N", 1});
  return b.bytes();
}

const NamedValues& feeds() {
  static const NamedValues all{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                               {"label", Tensor::of<float>({2, 1}, {1, 0})}};
  return all;
}

// Gradient of the mean of (x w - label)^2 at w = (0.5, -1): the errors are -2.5 and -2.5.
constexpr float expected[] = {-10, -15};

void check_gradient(const Results& gradients) {
  REQUIRE(gradients.size() == 1);
  const Tensor gradient = gradients["w"].tensor();
  CHECK(gradient.shape() == Shape{2, 1});
  CHECK(gradient.item<float>(0) == Approx(expected[0]));
  CHECK(gradient.item<float>(1) == Approx(expected[1]));
}

PrepareOptions options() {
  PrepareOptions result;
  result.loss = Loss::mse;
  result.init = WeightInit::keep;
  return result;
}

}  // namespace

TEST_CASE("gradients are the derivatives of the loss and change nothing") {
  PrepareOptions prepared = options();
  prepared.optimizer = Adam{};
  prepared.clip_norm = 0.01F;  // of the update alone
  const Model model = prepare(line(DType::float32), prepared);
  const Tensor before = model.get_state("w");
  check_gradient(model.gradients(feeds()));
  CHECK(model.get_state("w").identical(before));
  CHECK(model.steps() == 0);
}

TEST_CASE("a step of SGD takes off the rate times the gradient of the same batch") {
  PrepareOptions prepared = options();
  prepared.optimizer = Sgd{.learning_rate = 0.25F};
  Model model = prepare(line(DType::float32), prepared);
  const Tensor gradient = model.gradients(feeds())["w"].tensor();
  model.train_step(feeds());
  const Tensor after = model.get_state("w");
  CHECK(after.item<float>(0) == Approx(0.5F - 0.25F * gradient.item<float>(0)));
  CHECK(after.item<float>(1) == Approx(-1 - 0.25F * gradient.item<float>(1)));
}

TEST_CASE("gradients of a scaled loss come without its factor, in float32") {
  for (const LossScale& scale :
       {LossScale(StaticLossScale{1024}), LossScale(DynamicLossScale{.initial = 512})}) {
    PrepareOptions prepared = options();
    prepared.loss_scale = scale;
    const Model half = prepare(line(DType::float16), prepared);
    check_gradient(half.gradients(feeds()));
    const Model single = prepare(line(DType::float32), prepared);
    check_gradient(single.gradients(feeds()));
  }
}

TEST_CASE("gradients of a batch that is accumulated are those of the batch alone") {
  PrepareOptions prepared = options();
  prepared.accumulate = 4;
  Model model = prepare(line(DType::float32), prepared);
  model.train_step(feeds());
  check_gradient(model.gradients(feeds()));
  CHECK_THROWS_WITH(model.gradients(feeds(), 1),
                    Catch::Contains("algorithm 1 takes no derivative by a state variable"));
}

TEST_CASE("gradients see Dropout as the next step does") {
  Model model = Model::load(encode(dropout_classifier()));
  model.initialize(3);
  Tensor label(DType::int64, {5});
  const NamedValues batch{{"x", random_floats({5, 8}, 1)}, {"label", label}};
  const Results first = model.gradients(batch);
  const Results again = model.gradients(batch);
  for (const auto& [name, value] : first) {
    CAPTURE(name);
    CHECK(value.tensor().identical(again[name].tensor()));
  }
  model.train_step(batch);
  bool differs = false;
  const Results next = model.gradients(batch);
  for (const auto& [name, value] : first) {
    differs = differs || !value.tensor().identical(next[name].tensor());
  }
  CHECK(differs);
}

TEST_CASE("gradients refuse what a step refuses") {
  const Model model = prepare(line(DType::float32), options());
  CHECK_THROWS_WITH(model.gradients({{"x", Tensor::of<float>({1, 2}, {1, 2})}}),
                    Catch::Contains("label"));
  CHECK_THROWS_WITH(model.gradients(feeds(), 7), Catch::Contains("there is no algorithm 7"));
  const Model plain = Model::load(line(DType::float32));
  CHECK_THROWS_WITH(plain.gradients(feeds()), Catch::Contains("there is no algorithm 0"));
}
