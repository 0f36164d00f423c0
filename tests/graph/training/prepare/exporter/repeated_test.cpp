#include "graph/training/prepare/exporter/repeated.h"

#include <catch2/catch.hpp>

#include "tests/graph/training/exported_network.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

// x[2, 3, 4] + `name`, which was folded from the parameter 'm.p'.
ModelDef network_with(const std::string& name, const Tensor& folded) {
  ModelDef model = exported();
  const std::vector<DimDef> dims{std::int64_t{2}, std::int64_t{3}, std::int64_t{4}};
  model.graph.inputs = {value("x", dims)};
  model.graph.outputs = {value("y", dims)};
  add_folded(model, name, folded.shape(), 0, "['m.buffer', 'm.p', 'val_1']");
  model.graph.initializers.back().value = folded;
  list(model, {"m.p", "m.running_buffer"});
  then(model, "Add", {name}, "m", true);
  return model;
}

Tensor rows(std::int64_t batch, const std::vector<float>& firsts) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < batch; ++i) {
    for (const float first : firsts) values.insert(values.end(), {first, 1, 2, 3});
  }
  return Tensor::of<float>({batch, static_cast<std::int64_t>(firsts.size()), 4}, values);
}

}  // namespace

TEST_CASE("a token expanded to the batch trains as one") {
  ModelDef model = network_with("expand", rows(2, {5}));
  const PrepareReport report = prepared(model, false);
  CHECK(report.trained == std::vector<std::string>{"expand.slices"});
  CHECK(model.graph.initializers[0].value.shape() == Shape{1, 1, 4});
  const NodeDef* gather = find_op(model.graph, "Gather");
  REQUIRE(gather != nullptr);
  CHECK(gather->outputs[0] == "expand");
  CHECK(gather->inputs[0] == "expand.slices");
  CHECK(text_of(report.notes).find("'expand' (from") == std::string::npos);
  CHECK_THAT(text_of(report.notes), Catch::Contains("trains as one: 'expand'"));
  require_single_assignment(model);
}

TEST_CASE("rows of an embedding that occur again are stored once, along every axis") {
  ModelDef model = network_with("embedding_1", rows(2, {5, 7, 5}));
  prepared(model, false);
  const InitializerDef& stored = model.graph.initializers[0];
  CHECK(stored.value.shape() == Shape{1, 2, 4});
  CHECK(stored.value.values<float>()[0] == 5);
  CHECK(stored.value.values<float>()[4] == 7);
  CHECK(model.graph.nodes[0].inputs[0] == stored.name);
  CHECK(model.graph.nodes[0].outputs[0] == model.graph.nodes[1].inputs[0]);
  CHECK(model.graph.nodes[1].outputs[0] == "embedding_1");
  for (const InitializerDef& one : model.graph.initializers) {
    if (one.name != model.graph.nodes[0].inputs[1]) continue;
    CHECK(one.value.shape() == Shape{3});
    CHECK(one.value.values<std::int64_t>()[1] == 1);
    CHECK(one.value.values<std::int64_t>()[2] == 0);
  }
  require_single_assignment(model);
}

TEST_CASE("a table of relative positions is stored once") {
  // [heads, i, j] of a table with a row for each i - j.
  Tensor bias(DType::float32, {2, 3, 3});
  const auto values = bias.mutable_values<float>();
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        values[(h * 3 + i) * 3 + j] = static_cast<float>(h * 10 + 3 + i - j);
      }
    }
  }
  ModelDef model = network_with("unsqueeze_2", bias);
  CHECK(store_repeated_once(model).values.empty());  // no operator that repeats
  model.graph.value_infos.back().metadata[0].second = "['index', 'm.p', 'permute_1']";
  CHECK(store_repeated_once(model).values.empty());  // more than half of the pairs differ
  Tensor large(DType::float32, {2, 4, 4});
  const auto all = large.mutable_values<float>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<float>(i / 16 * 10 + 4 + i / 4 % 4 - i % 4);
  }
  model.graph.initializers[0].value = large;
  CHECK(store_repeated_once(model).values == std::vector<std::string>{"unsqueeze_2"});
  CHECK(model.graph.initializers[0].value.shape() == Shape{2, 7});
  CHECK(model.graph.initializers.back().value.shape() == Shape{4, 4});
  const NodeDef& gather = model.graph.nodes[0];
  CHECK(gather.op == "Gather");
  CHECK(std::get<std::int64_t>(find(gather.attributes, "axis")->data) == 1);
}

TEST_CASE("slices that may be equal by chance stay apart") {
  const Tensor zeros(DType::float32, {2, 1, 4});
  ModelDef embedded = network_with("embedding", zeros);
  CHECK(store_repeated_once(embedded).values.empty());
  ModelDef other_batch = network_with("expand_3", Tensor(DType::float32, {3, 1, 4}));
  CHECK(store_repeated_once(other_batch).values.empty());
  ModelDef expanded = network_with("expand_3", zeros);  // to the batch of x
  CHECK(store_repeated_once(expanded).values == std::vector<std::string>{"expand_3"});
  ModelDef weight = network_with("val_7", rows(2, {5}));  // no operator that repeats
  CHECK(store_repeated_once(weight).values.empty());
  ModelDef two = network_with("expand", rows(2, {5}));
  two.graph.value_infos.back().metadata[0].second = "['m.p', 'm.q']";
  list(two, {"m.p", "m.q"});
  CHECK(store_repeated_once(two).values.empty());
  ModelDef unlisted = network_with("expand", rows(2, {5}));
  unlisted.graph.metadata.clear();
  CHECK(store_repeated_once(unlisted).values.empty());
}
