// Training with privacy whose noise comes from a cryptographic generator.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include <ondine/build.h>
#include <ondine/metadata.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "core/secure/entropy.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/private_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::int64_t inputs = 300;
constexpr std::int64_t outputs = 100;

std::vector<std::byte> wide_network() {
  ModelBuilder b("net", 17);
  const std::string x = b.input("x", DType::float32, {"N", inputs});
  b.node("Gemm",
         {x, b.initializer("w", random_floats({inputs, outputs}, 1)),
          b.initializer("b", random_floats({outputs}, 2))},
         {}, "logits");
  b.output("logits", DType::float32, {"N", outputs});
  return b.bytes();
}

// A step of an empty batch subtracts noise alone, of deviation 1.
Model noisy_model(bool secure = true, int threads = 1) {
  PrepareOptions options{.optimizer = Sgd{.learning_rate = 1}, .init = WeightInit::keep};
  options.privacy = Privacy{2, 2, 4, secure};
  return Model::load(prepare(wide_network(), options).export_training(), {.threads = threads});
}

Tensor weights_of(const Model& model) { return model.get_state("w").clone(); }

// Noise that one step without rows that count adds to the weights.
std::vector<double> noise_of_step(Model& model) {
  const Tensor before = weights_of(model);
  NamedValues feeds{{"x", Tensor(DType::float32, {1, inputs})},
                    {"label", Tensor::of<std::int64_t>({1}, {0})},
                    {metadata_of(model, "ondine.counted"), Tensor::of<float>({1}, {0})}};
  model.train_step(feeds);
  const Tensor after = weights_of(model);
  std::vector<double> noise;
  for (std::size_t i = 0; i < after.values<float>().size(); ++i) {
    noise.push_back(static_cast<double>(after.values<float>()[i] - before.values<float>()[i]));
  }
  return noise;
}

bool are_apart(const std::vector<double>& a, const std::vector<double>& b) {
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += std::abs(a[i] - b[i]) < 1e-6 ? 1 : 0;
  return same < 20;  // of 30,000
}

Dataset few_rows() {
  return Dataset::from({{"x", random_floats({8, inputs}, 3)},
                        {"label", Tensor::of<std::int64_t>({8}, {1, 2, 3, 4, 5, 6, 7, 8})}});
}

bool fill_nothing(std::span<std::byte>) noexcept { return false; }

}  // namespace

TEST_CASE("secure noise is normal, of another draw in each step, run and parameter") {
  Model model = noisy_model(), other = noisy_model();
  const std::vector<double> first = noise_of_step(model);
  const std::vector<double> second = noise_of_step(model);
  const std::vector<double> third = noise_of_step(other);
  CHECK(are_apart(first, second));
  CHECK(are_apart(first, third));
  Model copy = model.clone();
  CHECK(are_apart(noise_of_step(copy), noise_of_step(model)));
  double sum = 0, squares = 0;
  for (const double one : first) {
    sum += one;
    squares += one * one;
  }
  const auto n = static_cast<double>(first.size());
  CHECK(std::abs(sum / n) < 4 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 4 * std::sqrt(2 / n));
  std::vector<double> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  double distance = 0;  // of Kolmogorov and Smirnov
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double below = 0.5 * std::erfc(-sorted[i] / std::sqrt(2.0));
    distance = std::max({distance, std::abs(below - static_cast<double>(i) / n),
                         std::abs(below - static_cast<double>(i + 1) / n)});
  }
  CHECK(distance < 2.3 / std::sqrt(n));  // passed by 1 sample in 20,000
}

TEST_CASE("a seed makes plain noise repeatable and not secure noise") {
  for (const bool secure : {false, true}) {
    Model one = noisy_model(secure), two = noisy_model(secure);
    one.initialize(7);
    two.initialize(7);
    CHECK(are_apart(noise_of_step(one), noise_of_step(two)) == secure);
  }
}

TEST_CASE("a resumed run with secure noise repeats none of it") {
  const TemporaryFolder folder;
  TrainerOptions options{.epochs = 1, .batch_size = 4, .seed = 5};
  options.checkpoint = folder / "run";
  Model model = noisy_model();
  Trainer(model, options).fit(few_rows());
  options.resume = true;
  options.epochs = 2;
  std::vector<std::shared_ptr<Model>> ends;
  for (int i = 0; i < 2; ++i) {
    ends.push_back(std::make_shared<Model>(noisy_model()));
    const std::string kept = (folder / ("copy" + std::to_string(i))).string();
    std::filesystem::copy_file(folder / "run", kept);
    options.checkpoint = kept;
    const FitReport report = Trainer(*ends.back(), options).fit(few_rows());
    CHECK(report.last->epsilon > 0);
  }
  CHECK_FALSE(same_state(*ends[0], *ends[1]));
}

TEST_CASE("secure samples take each row with the same probability and differ in every run") {
  const auto draw = [](std::uint64_t epoch) {
    return fit::SampledBatches(500, 50, 3, epoch, 0, true);
  };
  CHECK(draw(0).take_order().rows != draw(0).take_order().rows);
  double sum = 0, squares = 0;
  std::vector<int> of_row(500);
  for (std::uint64_t epoch = 0; epoch < 60; ++epoch) {
    fit::SampledBatches batches = draw(epoch);
    const std::vector<std::uint64_t> counts = batches.counts();
    const data::BatchOrder order = batches.take_order();
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::uint64_t k = 0; k < counts[i]; ++k) ++of_row[order.rows[begin + k]];
      sum += static_cast<double>(counts[i]);
      squares += static_cast<double>(counts[i] * counts[i]);
      begin = order.ends[i];
    }
  }
  const double batches = 600, mean = sum / batches;
  CHECK(mean == Approx(50).margin(5 * std::sqrt(45 / batches)));
  CHECK(squares / batches - mean * mean == Approx(45).epsilon(0.3));  // 500 * 0.1 * 0.9
  for (const int count : of_row) CHECK(std::abs(count - 60) < 40);    // deviation 7.3
}

TEST_CASE("epsilon does not depend on where noise comes from, and a note tells of it") {
  Model secure = noisy_model(), plain = noisy_model(false);
  const TrainerOptions options{.epochs = 1, .batch_size = 4, .seed = 5};
  CHECK(Trainer(secure, options).fit(few_rows()).last->epsilon ==
        Trainer(plain, options).fit(few_rows()).last->epsilon);
  CHECK_THAT(Trainer(secure, options).notes(few_rows()).at(0), Contains("cryptographic"));
  CHECK_THAT(Trainer(plain, options).notes(few_rows()).at(0), !Contains("cryptographic"));
  CHECK(privacy_of(secure)->secure_noise);
  CHECK_FALSE(privacy_of(plain)->secure_noise);
}

TEST_CASE("noise has the same deviation with any number of threads") {
  Model model = noisy_model(true, 3);
  double squares = 0;
  const std::vector<double> noise = noise_of_step(model);
  for (const double one : noise) squares += one * one;
  CHECK(squares / static_cast<double>(noise.size()) == Approx(1).epsilon(0.04));
}

TEST_CASE("a model with secure noise is refused where the system has no entropy") {
  PrepareOptions options{.init = WeightInit::keep};
  options.privacy = Privacy{2, 2, 4, true};
  const std::vector<std::byte> file = prepare(wide_network(), options).export_training();
  options.privacy->secure_noise = false;
  const std::vector<std::byte> plain = prepare(wide_network(), options).export_training();
  const EntropySource source = replace_entropy_source(fill_nothing);
  CHECK_THROWS_WITH(Model::load(file), Contains("privacy") && Contains("random bytes"));
  CHECK_NOTHROW(Model::load(plain));
  replace_entropy_source(source);
  CHECK_NOTHROW(Model::load(file));
}

TEST_CASE("secure noise without noise, and a record that names other values, are refused") {
  PrepareOptions options{.init = WeightInit::keep};
  options.privacy = Privacy{2, 0, 4, true};
  CHECK_THROWS_WITH(prepare(wide_network(), options), Contains("--dp-secure-noise"));
  options.privacy->noise = 1;
  const Model model = prepare(wide_network(), options);
  CHECK(metadata_of(model, "ondine.privacy") == "2 1 4 secure");
  CHECK(metadata_of(model, "ondine.secure_noise") == "w.noise\nb.noise");
  std::vector<std::byte> file = model.export_training();
  const std::string_view from = "w.noise\nb.noise";
  const auto at = std::search(file.begin(), file.end(), from.begin(), from.end(),
                              [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  REQUIRE(at != file.end());
  *at = static_cast<std::byte>('v');
  CHECK_THROWS_WITH(Model::load(file), Contains("v.noise") && Contains("RandomNormalLike"));
}
