// Numbers of options at the bounds of what is taken, and beyond.
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/text.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

// Its message; "" where all is taken.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() != ErrorCode::internal);
    return error.what();
  }
  return "";
}

std::vector<std::byte> images() {
  ModelBuilder b("images", 17);
  const std::string x = b.input("x", DType::float32, {"N", 3, "H", "W"});
  b.node("Conv", {x, b.initializer("w", random_floats({2, 3, 3, 3}, 1))}, {}, "maps");
  b.node("Flatten", {b.node("GlobalAveragePool", {"maps"})}, {}, "y");
  b.output("y", DType::float32, {"N", 2});
  return b.bytes();
}

}  // namespace

TEST_CASE("options of a run are taken at their bounds and refused beyond") {
  Model model = line_model();
  const std::string split = "the validation split must be at least 0 and below 1, it is ";
  const std::string delta = "the least improvement must not be negative, it is ";
  const auto splitting = [](double share) { return TrainerOptions{.validation_split = share}; };
  const auto improving = [](std::uint64_t patience, double least) {
    return TrainerOptions{.early_stopping =
                              EarlyStopping{.patience = patience, .min_delta = least}};
  };
  const auto said = [&](const TrainerOptions& options) {
    return refusal([&] { Trainer(model, options); });
  };
  CHECK(said({.epochs = 1, .batch_size = 1}).empty());
  CHECK(said({.epochs = 0}) == "a run needs at least one epoch");
  CHECK(said({.batch_size = 0}) == "a batch needs at least one row");
  CHECK(said(splitting(0)).empty());
  CHECK(said(splitting(0.999)).empty());
  CHECK(said(splitting(1)) == split + "1");
  CHECK_THAT(said(splitting(-0.001)), Contains(split + "-0.001"));
  CHECK_THAT(said(splitting(not_a_number)), Contains(split));
  CHECK(said(improving(1, 0)).empty());
  CHECK(said(improving(0, 0)) == "the patience must be at least 1");
  CHECK_THAT(said(improving(1, -0.001)), Contains(delta + "-0.001"));
  CHECK_THAT(said(improving(1, not_a_number)), Contains(delta));
  CHECK(said({.resume = true}) == "there is no checkpoint to resume");
  CHECK(said({.checkpoint_every = 1}) == "there is no checkpoint to write");
  CHECK(said({.accumulate = 0}) == "gradients must be accumulated over at least 1 batch");
  CHECK_THAT(said({.algorithm = 1}), Contains("the model has 1 training algorithms"));
}

TEST_CASE("threads, rates, rows and shares are refused where they are no such numbers") {
  Model model = line_model();
  const std::string threads = "the number of threads must be at least 1";
  CHECK(refusal([&] { model.set_threads(1); }).empty());
  CHECK(refusal([&] { model.set_threads(0); }) == threads);
  CHECK(refusal([&] { model.set_threads(-1); }) == threads);
  const Dataset data = Dataset::from(line_data(4));
  CHECK(refusal([&] { data.batches(4); }).empty());
  CHECK(refusal([&] { data.batches(0); }) == "a batch needs at least one row");
  CHECK(refusal([&] { data.split(0.5, 1); }).empty());
  for (const double share : {0.0, 1.0, -0.5, not_a_number}) {
    CHECK_THAT(refusal([&] { data.split(share, 1); }),
               Contains("a split needs a fraction between 0 and 1, found "));
  }
  Model prepared = prepare(images(), {.loss = Loss::mse});
  for (const float rate : {infinite, -infinite, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK_THAT(refusal([&] { prepared.set_learning_rate(rate); }),
               Contains("the learning rate must be a finite number, not "));
  }
  CHECK(refusal([&] { prepared.set_learning_rate(0); }).empty());
  for (const double temperature : {-0.001, infinity, not_a_number}) {
    CHECK_THAT(refusal([&] { sample_text(model, "a", {.temperature = temperature}); }),
               Contains("the temperature must be at least 0, it is "));
  }
}

TEST_CASE("preprocessing refuses numbers that cannot be, and sizes below one pixel") {
  const auto said = [](const Preprocess& options) {
    return refusal([&] { prepare(images(), {.loss = Loss::mse, .preprocess = {options}}); });
  };
  CHECK(said({.scale = -0.5}).empty());
  for (const double scale : {0.0, infinity, -infinity, not_a_number}) {
    CHECK_THAT(said({.scale = scale}), Contains("the scale must be a number other than 0, found "));
  }
  CHECK(said({.mean = {0}}).empty());
  CHECK(said({.mean = {0, -1, 1}}).empty());
  CHECK_THAT(said({.mean = {0, infinite, 1}}), Contains("the mean must be numbers, found inf"));
  CHECK(said({.deviation = {0.001F}}).empty());
  for (const float one : {0.0F, -1.0F, infinite, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK_THAT(said({.deviation = {1, 1, one}}),
               Contains("standard deviations must be positive numbers, found "));
  }
  CHECK_THAT(said({.deviation = {1, 1}}), Contains("the standard deviation has 2 numbers, input "));
  CHECK(said({.resize = ImageSize{3, 3}}).empty());
  CHECK_THAT(said({.resize = ImageSize{0, 3}}), Contains("images cannot be resized to 0x3"));
  CHECK_THAT(said({.resize = ImageSize{3, 0}}), Contains("images cannot be resized to 3x0"));
  CHECK_THAT(said({.resize = ImageSize{3, -1}}), Contains("images cannot be resized to 3x-1"));
}
