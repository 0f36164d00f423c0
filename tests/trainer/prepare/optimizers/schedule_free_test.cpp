// Schedule-free training: a step computes elsewhere, everything else takes the averages.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>

#include "tests/support/models.h"
#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test::optimizers;
using Catch::Contains;

namespace {

const Network network{{4, 7, 3}};

Model trained(const Network& net, int steps) {
  Model model = prepare(net.model(), {.loss = Loss::mse,
                                      .optimizer = ScheduleFree{.learning_rate = 0.05F},
                                      .init = WeightInit::keep});
  for (int i = 0; i < steps; ++i) model.train_step(net.feeds());
  return model;
}

// The loss of what an inference model computes.
double loss_of(const Model& model, const Network& net) {
  const NamedValues feeds = net.feeds();
  const Tensor y = model.infer({feeds[0]})["y"].tensor();
  const Tensor t = feeds[1].second.tensor();
  double sum = 0;
  for (std::size_t i = 0; i < y.values<double>().size(); ++i) {
    sum += std::pow(y.values<double>()[i] - t.values<double>()[i], 2);
  }
  return sum / static_cast<double>(y.shape().size());
}

}  // namespace

TEST_CASE("evaluation and exports compute at the averages, a step elsewhere") {
  Model model = trained(network, 7);
  const double wanted = loss_of(Model::load(model.export_inference()), network);
  CHECK(model.eval_step(network.feeds()).scalar("loss") == Approx(wanted).epsilon(1e-9));
  CHECK(loss_of(model, network) == Approx(wanted).epsilon(1e-9));
  CHECK(model.train_step(network.feeds()).scalar("loss") != Approx(wanted).epsilon(1e-4));
}

TEST_CASE("an inference file of schedule-free training holds no points and no offsets") {
  const Model exported = Model::load(trained(network, 2).export_inference());
  CHECK(exported.inspect(Stage::model).find("offset") == std::string::npos);
  for (const auto& [name, text] : exported.metadata()) CHECK(name != "ondine.points");
}

TEST_CASE("schedule-free training goes on from its file as if it had not stopped") {
  Model model = trained(network, 3);
  Model again = Model::load(model.export_training());
  for (int i = 0; i < 3; ++i) {
    model.train_step(network.feeds());
    again.train_step(network.feeds());
  }
  for (const StateInfo& one : model.state()) {
    CAPTURE(one.name);
    CHECK(again.get_state(one.name).identical(model.get_state(one.name)));
  }
}

TEST_CASE("a parameter that is set takes the point of its steps along") {
  Model model = trained(network, 4);
  Tensor zeros(DType::float64, {7, 3});
  model.set_state("w1", zeros);
  Variables at = network.start();
  for (Variable& one : at) {
    const Tensor x = model.get_state(one.name);
    const Tensor d = model.get_state(one.name + ".offset");
    for (std::size_t i = 0; i < one.w.size(); ++i) {
      one.w[i] = x.values<double>()[i] + (1 - static_cast<double>(0.9F)) * d.values<double>()[i];
    }
  }
  // The derivative by the last bias is that of the mean over all outputs.
  const Tensor squares = model.get_state("b1.squares");
  const Numbers g = network.gradients(at)[3];
  model.train_step(network.feeds());
  const Tensor next = model.get_state("b1.squares");
  for (std::size_t i = 0; i < 3; ++i) {
    const double beta = static_cast<double>(0.999F);
    CHECK(next.values<double>()[i] ==
          Approx(beta * squares.values<double>()[i] + (1 - beta) * g[i] * g[i]).epsilon(1e-9));
  }
}

TEST_CASE("schedule-free training refuses parameters of low precision") {
  ModelBuilder b("line");
  b.input("x", DType::float16, {"N", 1});
  b.node("MatMul", {"x", b.initializer("w", Tensor(DType::float16, {1, 1}))}, {}, "y");
  b.output("y", DType::float16, {"N", 1});
  CHECK_THROWS_WITH(
      prepare(b.bytes(), {.loss = Loss::mse, .optimizer = ScheduleFree{}}),
      Contains("schedule-free updates of float16 parameters, such as 'w'; choose adamw"));
}

TEST_CASE("dropout in front of a layer trains with schedule-free averages, and evaluates without") {
  ModelBuilder b("dropping", 17);
  b.input("x", DType::float64, {"N", 4});
  Tensor matrix(DType::float64, {4, 3});
  for (std::size_t i = 0; i < 12; ++i) matrix.mutable_values<double>()[i] = 0.1 * double(i % 5);
  const std::string dropped = b.node("Dropout", {"x"});
  b.node("MatMul", {dropped, b.initializer("w", matrix)}, {}, "y");
  b.output("y", DType::float64, {"N", 3});
  const Network line{{4, 3}};
  Model model = prepare(b.bytes(), {.loss = Loss::mse,
                                    .optimizer = ScheduleFree{.learning_rate = 0.05F},
                                    .init = WeightInit::keep});
  for (int i = 0; i < 5; ++i) model.train_step(line.feeds());
  CHECK(model.eval_step(line.feeds()).scalar("loss") ==
        Approx(loss_of(Model::load(model.export_inference()), line)).epsilon(1e-9));
}
