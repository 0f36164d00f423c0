#include <array>
#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/model.h>

#include "tests/support/models.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

Tensor text_of(const std::string& content) {
  return Tensor::of<std::string>({1}, std::array{content});
}

ValueDef text_value(const std::string& name) {
  return tensor_value(name, DType::string, {std::int64_t{1}});
}

// Three variables; algorithm i assigns the fed text to variable i.
Model keeper(std::uint64_t arena_bytes) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 20}};
  model.graph.name = "main";
  model.graph.inputs = {text_value("x")};
  model.graph.outputs = {text_value("y")};
  model.graph.nodes = {node("Identity", {"x"}, {"y"})};
  model.graph.initializers = {{"nothing", text_of(""), "", {}}};
  for (const std::string name : {"a", "b", "c"}) {
    model.graph.initializers.push_back({name, text_of("empty"), "", {}});
    TrainingInfoDef& info = model.training.emplace_back();
    info.algorithm.emplace();
    info.algorithm->name = "step";
    info.algorithm->nodes = {node("StringConcat", {"x", "nothing"}, {name + "_new"})};
    info.algorithm->outputs = {text_value(name + "_new")};
    info.update_binding = {{name, name + "_new"}};
  }
  LoadOptions options;
  options.limits.arena_bytes = arena_bytes;
  return Model::load(encode(model), options);
}

}  // namespace

TEST_CASE("strings of the state count against the bound of memory") {
  const std::string content(30'000, 'x');
  // Each step makes one text and keeps one.
  Model roomy = keeper(300'000);
  for (const std::size_t algorithm : {0U, 1U, 2U}) {
    roomy.train_step({{"x", text_of(content)}}, algorithm);
  }
  CHECK(roomy.get_state("c").item<std::string>() == content);
  Model tight = keeper(100'000);
  tight.train_step({{"x", text_of(content)}}, 0);
  CHECK(tight.get_state("a").item<std::string>() == content);
  try {
    tight.train_step({{"x", text_of(content)}}, 1);
    tight.train_step({{"x", text_of(content)}}, 2);
    FAIL_CHECK("nothing was refused");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
  }
  CHECK(tight.get_state("c").item<std::string>() == "empty");
  // Memory of texts that are given up is free again.
  Model turning = keeper(200'000);
  for (int i = 0; i < 20; ++i) turning.train_step({{"x", text_of(content)}}, 0);
  CHECK(turning.get_state("a").item<std::string>() == content);
}

TEST_CASE("a text that is set counts, too") {
  Model model = keeper(100'000);
  model.set_state("a", text_of(std::string(60'000, 'x')));
  CHECK_THROWS_AS(model.set_state("b", text_of(std::string(60'000, 'x'))), Error);
  CHECK(model.get_state("b").item<std::string>() == "empty");
  model.set_state("a", text_of("short"));
  model.set_state("b", text_of(std::string(60'000, 'x')));
}
