// NormalizedDepthwiseConvGrad against the operators that it stands for.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
using Int64s = std::vector<std::int64_t>;

struct Operands {
  Operands(std::int64_t size, std::int64_t stride, bool relu)
      : conv{{"group", std::int64_t{3}}, {"pads", Int64s(4, 1)}, {"strides", Int64s(2, stride)}},
        out((size - 1) / stride + 1),
        x(random_tensor({2, 3, size, size}, 1)),
        dy(random_tensor({2, 3, out, out}, 2)) {
    if (relu) {
      activation = {{"relu", std::int64_t{1}}};
    } else {
      activation = {{"low", -0.25F}, {"high", 0.5F}};
    }
  }

  // By the statistics of the batch, then by given ones.
  std::vector<Value> normalized(bool train) {
    graph::Attributes attributes = activation;
    attributes.emplace_back("training_mode", std::int64_t{train});
    return run_op({.op = "BatchNormalizationActivation",
                   .inputs = {x, scale, bias, mean, variance},
                   .attributes = attributes,
                   .outputs = 5,
                   .domain = domain});
  }
  OpCase fused() const {
    graph::Attributes attributes = conv;
    attributes.insert(attributes.end(), activation.begin(), activation.end());
    return {.op = "NormalizedDepthwiseConvGrad",
            .inputs = {dy, w, x, scale, mean, variance, bias},
            .attributes = attributes,
            .outputs = 4,
            .domain = domain};
  }

  graph::Attributes conv, activation;
  std::int64_t out;
  Tensor x, dy;
  Tensor w = random_tensor({3, 1, 3, 3}, 3);
  Tensor scale = random_tensor({3}, 4), bias = random_tensor({3}, 5);
  Tensor mean = random_tensor({3}, 6), variance = Tensor::of<double>({3}, {0.5, 1.5, 2.5});
};

Tensor shape_tensor(const Tensor& of) {
  const Shape& shape = of.shape();
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(shape.rank())},
                                  {shape[0], shape[1], shape[2], shape[3]});
}

}  // namespace

TEST_CASE("NormalizedDepthwiseConvGrad is what its operators are one after the other") {
  for (const std::int64_t size : {1, 2, 9, 34}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const bool relu : {false, true}) {
        CAPTURE(size, stride, relu);
        Operands o(size, stride, relu);
        const auto trained = o.normalized(true);
        o.mean = trained[3].tensor();
        o.variance = trained[4].tensor();
        const Tensor z = trained[0].tensor();
        const Tensor dz = run_op_tensor({.op = "ConvGradInput",
                                         .inputs = {o.dy, o.w, shape_tensor(o.x)},
                                         .attributes = o.conv,
                                         .domain = domain});
        const Tensor dw = run_op_tensor({.op = "ConvGradWeight",
                                         .inputs = {z, o.dy, shape_tensor(o.w)},
                                         .attributes = o.conv,
                                         .domain = domain});
        const auto want = run_op({.op = "BatchNormalizationActivationGrad",
                                  .inputs = {dz, o.x, o.scale, o.mean, o.variance, o.bias},
                                  .attributes = o.activation,
                                  .outputs = 3,
                                  .domain = domain});
        const auto got = run_op(o.fused());
        for (std::size_t k = 0; k < 3; ++k) check_close(got[k].tensor(), want[k].tensor());
        check_close(got[3].tensor(), dw);
      }
    }
  }
}

TEST_CASE("the derivatives of NormalizedDepthwiseConvGrad are those of its expansion") {
  for (const std::int64_t stride : {1, 2}) {
    check_gradient(Operands(4, stride, stride == 1).fused(), {.variants = false});
  }
}

TEST_CASE("NormalizedDepthwiseConvGrad rejects operands of other sizes") {
  OpCase wrong = Operands(8, 1, true).fused();
  wrong.inputs[0] = random_tensor({2, 3, 7, 8}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("dy is"));
  wrong = Operands(8, 1, true).fused();
  wrong.inputs[4] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
}

}  // namespace ondine::test
