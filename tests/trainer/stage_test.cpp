#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("stages have the names of their enumerators") {
  for (const Stage stage : {Stage::model, Stage::graph, Stage::training, Stage::gradient,
                            Stage::optimized, Stage::plan}) {
    CHECK(stage_from_name(to_string(stage)) == stage);
  }
  CHECK(to_string(Stage::gradient) == std::string("gradient"));
  CHECK_THROWS_WITH(stage_from_name("Graph"),
                    "there is no stage 'Graph'; stages are 'model' 'graph' 'training' 'gradient' "
                    "'optimized' 'plan'");
}

TEST_CASE("a model is printed at every stage, by its enumerator or its name") {
  const Model model = Model::load(encode(linear_regression(0.1F)));
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  const std::string graph = model.inspect(Stage::graph);
  CHECK(graph == model.inspect("graph"));
  CHECK(has(graph, "MatMul"));
  CHECK_FALSE(has(graph, "ReduceMean"));
  CHECK(has(model.inspect(Stage::training), "Gradient"));
  CHECK(has(model.inspect(Stage::training), "ReduceMean"));
  CHECK_FALSE(has(model.inspect(Stage::gradient), " Gradient"));
  CHECK(has(model.inspect(Stage::model), "binding w <- w_new"));
  CHECK_THROWS_WITH(model.inspect(Stage::gradient, 1), Catch::Contains("no algorithm 1"));
  CHECK_THROWS_WITH(model.inspect("fused"), Catch::Contains("no stage 'fused'"));

  graph::ModelDef def = linear_regression(0.1F);
  def.training.clear();
  const Model inference = Model::load(encode(def));
  CHECK_THROWS_WITH(inference.inspect(Stage::training), Catch::Contains("no training_info"));
  CHECK(has(inference.inspect(Stage::optimized), "y"));
}
