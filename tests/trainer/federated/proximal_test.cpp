// The proximal term, against updates by hand.
#include <catch2/catch.hpp>

#include <ondine/prepare.h>

#include "proto/export.h"
#include "tests/support/models.h"
#include "tests/trainer/federated/fake_superlink.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/federated/proximal.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr double rate = 0.05;  // of line_model()

// w - rate * (g + mu * (w - w0)), in double.
Tensor updated(const Tensor& w, const Tensor& gradient, const Tensor& start, double mu) {
  Tensor result = w.clone();
  const auto g = gradient.values<float>();
  const auto w0 = start.values<float>();
  auto to = result.mutable_values<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double now = static_cast<double>(to[i]);
    const double pull = mu * (now - static_cast<double>(w0[i]));
    to[i] = static_cast<float>(now - rate * (static_cast<double>(g[i]) + pull));
  }
  return result;
}

// Two epochs of the node's round by hand.
NamedValues by_hand(double mu) {
  Model model = line_model();
  const NamedValues start = line_weights();
  model.set_state(start);
  const NamedValues data = line_data(10);
  Feeder feeder(model.algorithm(0).inputs, data);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = shuffled(10, 3, epoch);
    for (std::size_t first = 0; first < 10; first += 4) {
      const auto rows = std::span(order).subspan(first, std::min<std::size_t>(10 - first, 4));
      const Results gradients = model.gradients(feeder.take(rows));
      NamedValues next;
      for (const auto& [name, value] : start) {
        next.emplace_back(
            name, updated(model.get_state(name), gradients[name].tensor(), value.tensor(), mu));
      }
      model.set_state(next);
    }
  }
  return {{"w", model.get_state("w")}, {"b", model.get_state("b")}};
}

std::string refusal(const Model& model, const NamedValues& start) {
  try {
    federated::with_proximal(model, start, 0.5);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::unsupported);
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("a message's proximal term pulls the weights to where the round began") {
  NamedValues plain;
  for (const double mu : {0.0, 0.5, 4.0}) {
    CAPTURE(mu);
    FakeSuperlink superlink;
    LineNode node(superlink);
    superlink.deliver(make_message({.arrays = line_weights(), .config = {{"proximal-mu", mu}}}));
    CHECK(node.run().failed == 0);
    const NamedValues arrays = arrays_of(superlink.replies.at(0), federated::exchanged(node.model));
    const NamedValues expected = by_hand(mu);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto found = arrays[i].second.tensor().values<float>();
      const auto right = expected[i].second.tensor().values<float>();
      for (std::size_t k = 0; k < found.size(); ++k) {
        CHECK(found[k] == Approx(right[k]).epsilon(1e-5));
        if (mu != 0) CHECK(found[k] != plain[i].second.tensor().values<float>()[k]);
      }
    }
    if (mu == 0) plain = arrays;
  }
}

TEST_CASE("models that cannot have a proximal term are refused with the reason") {
  const NamedValues start = line_weights();
  graph::ModelDef def = linear_regression(0.05F);
  def.training[0].algorithm->outputs.erase(def.training[0].algorithm->outputs.begin());
  CHECK_THAT(refusal(Model::load(encode(def)), start),
             Contains("the model's Gradient is that of 'loss', which is no output"));
  def = linear_regression(0.05F);
  def.training.push_back(def.training[0]);
  CHECK_THAT(refusal(Model::load(encode(def)), start),
             Contains("the model has 2 training algorithms, not one"));
  CHECK_THAT(refusal(line_model(), {start[0]}),
             Contains("takes a derivative by 'b', which is none of its weights"));
}
