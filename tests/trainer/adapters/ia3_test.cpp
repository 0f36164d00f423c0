// Factors of the inputs and outputs of layers, (IA)3.
#include <catch2/catch.hpp>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PrepareOptions with_factors(std::vector<std::string> targets,
                            std::vector<std::string> feedforward = {}) {
  PrepareOptions options;
  options.optimizer = Adam{.learning_rate = 0.05F};
  options.ia3 = Ia3{std::move(targets), std::move(feedforward)};
  return options;
}

}  // namespace

TEST_CASE("factors of outputs and inputs train, and merge into weights and biases") {
  for (const PrepareOptions& options :
       {with_factors({"fc1", "fc2", "head"}), with_factors({}, {"fc1", "fc2", "head"}),
        with_factors({"fc1", "fc2"}, {"fc2"})}) {
    check_kind(three_layers(), options, sequences());
    check_gradients(three_layers(), options, sequences());
  }
  for (const PrepareOptions& options :
       {with_factors({"conv*"}), with_factors({"conv1"}, {"conv2", "conv3", "head"})}) {
    check_kind(image_network(), options, images());
    check_gradients(image_network(), options, images());
  }
}

TEST_CASE("a factor of outputs multiplies the bias, too, also one that an Add adds") {
  Model model = prepare(text_network(), with_factors({"key"}));
  Tensor factor = model.get_state("key.ia3_l");
  REQUIRE(factor.shape() == Shape{5});
  for (float& one : factor.mutable_values<float>()) one = 0;
  model.set_state(NamedValues{{"key.ia3_l", factor}});
  // Without any value the last layer gives its bias alone.
  const Tensor bias = random_floats({4}, 5, -0.8F, 0.8F);
  const std::vector<float> found = first_output(model, texts());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == Approx(bias.values<float>()[i % 4]));
  }
  check_kind(text_network(), with_factors({"key"}, {"head"}), texts());
}

TEST_CASE("the list of adapters tells factors of inputs and outputs apart") {
  const auto found = adapters(prepare(three_layers(), with_factors({"fc1", "fc2"}, {"fc2"})));
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == AdapterKind::ia3);
  CHECK_FALSE(found[0].of_inputs);
  CHECK(found[1].of_inputs);
  CHECK(found[1].factor == "body.fc2.ia3_l");
  CHECK(found[1].a.empty());
}

TEST_CASE("factors that cannot be are refused") {
  const auto refusal = [](PrepareOptions options) {
    try {
      prepare(three_layers(), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refusal(with_factors({})), Contains("need targets"));
  CHECK_THAT(refusal(with_factors({"fc3"})), Contains("'fc3'") && Contains("(--ia3)"));
  CHECK_THAT(refusal(with_factors({}, {"fc3"})), Contains("(--ia3-feedforward)"));
  PrepareOptions options = with_factors({"fc1"});
  options.lora = Lora{};
  CHECK_THAT(refusal(options), Contains("lora excludes ia3"));
  options = with_factors({"fc1"});
  options.last_layers = 1;
  CHECK_THAT(refusal(options), Contains("excludes last_layers"));
}
