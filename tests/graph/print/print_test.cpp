#include "graph/print/print.h"

#include <catch2/catch.hpp>

#include "tests/graph/check/sample_model.h"
#include "tests/graph/passes/toy.h"

namespace ondine::test {
namespace {

TEST_CASE("a model prints as one line for each node") {
  auto model = sample_training_model();
  model.graph.inputs[0] = value("x", {std::string("N"), std::int64_t{2}, std::monostate()});
  CHECK(graph::print(model) == R"(model, ir_version 10
  import ai.onnx 21
  import ai.onnx.preview.training 1
  graph sample
    input x: tensor(float)[N, 2, ?]
    initializer w: tensor(float)[2] {1, 2}
    y: tensor(float)[2] = Mul-21(x, w)
    output y: tensor(float)[2]
  training_info 0
    algorithm step
      dw = ai.onnx.preview.training.Gradient-1(w) {xs = {'w'}, y = 'y'}
      w_new: tensor(float)[2] = Sub-21(w, dw)
      output w_new: tensor(float)[2]
    algorithm binding w <- w_new
)");
}

TEST_CASE("functions and branches are printed with their nodes") {
  auto model = sample_function_model();
  model.functions[0].attributes = {"k"};
  model.functions[0].defaults = {{"l", 0.5F}};
  graph::GraphDef branch;
  branch.name = "b";
  branch.outputs = {value("x")};
  model.graph.nodes.push_back(node("If", {"x", ""}, {"", "z"}, {{"then_branch", body(branch)}}));
  const auto text = graph::print(model);
  CHECK_THAT(text, Catch::Contains(R"(  function double_it of local(a) -> (b) {k, l = 0.5}
    import ai.onnx 21
    import local 1
    b = Add-21(a, a)
)"));
  CHECK_THAT(text, Catch::Contains(R"(    _, z = If-21(x, _) {then_branch = graph}
      then_branch b
        output x: tensor(float)[2]
)"));
}

TEST_CASE("names that are not plain are escaped, long tensors shortened") {
  auto model = sample_model();
  model.graph.name = "a\x1b[2Jb";
  model.graph.initializers[0] = initializer("w", std::vector<float>(100, 1.0F));
  const auto text = graph::print(model);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("tensor(float)[100] {1, 1, 1, 1, 1, 1, 1, 1, ...}"));
}

TEST_CASE("a resolved graph prints its types, constants and nodes") {
  ToyGraph toy;
  toy.graph.name = "toy";
  const auto sum = toy.builder.node("Plus", {toy.x, toy.floats({1, 2, 3})}, {{"k", 1.5F}});
  toy.output(sum);
  CHECK(graph::print(toy.graph) == R"(graph toy
  input x: tensor(float)[2, 3]
  constant constant: tensor(float)[3] {1, 2, 3}
  Plus: tensor(float)[2, 3] = Plus-28(x, constant) {k = 1.5}
  output Plus: tensor(float)[2, 3]
)");
}

}  // namespace
}  // namespace ondine::test
