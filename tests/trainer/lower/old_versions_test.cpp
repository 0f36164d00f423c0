// Operators of old versions are written in the form of the version that is asked for.
#include <catch2/catch.hpp>

#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

const Shape in{2, 2, 4, 6};

std::string start(ModelBuilder& b, const std::string& x) {
  return conv(b, "Conv", x, {2, 2, 1, 1});
}

// A network of one operator after a convolution.
void check_old(const std::string& op, const ModelBuilder::Attributes& attributes, const Shape& y,
               std::int64_t opset) {
  CAPTURE(op, opset);
  check_network(
      in, y,
      [&](ModelBuilder& b, const std::string& x) { return b.node(op, {start(b, x)}, attributes); },
      opset);
}

}  // namespace

TEST_CASE("attributes that became inputs are inputs of a lowered step") {
  for (const std::int64_t opset : {9, 12}) {
    check_old("ReduceSum", {{"axes", Ints{1, 3}}, {"keepdims", 0}}, {2, 4}, opset);
    check_old("ReduceMean", {{"axes", Ints{-1}}}, {2, 2, 4, 1}, opset);
    check_old("ReduceMax", {{"axes", Ints{2}}, {"keepdims", 0}}, {2, 2, 6}, opset);
    check_old("Unsqueeze", {{"axes", Ints{0, 3}}}, {1, 2, 2, 1, 4, 6}, opset);
  }
  check_old("Clip", {{"min", -0.5F}, {"max", 0.75F}}, in, 9);
  check_old("Clip", {{"max", 0.75F}}, in, 7);
  check_old("Pad", {{"pads", Ints{0, 0, 1, 0, 0, 0, 2, 1}}, {"value", 0.5F}}, {2, 2, 7, 7}, 9);
  check_old("Slice", {{"starts", Ints{1, -4}}, {"ends", Ints{3, 6}}, {"axes", Ints{2, 3}}},
            {2, 2, 2, 4}, 9);
  check_old("Upsample", {{"scales", std::vector<float>{1, 1, 2, 3}}}, {2, 2, 8, 18}, 8);
}

TEST_CASE("a softmax over several axes is one over a flattened tensor") {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {1, 2, 3}) check_old(op, {{"axis", axis}}, in, 11);
  }
}

TEST_CASE("equal parts of Split are counted") {
  for (const std::int64_t opset : {11, 13, 18}) {
    CAPTURE(opset);
    const auto layers = [&](ModelBuilder& b, const std::string& x) {
      ModelBuilder::Attributes attributes{{"axis", 3}};
      if (opset >= 18) attributes.emplace_back("num_outputs", 2);
      b.node("Split", "", {start(b, x)}, {"first", "second"}, attributes);
      return b.node("Mul", {"first", "second"});
    };
    check_network(in, {2, 2, 4, 3}, layers, opset);
  }
}

TEST_CASE("derivatives through statistics of a normalization of version 9 are lowered") {
  const auto layers = [](ModelBuilder& b, const std::string& x) {
    return b.node("BatchNormalization", {start(b, x), b.initializer("scale", random_floats({2}, 1)),
                                         b.initializer("shift", random_floats({2}, 2)),
                                         b.initializer("mean", random_floats({2}, 3)),
                                         b.initializer("var", random_floats({2}, 4, 0.5F, 2))});
  };
  check_network(in, in, layers, 9);
}
