// NormalizedConv and its derivative by the weights against the operators that they stand for.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
using Int64s = std::vector<std::int64_t>;

// A convolution of x, without the values of weights.
struct Window {
  Shape x;
  Shape w;
  graph::Attributes attributes = {};
};

const graph::Attributes padded{{"pads", Int64s(4, 1)}};
const graph::Attributes strided{{"pads", Int64s(4, 1)}, {"strides", Int64s{2, 2}}};

// Pointwise ones of small and large planes, 3 x 3 of one and of several groups of images, strided,
// dilated, of groups of channels, along one axis.
const std::vector<Window>& windows() {
  static const std::vector<Window> all{{{2, 3, 1, 1}, {7, 3, 1, 1}},
                                       {{3, 5, 14, 14}, {7, 5, 1, 1}},
                                       {{2, 150, 49, 48}, {7, 150, 1, 1}},
                                       {{3, 5, 6, 7}, {7, 5, 1, 1}},
                                       {{3, 5, 14, 14}, {7, 5, 3, 3}, padded},
                                       {{7, 20, 66, 66}, {18, 20, 3, 3}, padded},
                                       {{5, 6, 9, 11}, {4, 6, 3, 3}, strided},
                                       {{5, 6, 9, 11}, {4, 6, 1, 1}, {{"strides", Int64s{2, 2}}}},
                                       {{3, 6, 9, 11}, {4, 6, 3, 2}, {{"dilations", Int64s{2, 1}}}},
                                       {{3, 6, 9, 11}, {4, 3, 3, 3}, {{"group", std::int64_t{2}}}},
                                       {{3, 6, 30}, {4, 6, 3}, {{"pads", Int64s{1, 0}}}}};
  return all;
}

struct Operands {
  Operands(const Window& window, const std::string& name)
      : conv(window.attributes),
        channels(window.x[1]),
        x(random_tensor(window.x, 1)),
        w(random_tensor(window.w, 3)),
        w_shape(Tensor::of<std::int64_t>({static_cast<std::int64_t>(window.w.rank())},
                                         Int64s(window.w.begin(), window.w.end()))),
        y(run_op_tensor({.op = "Conv", .inputs = {x, w}, .attributes = conv})),
        dy(random_tensor(y.shape(), 2)) {
    if (name == "Relu") {
      activation = {{"relu", std::int64_t{1}}};
    } else if (name == "Clip") {
      activation = {{"low", -0.25F}, {"high", 0.5F}};
    } else {
      activation = {{"activation", name}};
      if (name == "Swish") activation.emplace_back("alpha", 1.25F);
    }
  }

  graph::Attributes attributes(bool train) const {
    graph::Attributes all = activation;
    if (train) all.emplace_back("training_mode", std::int64_t{1});
    all.emplace_back("momentum", 0.75F);
    return all;
  }
  graph::Attributes with_conv(bool train) const {
    graph::Attributes all = attributes(train);
    all.insert(all.end(), conv.begin(), conv.end());
    return all;
  }
  std::vector<Value> normalized(bool train) const {
    return run_op({.op = "BatchNormalizationActivation",
                   .inputs = {x, scale, bias, mean, variance},
                   .attributes = attributes(train),
                   .outputs = train ? 5U : 1U,
                   .domain = domain});
  }
  OpCase forward() const {
    return {.op = "NormalizedConv",
            .inputs = {x, scale, bias, mean, variance, w},
            .attributes = with_conv(true),
            .outputs = 5,
            .domain = domain};
  }
  OpCase weights() const {
    return {.op = "ConvGrads",
            .inputs = {dy, x, w, scale, mean, variance, bias},
            .attributes = with_conv(false),
            .outputs = 1,
            .domain = domain};
  }

  graph::Attributes conv, activation;
  std::int64_t channels;
  Tensor x, w, w_shape, y, dy;
  Tensor scale = random_tensor({channels}, 4), bias = random_tensor({channels}, 5);
  Tensor mean = random_tensor({channels}, 6);
  Tensor variance = random_tensor({channels}, 7, 0.5, 2);
};

}  // namespace

TEST_CASE("NormalizedConv is what its operators are one after the other") {
  for (const Window& window : windows()) {
    for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
      CAPTURE(window.x, window.w, activation);
      const Operands o(window, activation);
      const auto want = o.normalized(true);
      const Tensor y =
          run_op_tensor({.op = "Conv", .inputs = {want[0].tensor(), o.w}, .attributes = o.conv});
      const auto got = run_op(o.forward());
      check_close(got[0].tensor(), y);
      for (std::size_t k = 1; k < 5; ++k) check_close(got[k].tensor(), want[k].tensor());
      OpCase given = o.forward();
      for (const std::size_t k : {3, 4}) given.inputs.push_back(got[k].tensor());
      const auto same = run_op(given);
      for (std::size_t k = 0; k < 5; ++k) CHECK(same[k].tensor().identical(got[k].tensor()));
    }
  }
}

TEST_CASE("ConvGrads of normalized planes is what its operators are one after the other") {
  for (const Window& window : windows()) {
    for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
      CAPTURE(window.x, window.w, activation);
      const Operands o(window, activation);
      check_close(run_op_tensor(o.weights()),
                  run_op_tensor({.op = "ConvGradWeight",
                                 .inputs = {o.normalized(false)[0].tensor(), o.dy, o.w_shape},
                                 .attributes = o.conv,
                                 .domain = domain}));
    }
  }
}

TEST_CASE("the derivatives of convolutions of normalized planes follow their expansion") {
  for (const Window& window :
       {Window{{2, 3, 2, 3}, {2, 3, 1, 1}}, Window{{2, 2, 4, 3}, {2, 2, 3, 3}, padded}}) {
    for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
      const Operands o(window, activation);
      OpCase one = o.forward();
      one.outputs = 3;
      check_gradient(one, {.variants = false});
      check_gradient(o.weights(), {.variants = false});
    }
  }
}

TEST_CASE("convolutions of normalized planes reject operands of other sizes") {
  const Operands o({{2, 3, 8, 8}, {4, 3, 1, 1}}, "Relu");
  OpCase wrong = o.forward();
  wrong.inputs[1] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.forward();
  wrong.inputs.emplace_back(random_tensor({3}, 1));
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("given together"));
  wrong.inputs.emplace_back(random_tensor({4}, 1));
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.forward();
  wrong.inputs[5] = random_tensor({4, 2, 3, 3}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("channels"));
  wrong = o.weights();
  wrong.inputs[0] = random_tensor({2, 4, 8, 7}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("dy is"));
  wrong = o.weights();
  wrong.inputs[4] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.weights();
  wrong.inputs.pop_back();
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("given together"));
}

}  // namespace ondine::test
