// Models of old operator sets with operators that onnxruntime's optimizer writes into them.
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::string normalized(ModelBuilder& b, const std::string& x) {
  return b.node("LayerNormalization",
                {x, b.initializer("scale", random_floats({4}, 1, 0.5, 2)),
                 b.initializer("bias", random_floats({4}, 2))},
                {{"axis", -1}, {"epsilon", 1e-3F}});
}

}  // namespace

TEST_CASE("LayerNormalization runs below version 17 as from there on") {
  const Tensor x = random_floats({3, 4}, 3);
  const auto run = [&](std::int64_t opset) {
    ModelBuilder b("normalized", opset);
    const std::string in = b.input("x", DType::float32, {"N", 4});
    b.output(normalized(b, in), DType::float32, {"N", 4});
    const Model model = Model::load(b.bytes());
    return model.infer({{"x", x}})[0].second.tensor();
  };
  const Tensor want = run(17);
  for (const std::int64_t opset : {7, 9, 13, 16}) {
    CAPTURE(opset);
    CHECK(run(opset).identical(want));
  }
}

TEST_CASE("LayerNormalization below version 17 trains and lowers") {
  check_network({3, 4}, {3, 4}, normalized, 13);
}
