// Everything that a training job may have at once, stopped and resumed after every step.
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/bitmap.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wave.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t batches = 3;  // of an epoch, so that it ends with a group of one

struct Job {
  std::optional<ModelSchedule> model_schedule = {};
  Schedule schedule = {};
  EarlyStopping early_stopping = {};
  std::uint64_t epochs = 0;  // that run
  bool of_sounds = false;
};

// Raw images [N, 4, 4, 3], or recordings of 80 samples as spectrograms [N, 3, 4, 4], in two
// classes; convolution, normalization, dropout and a linear layer.
Model network(const Job& job) {
  ModelBuilder b("job");
  std::string x = b.input("x", DType::float32, {"N", job.of_sounds ? 1 : 3, 4, 4});
  if (job.of_sounds) x = b.node("Concat", {x, x, x}, {{"axis", std::int64_t{1}}});
  b.node("Conv", {x, b.initializer("conv.w", random_floats({4, 3, 3, 3}, 1, -0.3F, 0.3F))}, {},
         "maps");
  b.node("BatchNormalization",
         {"maps", b.initializer("norm.scale", random_floats({4}, 2, 0.5F, 1.5F)),
          b.initializer("norm.bias", random_floats({4}, 3, -0.1F, 0.1F)),
          b.initializer("norm.mean", Tensor(DType::float32, {4})),
          b.initializer("norm.var", random_floats({4}, 4, 0.5F, 1.5F))},
         {}, "normal");
  b.node("Relu", {"normal"}, {}, "active");
  b.node("Flatten", {"active"}, {}, "flat");
  b.node("Dropout", {"flat", b.initializer("ratio", Tensor::scalar(0.25F))}, {}, "kept");
  b.node("Gemm",
         {"kept", b.initializer("head.w", random_floats({16, 2}, 5, -0.3F, 0.3F)),
          b.initializer("head.b", Tensor(DType::float32, {2}))},
         {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  Preprocess preprocess{.scale = 1.0 / 255};
  if (job.of_sounds) {
    preprocess = {.mel = LogMel{.bands = 4, .rate = 8000, .window = 32, .hop = 16}, .mean = {-3}};
  }
  return prepare(b.bytes(), {.class_weights = {1, 2.5F},
                             .optimizer = AdamW{.learning_rate = 0.02F, .weight_decay = 0.05F},
                             .clip_norm = 0.8F,
                             .init = WeightInit::keep,
                             .clip_value = 0.4F,
                             .rate_groups = {{"conv*", 0.5F}, {"conv*", 1, 2}},
                             .average = WeightAverage{.decay = 0.75F, .from = 1},
                             .accumulate = 2,
                             .preprocess = {preprocess},
                             .schedule = job.model_schedule});
}

void write_images(const fs::path& folder) {
  for (unsigned i = 0; i < 14; ++i) {
    std::vector<std::array<unsigned, 3>> pixels(16);
    for (unsigned p = 0; p < 16; ++p) {
      pixels[p] = {(i * 7 + p * 5) % 90 + i % 2 * 120, p * 3, i * 31 % 99};
    }
    const fs::path file = folder / (i % 2 == 0 ? "dark" : "light") / (std::to_string(i) + ".bmp");
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bitmap(4, 4, pixels);
  }
}

void write_sounds(const fs::path& folder) {
  for (int i = 0; i < 14; ++i) {
    std::vector<int> samples(static_cast<std::size_t>(60 + 3 * i));
    for (std::size_t t = 0; t < samples.size(); ++t) {
      samples[t] = static_cast<int>(t) * (i % 2 == 0 ? 900 : 4200) * (i + 3) % 20'000 - 10'000;
    }
    const fs::path file = folder / (i % 2 == 0 ? "low" : "high") / (std::to_string(i) + ".wav");
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << wave(8000, samples);
  }
}

// Optional libraries may be left out of a build.
bool can_read_sounds() {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.wav", std::ios::binary) << wave(8000, {1, 2});
  try {
    return Dataset::open(folder / "a.wav").rows() == 1;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    WARN("skipped: " << error.what());
    return false;
  }
}

TrainerOptions options(bool of_sounds) {
  const Augmentation of_images{.flip = true, .crop = 1, .rotate = 20, .color = 0.3};
  return {.epochs = 4,
          .batch_size = 4,
          .seed = 5,
          .averaged = true,
          .validation_split = 0.25,
          .augmentation = of_sounds ? Augmentation{.time_shift = 0.002, .noise = 0.5} : of_images};
}

// Numbers that a run reports: loss and mean of the epoch of each step, the rate of each step that
// updates, and the validation of each epoch.
class Trace {
 public:
  // Stops after `steps`.
  FitReport record(Trainer& trainer, const Dataset& data, std::uint64_t steps) {
    std::uint64_t done = 0;
    trainer.on_step([&, steps](const StepReport& step) {
      numbers_.push_back(step.last["loss"]);
      numbers_.push_back(step.mean["loss"]);
      if (step.step % 2 == 0 || step.step == batches) {
        numbers_.push_back(step.learning_rate.value());
      }
      return ++done < steps;
    });
    trainer.on_epoch([&](const EpochReport& epoch) {
      for (const auto& [name, value] : epoch.validation) numbers_.push_back(value);
      numbers_.push_back(epoch.best ? 1 : 0);
    });
    return trainer.fit(data);
  }
  bool operator==(const Trace&) const = default;

 private:
  std::vector<double> numbers_;
};

void check_job(const Job& job) {
  const TemporaryFolder folder;
  job.of_sounds ? write_sounds(folder / "data") : write_images(folder / "data");
  const auto data = [&](int threads) {
    return Dataset::open(folder / "data", {.threads = threads});
  };
  const auto with = [&](const std::string& checkpoint) {
    TrainerOptions result = options(job.of_sounds);
    result.schedule = job.schedule;
    result.early_stopping = job.early_stopping;
    result.checkpoint = folder / checkpoint;
    return result;
  };
  constexpr std::uint64_t all = 1000;
  Model whole = network(job);
  Trainer uninterrupted(whole, with("whole.ckpt"));
  Trace expected;
  const FitReport report = expected.record(uninterrupted, data(2), all);
  REQUIRE(report.epochs == job.epochs);
  CHECK(report.restored_best == job.early_stopping.restore_best);
  for (std::uint64_t stop = 1; stop < job.epochs * batches; ++stop) {
    CAPTURE(stop);
    TrainerOptions parts = with("stop" + std::to_string(stop) + ".ckpt");
    Trace trace;
    {
      Model first = network(job);
      Trainer stopped(first, parts);
      CHECK(trace.record(stopped, data(1), stop).reason == StopReason::requested);
    }
    parts.resume = true;
    Model second = network(job);
    Trainer resumed(second, parts);
    const FitReport rest = trace.record(resumed, data(3), all);
    CHECK(same_state(whole, second));
    CHECK(trace == expected);
    CHECK(rest.epochs == report.epochs);
    CHECK(rest.reason == report.reason);
    CHECK(rest.best_epoch == report.best_epoch);
    CHECK(rest.best_value == report.best_value);
  }
}

}  // namespace

TEST_CASE("a job with all options under a cosine schedule is resumed after any step bit for bit") {
  check_job({.schedule = CosineSchedule{.warmup = 0.3, .final_rate = 0.001},
             .early_stopping = {.patience = 4, .restore_best = false},
             .epochs = 4});
}

TEST_CASE("a job on recordings is resumed after any step bit for bit") {
  if (!can_read_sounds()) return;
  check_job({.schedule = CosineSchedule{.warmup = 0.3, .final_rate = 0.001},
             .early_stopping = {.patience = 4, .restore_best = false},
             .epochs = 4,
             .of_sounds = true});
}

TEST_CASE("a job whose model has the schedule is resumed after any step bit for bit") {
  check_job({.model_schedule = ModelSchedule{.schedule = OneCycleSchedule{}, .steps = 8},
             .early_stopping = {.patience = 4, .restore_best = false},
             .epochs = 4});
}

TEST_CASE("a job that waits for a plateau is resumed after any step bit for bit") {
  check_job({.schedule = PlateauSchedule{.factor = 0.5, .patience = 1, .min_delta = 10},
             .early_stopping = {.metric = "val_accuracy", .patience = 4, .restore_best = false},
             .epochs = 4});
}

TEST_CASE("a job that stops early goes back to its best epoch, resumed or not") {
  // No epoch after the first improves by so much.
  check_job({.model_schedule =
                 ModelSchedule{
                     .schedule = StepSchedule{.factor = 0.5}, .epoch_steps = 2, .warmup_steps = 1},
             .early_stopping = {.patience = 2, .min_delta = 10},
             .epochs = 3});
}
