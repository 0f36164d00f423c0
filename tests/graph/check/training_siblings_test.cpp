// Relatives of the hostile cases of training information and functions: each the sample model with
// one change.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/graph/check/sample_model.h"

namespace ondine::test {
namespace {

using Catch::Contains;
using graph::GraphDef;
using graph::ModelDef;

struct Sibling {
  std::function<void(ModelDef&)> change;
  std::vector<std::string> mentions;  // culprit and rule
};

void check(const ModelDef& base, const std::vector<Sibling>& siblings) {
  REQUIRE(findings_of(base) == "");
  for (const Sibling& sibling : siblings) {
    ModelDef model = base;
    sibling.change(model);
    const std::string findings = findings_of(model);
    INFO(sibling.mentions.front());
    for (const std::string& text : sibling.mentions) CHECK_THAT(findings, Contains(text));
  }
}

GraphDef& algorithm(ModelDef& model) { return *model.training[0].algorithm; }
graph::Attributes& gradient(ModelDef& model) { return algorithm(model).nodes[0].attributes; }

GraphDef initialization() {
  GraphDef graph;
  graph.name = "start";
  graph.initializers = {initializer("zero", {0, 0})};
  graph.nodes = {node("Neg", {"zero"}, {"w0"})};
  graph.outputs = {value("w0")};
  return graph;
}

ModelDef initialized_model() {
  ModelDef model = sample_training_model();
  model.training[0].initialization = initialization();
  model.training[0].initialization_binding = {{"w", "w0"}};
  return model;
}

GraphDef branch(const std::string& input, const std::string& output) {
  GraphDef graph;
  graph.nodes = {node("Relu", {input}, {output})};
  graph.outputs = {value(output)};
  return graph;
}

graph::NodeDef choice(const std::string& input, const std::string& inner,
                      const std::string& output) {
  return node("If", {"c"}, {output},
              {{"then_branch", body(branch(input, inner))},
               {"else_branch", body(branch(input, inner + "_else"))}});
}

}  // namespace

TEST_CASE("siblings of wrong bindings") {
  check(initialized_model(),
        {{[](ModelDef& m) {
            algorithm(m).outputs[0] = value("w_new", {std::int64_t{2}}, DType::float64);
          },
          {"update binding of 'w' to 'w_new'", "training_info 0"}},
         {[](ModelDef& m) {
            algorithm(m).outputs[0] = value("w_new", {std::int64_t{1}, std::int64_t{2}});
          },
          {"update binding of 'w' to 'w_new'", "shape"}},
         {[](ModelDef& m) {
            m.training[0].update_binding = {{"", "w_new"}};
          },
          {"update binding of ''", "not an initializer"}},
         {[](ModelDef& m) {
            m.training[0].update_binding = {{"w", ""}};
          },
          {"update binding of 'w' to ''", "not a graph output"}},
         {[](ModelDef& m) {
            m.training[0].update_binding = {{"w", "w"}};
          },
          {"update binding of 'w' to 'w'", "not a graph output"}},
         {[](ModelDef& m) {
            m.training[0].update_binding = {{"y", "w_new"}};
          },
          {"update binding of 'y'", "not an initializer"}},
         {[](ModelDef& m) {
            m.training[0].update_binding = {{"w", "w0"}};
          },
          {"update binding of 'w' to 'w0'", "not a graph output"}},
         {[](ModelDef& m) {
            m.training[0].initialization_binding = {{"w", "w_new"}};
          },
          {"initialization binding of 'w' to 'w_new'", "not a graph output"}},
         {[](ModelDef& m) {
            m.training[0].initialization_binding = {{"w", "zero"}};
          },
          {"initialization binding of 'w' to 'zero'", "not a graph output"}},
         {[](ModelDef& m) {
            m.training[0].initialization_binding = {{"zero", "w0"}};
          },
          {"initialization binding of 'zero'", "not an initializer"}},
         {[](ModelDef& m) {
            m.training[0].initialization_binding.push_back({"w", "w0"});
          },
          {"initialization binding of 'w' is defined twice"}},
         {[](ModelDef& m) {
            m.training[0].initialization->outputs[0] = value("w0", {std::int64_t{3}});
          },
          {"initialization binding of 'w' to 'w0'", "shape"}},
         {[](ModelDef& m) {
            m.training[0].initialization->outputs[0] = value("w0", {std::int64_t{2}}, DType::int32);
          },
          {"initialization binding of 'w' to 'w0'", "int32"}}});
}

TEST_CASE("siblings of wrong initialization graphs") {
  check(initialized_model(),
        {{[](ModelDef& m) { m.training[0].initialization->nodes[0].inputs = {"x"}; },
          {"reads 'x', which is not defined", "initialization graph of training_info 0"}},
         {[](ModelDef& m) { m.training[0].initialization->nodes[0].inputs = {"w_new"}; },
          {"reads 'w_new', which is not defined"}},
         {[](ModelDef& m) { m.training[0].initialization->outputs.push_back(value("lost")); },
          {"'lost'", "initialization graph of training_info 0"}},
         {[](ModelDef& m) {
            m.training[0].initialization->initializers.push_back(initializer("zero", {1}));
          },
          {"'zero'"}},
         {[](ModelDef& m) { m.training[0].initialization->nodes[0].op = "Frobnicate"; },
          {"'Frobnicate'"}},
         {[](ModelDef& m) {
            m.training[0].initialization->nodes.push_back(node("Neg", {"zero"}, {"w0"}));
          },
          {"defines 'w0'"}}});
}

TEST_CASE("siblings of graphs that collide") {
  ModelDef base = sample_training_model();
  base.graph.inputs.push_back(value("c", {}, DType::boolean));
  check(base,
        {{[](ModelDef& m) { algorithm(m).nodes[1].outputs = {"x"}; }, {"defines 'x'"}},
         {[](ModelDef& m) { algorithm(m).nodes[1].outputs = {"w"}; }, {"defines 'w'"}},
         {[](ModelDef& m) { algorithm(m).nodes[1].outputs = {"dw"}; }, {"defines 'dw'"}},
         {[](ModelDef& m) {
            algorithm(m).initializers = {initializer("y", {1, 1})};
          },
          {"'y'"}},
         {[](ModelDef& m) { algorithm(m).inputs = {value("y")}; }, {"'y'"}},
         {[](ModelDef& m) { algorithm(m).outputs.push_back(value("nowhere")); }, {"'nowhere'"}},
         {[](ModelDef& m) { algorithm(m).nodes.push_back(choice("dw", "y", "z")); }, {"'y'"}},
         {[](ModelDef& m) { algorithm(m).nodes.push_back(choice("lost", "r", "z")); },
          {"reads 'lost', which is not defined"}},
         {[](ModelDef& m) { m.graph.outputs.push_back(value("w_new")); }, {"'w_new'"}},
         {[](ModelDef& m) { m.graph.nodes.push_back(choice("dw", "r", "z")); },
          {"reads 'dw', which is not defined"}},
         {[](ModelDef& m) { m.ir_version = 3; }, {"training_info needs ir_version 7"}}});
}

TEST_CASE("siblings of a wrong Gradient") {
  using Strings = std::vector<std::string>;
  ModelDef base = sample_training_model();
  base.graph.inputs.push_back(value("c", {}, DType::boolean));
  base.graph.nodes.insert(base.graph.nodes.begin(), choice("x", "inner", "chosen"));
  check(base, {{[](ModelDef& m) { m.opsets.pop_back(); }, {"'ai.onnx.preview.training'"}},
               {[](ModelDef& m) {
                  gradient(m) = {{"xs", Strings{"w"}}};
                },
                {"'y'", "Gradient"}},
               {[](ModelDef& m) {
                  gradient(m) = {{"y", std::string("y")}};
                },
                {"'xs'", "Gradient"}},
               {[](ModelDef& m) {
                  gradient(m)[0] = {"xs", Strings{}};
                },
                {"Gradient", "xs"}},
               {[](ModelDef& m) {
                  gradient(m)[0] = {"xs", Strings{""}};
                },
                {"names '' in xs"}},
               {[](ModelDef& m) {
                  gradient(m)[0] = {"xs", std::string("w")};
                },
                {"'xs'", "STRING"}},
               {[](ModelDef& m) {
                  gradient(m)[0] = {"xs", Strings{"inner"}};
                },
                {"names 'inner' in xs, which is not defined before the node"}},
               {[](ModelDef& m) {
                  gradient(m)[1] = {"y", std::string("inner")};
                },
                {"names 'inner' in y, which is not defined before the node"}},
               {[](ModelDef& m) {
                  gradient(m)[1] = {"y", std::string()};
                },
                {"names '' in y"}},
               {[](ModelDef& m) {
                  gradient(m)[1] = {"y", std::string("dw")};
                },
                {"names 'dw' in y, which is not defined before the node"}},
               {[](ModelDef& m) {
                  gradient(m).push_back({"zs", Strings{"nothing"}});
                },
                {"names 'nothing' in zs, which is not defined before the node"}},
               {[](ModelDef& m) {
                  gradient(m).push_back({"zs", Strings{"w"}});
                },
                {"names 'w' in both xs and zs"}},
               {[](ModelDef& m) { algorithm(m).nodes[0].inputs.clear(); }, {"0 inputs for 1 xs"}},
               {[](ModelDef& m) { algorithm(m).nodes[0].outputs.push_back("more"); },
                {"has 2 outputs for 1 xs"}},
               {[](ModelDef& m) { m.graph.initializers[0].value = Tensor(DType::int64, {2}); },
                {"names 'w' in xs, whose elements are int64"}},
               {[](ModelDef& m) { m.graph.initializers[0].value = Tensor(DType::boolean, {2}); },
                {"names 'w' in xs, whose elements are bool"}}});
}

TEST_CASE("siblings of wrong optimizers") {
  for (const auto& [op, groups] : {std::pair("Adam", 4), std::pair("Adagrad", 3)}) {
    ModelDef base = sample_training_model();
    base.graph.initializers.push_back(initializer("r", {1}));
    std::vector<std::string> inputs{"r", "r", "w", "dw"};
    while (inputs.size() < static_cast<std::size_t>(groups) + 2) inputs.push_back("w");
    auto& nodes = algorithm(base).nodes;
    nodes[1] = node(op, inputs, {"w_new"}, {}, training_domain);
    INFO(op);
    check(base, {{[](ModelDef& m) { algorithm(m).nodes[1].inputs.pop_back(); },
                  {"tensors after R and T"}},
                 {[](ModelDef& m) { algorithm(m).nodes[1].inputs.push_back("w"); },
                  {"tensors after R and T"}},
                 {[](ModelDef& m) { algorithm(m).nodes[1].inputs.resize(2); }, {op}},
                 {[](ModelDef& m) { algorithm(m).nodes[1].inputs.resize(1); }, {op}},
                 {[](ModelDef& m) {
                    for (int i = 0; i < 4; ++i) {
                      algorithm(m).nodes[1].outputs.push_back("more" + std::to_string(i));
                    }
                  },
                  {"has 5 outputs"}},
                 {[](ModelDef& m) { m.opsets.pop_back(); }, {"'ai.onnx.preview.training'"}}});
  }
}

TEST_CASE("siblings of wrong functions") {
  check(
      sample_function_model(),
      {{[](ModelDef& m) { m.functions[0].name.clear(); }, {"no name"}},
       {[](ModelDef& m) { m.functions[0].inputs = {""}; }, {"'double_it'", "without a name"}},
       {[](ModelDef& m) { m.functions[0].outputs = {""}; }, {"'double_it'", "without a name"}},
       {[](ModelDef& m) {
          m.functions[0].outputs = {"b", "b"};
        },
        {"has duplicate output 'b'"}},
       {[](ModelDef& m) {
          m.functions[0].attributes = {"k", "k"};
        },
        {"has duplicate attribute 'k'"}},
       {[](ModelDef& m) { m.functions[0].attributes = {""}; }, {"attribute without a name"}},
       {[](ModelDef& m) {
          m.functions[0].attributes = {"k"};
          m.functions[0].defaults = {{"k", 1.0F}};
        },
        {"has duplicate attribute 'k'"}},
       {[](ModelDef& m) { m.functions[0].nodes[0].outputs = {"a"}; }, {"'a'", "'double_it'"}},
       {[](ModelDef& m) { m.functions[0].nodes.push_back(m.functions[0].nodes[0]); },
        {"defines 'b'", "'double_it'"}},
       {[](ModelDef& m) {
          m.functions[0].nodes = {node("Add", {"b", "b"}, {"b"})};
        },
        {"reads 'b' before", "'double_it'"}},
       {[](ModelDef& m) { m.functions[0].nodes = {node("Add", {"a"}, {"b"})}; },
        {"'Add'", "'double_it'"}},
       {[](ModelDef& m) {
          m.functions[0].nodes = {node("Add", {"x", "a"}, {"b"})};
        },
        {"reads 'x', which is not defined"}},
       {[](ModelDef& m) { m.functions[0].nodes = {node("double_it", {"a"}, {"b"}, {}, "local")}; },
        {"'double_it' of 'local' calls itself"}},
       {[](ModelDef& m) { m.functions[0].opsets[0].version = 0; }, {"version 0"}},
       {[](ModelDef& m) { m.functions[0].opsets[0].version = 1000; }, {"version 1000"}},
       {[](ModelDef& m) {
          m.functions[0].opsets.push_back({"", 20});
        },
        {"imports versions 21 and 20", "'double_it'"}},
       {[](ModelDef& m) { m.functions[0].domain = "elsewhere"; }, {"'double_it'"}},
       {[](ModelDef& m) { m.opsets.pop_back(); }, {"'local'"}},
       {[](ModelDef& m) { m.graph.nodes[0].overload = std::string("none"); }, {"'double_it'"}}});
}

}  // namespace ondine::test
