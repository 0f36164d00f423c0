#include <ondine/model.h>

#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues regression_feeds() {
  return {{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
          {"t", Tensor::of<float>({2, 1}, {1, -1})}};
}

NamedValues classifier_feeds(std::uint64_t seed, std::int64_t batch = 6) {
  Tensor labels(DType::int64, {batch});
  for (std::int64_t i = 0; i < batch; ++i) {
    labels.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] =
        (i + static_cast<std::int64_t>(seed)) % 4;
  }
  return {{"x", random_floats({batch, 8}, seed)}, {"label", labels}};
}

std::vector<float> train(Model& model, int steps, int first = 0) {
  for (int i = first; i < first + steps; ++i) {
    model.train_step(classifier_feeds(static_cast<std::uint64_t>(i)));
  }
  return model.parameters();
}

}  // namespace

TEST_CASE("a step of gradient descent gives the numbers computed by hand") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  // y = [-1.25, -2.25], d = [-2.25, -1.25], loss = (5.0625 + 1.5625) / 2.
  const auto results = model.train_step(regression_feeds());
  REQUIRE(results[0].first == "loss");
  check_close(results[0].second.tensor(), Tensor::scalar(3.3125F));
  // dw = x' d = [-6, -9.5], db = -3.5.
  check_close(model.get_state("w"), Tensor::of<float>({2, 1}, {1.1F, -0.05F}));
  check_close(model.get_state("b"), Tensor::of<float>({1}, {0.6F}));
}

TEST_CASE("inference sees the trained state and changes nothing") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  model.train_step(regression_feeds());
  const auto before = model.parameters();
  const NamedValues feeds{{"x", Tensor::of<float>({1, 2}, {1, 1})}};
  const auto y = model.infer(feeds);
  check_close(y[0].second.tensor(), Tensor::of<float>({1, 1}, {1.65F}));
  CHECK(model.parameters() == before);
}

TEST_CASE("a default is a constant until it is fed") {
  graph::ModelDef def;
  def.ir_version = 9;
  def.opsets = {{"", 18}};
  def.graph.name = "main";
  def.graph.inputs = {tensor_value("x", DType::float32, {"N"}),
                      tensor_value("s", DType::float32, {std::int64_t{1}})};
  def.graph.outputs = {tensor_value("y", DType::float32, {"N"})};
  def.graph.initializers = {{"s", Tensor::of<float>({1}, {2}), "", {}}};
  def.graph.nodes = {node("Mul", {"x", "s"}, {"y"})};
  const Model model = Model::load(encode(def));
  const NamedValues plain{{"x", Tensor::of<float>({2}, {1, 5})}};
  NamedValues fed = plain;
  fed.push_back({"s", Tensor::of<float>({1}, {3})});
  for (int round = 0; round < 2; ++round) {
    check_close(model.infer(plain)[0].second.tensor(), Tensor::of<float>({2}, {2, 10}));
    check_close(model.infer(fed)[0].second.tensor(), Tensor::of<float>({2}, {3, 15}));
  }
  CHECK(model.inputs().size() == 2);
  fed.back().first = "t";
  CHECK_THROWS_WITH(model.infer(fed), Catch::Contains("'s'"));
}

TEST_CASE("initialize restores the initializers") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  model.train_step(regression_feeds());
  model.initialize();
  CHECK(model.get_state("w").identical(Tensor::of<float>({2, 1}, {0.5F, -1})));
  CHECK(model.steps() == 0);
  model.train_step(regression_feeds());
  check_close(model.get_state("b"), Tensor::of<float>({1}, {0.6F}));
}

TEST_CASE("a feed that does not fit is refused by name and nothing changes") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  NamedValues feeds = regression_feeds();
  feeds[0].second = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_THROWS_WITH(model.train_step(feeds), Catch::Contains("'x' must be a tensor(float)[N, 2]"));
  feeds[0].second = Tensor::of<double>({2, 2}, {1, 2, 3, 4});
  CHECK_THROWS_WITH(model.train_step(feeds), Catch::Contains("tensor(double)"));
  feeds = regression_feeds();
  feeds[1].second = Tensor::of<float>({3, 1}, {1, 2, 3});
  CHECK_THROWS_WITH(model.train_step(feeds), Catch::Contains("dim 'N'"));
  feeds.pop_back();
  CHECK_THROWS_WITH(model.train_step(feeds), Catch::Contains("'t'"));
  feeds.emplace_back("nothing", Tensor::scalar(1.0F));
  CHECK_THROWS_WITH(model.train_step(feeds), Catch::Contains("'nothing'"));
  CHECK(model.steps() == 0);
  CHECK(model.get_state("b").identical(Tensor::of<float>({1}, {0.25F})));
}

TEST_CASE("batches of different sizes may follow each other") {
  Model model = Model::load(encode(dropout_classifier()));
  for (const std::int64_t batch : {6, 3, 6, 1}) {
    CHECK_NOTHROW(model.train_step(classifier_feeds(1, batch)));
  }
  CHECK(model.get_state("count").item<std::int64_t>() == 4);
}

TEST_CASE("the state has the same bits for any number of threads") {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 4}) {
    LoadOptions options;
    options.threads = threads;
    options.seed = 3;
    Model model = Model::load(encode(dropout_classifier()), options);
    results.push_back(train(model, 100));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("training goes on from a checkpoint as if it had not stopped") {
  const auto file = std::filesystem::temp_directory_path() / "ondine_model_test.ckpt";
  LoadOptions options;
  options.seed = 5;
  Model whole = Model::load(encode(dropout_classifier()), options);
  const auto want = train(whole, 20);
  Model first = Model::load(encode(dropout_classifier()), options);
  train(first, 8);
  first.save_checkpoint(file, {1, 2, 3}, {{"note", std::string("text")}});
  Model second = Model::load(encode(dropout_classifier()));
  const auto report = second.restore_checkpoint(file);
  CHECK(report.cursor.position == 3);
  CHECK(train(second, 12, 8) == want);
  std::filesystem::remove(file);
}

TEST_CASE("parameters go out and in as one flat buffer") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK(model.parameters() == std::vector<float>{0.5F, -1, 0.25F});
  model.set_parameters(std::vector<float>{1, 2, 3});
  CHECK(model.get_state("b").identical(Tensor::of<float>({1}, {3})));
  CHECK_THROWS_WITH(model.set_parameters(std::vector<float>{1}), Catch::Contains("3 parameters"));
}
