// Means over labels: accumulated gradients and the metrics of epochs do not depend on how rows are
// put into batches.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/metadata.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::int64_t classes = 7, length = 6;
constexpr std::int64_t ignored = -100;

// ids [N, T] -> scores [N, T, 7] of a linear layer.
Model table_model(std::optional<std::int64_t> tokens) {
  ModelBuilder b("table");
  using Dim = ModelBuilder::Dim;
  const Dim width = tokens ? Dim(*tokens) : Dim("T");
  const std::string ids = b.input("ids", DType::int64, {"N", width});
  const std::string rows =
      b.node("Gather", {b.initializer("table", random_floats({classes, 5}, 5)), ids});
  b.node("MatMul", {rows, b.initializer("weights", random_floats({5, classes}, 6))}, {}, "scores");
  b.output("scores", DType::float32, {"N", width, classes});
  return Model::load(b.bytes());
}

PrepareOptions options_for(std::optional<std::uint64_t> accumulate) {
  return {.loss = Loss::softmax_cross_entropy,
          .ignore_index = ignored,
          .optimizer = Sgd{.learning_rate = 0.5F},
          .init = WeightInit::keep,
          .accumulate = accumulate};
}

Tensor random_ids(const Shape& shape, std::uint64_t seed) {
  Tensor ids(DType::int64, shape);
  std::uint64_t state = seed * 2654435761u + 1;
  for (std::int64_t& id : ids.mutable_values<std::int64_t>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(classes));
  }
  return ids;
}

// Row i counts 1 + i % 5 labels.
NamedValues rows(std::int64_t count) {
  Tensor labels = random_ids({count, length}, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t t = 1 + i % 5; t < length; ++t) {
      labels.mutable_values<std::int64_t>()[static_cast<std::size_t>(i * length + t)] = ignored;
    }
  }
  return {{"ids", random_ids({count, length}, 1)}, {"label", labels}};
}

void check_close(const Model& a, const Model& b) {
  const auto x = a.parameters();
  const auto y = b.parameters();
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(y[i]).margin(1e-6));
}

// The training metrics of one epoch.
Metrics epoch_of(Model& model, const NamedValues& data, TrainerOptions options) {
  Metrics found;
  options.epochs = 1;
  Trainer trainer(model, options);
  trainer.on_epoch([&](const EpochReport& one) { found = one.training; });
  trainer.fit(Dataset::from(data));
  return found;
}

}  // namespace

TEST_CASE("accumulated gradients are means over labels, as those of one large batch") {
  for (const bool weighs_classes : {false, true}) {
    PrepareOptions small_options = options_for(2);
    PrepareOptions large_options = options_for({});
    if (weighs_classes) {
      // A first batch may weigh next to nothing.
      small_options.class_weights = {1e-3F, 2e-3F, 0.5F, 3, 1e-3F, 1, 4};
      large_options.class_weights = small_options.class_weights;
    }
    Model small = prepare(table_model(length), small_options);
    Model large = prepare(table_model(length), large_options);
    const Metrics found = epoch_of(small, rows(16), {.batch_size = 2});
    CHECK(found.size() == 2);
    CHECK(found["loss"] ==
          Approx(epoch_of(large, rows(16), {.batch_size = 4})["loss"]).epsilon(1e-5));
    check_close(small, large);
  }
}

TEST_CASE("the metrics of an epoch are means over labels for any size of batches") {
  std::optional<Metrics> first;
  for (const std::uint64_t size : {1, 3, 16}) {
    Model model = prepare(table_model(length), options_for({}));
    model.set_learning_rate(0);
    const Metrics found = epoch_of(model, rows(16), {.batch_size = size});
    CHECK(found.size() == 2);
    if (!first) first = found;
    CHECK(found["loss"] == Approx((*first)["loss"]).epsilon(1e-6));
    CHECK(found["accuracy"] == Approx((*first)["accuracy"]).epsilon(1e-6));
  }
}

TEST_CASE("the metrics of validation are means over labels") {
  // The first batch of an evaluation has 256 rows, of which few labels count.
  NamedValues data = rows(300);
  auto labels = data[1].second.tensor().clone();
  for (std::size_t i = 0; i < 256 * static_cast<std::size_t>(length); ++i) {
    if (i % 100 != 0) labels.mutable_values<std::int64_t>()[i] = ignored;
  }
  data[1].second = labels;
  Model model = prepare(table_model(length), options_for({}));
  model.set_learning_rate(0);
  Metrics validation;
  Trainer trainer(model, {.epochs = 1, .batch_size = 300});
  Metrics training;
  trainer.on_epoch([&](const EpochReport& one) {
    training = one.training;
    validation = one.validation;
  });
  trainer.fit(Dataset::from(data), Dataset::from(data));
  CHECK(validation["loss"] == Approx(training["loss"]).epsilon(1e-5));
  CHECK(validation["accuracy"] == Approx(training["accuracy"]).epsilon(1e-5));
}

TEST_CASE("batches of texts of different lengths count by their labels") {
  PrepareOptions options = options_for(2);
  options.ignore_index.reset();
  Model model = prepare(table_model({}), options);
  const auto part = [](std::int64_t tokens) -> NamedValues {
    return {{"ids", random_ids({1, tokens}, 3)}, {"label", random_ids({1, tokens}, 4)}};
  };
  // Array `name` of both parts, joined to one row.
  const auto joined = [&](const std::string& name) {
    Tensor both(DType::int64, Shape{1, 10});
    auto to = both.mutable_values<std::int64_t>().begin();
    for (const std::int64_t tokens : {8, 2}) {
      for (const auto& [key, value] : part(tokens)) {
        if (key != name) continue;
        const auto from = value.tensor().values<std::int64_t>();
        to = std::copy(from.begin(), from.end(), to);
      }
    }
    return both;
  };
  model.train_step(part(8), 0);
  model.train_step(part(2), 0);
  model.train_step({{"ids", random_ids({1, 2}, 3)}}, 1);
  options.accumulate.reset();
  Model whole = prepare(table_model({}), options);
  whole.train_step({{"ids", joined("ids")}, {"label", joined("label")}});
  check_close(model, whole);
}

TEST_CASE("data of which no label counts are an error") {
  NamedValues data = rows(8);
  Tensor none(DType::int64, Shape{8, length});
  for (std::int64_t& label : none.mutable_values<std::int64_t>()) label = ignored;
  data[1].second = none;
  Model model = prepare(table_model(length), options_for({}));
  CHECK_THROWS_WITH(epoch_of(model, data, {.batch_size = 4}),
                    Contains("no label counts for 'loss' in 8 rows"));
}

TEST_CASE("models whose labels all count alike have no such outputs") {
  PrepareOptions options = options_for({});
  options.ignore_index.reset();
  const Model model = prepare(table_model(length), options);
  CHECK(model.algorithm(0).outputs.size() == 2 + model.algorithm(0).updates.size());
  CHECK(metadata_of(model, "ondine.metric_weights").empty());
  const Model counted = prepare(table_model(length), options_for({}));
  CHECK(metadata_of(counted, "ondine.metric_weights") ==
        "loss=loss_weight\naccuracy=accuracy_weight");
}
