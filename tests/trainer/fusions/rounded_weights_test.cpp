// Frozen weights in a file, under products of bfloat16: held in bfloat16, with the same results.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/file_content.h"
#include "tests/support/frozen_network.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t width = 256;
constexpr std::int64_t hidden = 384;
constexpr std::int64_t classes = 300;
constexpr std::size_t frozen_elements = width * hidden + hidden * classes;

std::filesystem::path save_network(const TemporaryFolder& folder, bool external) {
  return save_frozen_network(
      folder, {width, hidden, classes, 0.1F, external ? std::optional(65536U) : std::nullopt});
}

NamedValues batch(std::int64_t rows) {
  Tensor labels(DType::int64, {rows});
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = 7;
  return {{"x", random_floats({rows, width}, 9)}, {"label", labels}};
}

std::vector<float> losses(Model& model, std::int64_t rows) {
  std::vector<float> result;
  for (int i = 0; i < 4; ++i) {
    result.push_back(model.train_step(batch(rows))["loss"].tensor().item<float>());
  }
  return result;
}

Model load(const std::filesystem::path& file, Precision precision, int threads = 1) {
  return Model::load(file, {.threads = threads, .precision = precision});
}

std::vector<float> infer(const Model& model) {
  const Tensor y = model.infer({{"x", random_floats({20, width}, 4)}})[0].second.tensor();
  const auto values = y.values<float>();
  return {values.begin(), values.end()};
}

std::uint64_t constant_bytes(const Model& model) { return model.plan(batch(20), 0).constant_bytes; }

}  // namespace

TEST_CASE("frozen weights of a file take half the memory where products round them") {
  const bool external = GENERATE(false, true);
  const TemporaryFolder folder;
  const auto file = save_network(folder, external);
  const auto full = constant_bytes(load(file, Precision::float32));
  const auto lower = constant_bytes(load(file, Precision::bfloat16));
  CHECK(full >= 4 * frozen_elements);
  const bool rounds = has_precision(Precision::bfloat16);
  CHECK(lower == (rounds ? full - 2 * frozen_elements : full));
}

TEST_CASE("weights that are held rounded give the bits of those that every product rounds") {
  const bool external = GENERATE(false, true);
  const int threads = GENERATE(1, 3);
  const TemporaryFolder folder;
  Model held = load(save_network(folder, external), Precision::bfloat16, threads);
  // The weights of a model that is given as bytes are not in a file.
  const TemporaryFolder other;
  const std::string bytes = content(save_network(other, false));
  Model given = Model::load(std::as_bytes(std::span(bytes)), {.precision = Precision::bfloat16});
  CHECK(losses(held, 20) == losses(given, 20));
  CHECK(infer(held) == infer(given));
}

TEST_CASE("products too small for bfloat16 read the rounded weights in float32") {
  const TemporaryFolder folder;
  const auto file = save_network(folder, false);
  Model lower = load(file, Precision::bfloat16);
  Model full = load(file, Precision::float32);
  const auto wanted = losses(full, 3);
  const auto found = losses(lower, 3);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(found[i] == Approx(wanted[i]).epsilon(0.01));
  }
}

TEST_CASE("a rounded model under a budget reads its weights in turns, with the same bits") {
  const bool external = GENERATE(false, true);
  const TemporaryFolder folder;
  const auto file = save_network(folder, external);
  Model ample = load(file, Precision::bfloat16);
  LoadOptions options{.precision = Precision::bfloat16};
  const PlanInfo plan = ample.plan(batch(20), 0);
  options.memory_budget = plan.arena_bytes + plan.constant_bytes + plan.state_bytes - 100000;
  Model lean = Model::load(file, options);
  CHECK(lean.plan(batch(20), 0).constant_bytes < plan.constant_bytes);
  CHECK(losses(lean, 20) == losses(ample, 20));
}

TEST_CASE("an export of a model with rounded weights has those of the file") {
  const TemporaryFolder folder;
  const auto file = save_network(folder, false);
  Model model = load(file, Precision::bfloat16);
  losses(model, 20);
  const auto exported = folder / "exported.onnx";
  model.export_inference(exported);
  const std::string bytes = content(exported);
  for (const std::uint64_t seed : {2U, 3U}) {
    const Tensor weights = seed == 2 ? random_floats({width, hidden}, 2, -0.1F, 0.1F)
                                     : random_floats({classes, hidden}, 3, -0.1F, 0.1F);
    const std::string stored(static_cast<const char*>(weights.data()), weights.bytes());
    CHECK(bytes.find(stored) != std::string::npos);
  }
  CHECK(infer(load(exported, Precision::bfloat16)) == infer(model));
}

TEST_CASE("a table that a product reads rounded is looked up rounded") {
  const TemporaryFolder folder;
  ModelBuilder b("network");
  const Tensor table = random_floats({classes, width}, 5);
  const auto ids = b.input("ids", DType::int64, {"N"});
  const auto words = b.initializer("words", table);
  const auto x = b.node("Gather", {words, ids});
  b.output(x, DType::float32, {"N", width});
  b.output(b.node("MatMul", {x, b.node("Transpose", {words})}), DType::float32, {"N", classes});
  const auto file = folder / "tied.onnx";
  b.save(file);
  Tensor rows(DType::int64, {20});
  std::int64_t next = 0;
  for (std::int64_t& row : rows.mutable_values<std::int64_t>()) row = next++;
  const Model model = load(file, Precision::bfloat16);
  const Tensor found = model.infer({{"ids", rows}})[0].second.tensor();
  const bool rounds = has_precision(Precision::bfloat16);
  bool right = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(20 * width); ++i) {
    const float element = table.values<float>()[i];
    right =
        right && found.values<float>()[i] == (rounds ? to_float(to_bfloat16(element)) : element);
  }
  CHECK(right);
}

TEST_CASE(
    "weights that a normalization was folded into are held rounded where products read them") {
  if (!has_precision(Precision::bfloat16)) return;
  constexpr std::int64_t in = 64, out = 96;
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {2, in, 14, 14});
  b.initializer("w", random_floats({out, in, 1, 1}, 1));
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    b.initializer(name, random_floats({out}, 3, 0.5F, 1));
  }
  std::string h = b.node("Conv", {"x", "w"});
  h = b.node("BatchNormalization", {h, "scale", "bias", "mean", "variance"});
  b.output(b.node("Relu", {h}), DType::float32, {2, out, 14, 14});
  const TemporaryFolder folder;
  b.save(folder / "network.onnx");
  const Model full = Model::load(folder / "network.onnx");
  const auto bytes = [](const Model& model) { return model.plan_report({}).constant_bytes; };
  const auto run = [](const Model& model) {
    const NamedValues feeds{{"x", random_floats({2, in, 14, 14}, 4)}};
    const Tensor y = model.infer(feeds)[0].second.tensor();
    return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
  };
  for (const int threads : {1, 3}) {
    const Model lower = load(folder / "network.onnx", Precision::bfloat16, threads);
    CHECK(bytes(lower) == bytes(full) - 2 * in * out);
    const auto wanted = run(full);
    const auto found = run(lower);
    CHECK(run(lower) == found);
    float most = 0;
    float difference = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      most = std::max(most, std::abs(wanted[i]));
      difference = std::max(difference, std::abs(wanted[i] - found[i]));
    }
    CHECK(difference > 0);
    CHECK(difference < 0.02F * most);
  }
}

TEST_CASE("weights that a model also gives as an output stay float32") {
  constexpr std::int64_t channels = 96;
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {2, channels, 14, 14});
  const Tensor w = random_floats({channels, channels, 1, 1}, 1);
  b.initializer("w", w);
  b.output(b.node("Conv", {"x", "w"}), DType::float32, {2, channels, 14, 14});
  b.output(b.node("Identity", {"w"}), DType::float32, {channels, channels, 1, 1});
  const TemporaryFolder folder;
  b.save(folder / "network.onnx");
  const Model model = load(folder / "network.onnx", Precision::bfloat16);
  const auto results = model.infer({{"x", random_floats({2, channels, 14, 14}, 2)}});
  CHECK(results[1].second.tensor().identical(w));
}
