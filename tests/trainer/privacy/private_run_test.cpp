// Runs of the trainer with privacy.
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/private_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::int64_t rows = 40;

std::vector<std::byte> network() {
  ModelBuilder b("net", 17);
  const std::string x = b.input("x", DType::float32, {"N", 3});
  b.node(
      "Gemm",
      {x, b.initializer("w", random_floats({3, 4}, 1)), b.initializer("b", random_floats({4}, 2))},
      {}, "logits");
  b.output("logits", DType::float32, {"N", 4});
  return b.bytes();
}

Model private_model(float noise = 1.5F) {
  PrepareOptions options{.optimizer = AdamW{.learning_rate = 0.05F}, .init = WeightInit::keep};
  options.privacy = Privacy{0.5F, noise, 8};
  return prepare(network(), options);
}

Dataset samples() {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i * 7 % 4);
  return Dataset::from(
      {{"x", random_floats({rows, 3}, 3)}, {"label", Tensor::of<std::int64_t>({rows}, labels)}});
}

TrainerOptions run_of(std::uint64_t epochs = 3) {
  return {.epochs = epochs, .batch_size = 8, .seed = 5};
}

}  // namespace

TEST_CASE("each row is in each batch with the same probability, whatever else is in it") {
  constexpr std::uint64_t all = 500, size = 50, epochs = 60;
  std::vector<int> of_row(all);
  double sum = 0, squares = 0;
  int together = 0;  // rows 0 and 1
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    fit::SampledBatches batches(all, size, 3, epoch, 0);
    const std::vector<std::uint64_t> counts = batches.counts();
    const data::BatchOrder order = batches.take_order();
    REQUIRE(counts.size() == 10);
    REQUIRE(order.ends.size() == 10);
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < 10; ++i) {
      const std::uint64_t filled = order.ends[i] - begin;
      CHECK(filled >= counts[i]);
      CHECK(filled % 6 == 0);
      CHECK(filled <= order.size);
      bool first = false, second = false;
      for (std::uint64_t k = 0; k < counts[i]; ++k) {
        const std::uint64_t row = order.rows[begin + k];
        CHECK((k == 0 || row > order.rows[begin + k - 1]));
        ++of_row[row];
        first = first || row == 0;
        second = second || row == 1;
      }
      if (first && second) ++together;
      sum += static_cast<double>(counts[i]);
      squares += static_cast<double>(counts[i] * counts[i]);
      begin = order.ends[i];
    }
  }
  const double batches = 600, mean = sum / batches;
  CHECK(mean == Approx(50).margin(4 * std::sqrt(45 / batches)));
  CHECK(squares / batches - mean * mean == Approx(45).epsilon(0.25));  // 500 * 0.1 * 0.9
  // Each row is in 60 of 600 batches in the mean, with deviation 7.3.
  for (const int count : of_row) CHECK(std::abs(count - 60) < 36);
  CHECK(together > 0);
  CHECK(together < 20);
}

TEST_CASE("samples are a function of seed, epoch and step") {
  const auto rows_of = [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t first) {
    fit::SampledBatches batches(100, 10, seed, epoch, first);
    return batches.take_order().rows;
  };
  CHECK(rows_of(1, 0, 0) == rows_of(1, 0, 0));
  CHECK(rows_of(1, 0, 0) != rows_of(2, 0, 0));
  CHECK(rows_of(1, 0, 0) != rows_of(1, 1, 0));
  const std::vector<std::uint64_t> whole = rows_of(1, 0, 0), rest = rows_of(1, 0, 4);
  REQUIRE(rest.size() < whole.size());
  CHECK(std::equal(rest.rbegin(), rest.rend(), whole.rbegin()));
}

TEST_CASE("the default delta is the largest power of ten up to 1 / rows") {
  CHECK(fit::default_delta(60000) == Approx(1e-5));
  CHECK(fit::default_delta(100000) == Approx(1e-5));
  CHECK(fit::default_delta(100001) == Approx(1e-6));
  CHECK(fit::default_delta(1) == Approx(0.1));
}

TEST_CASE("epochs report the epsilon of all steps so far") {
  Model model = private_model();
  std::vector<EpochReport> epochs;
  Trainer trainer(model, run_of());
  trainer.on_epoch([&](const EpochReport& epoch) { epochs.push_back(epoch); });
  trainer.fit(samples());
  REQUIRE(epochs.size() == 3);
  PrivacyAccountant accountant;
  for (const EpochReport& epoch : epochs) {
    accountant.add(1.5, 0.2, 5);
    CHECK(epoch.delta == Approx(0.01));
    CHECK(*epoch.epsilon == Approx(accountant.epsilon(0.01)).epsilon(1e-12));
  }
  std::ostringstream text;
  text << epochs[0];
  CHECK_THAT(text.str(), Contains(", epsilon ") && Contains(" at delta 0.01"));
}

TEST_CASE("a private run that is stopped and resumed ends with the same bits and epsilon") {
  const TemporaryFolder folder;
  Model whole = private_model();
  const FitReport expected = Trainer(whole, run_of()).fit(samples());
  for (const int stop : {1, 5, 7, 12}) {
    TrainerOptions options = run_of();
    options.checkpoint = folder / ("stop" + std::to_string(stop));
    Model first = private_model();
    Trainer stopped(first, options);
    int steps = 0;
    stopped.on_step([&](const StepReport&) { return ++steps < stop; });
    stopped.fit(samples());
    options.resume = true;
    Model second = private_model();
    const FitReport report = Trainer(second, options).fit(samples());
    CHECK(same_state(whole, second));
    REQUIRE(report.last);
    CHECK(report.last->epsilon == expected.last->epsilon);
  }
}

TEST_CASE("without a seed of the caller two runs differ") {
  TrainerOptions options = run_of(1);
  options.seed = 0;
  Model first = private_model(), second = private_model();
  Trainer(first, options).fit(samples());
  Trainer(second, options).fit(samples());
  CHECK_FALSE(same_state(first, second));
}

TEST_CASE("a resumed run with other data or noise is refused") {
  const TemporaryFolder folder;
  TrainerOptions options = run_of(1);
  options.checkpoint = folder / "run";
  Model model = private_model();
  Trainer(model, options).fit(samples());
  options.resume = true;
  options.epochs = 2;
  Model again = private_model();
  const auto [part, rest] = samples().split(0.25);
  CHECK_THROWS_WITH(Trainer(again, options).fit(part),
                    Contains("private steps") && Contains("same data"));
}

TEST_CASE("a note tells of random batches, and of noise that gives no privacy") {
  Model model = private_model(), plain = private_model(0);
  const auto notes = Trainer(model, run_of()).notes(samples());
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("random samples") && Contains("8 rows in the mean"));
  CHECK_THAT(Trainer(plain, run_of()).notes(samples()).at(0), Contains("no privacy"));
  const FitReport report = Trainer(plain, run_of(1)).fit(samples());
  CHECK(std::isinf(*report.last->epsilon));
}

TEST_CASE("options that contradict privacy are refused") {
  Model model = private_model();
  TrainerOptions other = run_of();
  other.batch_size = 16;
  CHECK_THROWS_WITH(Trainer(model, other), Contains("--batch-size 8"));
  other = run_of();
  other.folds = 2;
  CHECK_THROWS_WITH(Trainer(model, other), Contains("folds"));
  other = run_of();
  other.privacy_delta = 2;
  CHECK_THROWS_WITH(Trainer(model, other), Contains("delta"));
  Model plain = line_model();
  other = run_of();
  other.privacy_delta = 1e-5;
  CHECK_THROWS_WITH(Trainer(plain, other), Contains("not prepared for privacy"));
  TrainerOptions fits = run_of();
  CHECK_THROWS_WITH(Trainer(model, fits).fit(samples().split(0.1).second),
                    Contains("expected batch"));
}

TEST_CASE("a private model keeps its settings through export and validates on plain batches") {
  const Model model = private_model();
  const auto settings = privacy_of(model);
  REQUIRE(settings);
  CHECK(settings->clip == 0.5F);
  CHECK(settings->noise == 1.5F);
  CHECK(settings->batch_size == 8);
  Model loaded = Model::load(model.export_training());
  CHECK(privacy_of(loaded)->batch_size == 8);
  CHECK_FALSE(privacy_of(line_model()));
  const FitReport report = Trainer(loaded, run_of(1)).fit(samples(), samples());
  CHECK(report.last->validation.contains("loss"));
}
