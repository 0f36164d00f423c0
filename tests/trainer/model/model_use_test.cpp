// Calls that may not run beside another are refused. The progress callback of a call is a place in
// its midst.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues feeds() { return {{"x", random_floats({4, 2}, 1)}, {"t", random_floats({4, 1}, 2)}}; }

// Runs `inside` in the midst of a step.
void during_step(Model& model, const std::function<void()>& inside) {
  bool called = false;
  model.set_progress([&](double) {
    if (!std::exchange(called, true)) inside();
    return true;
  });
  model.train_step(feeds());
  model.set_progress({});
  CHECK(called);
}

}  // namespace

TEST_CASE("a second step in the midst of a step is refused, and the first goes on") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  during_step(model, [&] {
    CHECK_THROWS_WITH(model.train_step(feeds()),
                      Catch::StartsWith("cannot take a training step while another call that "
                                        "changes the model runs"));
    CHECK_THROWS_WITH(model.initialize(), Catch::StartsWith("cannot initialize the model while"));
    CHECK_THROWS_WITH(model.set_state("w", Tensor(DType::float32, {2, 1})),
                      Catch::StartsWith("cannot set the state while"));
    CHECK_THROWS_WITH(model.set_threads(2), Catch::StartsWith("cannot set the number of threads"));
    CHECK_THROWS_WITH(model.set_deadline({}), Catch::Contains("another call uses the model"));
  });
  CHECK(model.steps() == 1);
  model.train_step(feeds());
  CHECK(model.steps() == 2);
}

TEST_CASE("the state before a step can be read in its midst") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  const Tensor before = model.get_state("w");
  during_step(model, [&] {
    CHECK(model.get_state("w").identical(before));
    CHECK(model.infer({feeds()[0]}).size() == 1);
  });
}

TEST_CASE("with updates in place nothing runs beside a step") {
  LoadOptions options;
  options.updates = UpdatePolicy::immediate;
  Model model = Model::load(encode(linear_regression(0.1F)), options);
  during_step(model, [&] {
    CHECK_THROWS_WITH(model.infer({feeds()[0]}), Catch::StartsWith("cannot evaluate the model"));
  });
}

TEST_CASE("a call that failed gives the model free") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK_THROWS(model.train_step({}));
  model.train_step(feeds());
  model.set_threads(1);
}
