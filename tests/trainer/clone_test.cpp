// Model::clone: the same future, a life of its own.
#include <catch2/catch.hpp>

#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues batch(std::uint64_t seed) {
  return {{"x", random_floats({6, 8}, seed)}, {"label", Tensor(DType::int64, {6})}};
}

void check_equal(const Model& a, const Model& b) {
  for (const StateInfo& info : a.state()) {
    CAPTURE(info.name);
    CHECK(a.get_state(info.name).identical(b.get_state(info.name)));
  }
}

}  // namespace

TEST_CASE("a clone goes on with the same bits as the model it was made of") {
  Model model = Model::load(encode(dropout_classifier()));
  model.initialize(9);
  model.train_step(batch(1));
  Model clone = model.clone();
  CHECK(clone.seed() == 9);
  CHECK(clone.steps() == 1);
  CHECK(clone.fingerprint() == model.fingerprint());
  CHECK(clone.metadata() == model.metadata());
  check_equal(model, clone);
  model.train_step(batch(2));
  clone.train_step(batch(2));
  check_equal(model, clone);
}

TEST_CASE("neither changes the other, and initialize() of a clone begins where the model did") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  const NamedValues feeds{{"x", random_floats({4, 2}, 1)}, {"t", random_floats({4, 1}, 2)}};
  const Tensor start = model.get_state("w");
  model.train_step(feeds);
  const Tensor trained = model.get_state("w");
  Model clone = model.clone();
  clone.train_step(feeds);
  CHECK(model.get_state("w").identical(trained));
  CHECK_FALSE(clone.get_state("w").identical(trained));
  clone.initialize();
  CHECK(clone.get_state("w").identical(start));
  CHECK(model.steps() == 1);
}

TEST_CASE("a clone keeps the learning rate that was set and outlives the model") {
  const TemporaryFolder folder;
  std::optional<Model> clone;
  {
    PrepareOptions options;
    Model plain = Model::load(encode(dropout_classifier()));
    const std::filesystem::path network = folder / "clone.onnx";
    plain.export_inference(network);
    options.output = "logits";
    Model model = prepare(network, options);
    model.set_learning_rate(0.125F);
    clone.emplace(model.clone());
  }
  CHECK(clone->learning_rate() == 0.125F);
  CHECK(clone->infer({{"x", random_floats({2, 8}, 3)}}).size() > 0);
}
