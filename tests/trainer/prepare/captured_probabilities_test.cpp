// Steps of models whose probabilities come out of subgraphs and functions, beside those of the
// logits alone.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/support/wrapped_values.h"

using namespace ondine;
using namespace ondine::test;

namespace {

graph::ModelDef layer() {
  ModelBuilder b("layer");
  const std::string x = b.input("x", DType::float32, {"N", 4});
  b.node(
      "Gemm",
      {x, b.initializer("w", random_floats({4, 3}, 1)), b.initializer("b", random_floats({3}, 2))},
      {}, "logits");
  b.output("p", DType::float32, {"N", 3});
  return load_model(b.bytes());
}

std::vector<std::byte> plain() {
  graph::ModelDef model = layer();
  model.graph.nodes.push_back(node("Identity", {"logits"}, {"p"}));
  return encode(model);
}

std::vector<std::byte> wrapped(const std::string& op, const Wrapping& wrapping, bool by_function) {
  graph::ModelDef model = layer();
  if (by_function) {
    add_activation_function(model, op, "logits", "q");
  } else {
    model.graph.nodes.push_back(node(op, {"logits"}, {"q"}));
  }
  wrapping.add(model);
  return encode(model);
}

// Parameters after some steps, and the loss of the last one.
std::vector<float> trained(const std::vector<std::byte>& bytes, Loss loss) {
  PrepareOptions options;
  options.loss = loss;
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  Model model = prepare(bytes, options);
  const bool has_classes = loss == Loss::softmax_cross_entropy;
  Tensor label = has_classes
                     ? Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0})
                     : Tensor::of<float>({5, 3}, {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0});
  const NamedValues feeds{{"x", random_floats({5, 4}, 3)}, {"label", std::move(label)}};
  for (int i = 0; i < 3; ++i) model.train_step(feeds);
  return model.parameters();
}

}  // namespace

TEST_CASE("training through subgraphs and functions is training on the logits") {
  for (const auto& [op, loss] : {std::pair("Sigmoid", Loss::bce_with_logits),
                                 {"Sigmoid", Loss::hinge},
                                 {"Softmax", Loss::softmax_cross_entropy}}) {
    const std::vector<float> want = trained(plain(), loss);
    for (const Wrapping& wrapping : wrappings()) {
      if (!wrapping.gives_on) continue;
      CAPTURE(wrapping.name, op);
      for (const bool by_function : {false, true}) {
        const std::vector<float> found = trained(wrapped(op, wrapping, by_function), loss);
        REQUIRE(found.size() == want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
          CHECK(found[i] == Approx(want[i]).epsilon(1e-5).margin(1e-6));
        }
      }
    }
  }
}

TEST_CASE("negative log likelihood of what subgraphs give on is that of the value itself") {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    const Wrapping itself = wrappings().front();
    const auto loss_of = [&](const Wrapping& wrapping) {
      PrepareOptions options;
      options.loss = Loss::nll;
      options.init = WeightInit::keep;
      Model model = prepare(wrapped(op, wrapping, false), options);
      const NamedValues feeds{{"x", random_floats({5, 4}, 3)},
                              {"label", Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0})}};
      for (const auto& [name, value] : model.train_step(feeds)) {
        if (name == "loss") return value.tensor().values<float>()[0];
      }
      FAIL("no loss");
      return 0.0F;
    };
    const float want = loss_of(itself);
    for (const Wrapping& wrapping : wrappings()) {
      // Bounds change logarithms, and so do steps of quantization.
      const bool changes = !wrapping.gives_on || wrapping.name == "quantization";
      if (changes) continue;
      CAPTURE(wrapping.name, op);
      CHECK(loss_of(wrapping) == Approx(want).epsilon(1e-5));
    }
  }
}
