// NormalizedConv of depthwise windows and its derivative against the operators that they stand for.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
using Int64s = std::vector<std::int64_t>;

struct Operands {
  Operands(std::int64_t size, std::int64_t stride, const std::string& name, std::int64_t kernel = 3)
      : conv{{"group", std::int64_t{3}},
             {"pads", Int64s(4, kernel / 2)},
             {"strides", Int64s(2, stride)}},
        out((size - 1) / stride + 1),
        x(random_tensor({2, 3, size, size}, 1)),
        dy(random_tensor({2, 3, out, out}, 2)),
        w(random_tensor({3, 1, kernel, kernel}, 3)) {
    if (name == "Relu") {
      activation = {{"relu", std::int64_t{1}}};
    } else if (name != "Clip") {
      activation = {{"activation", name}};
      if (name == "Swish") activation.emplace_back("alpha", 1.25F);
    } else {
      activation = {{"low", -0.25F}, {"high", 0.5F}};
    }
  }

  // Normalized x: by the statistics of the batch if `train`, else by the given ones.
  std::vector<Value> normalized(bool train) const {
    graph::Attributes attributes = activation;
    attributes.emplace_back("training_mode", std::int64_t{train});
    attributes.emplace_back("momentum", 0.75F);
    return run_op({.op = "BatchNormalizationActivation",
                   .inputs = {x, scale, bias, mean, variance},
                   .attributes = attributes,
                   .outputs = 5,
                   .domain = domain});
  }
  OpCase forward() const {
    graph::Attributes attributes = conv;
    attributes.insert(attributes.end(), activation.begin(), activation.end());
    attributes.emplace_back("training_mode", std::int64_t{1});
    attributes.emplace_back("momentum", 0.75F);
    return {.op = "NormalizedConv",
            .inputs = {x, scale, bias, mean, variance, w},
            .attributes = attributes,
            .outputs = 7,
            .domain = domain};
  }
  OpCase fused() const {
    graph::Attributes attributes = conv;
    attributes.insert(attributes.end(), activation.begin(), activation.end());
    return {.op = "ConvGrads",
            .inputs = {dy, x, w, scale, mean, variance, bias},
            .attributes = attributes,
            .outputs = 4,
            .domain = domain};
  }

  graph::Attributes conv, activation;
  std::int64_t out;
  Tensor x, dy, w;
  Tensor scale = random_tensor({3}, 4), bias = random_tensor({3}, 5);
  Tensor mean = random_tensor({3}, 6), variance = Tensor::of<double>({3}, {0.5, 1.5, 2.5});
};

Tensor shape_tensor(const Tensor& of) {
  const Shape& shape = of.shape();
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(shape.rank())},
                                  {shape[0], shape[1], shape[2], shape[3]});
}

// A normalization of y by the statistics of the batch, which are outputs 3 and 4.
std::vector<Value> normalized_again(const Tensor& y) {
  const Tensor any = random_tensor({3}, 1, 0.5, 1);
  return run_op({.op = "BatchNormalization",
                 .inputs = {y, any, any, any, any},
                 .attributes = {{"training_mode", std::int64_t{1}}},
                 .outputs = 5});
}

}  // namespace

TEST_CASE("NormalizedConv of depthwise windows is what its operators are one after the other") {
  for (const std::int64_t size : {1, 2, 9, 34}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
        CAPTURE(size, stride, activation);
        const Operands o(size, stride, activation, activation == "HardSwish" ? 5 : 3);
        const auto want = o.normalized(true);
        const Tensor y =
            run_op_tensor({.op = "Conv", .inputs = {want[0].tensor(), o.w}, .attributes = o.conv});
        const auto got = run_op(o.forward());
        check_close(got[0].tensor(), y);
        for (std::size_t k = 1; k < 5; ++k) check_close(got[k].tensor(), want[k].tensor());
        const auto of_y = normalized_again(y);
        for (const std::size_t k : {0, 1}) check_close(got[5 + k].tensor(), of_y[3 + k].tensor());
      }
    }
  }
}

TEST_CASE("the derivatives of NormalizedConv of depthwise windows are those of its expansion") {
  for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
    check_gradient(Operands(4, 2, activation).forward(), {.variants = false});
  }
}

TEST_CASE("NormalizedConv of depthwise windows rejects operands of other sizes") {
  OpCase wrong = Operands(8, 1, "Relu").forward();
  wrong.inputs[1] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = Operands(8, 1, "Relu").forward();
  wrong.inputs[5] = random_tensor({4, 1, 3, 3}, 1);
  CHECK_THROWS(run_op(wrong));
}

TEST_CASE("ConvGrads of depthwise windows is what its operators are one after the other") {
  for (const std::int64_t size : {1, 2, 9, 34}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
        CAPTURE(size, stride, activation);
        Operands o(size, stride, activation, activation == "HardSwish" ? 5 : 3);
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
        check_close(got[0].tensor(), dw);
        for (std::size_t k = 0; k < 3; ++k) check_close(got[k + 1].tensor(), want[k].tensor());
      }
    }
  }
}

TEST_CASE("the derivatives of ConvGrads of depthwise windows are those of its expansion") {
  for (const std::int64_t stride : {1, 2}) {
    const std::string activation = stride == 1 ? "Relu" : "Clip";
    check_gradient(Operands(4, stride, activation).fused(), {.variants = false});
  }
  check_gradient(Operands(4, 1, "Swish").fused(), {.variants = false});
}

TEST_CASE("ConvGrads of depthwise windows rejects operands of other sizes") {
  OpCase wrong = Operands(8, 1, "Relu").fused();
  wrong.inputs[0] = random_tensor({2, 3, 7, 8}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("dy is"));
  wrong = Operands(8, 1, "Relu").fused();
  wrong.inputs[4] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
}

}  // namespace ondine::test
