// Frozen weights that take turns in memory under a budget: same results, and no more pages resident
// than the budget says.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::uint64_t megabyte = std::uint64_t{1} << 20;
constexpr std::int64_t layers = 16;
constexpr std::int64_t width = 512;
constexpr std::uint64_t layer_bytes = width * width * sizeof(float);
constexpr std::uint64_t budget = 6 * layer_bytes;

// Frozen layers of 1 MB with trained adapters. Names of all lengths: those decide where in a model
// file elements lie, and so whether they are read there or copied.
std::filesystem::path save_network(const TemporaryFolder& folder, bool external) {
  ModelBuilder b("network");
  std::string x = b.input("x", DType::float32, {"N", width});
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name(static_cast<std::size_t>(i + 1), 'w');
    const auto seed = static_cast<std::uint64_t>(3 * i);
    const auto weight = [&](const std::string& of, const Shape& shape, std::uint64_t k) {
      return b.initializer(of, random_floats(shape, seed + k, -0.05F, 0.05F));
    };
    const std::string frozen = b.node("MatMul", {x, weight(name, {width, width}, 0)});
    const std::string down = b.node("MatMul", {x, weight(name + ".lora_a", {width, 4}, 1)});
    const std::string up = b.node("MatMul", {down, weight(name + ".lora_b", {4, width}, 2)});
    x = b.node("Tanh", {b.node("Add", {frozen, up})});
  }
  b.output(x, DType::float32, {"N", width});
  const auto plain = folder / "plain.onnx";
  const auto file = folder / "network.onnx";
  b.save(plain);
  PrepareOptions options;
  options.init = WeightInit::keep;
  for (std::int64_t i = 1; i <= layers; ++i) {
    options.freeze.emplace_back(static_cast<std::size_t>(i), 'w');
  }
  options.optimizer = Sgd{.learning_rate = 0.1F};
  if (external) options.external_data_from = 65536;
  prepare(plain, file, options);
  return file;
}

NamedValues batch(std::uint64_t seed) {
  Tensor labels(DType::int64, {4});
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = 7;
  return {{"x", random_floats({4, width}, seed)}, {"label", labels}};
}

Model load(const std::filesystem::path& file, std::optional<std::uint64_t> memory_budget,
           int threads = 1) {
  LoadOptions options;
  options.memory_budget = memory_budget;
  options.threads = threads;
  return Model::load(file, options);
}

std::vector<float> losses(Model& model) {
  std::vector<float> result;
  for (std::uint64_t i = 0; i < 4; ++i) {
    result.push_back(model.train_step(batch(i))["loss"].tensor().item<float>());
  }
  return result;
}

// The thread sanitizer keeps memory of its own for all that is read.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
std::uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

// Greatest rise of the resident memory during `body`, in bytes; nothing if the system does not
// tell.
template <class Body>
std::optional<std::uint64_t> growth_of(const Body& body) {
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  if (!reset) return {};
  const std::uint64_t before = status_bytes("VmRSS:");
  body();
  return status_bytes("VmHWM:") - before;
}
#endif

}  // namespace

TEST_CASE("frozen weights that do not fit into the budget take turns and give the same bits") {
  const bool external = GENERATE(false, true);
  const int threads = GENERATE(1, 3);
  const TemporaryFolder folder;
  const auto file = save_network(folder, external);
  Model ample = load(file, {});
  Model lean = load(file, budget, threads);
  CHECK(ample.plan(batch(0), 0).constant_bytes >= layers * layer_bytes);
  const PlanInfo plan = lean.plan(batch(0), 0);
  CHECK(plan.arena_bytes + plan.constant_bytes + plan.state_bytes <= budget);
  CHECK(plan.constant_bytes >= layer_bytes);
  CHECK(losses(lean) == losses(ample));
  CHECK(lean.parameters() == ample.parameters());
  const NamedValues x{batch(9)[0]};
  CHECK(lean.infer(x)[0].second.tensor().identical(ample.infer(x)[0].second.tensor()));
  CHECK(lean.fingerprint() == ample.fingerprint());
  CHECK(losses(lean) == losses(ample));
}

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a step takes no more resident memory than the budget where weights take turns") {
  const bool external = GENERATE(false, true);
  const TemporaryFolder folder;
  const auto file = save_network(folder, external);
  Model ample = load(file, {});
  const auto whole = growth_of([&] { losses(ample); });
  if (!whole) {
    WARN("the peak of resident memory cannot be reset: skipped");
    return;
  }
  // Measures what it is about.
  CHECK(*whole >= layers * layer_bytes);
  Model lean = load(file, budget);
  CHECK(*growth_of([&] { losses(lean); }) < budget + 6 * megabyte);
  CHECK(*growth_of([&] { lean.fingerprint(); }) < budget + 6 * megabyte);
  CHECK(*growth_of([&] { losses(lean); }) < budget + 6 * megabyte);
}
#endif

TEST_CASE("a budget that one layer does not fit into is refused with the bytes needed") {
  const TemporaryFolder folder;
  const auto file = save_network(folder, true);
  Model tiny = load(file, layer_bytes);
  CHECK_THROWS_WITH(tiny.train_step(batch(0)),
                    Catch::Contains("the memory budget of 1048576 bytes does not suffice") &&
                        Catch::Contains("weights read from their file in turns"));
}

TEST_CASE("a step that fails holds no weights, and the next one is right") {
  const TemporaryFolder folder;
  const auto file = save_network(folder, GENERATE(false, true));
  Model ample = load(file, {});
  Model lean = load(file, budget);
  int reports = 0;
  lean.set_progress([&](double) { return ++reports != 1; });
  CHECK_THROWS_AS(lean.train_step(batch(0)), Error);
  lean.set_progress({});
  CHECK(losses(lean) == losses(ample));
}
