// Steps in micro-shards against those of the whole batch.
#include <catch2/catch.hpp>

#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using MakeNetwork = std::function<Model()>;

// The network of dropout_classifier() without its algorithm.
graph::ModelDef two_layers() {
  graph::ModelDef def = dropout_classifier();
  def.training.clear();
  return def;
}

Model labelled(const PrepareOptions& given) {
  PrepareOptions options = given;
  options.loss = Loss::softmax_cross_entropy;
  options.init = WeightInit::keep;
  return prepare(Model::load(encode(two_layers())), options);
}

// Labels of class `ignored` gather in the first rows of the data.
Dataset crowded_labels(std::int64_t rows, std::int64_t ignored) {
  NamedValues data = classes_data(rows);
  auto labels = data[1].second.tensor().mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i % 3 == 0 || (i / 8) % 2 == 0) labels[i] = ignored;
  }
  return Dataset::from(data);
}

struct Trained {
  std::shared_ptr<Model> model;
  Metrics metrics;
};

Trained train_alone(const MakeNetwork& make, const Dataset& data, const TrainerOptions& options) {
  Trained result{std::make_shared<Model>(make()), {}};
  result.metrics = Trainer(*result.model, options).fit(data).last->training;
  return result;
}

Trained train_on(std::size_t size, const MakeNetwork& make, const Dataset& data,
                 const TrainerOptions& options) {
  std::vector<Trained> results(size);
  const auto errors = on_ranks(size, [&](std::shared_ptr<Communicator> ranks) {
    TrainerOptions own = options;
    const std::size_t rank = ranks->rank();
    own.communicator = std::move(ranks);
    results[rank] = train_alone(make, data, own);
  });
  CHECK(errors == std::vector<std::string>(size));
  for (const Trained& one : results) {
    REQUIRE(one.model);
    CHECK(same_state(*one.model, *results[0].model));
  }
  return results[0];
}

void require_close(const Trained& a, const Trained& b, float margin = 1e-5F) {
  const auto x = a.model->parameters();
  const auto y = b.model->parameters();
  REQUIRE(x.size() == y.size());
  float greatest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) greatest = std::max(greatest, std::abs(x[i] - y[i]));
  CHECK(greatest < margin);
  for (const char* metric : {"loss", "accuracy"}) {
    if (!a.metrics.contains(metric)) continue;
    CHECK(a.metrics[metric] == Approx(b.metrics[metric]).epsilon(1e-5));
  }
}

// On 1, 2 and 4 ranks the bits are the same, and the numbers those of the whole batch.
void require_as_alone(const MakeNetwork& make, const Dataset& data, const TrainerOptions& options) {
  const Trained alone = train_alone(make, data, options);
  const Trained one = train_on(1, make, data, options);
  require_close(alone, one);
  CHECK_FALSE(same_state(*alone.model, make()));
  for (const std::size_t size : {2, 4}) {
    const Trained more = train_on(size, make, data, options);
    CHECK(same_state(*one.model, *more.model));
    for (const char* metric : {"loss", "accuracy"}) {
      if (one.metrics.contains(metric)) CHECK(one.metrics[metric] == more.metrics[metric]);
    }
  }
}

}  // namespace

TEST_CASE("ignored labels count in no micro-shard, so that a step is that of the whole batch") {
  const PrepareOptions options{.ignore_index = 3, .optimizer = Sgd{.learning_rate = 0.2F}};
  for (const std::int64_t rows : {48, 37}) {
    require_as_alone([&] { return labelled(options); }, crowded_labels(rows, 3),
                     {.epochs = 2, .batch_size = 16, .seed = 3});
  }
}

TEST_CASE("class weights divide by those of the whole batch, also where one rank has none") {
  const PrepareOptions options{.class_weights = {0, 0.5F, 4, 0.25F},
                               .optimizer = Sgd{.learning_rate = 0.2F}};
  require_as_alone([&] { return labelled(options); }, crowded_labels(48, 0),
                   {.epochs = 2, .batch_size = 16, .seed = 3});
}

TEST_CASE("accumulated gradients of weighted labels are those of whole batches") {
  const PrepareOptions options{
      .ignore_index = 3, .optimizer = Sgd{.learning_rate = 0.2F}, .accumulate = 2};
  require_as_alone([&] { return labelled(options); }, crowded_labels(48, 3),
                   {.epochs = 2, .batch_size = 16, .seed = 3});
}

TEST_CASE("a clipped gradient of weighted labels is that of the whole batch") {
  const PrepareOptions options{
      .ignore_index = 3, .optimizer = Sgd{.learning_rate = 0.2F}, .clip_norm = 0.05F};
  require_as_alone([&] { return labelled(options); }, crowded_labels(48, 3),
                   {.epochs = 2, .batch_size = 16, .seed = 3});
}

TEST_CASE("a batch whose labels are all ignored leaves parameters alone") {
  const PrepareOptions options{.ignore_index = 3, .optimizer = Sgd{.learning_rate = 0.2F}};
  NamedValues data = classes_data(16);
  for (auto& one : data[1].second.tensor().mutable_values<std::int64_t>()) one = 3;
  const auto errors = on_ranks(2, [&](std::shared_ptr<Communicator> ranks) {
    Model model = labelled(options);
    TrainerOptions own{.batch_size = 16};
    own.communicator = std::move(ranks);
    Trainer(model, own).fit(Dataset::from(data));
  });
  for (const std::string& error : errors) CHECK_THAT(error, Contains("no label counts"));
}

TEST_CASE("dropout in micro-shards drops what a step of the whole batch does") {
  require_as_alone(classifier_model, Dataset::from(classes_data(44)),
                   {.epochs = 2, .batch_size = 16, .seed = 3});
}

TEST_CASE("dropout of odd rows drops the same elements wherever a micro-shard begins") {
  // 5 elements a row: micro-shards of 3 rows begin within blocks of random numbers.
  const auto network = [] {
    graph::ModelDef def = linear_regression(0.05F);
    def.training.clear();
    def.graph.initializers = {{"w1", random_floats({2, 5}, 1), "", {}},
                              {"w2", random_floats({5, 1}, 2), "", {}}};
    const std::string x = def.graph.inputs[0].name;
    const std::string y = def.graph.outputs[0].name;
    def.graph.nodes = {node("MatMul", {x, "w1"}, {"h"}), node("Dropout", {"h"}, {"d"}),
                       node("MatMul", {"d", "w2"}, {y})};
    PrepareOptions options{.loss = Loss::mse, .label = "t"};
    options.optimizer = Sgd{.learning_rate = 0.05F};
    options.init = WeightInit::keep;
    return prepare(Model::load(encode(def)), options);
  };
  require_as_alone(network, Dataset::from(line_data(50)),
                   {.epochs = 2, .batch_size = 12, .seed = 3});
}

TEST_CASE("dropout of ranks with --fast-reduce is that of the whole batch") {
  const Dataset data = Dataset::from(classes_data(44));
  const Trained alone = train_alone(classifier_model, data, {.batch_size = 16, .seed = 3});
  require_close(alone, train_on(2, classifier_model, data,
                                {.batch_size = 16, .seed = 3, .fast_reduce = true}));
}
