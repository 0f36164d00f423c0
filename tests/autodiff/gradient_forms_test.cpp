// The forms that a Gradient node can take, in one graph and in functions.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/autodiff/small_models.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

const std::vector<double> a{1, 2, 3};
const std::vector<double> b{4, 5, 6};

void check(const Tensor& got, const std::vector<double>& want) {
  check_close(got, Tensor::of<double>({static_cast<std::int64_t>(want.size())}, want));
}

std::vector<Tensor> run(std::vector<NodeDef> nodes, const std::vector<std::string>& names) {
  return run_model(small_model(std::move(nodes), names), a, b);
}

}  // namespace

TEST_CASE("zs cut the graph and give values without a derivative of their own") {
  // y = a m with m = b b given by zs, once at its own value and once at b.
  const auto out = run({node("Mul", {"b", "b"}, {"m"}), node("Mul", {"m", "a"}, {"y"}),
                        gradient({"a", "m"}, {"da"}, {"a"}, "y", {"m"}),
                        gradient({"a", "b"}, {"dz"}, {"a"}, "y", {"m"})},
                       {"da", "dz"});
  check(out[0], {16, 25, 36});
  check(out[1], b);
}

TEST_CASE("an input at another value changes what is computed after the named tensor only") {
  // y = (a + b)^2 with m = a + b named at b.
  const auto out = run({node("Add", {"a", "b"}, {"m"}), node("Mul", {"m", "m"}, {"y"}),
                        gradient({"b"}, {"dm"}, {"m"}, "y")},
                       {"dm"});
  check(out[0], {8, 10, 12});
}

TEST_CASE("outputs may be skipped in the middle and at the end") {
  const auto out = run({node("Mul", {"a", "b"}, {"m"}), node("Mul", {"m", "m"}, {"y"}),
                        gradient({"a", "b"}, {"", "db"}, {"a", "b"}, "y"),
                        gradient({"a", "b"}, {"da"}, {"a", "b"}, "y")},
                       {"da", "db"});
  check(out[0], {32, 100, 216});  // 2 a b^2
  check(out[1], {8, 40, 108});    // 2 a^2 b
}

TEST_CASE("the gradient of a y of many elements is that of their sum") {
  const auto out = run({node("ReduceSum", {"a"}, {"s"}, {{"keepdims", std::int64_t{0}}}),
                        node("Mul", {"s", "b"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")},
                       {"da"});
  check(out[0], {15, 15, 15});
}

TEST_CASE("y may be one of the xs") {
  const auto out =
      run({node("Mul", {"a", "b"}, {"y"}), gradient({"y"}, {"dy"}, {"y"}, "y")}, {"dy"});
  check(out[0], {1, 1, 1});
}

TEST_CASE("paths through integers, comparisons and rounding count nothing") {
  const auto out = run(
      {node("Greater", {"a", "b"}, {"g"}), node("Cast", {"g"}, {"gf"}, {{"to", std::int64_t{11}}}),
       node("Floor", {"a"}, {"f"}), node("Cast", {"a"}, {"ai"}, {{"to", std::int64_t{7}}}),
       node("Cast", {"ai"}, {"af"}, {{"to", std::int64_t{11}}}),
       node("Sum", {"gf", "f", "af", "a"}, {"s"}), node("Mul", {"s", "b"}, {"y"}),
       gradient({"a"}, {"da"}, {"a"}, "y")},
      {"da"});
  check(out[0], b);
}

TEST_CASE("several Gradient nodes see the same graph, one that of another") {
  const auto out = run({node("Mul", {"a", "a"}, {"aa"}), node("Mul", {"aa", "a"}, {"y"}),
                        gradient({"a"}, {"d1"}, {"a"}, "y"), gradient({"a"}, {"d2"}, {"a"}, "d1"),
                        gradient({"a"}, {"d3"}, {"a"}, "d2"), node("Mul", {"d1", "d2"}, {"z"}),
                        gradient({"a", "b"}, {"dz", "none"}, {"a", "b"}, "z")},
                       {"d3", "dz", "none"});
  check(out[0], {6, 6, 6});
  check(out[1], {54, 216, 486});  // z = 18 a^3
  check(out[2], {0, 0, 0});
}

TEST_CASE("a Gradient of a Gradient at another value") {
  // y = a^3; at b: 3 b^2; by b: 6 b.
  const auto out = run({node("Mul", {"a", "a"}, {"aa"}), node("Mul", {"aa", "a"}, {"y"}),
                        gradient({"b"}, {"d"}, {"a"}, "y"), gradient({"b"}, {"dd"}, {"b"}, "d")},
                       {"d", "dd"});
  check(out[0], {48, 75, 108});
  check(out[1], {24, 30, 36});
}

TEST_CASE("a Gradient in a function names the function's tensors") {
  FunctionDef slope;
  slope.name = "Slope";
  slope.domain = "local";
  slope.inputs = {"x"};
  slope.outputs = {"d"};
  slope.opsets = {{"", 18}, {gradient_domain, 1}};
  slope.nodes = {node("Mul", {"x", "x"}, {"xx"}), node("Mul", {"xx", "x"}, {"y"}),
                 gradient({"x"}, {"d"}, {"x"}, "y")};
  // Called twice, and differentiated from outside.
  ModelDef model =
      small_model({node("Slope", {"a"}, {"sa"}, {}, "local"), node("Mul", {"a", "b"}, {"m"}),
                   node("Slope", {"m"}, {"sm"}, {}, "local"), gradient({"a"}, {"da"}, {"a"}, "sm")},
                  {"sa", "sm", "da"});
  model.functions = {slope};
  const auto out = run_model(model, a, b);
  check(out[0], {3, 12, 27});
  check(out[1], {48, 300, 972});
  check(out[2], {96, 300, 648});  // 6 a b^2
}

TEST_CASE("names in xs may come from an attribute of the function's call") {
  FunctionDef f;
  f.name = "F";
  f.domain = "local";
  f.inputs = {"p", "q"};
  f.outputs = {"d"};
  f.attributes = {"of"};
  f.opsets = {{"", 18}, {gradient_domain, 1}};
  NodeDef g = gradient({"p"}, {"d"}, {}, "y");
  g.attributes[0].ref = std::string("of");
  f.nodes = {node("Mul", {"p", "q"}, {"y"}), g};
  ModelDef model = small_model(
      {node("F", {"a", "b"}, {"d"}, {{"of", std::vector<std::string>{"p"}}}, "local")}, {"d"});
  model.functions = {f};
  check(run_model(model, a, b)[0], b);
}

TEST_CASE("an operator without a derivative is named when the model is loaded") {
  // The second derivative of GridSample.
  const std::vector<NodeDef> nodes{
      node("Constant", {}, {"image"}, {{"value", Tensor(DType::float64, {1, 1, 3, 3})}}),
      node("Constant", {}, {"dims"}, {{"value", Tensor::of<std::int64_t>({4}, {1, 3, 1, 2})}}),
      node("Concat", {"a", "b"}, {"all"}, {{"axis", std::int64_t{0}}}),
      node("Reshape", {"all", "dims"}, {"grid"}),
      node("GridSample", {"image", "grid"}, {"y"}),
      gradient({"a"}, {"d1"}, {"a"}, "y"),
      gradient({"a"}, {"d2"}, {"a"}, "d1")};
  auto followed = nodes;
  followed.push_back(gradient({"a"}, {"d"}, {"a"}, "d2"));
  CHECK_THROWS_WITH(run(followed, {"d"}), Catch::Contains("GridSampleGradGrad has no derivative"));
  // A path that does not matter.
  auto other = nodes;
  other.push_back(node("Mul", {"a", "b"}, {"z"}));
  other.push_back(gradient({"a"}, {"d"}, {"a"}, "z"));
  check(run(other, {"d"})[0], b);
}

TEST_CASE("wrong Gradient nodes are refused") {
  CHECK_THROWS_WITH(
      run({node("Mul", {"a", "b"}, {"y"}), gradient({"a"}, {"d"}, {"a", "b"}, "y")}, {"d"}),
      Catch::Contains("1 inputs for 2 xs"));
  CHECK_THROWS_WITH(
      run({node("Mul", {"a", "b"}, {"y"}), gradient({"a"}, {"d", "e"}, {"a"}, "y")}, {"d"}),
      Catch::Contains("2 outputs for 1"));
  CHECK_THROWS_WITH(
      run({node("Mul", {"a", "b"}, {"y"}), gradient({"a"}, {"d"}, {"c"}, "y")}, {"d"}),
      Catch::Contains("'c'"));
  CHECK_THROWS_WITH(
      run({node("SequenceConstruct", {"a", "b"}, {"s"}), gradient({"a"}, {"d"}, {"a"}, "s")},
          {"d"}),
      Catch::Contains("y is 's', a seq") && Catch::Contains("not a tensor"));
  CHECK_THROWS_WITH(
      run({node("SequenceConstruct", {"a", "b"}, {"s"}), int_constant("one", 1),
           node("SequenceAt", {"s", "one"}, {"y"}), gradient({"a"}, {"d"}, {"s"}, "y")},
          {"d"}),
      Catch::Contains("input 0 is a tensor(double)[3], the tensor it replaces"));
}
