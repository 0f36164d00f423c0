// ConvChain that ends with a pointwise convolution against the operators that it stands for.
#include <catch2/catch.hpp>

#include "tests/kernels/conv/bottleneck_operands.h"

namespace ondine::test {
namespace {

struct Operands : BottleneckOperands {
  using BottleneckOperands::BottleneckOperands;

  OpCase fused(const std::string& inner, const std::string& between,
               const std::string& last) const {
    graph::Attributes attributes = window;
    if (!inner.empty()) attributes.emplace_back("inner_activation", inner);
    if (!between.empty()) attributes.emplace_back("depthwise_activation", between);
    if (!last.empty()) attributes.emplace_back("activation", last);
    return {.op = "ConvChain",
            .inputs = {x, pointwise, inner_bias, depthwise, bias, projection, projection_bias},
            .attributes = attributes,
            .domain = domain};
  }

  Tensor apart(const std::string& inner, const std::string& between,
               const std::string& last) const {
    graph::Attributes attributes = window;
    if (!inner.empty()) attributes.emplace_back("inner_activation", inner);
    if (!between.empty()) attributes.emplace_back("activation", between);
    const Tensor z = run_op_tensor({.op = "ConvChain",
                                    .inputs = {x, pointwise, inner_bias, depthwise, bias},
                                    .attributes = attributes,
                                    .domain = domain});
    OpCase conv{.op = "Conv", .inputs = {z, projection, projection_bias}};
    if (!last.empty()) {
      conv.op = "ConvActivation";
      conv.domain = domain;
      conv.attributes = {{"activation", last}};
    }
    return run_op_tensor(conv);
  }
};

}  // namespace

TEST_CASE("ConvChain of three convolutions is what its operators are one after the other") {
  for (const std::string inner : {"", "Relu", "HardSwish"}) {
    for (const std::string between : {"", "Relu6"}) {
      for (const std::string last : {"", "Relu"}) {
        for (const std::int64_t stride : {1, 2}) {
          CAPTURE(inner, between, last, stride);
          const Operands o(20, stride);
          check_close(run_op_tensor(o.fused(inner, between, last)), o.apart(inner, between, last));
        }
      }
    }
  }
}

TEST_CASE("ConvChain without a first convolution convolves x itself") {
  for (const std::int64_t stride : {1, 2}) {
    Operands o(13, stride);
    o.x = random_tensor({2, 6, 9, 9}, 1);
    OpCase fused = o.fused("", "Relu", "Relu6");
    fused.inputs[1] = fused.inputs[2] = Value();
    graph::Attributes attributes = o.window;
    attributes.emplace_back("activation", std::string("Relu"));
    const Tensor z = run_op_tensor({.op = "ConvActivation",
                                    .inputs = {o.x, o.depthwise, o.bias},
                                    .attributes = attributes,
                                    .domain = Operands::domain});
    check_close(run_op_tensor(fused),
                run_op_tensor({.op = "ConvActivation",
                               .inputs = {z, o.projection, o.projection_bias},
                               .attributes = {{"activation", std::string("Relu6")}},
                               .domain = Operands::domain}));
    if (stride == 2) check_gradient(fused, {.variants = false});
    fused.inputs[0] = random_tensor({2, 5, 9, 9}, 1);
    CHECK_THROWS_WITH(run_op(fused),
                      Catch::Contains("channels of X and of W times group differ: 5 and 6"));
  }
}

TEST_CASE("the derivatives of ConvChain of three convolutions are those of its expansion") {
  check_gradient(Operands(4, 2).fused("Swish", "Relu", ""), {.variants = false});
  check_gradient(Operands(4).fused("", "", "Relu6"), {.variants = false});
}

TEST_CASE(
    "ConvChain of three convolutions rejects operands of other sizes and activations it lacks") {
  const auto rejects = [](std::size_t input, const Shape& shape, const std::string& message) {
    OpCase wrong = Operands(8).fused("Relu", "", "");
    wrong.inputs[input] = random_tensor(shape, 1);
    CHECK_THROWS_WITH(run_op(wrong), Catch::Contains(message));
  };
  rejects(0, {2, 4, 8, 8}, "channels of x and of the pointwise weights");
  rejects(1, {6, 3}, "pointwise weights have shape [6, 3], expected");
  rejects(5, {4, 5, 1, 1}, "channels of the depthwise and of the last weights");
  rejects(5, {4, 6, 3, 3}, "last weights have shape [4, 6, 3, 3], expected");
  rejects(6, {5}, "numbers of channels of the last B and W");
  CHECK_THROWS_WITH(run_op(Operands(8).fused("", "Selu", "")), Catch::Contains("Selu"));
  CHECK_THROWS_WITH(run_op(Operands(8).fused("", "", "Elu")), Catch::Contains("Elu"));
}

}  // namespace ondine::test
