// Nodes of which only the first outputs are read.
#include <catch2/catch.hpp>

#include "proto/import.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// The first of `count` parts of x w along axis 1, which has six elements.
std::string first_part(ModelBuilder& b, const std::string& x, std::vector<std::string> inputs,
                       const ModelBuilder::Attributes& attributes, std::size_t count) {
  inputs.insert(inputs.begin(),
                b.node("MatMul", {x, b.initializer("w", random_floats({6, 6}, 5))}));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back("part" + std::to_string(i));
  b.node("Split", "", inputs, parts, attributes);
  return b.node("Tanh", {parts[0]});
}

}  // namespace

TEST_CASE("a lowered Split keeps the parts that nothing reads") {
  check_network(
      {4, 6}, {4, 3},
      [](ModelBuilder& b, const std::string& x) {
        return first_part(b, x, {}, {{"axis", 1}, {"num_outputs", 2}}, 2);
      },
      18);
  check_network({4, 6}, {4, 2}, [](ModelBuilder& b, const std::string& x) {
    return first_part(b, x, {}, {{"axis", 1}}, 3);
  });
  check_network({4, 6}, {4, 1}, [](ModelBuilder& b, const std::string& x) {
    const std::string sizes = b.initializer("sizes", Tensor::of<std::int64_t>({3}, {1, 2, 3}));
    return first_part(b, x, {sizes}, {{"axis", 1}}, 3);
  });
}

TEST_CASE("a lowered BatchNormalization in training mode has its three outputs") {
  const auto layers = [](ModelBuilder& b, const std::string& x) {
    return b.node("BatchNormalization",
                  {b.node("MatMul", {x, b.initializer("w", random_floats({6, 6}, 5))}),
                   b.initializer("scale", random_floats({6}, 6)),
                   b.initializer("shift", random_floats({6}, 7)),
                   b.initializer("mean", random_floats({6}, 8)),
                   b.initializer("var", random_floats({6}, 9, 0.5F, 2))},
                  {{"training_mode", 1}});
  };
  Model model = trained_network({4, 6}, {4, 6}, layers);
  std::size_t found = 0;
  for (const graph::NodeDef& node : load_model(lower(model)).graph.nodes) {
    if (node.op != "BatchNormalization") continue;
    ++found;
    REQUIRE(node.outputs.size() == 3);
    CHECK(std::count(node.outputs.begin(), node.outputs.end(), "") == 0);
  }
  CHECK(found == 1);
  check_lowered(model, network_feeds({4, 6}, {4, 6}));
}
