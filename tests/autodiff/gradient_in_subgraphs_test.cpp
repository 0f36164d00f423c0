// Gradient nodes in the subgraphs of If, Loop and Scan, and Gradients through such nodes.
#include <catch2/catch.hpp>

#include "tests/autodiff/small_models.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

using Graphs = std::shared_ptr<const GraphDef>;

const std::vector<double> a{1, 2, 3};
const std::vector<double> b{4, 5, 6};
const std::vector<double> ones{1, 1, 1};

void check(const Tensor& got, const std::vector<double>& want) {
  check_close(got, Tensor::of<double>({static_cast<std::int64_t>(want.size())}, want));
}

std::vector<Tensor> run(std::vector<NodeDef> nodes, const std::vector<std::string>& names,
                        bool flag = true, const std::vector<double>& at = a) {
  return run_model(small_model(std::move(nodes), names), at, b, flag);
}

NodeDef if_node(const std::string& output, Graphs then_branch, Graphs else_branch) {
  return node("If", {"flag"}, {output},
              {{"then_branch", std::move(then_branch)}, {"else_branch", std::move(else_branch)}});
}

// `times` iterations of `loop_body`, whose carried value starts as `start`.
std::vector<NodeDef> loop(const std::string& start, const std::vector<std::string>& outputs,
                          Graphs loop_body, std::int64_t times = 3) {
  return {int_constant("times", times),
          node("Loop", {"times", "", start}, outputs, {{"body", std::move(loop_body)}})};
}

ValueDef vector_value(const std::string& name) {
  return tensor_value(name, DType::float64, {std::int64_t{3}});
}

}  // namespace

TEST_CASE("a Gradient in a branch follows outer nodes to an outer tensor") {
  // m = a b outside, y = m m inside, by a: 2 a b^2.
  const auto then_branch =
      body({}, {node("Mul", {"m", "m"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  const auto else_branch = body({}, {gradient({"a"}, {"db"}, {"a"}, "n")}, {"db"});
  const std::vector<NodeDef> nodes{node("Mul", {"a", "b"}, {"m"}), node("Mul", {"m", "a"}, {"n"}),
                                   if_node("d", then_branch, else_branch)};
  check(run(nodes, {"d"}, true)[0], {32, 100, 216});
  check(run(nodes, {"d"}, false)[0], {8, 20, 36});  // n = a^2 b
}

TEST_CASE("a Gradient in a branch takes outer nodes at other values") {
  // m = a b and y = m m at a := b.
  const auto branch =
      body({}, {node("Mul", {"m", "m"}, {"y"}), gradient({"b"}, {"da"}, {"a"}, "y")}, {"da"});
  check(run({node("Mul", {"a", "b"}, {"m"}), if_node("d", branch, branch)}, {"d"})[0],
        {128, 250, 432});  // 2 (b b) b
}

TEST_CASE("a Gradient two subgraphs deep follows the nodes of both graphs around it") {
  const auto deep =
      body({}, {node("Mul", {"h", "b"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  const auto middle = body({}, {node("Mul", {"m", "a"}, {"h"}), if_node("dd", deep, deep)}, {"dd"});
  // y = a b a b, by a: 2 a b^2.
  check(run({node("Mul", {"a", "b"}, {"m"}), if_node("d", middle, middle)}, {"d"})[0],
        {32, 100, 216});
  // No other tensor is captured that m depends on: y = a^6.
  const auto square =
      body({}, {node("Mul", {"h", "h"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  const auto around =
      body({}, {node("Mul", {"m", "a"}, {"h"}), if_node("dd", square, square)}, {"dd"});
  check(run({node("Mul", {"a", "a"}, {"m"}), if_node("d", around, around)}, {"d"})[0],
        {6, 192, 1458});
}

TEST_CASE("a Gradient in a branch follows an outer If that captures the named tensor") {
  const auto product = body({}, {node("Mul", {"a", "b"}, {"p"})}, {"p"});
  const auto square = body({}, {node("Mul", {"a", "a"}, {"q"})}, {"q"});
  const auto branch =
      body({}, {node("Mul", {"m", "m"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  const std::vector<NodeDef> nodes{if_node("m", product, square), if_node("d", branch, branch)};
  check(run(nodes, {"d"}, true)[0], {32, 100, 216});  // (a b)^2: 2 a b^2
  check(run(nodes, {"d"}, false)[0], {4, 32, 108});   // a^4: 4 a^3
}

TEST_CASE("subgraphs that capture the named tensor are evaluated again at another value") {
  const auto cubic =
      body({}, {node("Mul", {"a", "a"}, {"aa"}), node("Mul", {"aa", "b"}, {"p"})}, {"p"});
  const auto power =
      body({}, {node("Mul", {"a", "a"}, {"q"}), node("Mul", {"q", "a"}, {"r"})}, {"r"});
  const std::vector<NodeDef> nodes{if_node("y", cubic, power), gradient({"b"}, {"d"}, {"a"}, "y")};
  check(run(nodes, {"d"}, true)[0], {32, 50, 72});    // a^2 b at a := b: 2 b b
  check(run(nodes, {"d"}, false)[0], {48, 75, 108});  // a^3 at a := b: 3 b^2
  // b a^3 at a := b: 3 b^3.
  auto looped =
      loop("b", {"y"},
           body(loop_inputs({vector_value("s")}),
                {node("Identity", {"go_on"}, {"go"}), node("Mul", {"s", "a"}, {"s_next"})},
                {"go", "s_next"}));
  looped.push_back(gradient({"b"}, {"d"}, {"a"}, "y"));
  check(run(looped, {"d"})[0], {192, 375, 648});
}

TEST_CASE("a derivative flows through a Gradient in a branch") {
  const auto branch =
      body({}, {node("Mul", {"m", "m"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  check(run({node("Mul", {"a", "b"}, {"m"}), if_node("d", branch, branch),
             gradient({"a"}, {"dd"}, {"a"}, "d")},
            {"dd"})[0],
        {32, 50, 72});  // 2 b^2
}

TEST_CASE("a Gradient in a branch reads what a random outer node drew") {
  // Dropout of ones: the derivative is the factor that each element got.
  const std::vector<NodeDef> outer{
      node("Constant", {}, {"ratio"}, {{"value", Tensor::scalar(0.5)}}),
      node("Constant", {}, {"training"}, {{"value", Tensor::scalar(true)}}),
      node("Dropout", {"a", "ratio", "training"}, {"dropped"})};
  const auto branch =
      body({}, {node("Mul", {"dropped", "b"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y")}, {"da"});
  auto nodes = outer;
  nodes.push_back(if_node("d", branch, branch));
  nodes.push_back(node("Mul", {"dropped", "b"}, {"want"}));
  const auto out = run(nodes, {"d", "want"}, true, ones);
  check_close(out[0], out[1]);
}

TEST_CASE("a Gradient in a Loop names carried and outer tensors") {
  // Gradient descent on (v - b)^2 with rate 1/4: the distance to b halves.
  const auto step = body(loop_inputs({vector_value("v")}),
                         {node("Sub", {"v", "b"}, {"e"}), node("Mul", {"e", "e"}, {"y"}),
                          gradient({"v"}, {"dv"}, {"v"}, "y"),
                          node("Constant", {}, {"rate"}, {{"value", Tensor::scalar(0.25)}}),
                          node("Mul", {"dv", "rate"}, {"s"}), node("Sub", {"v", "s"}, {"v_new"}),
                          node("Identity", {"go_on"}, {"go"})},
                         {"go", "v_new"});
  auto nodes = loop("a", {"v_last"}, step);
  nodes.push_back(gradient({"a", "b"}, {"da", "db"}, {"a", "b"}, "v_last"));
  const auto out = run(nodes, {"v_last", "da", "db"});
  check(out[0], {4 - 3.0 / 8, 5 - 3.0 / 8, 6 - 3.0 / 8});
  check(out[1], {0.125, 0.125, 0.125});
  check(out[2], {0.875, 0.875, 0.875});
}

TEST_CASE("a Gradient in a Loop follows outer nodes") {
  // Each iteration adds d(m v)/da with m = a b outside: v b, so v doubles (b = 1) thrice.
  const auto step = body(loop_inputs({vector_value("v")}),
                         {node("Mul", {"m", "v"}, {"y"}), gradient({"a"}, {"da"}, {"a"}, "y"),
                          node("Add", {"v", "da"}, {"v_new"}), node("Identity", {"go_on"}, {"go"})},
                         {"go", "v_new"});
  auto nodes = loop("a", {"v_last"}, step);
  nodes.insert(nodes.begin(), node("Mul", {"a", "b"}, {"m"}));
  check(run_model(small_model(nodes, {"v_last"}), a, ones)[0], {8, 16, 24});
}

TEST_CASE("a Gradient in a Scan names the slices") {
  GraphDef slope =
      *body({tensor_value("s", DType::float64, {}), tensor_value("x", DType::float64, {})},
            {node("Mul", {"x", "x"}, {"xx"}), node("Mul", {"xx", "x"}, {"y"}),
             gradient({"x"}, {"dx"}, {"x"}, "y"), node("Add", {"s", "dx"}, {"sum"})},
            {"sum", "dx"});
  const auto scan_body = std::make_shared<const GraphDef>(slope);
  const auto out = run({node("Constant", {}, {"zero"}, {{"value", Tensor::scalar(0.0)}}),
                        node("Scan", {"zero", "a"}, {"total", "slopes"},
                             {{"body", scan_body}, {"num_scan_inputs", std::int64_t{1}}}),
                        gradient({"a"}, {"dd"}, {"a"}, "total")},
                       {"slopes", "dd"});
  check(out[0], {3, 12, 27});
  check(out[1], {6, 12, 18});
}

TEST_CASE("a derivative sees the random numbers that a branch drew") {
  const auto branch = body({},
                           {node("Constant", {}, {"ratio"}, {{"value", Tensor::scalar(0.5)}}),
                            node("Constant", {}, {"training"}, {{"value", Tensor::scalar(true)}}),
                            node("Dropout", {"a", "ratio", "training"}, {"dropped"})},
                           {"dropped"});
  const auto out = run({if_node("y", branch, branch), gradient({"a"}, {"d"}, {"a"}, "y")},
                       {"y", "d"}, true, ones);
  check_close(out[1], out[0]);
}

TEST_CASE("a derivative sees the random numbers that a Loop drew") {
  const auto step = body(
      loop_inputs({vector_value("v")}),
      {node("Constant", {}, {"ratio"}, {{"value", Tensor::scalar(0.25)}}),
       node("Constant", {}, {"training"}, {{"value", Tensor::scalar(true)}}),
       node("Dropout", {"v", "ratio", "training"}, {"dropped"}),
       node("RandomUniform", {}, {"u"},
            {{"shape", std::vector<std::int64_t>{3}}, {"dtype", std::int64_t{11}}, {"low", 0.5F}}),
       node("Mul", {"dropped", "u"}, {"v_new"}), node("Identity", {"go_on"}, {"go"})},
      {"go", "v_new"});
  auto nodes = loop("a", {"y"}, step, 4);
  nodes.push_back(gradient({"a"}, {"d"}, {"a"}, "y"));
  nodes.push_back(node("Mul", {"y", "a"}, {"ya"}));
  nodes.push_back(gradient({"a"}, {"d2"}, {"a"}, "ya"));
  nodes.push_back(gradient({"a"}, {"dd2"}, {"a"}, "d2"));
  // y is linear in a, so at ones: dy/da = y, d(y a)/da = 2 y, d2(y a)/da2 = 2 y.
  const auto out = run(nodes, {"y", "d", "d2", "dd2"}, true, ones);
  check_close(out[1], out[0]);
  const auto y = out[0].values<double>();
  const auto twice = Tensor::of<double>({3}, std::vector<double>{2 * y[0], 2 * y[1], 2 * y[2]});
  check_close(out[2], twice);
  check_close(out[3], twice);
}

TEST_CASE("every derivative of a Loop reads the random numbers of its own iteration") {
  // v becomes u_i v^2: y is a^8 times a product in which u_0, u_1 and u_2 have different powers, so
  // at ones dy/da = 8 y and d2y/da2 = 56 y only where each pass draws them in the right order.
  const auto step = body(
      loop_inputs({vector_value("v")}),
      {node("RandomUniform", {}, {"u"},
            {{"shape", std::vector<std::int64_t>{3}}, {"dtype", std::int64_t{11}}, {"low", 0.5F}}),
       node("Mul", {"v", "v"}, {"vv"}), node("Mul", {"vv", "u"}, {"v_new"}),
       node("Identity", {"go_on"}, {"go"})},
      {"go", "v_new"});
  auto nodes = loop("a", {"y"}, step, 3);
  nodes.push_back(gradient({"a"}, {"d"}, {"a"}, "y"));
  nodes.push_back(gradient({"a"}, {"dd"}, {"a"}, "d"));
  const auto out = run(nodes, {"y", "d", "dd"}, true, ones);
  const auto y = out[0].values<double>();
  check(out[1], {8 * y[0], 8 * y[1], 8 * y[2]});
  check(out[2], {56 * y[0], 56 * y[1], 56 * y[2]});
}
