// Everything that is wrong with a model is told at once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include <ondine/model.h>

#include "tests/proto/wire.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Wire text_node(const std::string& op, const std::string& in, const std::string& out) {
  return Wire().block(1, in).block(2, out).block(3, "node_" + out).block(4, op);
}

Wire value(const std::string& name) {
  const Wire shape = Wire().message(1, Wire().number(1, 2));
  const Wire tensor = Wire().number(1, 1).message(2, shape);
  return Wire().block(1, name).message(2, Wire().message(1, tensor));
}

Wire weight(const std::string& name, const std::string& raw) {
  return Wire().number(1, 2).number(2, 1).block(8, name).block(9, raw);
}

Wire model(const Wire& graph, const Wire& step) {
  return Wire()
      .number(1, 10)
      .message(8, Wire().number(2, 17))
      .message(7, graph)
      .message(20, Wire().message(2, step).message(4, Wire().block(1, "w1").block(2, "nothing")));
}

std::string message_of(const Wire& wire) {
  try {
    Model::load(wire.bytes());
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_model);
    return error.message();
  }
}

// Two tensors, two nodes, a binding and a type are wrong.
Wire wrong_model() {
  Wire graph = Wire().block(2, "main").message(11, value("x")).message(12, value("y"));
  graph.message(5, weight("w1", "12345678")).message(5, weight("bad_w", "123"));
  graph.message(1, text_node("Frobnicate", "x", "a")).message(1, text_node("Relu", "lost", "b"));
  graph.message(1, text_node("Neg", "bad_w", "c")).message(1, text_node("Relu", "x", "y"));
  Wire step = Wire().block(2, "step").message(5, weight("bad_v", "123456789"));
  step.message(1, text_node("Relu", "bad_v", "d")).message(12, value("d"));
  return model(graph, step);
}

}  // namespace

TEST_CASE("defects of tensors and of the graph are reported together") {
  const std::string text = message_of(wrong_model());
  INFO(text);
  for (const char* rule :
       {"needs 8 bytes in raw_data, there are 3, in tensor 'bad_w', in graph 'main'",
        "there are 9, in tensor 'bad_v', in graph 'step'",
        "node 'node_b' ('Relu') reads 'lost', which is not defined", "'Frobnicate'",
        "update binding of 'w1' to 'nothing', which is not a graph output, in training_info 0"}) {
    CHECK_THAT(text, Catch::Contains(rule));
  }
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  // Violations that follow only from a tensor that was left out are no findings.
  CHECK_THAT(text, !Catch::Contains("reads 'bad_w'") && !Catch::Contains("reads 'bad_v'"));
}

TEST_CASE("check_model has a line for each finding") {
  const TemporaryFolder folder;
  const auto lines_of = [&](const Wire& wire) {
    std::ofstream(folder / "m.onnx", std::ios::binary) << wire.text();
    return check_model(folder / "m.onnx");
  };
  CHECK(lines_of(wrong_model()).size() == 5);
  Wire graph = Wire().block(2, "main").message(11, value("x")).message(12, value("y"));
  graph.message(5, weight("w1", "12345678")).message(1, text_node("Relu", "x", "y"));
  const Wire step = Wire().block(2, "step").message(12, value("y"));
  const auto one = lines_of(model(graph, step));
  INFO((one.empty() ? "" : one[0]));
  CHECK(one.size() >= 1);
  for (const auto& line : one) CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("a model cannot hold the operators that the library makes for itself") {
  for (const std::string op :
       {"ReluGrad", "GemmUpdate", "BatchNormalizationGrad", "FusedElementwise"}) {
    Wire graph = Wire().block(2, "main").message(11, value("x")).message(12, value("y"));
    graph.message(1, text_node(op, "x", "y").block(7, "ai.ondine"));
    const Wire opsets = Wire().block(1, "ai.ondine").number(2, 1);
    const Wire wire = Wire().number(1, 10).message(8, opsets).message(7, graph);
    CHECK_THAT(message_of(wire),
               Catch::Contains("node 'node_y' ('" + op + "') is of operator set 'ai.ondine'"));
  }
}
