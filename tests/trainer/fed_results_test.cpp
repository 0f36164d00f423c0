// Results that are written where a step reads an input.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 1024;

// y = x w; its update reads x when the results are there already.
std::vector<std::byte> network() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {1, width});
  b.initializer("w", random_floats({width, width}, 1));
  b.node("MatMul", "", {"x", "w"}, {"y"});
  b.output("y", DType::float32, {1, width});
  return b.bytes();
}

struct Outcome {
  Tensor y;
  Tensor w;
};

Outcome train(bool shared, const Optimizer& optimizer) {
  Model model = prepare(network(), {.loss = Loss::mse, .optimizer = optimizer});
  const Tensor x = random_floats({1, width}, 2);
  const NamedValues feeds{{"x", x}, {"label", random_floats({1, width}, 3)}};
  NamedValues results{{"y", shared ? x : Tensor(DType::float32, {1, width})}};
  model.train_step_into(feeds, 0, results);
  if (shared) CHECK(results[0].second.tensor().data() == x.data());
  return {results[0].second.tensor(), model.get_state("w")};
}

}  // namespace

TEST_CASE("a step reads its inputs before a result is written over them") {
  for (const Optimizer& optimizer : {Optimizer(Sgd{}), Optimizer(Adam{})}) {
    const Outcome apart = train(false, optimizer);
    const Outcome shared = train(true, optimizer);
    CHECK(shared.y.identical(apart.y));
    CHECK(shared.w.identical(apart.w));
  }
}

}  // namespace ondine::test
