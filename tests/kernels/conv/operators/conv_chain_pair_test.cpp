// ConvChain of a pointwise and a depthwise convolution against the operators that it stands for.
#include <catch2/catch.hpp>

#include "tests/kernels/conv/bottleneck_operands.h"

namespace ondine::test {
namespace {

struct Operands : BottleneckOperands {
  using BottleneckOperands::BottleneckOperands;

  OpCase fused(const std::string& inner, const std::string& activation) const {
    graph::Attributes attributes = window;
    if (!inner.empty()) attributes.emplace_back("inner_activation", inner);
    if (inner == "Swish") attributes.emplace_back("inner_alpha", 1.25F);
    if (!activation.empty()) attributes.emplace_back("activation", activation);
    return {.op = "ConvChain",
            .inputs = {x, pointwise, inner_bias, depthwise, bias},
            .attributes = attributes,
            .domain = domain};
  }

  Tensor apart(const std::string& inner, const std::string& activation) const {
    const auto activated = [](const std::string& name, const OpCase& conv) {
      if (name == "Relu" || name == "Relu6") {
        OpCase joined = conv;
        joined.op = "ConvActivation";
        joined.domain = domain;
        joined.attributes.emplace_back("activation", name);
        return run_op_tensor(joined);
      }
      const Tensor z = run_op_tensor(conv);
      if (name == "Swish") {
        return run_op_tensor({.op = name, .inputs = {z}, .attributes = {{"alpha", 1.25F}}});
      }
      return name.empty() ? z : run_op_tensor({.op = name, .inputs = {z}});
    };
    const Tensor z = activated(inner, {.op = "Conv", .inputs = {x, pointwise, inner_bias}});
    return activated(activation,
                     {.op = "Conv", .inputs = {z, depthwise, bias}, .attributes = window});
  }
};

}  // namespace

TEST_CASE("ConvChain of two convolutions is what its operators are one after the other") {
  for (const std::string inner : {"", "Relu", "Relu6", "HardSwish", "Swish"}) {
    for (const std::string activation : {"", "Relu", "Relu6"}) {
      for (const std::int64_t stride : {1, 2}) {
        CAPTURE(inner, activation, stride);
        const Operands o(90, stride);
        check_close(run_op_tensor(o.fused(inner, activation)), o.apart(inner, activation));
      }
    }
  }
}

TEST_CASE("the derivatives of ConvChain of two convolutions are those of its expansion") {
  for (const std::string inner : {"Relu", "Relu6", "HardSwish", "Swish"}) {
    check_gradient(Operands(4, 2).fused(inner, "Relu"), {.variants = false});
  }
}

TEST_CASE(
    "ConvChain of two convolutions rejects operands of other sizes and activations it lacks") {
  const auto rejects = [](std::size_t input, const Shape& shape, const std::string& message) {
    OpCase wrong = Operands(8).fused("Relu", "");
    wrong.inputs[input] = random_tensor(shape, 1);
    CHECK_THROWS_WITH(run_op(wrong), Catch::Contains(message));
  };
  rejects(0, {2, 4, 8, 8}, "channels of x and of the pointwise weights");
  rejects(0, {2, 3, 8}, "x has rank 3");
  rejects(1, {6, 3, 3, 1}, "expected [channels, channels of x, 1, 1]");
  rejects(1, {6, 3}, "expected [channels, channels of x, 1, 1]");
  rejects(2, {5}, "numbers of channels of the first B and W");
  rejects(3, {5, 1, 3, 3}, "groups");
  rejects(4, {5}, "numbers of channels of the second B and W");
  CHECK_THROWS_WITH(run_op(Operands(8).fused("Selu", "")), Catch::Contains("Selu"));
  OpCase without = Operands(8).fused("Relu", "");
  without.inputs[1] = without.inputs[2] = Value();
  CHECK_THROWS_WITH(run_op(without),
                    Catch::Contains("the weights of both pointwise convolutions are missing"));
}

}  // namespace ondine::test
