// One lowered step for data of any size.
#include <algorithm>
#include <catch2/catch.hpp>

#include "proto/import.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

struct Sizes {
  Shape x, y;
};

// Trains with data of each of the sizes in turn.
void check_sizes(const NetworkDims& x, const NetworkDims& y, const std::vector<Sizes>& sizes,
                 const Layers& layers, std::int64_t opset = 17) {
  Model model = trained_network_of(x, y, layers, Sgd{.learning_rate = 0.05F}, opset);
  std::vector<NamedValues> feeds;
  for (const Sizes& one : sizes) feeds.push_back(network_feeds(one.x, one.y));
  feeds.push_back(feeds.front());
  const LowerReport report = check_lowered_on(model, feeds);
  // The dims of the state stay known.
  for (const graph::ValueDef& output : load_model(lower(model)).graph.outputs) {
    const auto& next = report.next_state;
    const bool state = std::any_of(next.begin(), next.end(),
                                   [&](const auto& one) { return one.second == output.name; });
    if (!state) continue;
    CAPTURE(output.name);
    REQUIRE(output.type.dims);
    for (const graph::DimDef& dim : *output.type.dims)
      CHECK(std::holds_alternative<std::int64_t>(dim));
  }
}

// Images of two channels of any size, and after a convolution what `op` makes of them.
void check_images(const std::vector<Sizes>& sizes, const std::string& op,
                  const ModelBuilder::Attributes& attributes, std::int64_t opset = 17) {
  CAPTURE(op);
  check_sizes(
      {"n", 2, "h", "w"}, {"n", 2, "p", "q"}, sizes,
      [&](ModelBuilder& b, const std::string& in) {
        return b.node(op, {conv(b, "Conv", in, {2, 2, 1, 1}, {})}, attributes);
      },
      opset);
}

}  // namespace

TEST_CASE("a lowered step of convolutions takes images of any size") {
  check_sizes({"n", 4, "h", "w"}, {"n", 6, "p", "q"},
              {{{2, 4, 7, 6}, {2, 6, 4, 3}}, {{3, 4, 10, 5}, {3, 6, 5, 3}}},
              [](ModelBuilder& b, const std::string& in) {
                const std::string inner =
                    conv(b, "Conv", in, {6, 2, 3, 3},
                         {{"group", 2}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
                return b.node(
                    "Conv", {inner, b.initializer("v", random_floats({6, 1, 3, 3}, 8, -1, 1))},
                    {{"group", 6}, {"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{2, 2}}});
              });
  check_sizes({"n", 4, "h", "w"}, {"n", 3, "p", "q"},
              {{{2, 4, 7, 6}, {2, 3, 4, 3}}, {{1, 4, 4, 9}, {1, 3, 2, 5}}},
              [](ModelBuilder& b, const std::string& in) {
                const std::string inner =
                    b.node("Conv", {in, b.initializer("v", random_floats({4, 4, 2, 2}, 8, -1, 1))},
                           {{"auto_pad", std::string("SAME_LOWER")}});
                return conv(b, "Conv", inner, {3, 4, 3, 2},
                            {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}});
              });
}

TEST_CASE("a lowered step of transposed convolutions takes images of any size") {
  const auto after_conv = [](const Shape& w, const ModelBuilder::Attributes& attributes) {
    return [=](ModelBuilder& b, const std::string& in) {
      const std::string inner =
          b.node("Conv", {in, b.initializer("v", random_floats({4, 4, 1, 1}, 8, -1, 1))});
      return conv(b, "ConvTranspose", inner, w, attributes);
    };
  };
  check_sizes({"n", 4, "h", "w"}, {"n", 4, "p", "q"},
              {{{2, 4, 3, 5}, {2, 4, 8, 9}}, {{1, 4, 2, 4}, {1, 4, 5, 7}}},
              after_conv({4, 2, 3, 3}, {{"group", 2},
                                        {"strides", Ints{3, 2}},
                                        {"pads", Ints{1, 1, 1, 1}},
                                        {"output_padding", Ints{1, 0}}}));
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER"}) {
    CAPTURE(pad);
    check_sizes(
        {"n", 4, "h", "w"}, {"n", 3, "p", "q"},
        {{{2, 4, 3, 5}, {2, 3, 6, 10}}, {{1, 4, 4, 2}, {1, 3, 8, 4}}},
        after_conv({4, 3, 3, 4}, {{"auto_pad", std::string(pad)}, {"strides", Ints{2, 2}}}));
  }
  check_sizes({"n", 4, "h", "w"}, {"n", 3, 6, 10},
              {{{2, 4, 3, 5}, {2, 3, 6, 10}}, {{2, 4, 4, 6}, {2, 3, 6, 10}}},
              after_conv({4, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"output_shape", Ints{6, 10}}}));
}

TEST_CASE("a lowered step of pools takes images of any size") {
  const std::vector<Sizes> sizes{{{2, 2, 7, 6}, {2, 2, 4, 3}}, {{1, 2, 9, 5}, {1, 2, 5, 3}}};
  const Ints three{3, 3};
  const Ints two{2, 2};
  const Ints around{1, 1, 1, 1};
  check_images(sizes, "MaxPool", {{"kernel_shape", three}, {"strides", two}, {"pads", around}});
  for (const std::int64_t included : {0, 1}) {
    CAPTURE(included);
    check_images(sizes, "AveragePool",
                 {{"kernel_shape", three},
                  {"strides", two},
                  {"pads", around},
                  {"count_include_pad", included}});
    check_images(sizes, "AveragePool",
                 {{"kernel_shape", two},
                  {"strides", two},
                  {"ceil_mode", 1},
                  {"count_include_pad", included}});
    check_images(sizes, "AveragePool",
                 {{"kernel_shape", three},
                  {"strides", two},
                  {"auto_pad", std::string("SAME_UPPER")},
                  {"count_include_pad", included}});
  }
  check_images(sizes, "LpPool", {{"kernel_shape", two}, {"strides", two}, {"ceil_mode", 1}}, 18);
}

TEST_CASE("a lowered step of Resize takes images of any size") {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    CAPTURE(mode);
    check_sizes({"n", 2, "h", "w"}, {"n", 2, "p", "q"},
                {{{2, 2, 3, 4}, {2, 2, 6, 6}}, {{1, 2, 5, 6}, {1, 2, 10, 9}}},
                [&](ModelBuilder& b, const std::string& in) {
                  const std::string scales = b.initializer(
                      "scales", Tensor::of<float>({4}, std::vector<float>{1, 1, 2, 1.5F}));
                  return b.node("Resize", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), "", scales},
                                {{"mode", std::string(mode)}});
                });
    // To the size of another tensor.
    check_sizes(
        {"n", 2, "h", "w"}, {"n", 2, "h", "w"},
        {{{2, 2, 3, 4}, {2, 2, 3, 4}}, {{1, 2, 5, 7}, {1, 2, 5, 7}}},
        [&](ModelBuilder& b, const std::string& in) {
          const std::string small = conv(b, "Conv", in, {2, 2, 2, 2}, {{"strides", Ints{2, 1}}});
          return b.node("Resize", {small, "", "", b.node("Shape", {in})},
                        {{"mode", std::string(mode)}});
        });
  }
}

TEST_CASE("a lowered step of RoiAlign takes images of any size") {
  for (const auto& [mode, sampling] :
       {std::pair("avg", 0), std::pair("avg", 2), std::pair("max", 0), std::pair("max", 2)}) {
    CAPTURE(mode, sampling);
    check_sizes({"n", 2, "h", "w"}, {3, 2, 2, 2},
                {{{2, 2, 6, 5}, {3, 2, 2, 2}}, {{3, 2, 4, 7}, {3, 2, 2, 2}}},
                [&](ModelBuilder& b, const std::string& in) {
                  const std::string rois = b.initializer(
                      "rois", Tensor::of<float>({3, 4}, std::vector<float>{0.5F, 1, 3.5F, 3, 1, 0,
                                                                           4, 3.5F, 0, 0, 2, 2}));
                  const std::string images =
                      b.initializer("images", Tensor::of<std::int64_t>({3}, Ints{1, 0, 1}));
                  return b.node("RoiAlign", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), rois, images},
                                {{"output_height", 2},
                                 {"output_width", 2},
                                 {"mode", std::string(mode)},
                                 {"sampling_ratio", sampling}});
                });
  }
}

namespace {

// Y of a recurrent operator with five hidden units and inputs of three elements.
Layers recurrent(const std::string& op, std::int64_t gates, const std::string& direction,
                 std::int64_t layout, bool lengths) {
  return [=](ModelBuilder& b, const std::string& in) {
    const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
    const std::int64_t rows = gates * 5;
    std::vector<std::string> inputs{
        in, b.initializer("w", random_floats({directions, rows, 3}, 5, -1, 1)),
        b.initializer("r", random_floats({directions, rows, 5}, 6, -1, 1)),
        b.initializer("b", random_floats({directions, 2 * rows}, 7, -1, 1))};
    if (lengths) {
      inputs.push_back(
          b.initializer("lengths", Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{1, 3})));
    }
    const std::string y = "states";
    b.node(op, "", inputs, {y}, {{"hidden_size", 5}, {"direction", direction}, {"layout", layout}});
    return y;
  };
}

}  // namespace

TEST_CASE("a lowered step of recurrent operators takes sequences of any length") {
  for (const auto& [op, gates] : {std::pair("RNN", 1), std::pair("GRU", 3), std::pair("LSTM", 4)}) {
    CAPTURE(op);
    check_sizes({"t", "n", 3}, {"t", 2, "n", 5},
                {{{4, 2, 3}, {4, 2, 2, 5}}, {{1, 3, 3}, {1, 2, 3, 5}}, {{7, 1, 3}, {7, 2, 1, 5}}},
                recurrent(op, gates, "bidirectional", 0, false));
    check_sizes({"n", "t", 3}, {"n", "t", 1, 5},
                {{{2, 3, 3}, {2, 3, 1, 5}}, {{1, 5, 3}, {1, 5, 1, 5}}},
                recurrent(op, gates, "reverse", 1, false));
    check_sizes({"t", 2, 3}, {"t", 1, 2, 5}, {{{4, 2, 3}, {4, 1, 2, 5}}, {{3, 2, 3}, {3, 1, 2, 5}}},
                recurrent(op, gates, "forward", 0, true));
  }
}

TEST_CASE("a lowered step keeps the states that a recurrence starts from and ends with") {
  // The sum of Y_h and Y_c of an LSTM with peepholes from trained initial states.
  check_sizes({"t", 2, 3}, {1, 2, 5}, {{{4, 2, 3}, {1, 2, 5}}, {{2, 2, 3}, {1, 2, 5}}},
              [](ModelBuilder& b, const std::string& in) {
                b.node("LSTM", "",
                       {in, b.initializer("w", random_floats({1, 20, 3}, 5, -1, 1)),
                        b.initializer("r", random_floats({1, 20, 5}, 6, -1, 1)),
                        b.initializer("b", random_floats({1, 40}, 7, -1, 1)), "",
                        b.initializer("h0", random_floats({1, 2, 5}, 8, -1, 1)),
                        b.initializer("c0", random_floats({1, 2, 5}, 9, -1, 1)),
                        b.initializer("p", random_floats({1, 15}, 10, -1, 1))},
                       {"", "h", "c"}, {{"hidden_size", 5}});
                return b.node("Add", {"h", "c"});
              });
}

TEST_CASE("a lowered step of an LSTM takes operands whose rank is not known") {
  const auto layers = [](ModelBuilder& b, const std::string& in) {
    // Reshaped by as many numbers as a step feeds.
    const auto reshaped = [&](const std::string& x, const std::string& shape) {
      return b.node("Reshape", {x, b.input(shape, DType::int64, {shape + "_rank"})});
    };
    const std::string h0 = b.initializer("h0", random_floats({1, 2, 5}, 8, -1, 1));
    b.node(
        "LSTM", "",
        {reshaped(in, "x_shape"), b.initializer("w", random_floats({1, 20, 3}, 5, -1, 1)),
         b.initializer("r", random_floats({1, 20, 5}, 6, -1, 1)), "", "", reshaped(h0, "h_shape")},
        {"", "h"}, {{"hidden_size", 5}});
    return std::string("h");
  };
  Model model = trained_network_of({"t", 2, 3}, {1, 2, 5}, layers);
  std::vector<NamedValues> feeds;
  for (const std::int64_t steps : {4, 1}) {
    NamedValues& one = feeds.emplace_back(network_feeds({steps, 2, 3}, {1, 2, 5}));
    one.emplace_back("x_shape", Tensor::of<std::int64_t>({3}, Ints{steps, 2, 3}));
    one.emplace_back("h_shape", Tensor::of<std::int64_t>({3}, Ints{1, 2, 5}));
  }
  check_lowered_on(model, feeds);
}
