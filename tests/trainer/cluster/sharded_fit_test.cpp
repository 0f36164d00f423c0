// Runs in micro-shards: the same bits for 1, 2 and 4 ranks.
#include <catch2/catch.hpp>

#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using MakeModel = std::function<Model()>;

struct Outcome {
  std::vector<std::shared_ptr<Model>> models;  // by rank
  std::vector<FitReport> reports;
  std::vector<std::string> errors;
};

Outcome fit_on(std::size_t size, const MakeModel& make, const Dataset& data,
               const TrainerOptions& options) {
  Outcome outcome;
  outcome.models.resize(size);
  outcome.reports.resize(size);
  outcome.errors = on_ranks(size, [&](std::shared_ptr<Communicator> ranks) {
    const std::size_t rank = ranks->rank();
    auto model = std::make_shared<Model>(make());
    outcome.models[rank] = model;
    TrainerOptions own = options;
    own.communicator = std::move(ranks);
    outcome.reports[rank] = Trainer(*model, own).fit(data);
  });
  return outcome;
}

// The model after a run on that many ranks, which all have the same state.
std::shared_ptr<Model> trained_on(std::size_t size, const MakeModel& make, const Dataset& data,
                                  const TrainerOptions& options) {
  Outcome outcome = fit_on(size, make, data, options);
  CHECK(outcome.errors == std::vector<std::string>(size));
  for (const auto& model : outcome.models) CHECK(same_state(*model, *outcome.models[0]));
  return outcome.models[0];
}

void require_same_bits(const MakeModel& make, const Dataset& data, const TrainerOptions& options) {
  const auto one = trained_on(1, make, data, options);
  CHECK(same_state(*one, *trained_on(2, make, data, options)));
  CHECK(same_state(*one, *trained_on(4, make, data, options)));
  // It learned something.
  CHECK_FALSE(same_state(*one, make()));
}

void require_close(const Model& a, const Model& b) {
  const auto x = a.parameters();
  const auto y = b.parameters();
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).epsilon(1e-4).margin(1e-6));
}

// Batch normalization and dropout in training mode, clipping of the gradients' norm.
Model normalized_classifier(PrepareOptions options = {}) {
  graph::ModelDef def = dropout_classifier();
  def.training.clear();
  const auto channels = [](float value) {
    Tensor tensor(DType::float32, {16});
    for (float& one : tensor.mutable_values<float>()) one = value;
    return tensor;
  };
  for (const auto& [name, value] : {std::pair("scale", 1.F), std::pair("shift", 0.F),
                                    std::pair("mean", 0.F), std::pair("variance", 1.F)}) {
    def.graph.initializers.push_back({name, channels(value), "", {}});
  }
  def.graph.nodes = {node("Gemm", {"x", "w1", "b1"}, {"h"}),
                     node("BatchNormalization", {"h", "scale", "shift", "mean", "variance"}, {"n"}),
                     node("Relu", {"n"}, {"r"}), node("Dropout", {"r"}, {"d"}),
                     node("Gemm", {"d", "w2", "b2"}, {"logits"})};
  options.loss = Loss::softmax_cross_entropy;
  if (std::holds_alternative<Sgd>(options.optimizer))
    options.optimizer = Adam{.learning_rate = 0.02F};
  options.init = WeightInit::keep;
  return prepare(Model::load(encode(def)), options);
}

}  // namespace

TEST_CASE("1, 2 and 4 ranks train to the same bits, also where the last batch is short") {
  require_same_bits(line_model, Dataset::from(line_data(64)), {.epochs = 2, .batch_size = 16});
  for (const std::int64_t rows : {65, 70, 79}) {
    require_same_bits(line_model, Dataset::from(line_data(rows)), {.epochs = 2, .batch_size = 16});
  }
}

TEST_CASE("dropout and batch statistics have the same bits on any number of ranks") {
  const Dataset data = Dataset::from(classes_data(44));
  require_same_bits(classifier_model, data, {.epochs = 2, .batch_size = 16, .seed = 3});
  require_same_bits([] { return normalized_classifier(); }, data,
                    {.epochs = 2, .batch_size = 16, .seed = 3});
  require_same_bits([] { return normalized_classifier({.clip_norm = 0.1F}); }, data,
                    {.epochs = 2, .batch_size = 8, .micro_shards = 8});
}

TEST_CASE("accumulated gradients and averages have the same bits on any number of ranks") {
  const Dataset data = Dataset::from(classes_data(50));
  require_same_bits(
      [] {
        return normalized_classifier(
            {.clip_norm = 1, .average = WeightAverage{.decay = 0.9F}, .accumulate = 2});
      },
      data, {.epochs = 2, .batch_size = 12, .seed = 5});
}

TEST_CASE("optimizers of ordinary operators have the same bits on any number of ranks") {
  const Dataset data = Dataset::from(classes_data(44));
  const std::vector<Optimizer> optimizers{Lion{.learning_rate = 0.01F},
                                          Adafactor{},
                                          Muon{.learning_rate = 0.01F},
                                          ScheduleFree{.learning_rate = 0.01F},
                                          GaLore{.learning_rate = 0.02F, .rank = 1, .every = 3},
                                          Apollo{.learning_rate = 0.02F, .rank = 1, .every = 3}};
  for (const Optimizer& optimizer : optimizers) {
    CAPTURE(optimizer.index());
    require_same_bits([&] { return normalized_classifier({.optimizer = optimizer}); }, data,
                      {.epochs = 2, .batch_size = 16, .seed = 3});
  }
}

TEST_CASE("forward-only training takes a direction in each micro-shard, on any number of ranks") {
  require_same_bits(
      [] { return normalized_classifier({.optimizer = Mezo{.learning_rate = 0.01F}}); },
      Dataset::from(classes_data(44)), {.epochs = 2, .batch_size = 16, .seed = 3});
}

TEST_CASE("a model of half precision with a scaled loss has the same bits on any number of ranks") {
  const Dataset data = Dataset::from(line_data(40));
  require_same_bits(
      [] {
        graph::ModelDef def = linear_regression(0.05F);
        def.training.clear();
        return prepare(Model::load(encode(def)), {.loss = Loss::mse,
                                                  .label = "t",
                                                  .optimizer = Sgd{.learning_rate = 0.05F},
                                                  .loss_scale = DynamicLossScale{},
                                                  .init = WeightInit::keep});
      },
      data, {.epochs = 2, .batch_size = 8});
}

TEST_CASE("a schedule of the run sets the rate of steps in micro-shards") {
  const Dataset data = Dataset::from(classes_data(40));
  TrainerOptions options{.epochs = 3, .batch_size = 8};
  const auto constant = trained_on(
      2, [] { return normalized_classifier(); }, data, options);
  options.schedule = CosineSchedule{};
  require_same_bits([] { return normalized_classifier(); }, data, options);
  const auto cosine = trained_on(
      2, [] { return normalized_classifier(); }, data, options);
  CHECK_FALSE(same_state(*constant, *cosine));
}

TEST_CASE("a step in micro-shards takes the mean over the rows, as a step of the whole batch") {
  const Dataset data = Dataset::from(line_data(42));
  Model plain = line_model();
  Trainer(plain, {.epochs = 3, .batch_size = 16}).fit(data);
  const auto sharded = trained_on(2, line_model, data, {.epochs = 3, .batch_size = 16});
  require_close(plain, *sharded);
  Model one = line_model();
  Trainer(one, {.epochs = 3, .batch_size = 16, .micro_shards = 1}).fit(data);
  require_close(plain, one);
}

TEST_CASE("micro-shards without ranks have the bits of ranks") {
  const Dataset data = Dataset::from(classes_data(44));
  Model alone = classifier_model();
  Trainer(alone, {.epochs = 2, .batch_size = 8, .micro_shards = 4}).fit(data);
  CHECK(same_state(alone, *trained_on(4, classifier_model, data, {.epochs = 2, .batch_size = 8})));
}

TEST_CASE("ranks report the same metrics, and train as those of one rank do") {
  const Dataset data = Dataset::from(classes_data(44));
  const TrainerOptions options{.epochs = 2, .batch_size = 8, .validation_split = 0.2};
  const Outcome two = fit_on(2, classifier_model, data, options);
  const Outcome one = fit_on(1, classifier_model, data, options);
  for (const FitReport& report : two.reports) {
    REQUIRE(report.last);
    CHECK(report.last->training["loss"] == one.reports[0].last->training["loss"]);
    CHECK(report.last->validation["loss"] == one.reports[0].last->validation["loss"]);
  }
}

TEST_CASE("--fast-reduce adds up one part for each rank") {
  const Dataset data = Dataset::from(line_data(40));
  Model plain = line_model();
  Trainer(plain, {.epochs = 2, .batch_size = 8}).fit(data);
  const auto fast =
      trained_on(2, line_model, data, {.epochs = 2, .batch_size = 8, .fast_reduce = true});
  require_close(plain, *fast);
}

TEST_CASE("a run goes on with another number of ranks, and only the first rank writes") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(classes_data(44));
  TrainerOptions options{.epochs = 3, .batch_size = 8, .seed = 3};
  const auto whole = trained_on(1, classifier_model, data, options);
  options.checkpoint = folder / "run.ckpt";
  options.max_steps = 4;
  trained_on(4, classifier_model, data, options);
  options.resume = true;
  options.max_steps = 9;
  trained_on(1, classifier_model, data, options);
  options.max_steps = {};
  CHECK(same_state(*whole, *trained_on(2, classifier_model, data, options)));
}

TEST_CASE("a checkpoint of another number of micro-shards is refused") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(classes_data(32));
  TrainerOptions options{.epochs = 1, .batch_size = 8};
  options.checkpoint = folder / "run.ckpt";
  trained_on(2, classifier_model, data, options);
  options.resume = true;
  options.micro_shards = 8;
  const Outcome outcome = fit_on(2, classifier_model, data, options);
  for (const std::string& error : outcome.errors) {
    CHECK_THAT(error, Contains("trained with --micro-shards 4, now it is with --micro-shards 8"));
  }
}

TEST_CASE("a request to stop on one rank stops all of them after the same step") {
  const Dataset data = Dataset::from(classes_data(44));
  std::vector<std::shared_ptr<Model>> models(3);
  std::vector<FitReport> reports(3);
  const auto errors = on_ranks(3, [&](std::shared_ptr<Communicator> ranks) {
    const std::size_t rank = ranks->rank();
    models[rank] = std::make_shared<Model>(classifier_model());
    TrainerOptions options{.epochs = 2, .batch_size = 6, .micro_shards = 6};
    options.communicator = std::move(ranks);
    Trainer trainer(*models[rank], options);
    trainer.on_step([&](const StepReport& step) { return rank != 1 || step.step < 2; });
    reports[rank] = trainer.fit(data);
  });
  CHECK(errors == std::vector<std::string>(3));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    CHECK(reports[rank].reason == StopReason::requested);
    CHECK(models[rank]->steps() == 2);
  }
}
