// BatchNormalizationActivation and its derivative with smooth activations.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "tests/kernels/norm/batch_normalization_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);

}  // namespace

TEST_CASE("BatchNormalizationActivation with HardSwish and Swish is what these make of it") {
  for (const std::string name : {"HardSwish", "Swish"}) {
    for (const bool train : {false, true}) {
      CAPTURE(name, train);
      graph::Attributes own;
      if (name == "Swish") own.emplace_back("alpha", 1.25F);
      const Normalization norm;
      const auto plain = norm.run(train);
      graph::Attributes attributes = own;
      attributes.emplace_back("activation", name);
      const graph::Attributes smooth = attributes;
      attributes.emplace_back("training_mode", std::int64_t{train});
      const OpCase forward{.op = "BatchNormalizationActivation",
                           .inputs = norm.inputs,
                           .attributes = attributes,
                           .outputs = 5,
                           .domain = domain};
      const auto fused = run_op(forward);
      check_close(fused[0].tensor(),
                  run_op_tensor({.op = name, .inputs = {plain[0]}, .attributes = own}));
      for (std::size_t k = 1; k < 5; ++k) {
        CHECK(fused[k].tensor().identical(plain[k].tensor()));
      }
      const Tensor dy = random_tensor({2, 3, 4, 4}, 6);
      const Tensor dv = run_op_tensor(
          {.op = name + "Grad", .inputs = {dy, plain[0]}, .attributes = own, .domain = domain});
      const std::int64_t constant = train ? 0 : 1;
      std::vector<Value> inputs{dv, norm.inputs[0], norm.inputs[1], plain[3], plain[4]};
      const auto want = run_op({.op = "BatchNormalizationGrad",
                                .inputs = inputs,
                                .attributes = {{"constant_statistics", constant}},
                                .outputs = 3,
                                .domain = domain});
      inputs[0] = dy;
      inputs.push_back(norm.inputs[2]);
      graph::Attributes of_gradient = smooth;
      of_gradient.emplace_back("constant_statistics", constant);
      const OpCase gradient{.op = "BatchNormalizationActivationGrad",
                            .inputs = inputs,
                            .attributes = of_gradient,
                            .outputs = 3,
                            .domain = domain};
      const auto got = run_op(gradient);
      for (std::size_t k = 0; k < 3; ++k) check_close(got[k].tensor(), want[k].tensor());
      check_gradient(gradient, {.variants = false});
      OpCase training = forward;
      training.outputs = 3;
      if (train) check_gradient(training, {.variants = false});
    }
  }
}

}  // namespace ondine::test
